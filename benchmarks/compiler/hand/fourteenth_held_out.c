/* The kernels of fourteenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Two groups, whose steps in turn hide each other's latency, or one. */
#define ONE(EACH) EACH(0)
#define TWO(EACH) EACH(0) EACH(1)
#define TIMES(x, y) __riscv_vfmul_vv_f32m4(x, y, vl)

/* bf16 is the upper half of a float. A product that widens, and its sum with itself, take half the
 * time of an extension and a shift. Narrowing with a clip rounds to nearest even. */
#define HALVES(m, wide)                                                                            \
    static inline vfloat32##wide##_t widened_##m(const uint16_t *from, size_t vl) {                \
        vuint16##m##_t halves = __riscv_vle16_v_u16##m(from, vl);                                  \
        vuint32##wide##_t half = __riscv_vwmulu_vx_u32##wide(halves, 1 << 15, vl);                 \
        half = __riscv_vadd_vv_u32##wide(half, half, vl);                                          \
        return __riscv_vreinterpret_v_u32##wide##_f32##wide(half);                                 \
    }
HALVES(m2, m4)
HALVES(m4, m8)

static inline void write_narrow(uint16_t *to, vfloat32m4_t x, size_t vl) {
    vuint32m4_t bits = __riscv_vreinterpret_v_f32m4_u32m4(x);
    __riscv_vse16_v_u16m2(to, __riscv_vnclipu_wx_u16m2(bits, 16, __RISCV_VXRM_RNE, vl), vl);
}

/* Weights of columns, and behind them those of the first again: rows follow each other without
 * ends. Up to 16,000 columns. */
static float weights[16384];

#define LOGIT(k) vfloat32m4_t x##k = widened_m2(logits + i + (k) * all, vl);
#define SCALE(k) x##k = __riscv_vfmul_vf_f32m4(x##k, -1.44269504f, vl);
#define LOW(k) x##k = __riscv_vfmax_vf_f32m4(x##k, -126, vl);
#define HIGH(k) x##k = __riscv_vfmin_vf_f32m4(x##k, 126, vl);
#define MOVE(k) vfloat32m4_t n##k = __riscv_vfadd_vf_f32m4(x##k, 0x1.8p23f, vl);
#define BACK(k) vfloat32m4_t p##k = __riscv_vfsub_vf_f32m4(n##k, 0x1.8p23f, vl);
#define REST(k) x##k = __riscv_vfsub_vv_f32m4(x##k, p##k, vl);
#define FIRST(k) p##k = __riscv_vfmul_vf_f32m4(x##k, 1.326697039e-3f, vl);
#define PLUS(k, c) p##k = __riscv_vfadd_vf_f32m4(p##k, c, vl);
#define FIFTH(k) PLUS(k, 9.675459746e-3f)
#define FOURTH(k) PLUS(k, 5.550742616e-2f)
#define THIRD(k) PLUS(k, 2.402212175e-1f)
#define SECOND(k) PLUS(k, 6.931469492e-1f)
#define PLUS_ONE(k) PLUS(k, 1)
#define STEP(k) p##k = TIMES(p##k, x##k);
#define POWER(k)                                                                                   \
    vint32m4_t bits##k = __riscv_vmacc_vx_i32m4(__riscv_vreinterpret_v_f32m4_i32m4(p##k), 1 << 23, \
                                                __riscv_vreinterpret_v_f32m4_i32m4(n##k), vl);     \
    p##k = __riscv_vreinterpret_v_i32m4_f32m4(bits##k);
#define INVERSE(k) x##k = __riscv_vfrec7_v_f32m4(p##k, vl);
#define PRODUCT(k) p##k = TIMES(p##k, x##k);
#define ERROR(k) p##k = __riscv_vfrsub_vf_f32m4(p##k, 1, vl);
#define SERIES(k) p##k = __riscv_vfmacc_vv_f32m4(p##k, p##k, p##k, vl);
#define BETTER(k) x##k = __riscv_vfmacc_vv_f32m4(x##k, x##k, p##k, vl);
#define LABEL(k) n##k = widened_m2(labels + i + (k) * all, vl);
#define WEIGHT(k) p##k = __riscv_vle32_v_f32m4(weights + column + (k) * all, vl);
#define POSITIVE(k) p##k = TIMES(p##k, n##k);
#define EITHER(k) n##k = __riscv_vfsub_vv_f32m4(p##k, n##k, vl);
#define EITHER_ONE(k) n##k = __riscv_vfadd_vf_f32m4(n##k, 1, vl);
#define GRADIENT(k) n##k = __riscv_vfmsub_vv_f32m4(n##k, x##k, p##k, vl);
#define MEAN(k) n##k = __riscv_vfmul_vf_f32m4(n##k, scale, vl);
#define WRITE(k) write_narrow(out + i + (k) * all, n##k, vl);
#define BACKWARD(ALL)                                                                              \
    ALL(LOGIT) ALL(SCALE) ALL(LOW) ALL(HIGH) ALL(MOVE) ALL(BACK) ALL(REST) ALL(FIRST) ALL(FIFTH)   \
    ALL(STEP) ALL(FOURTH) ALL(STEP) ALL(THIRD) ALL(STEP) ALL(SECOND) ALL(STEP) ALL(PLUS_ONE)       \
    ALL(POWER) ALL(PLUS_ONE) ALL(INVERSE) ALL(PRODUCT) ALL(ERROR) ALL(SERIES) ALL(BETTER)          \
    ALL(LABEL) ALL(WEIGHT) ALL(POSITIVE) ALL(EITHER) ALL(EITHER_ONE) ALL(GRADIENT) ALL(MEAN)       \
    ALL(WRITE)

static inline void bce_logits_backward(const uint64_t *args) {
    long c = INT(5), n = INT(4) * c, all = (long)__riscv_vsetvlmax_e32m4(), i = 0, column = 0;
    const uint16_t *logits = IN(uint16_t, 0), *labels = IN(uint16_t, 1);
    uint16_t *out = OUT(uint16_t, 3);
    float scale = as_float(args[6]);
    memcpy(weights, IN(float, 2), (size_t)c * sizeof *weights);
    for (long k = 0; k < 2 * all; k++)
        weights[c + k] = weights[k];
    for (size_t vl = (size_t)all; i + 2 * all <= n; i += 2 * all) {
        ahead(logits + i + 128, VLEN / 2), ahead(labels + i + 128, VLEN / 2);
        BACKWARD(TWO)
        column += 2 * all;
        while (column >= c)
            column -= c;
    }
    while (i < n) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        BACKWARD(ONE)
        i += (long)vl, column = (column + (long)vl) % c;
    }
}

/* Means of squares of a token's heads, and then 1 over their roots. Up to 256 heads. */
static float scales[256];

static inline void find_scales(const uint16_t *x, long heads, long size, float eps) {
    size_t all = __riscv_vsetvlmax_e32m8(), half = __riscv_vsetvlmax_e32m4();
    for (long head = 0; head < heads; head++, x += size) {
        size_t vl = __riscv_vsetvl_e32m8(size);
        vfloat32m8_t part = widened_m4(x, vl), sum;
        ahead(x + 4 * size, 2 * size);
        if (vl == all)
            sum = __riscv_vfmul_vv_f32m8(part, part, vl);
        else
            sum = __riscv_vfmul_vv_f32m8_tu(__riscv_vfmv_v_f_f32m8(0, all), part, part, vl);
        for (long i = (long)vl; i < size;) {
            vl = __riscv_vsetvl_e32m8(size - i);
            part = widened_m4(x + i, vl);
            sum = __riscv_vfmacc_vv_f32m8_tu(sum, part, part, vl);
            i += (long)vl;
        }
        store_sum(scales + head, __riscv_vfadd_vv_f32m4(__riscv_vget_v_f32m8_f32m4(sum, 0),
                                                        __riscv_vget_v_f32m8_f32m4(sum, 1), half));
    }
    for (long i = 0; i < heads;) {
        size_t vl = __riscv_vsetvl_e32m2(heads - i);
        vfloat32m2_t mean = __riscv_vle32_v_f32m2(scales + i, vl);
        mean = __riscv_vfmul_vf_f32m2(mean, 1 / (float)size, vl);
        mean = __riscv_vfadd_vf_f32m2(mean, eps, vl);
        vfloat32m2_t root = __riscv_vfrsqrt7_v_f32m2(mean, vl);
        mean = __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(mean, root, vl), root, vl);
        mean = __riscv_vfrsub_vf_f32m2(mean, 1, vl);
        vfloat32m2_t p = __riscv_vfmul_vf_f32m2(mean, 0.375f, vl);
        p = __riscv_vfmul_vv_f32m2(__riscv_vfadd_vf_f32m2(p, 0.5f, vl), mean, vl);
        __riscv_vse32_v_f32m2(scales + i, __riscv_vfmacc_vv_f32m2(root, root, p, vl), vl);
        i += (long)vl;
    }
}

/* Heads that share weights: their products with sines and cosines stay in registers. */
static inline void turn_heads(uint16_t *x, const float *by, const float *weight,
                              const float *table, long heads, long half) {
    for (long i = 0; i < half;) {
        size_t vl = __riscv_vsetvl_e32m4(half - i);
        vfloat32m4_t cos = __riscv_vle32_v_f32m4(table + i, vl);
        vfloat32m4_t sin = __riscv_vle32_v_f32m4(table + half + i, vl);
        vfloat32m4_t weight0 = __riscv_vle32_v_f32m4(weight + i, vl);
        vfloat32m4_t weight1 = __riscv_vle32_v_f32m4(weight + half + i, vl);
        vfloat32m4_t cos0 = TIMES(cos, weight0), sin0 = TIMES(sin, weight0);
        vfloat32m4_t cos1 = TIMES(cos, weight1), sin1 = TIMES(sin, weight1);
        uint16_t *from = x + i;
        for (long head = 0; head < heads; head++, from += 2 * half) {
            vfloat32m4_t a = widened_m2(from, vl), b = widened_m2(from + half, vl);
            a = __riscv_vfmul_vf_f32m4(a, by[head], vl);
            b = __riscv_vfmul_vf_f32m4(b, by[head], vl);
            vfloat32m4_t first = TIMES(b, sin1), second = TIMES(b, cos1);
            first = __riscv_vfmsac_vv_f32m4(first, a, cos0, vl);
            second = __riscv_vfmacc_vv_f32m4(second, a, sin0, vl);
            write_narrow(from, first, vl), write_narrow(from + half, second, vl);
        }
        i += (long)vl;
    }
}

static inline void qk_norm_rope(const uint64_t *args) {
    long tokens = sizes[0], queries = INT(5), keys = INT(6), stride = INT(7), half = sizes[3];
    for (long token = 0; token < tokens; token++) {
        uint16_t *x = OUT(uint16_t, 0) + token * stride;
        const float *table = IN(float, 4) + IN(int64_t, 3)[token] * 2 * half;
        ahead(IN(float, 4) + IN(int64_t, 3)[token + (token + 1 < tokens)] * 2 * half, 8 * half);
        find_scales(x, queries + keys, 2 * half, as_float(args[8]));
        turn_heads(x, scales, IN(float, 1), table, queries, half);
        turn_heads(x + queries * 2 * half, scales + queries, IN(float, 2), table, keys, half);
    }
}

#define LOGITS(k) vfloat32m4_t a##k = __riscv_vle32_v_f32m4(logits + i + (k) * all, vl);
#define COUNTS(k) vint32m4_t c##k = __riscv_vle32_v_i32m4(counts + i + (k) * all, vl);
#define PROMPT(k) vbool8_t seen##k = __riscv_vlm_v_b8(prompt + (i + (k) * all) / 8, vl);
#define OUTPUT(k) vbool8_t counted##k = __riscv_vmsgt_vx_i32m4_b8(c##k, 0, vl);
#define SEEN(k) seen##k = __riscv_vmor_mm_b8(seen##k, counted##k, vl);
#define LARGER(k) vfloat32m4_t b##k = __riscv_vfmul_vf_f32m4(a##k, repetition, vl);
#define SMALLER(k) vfloat32m4_t d##k = __riscv_vfmul_vf_f32m4(a##k, inverse, vl);
#define LOWER(k) a##k = __riscv_vfmin_vv_f32m4_mu(seen##k, a##k, b##k, d##k, vl);
#define HIGHER(k) a##k = __riscv_vfmax_vv_f32m4_mu(seen##k, a##k, b##k, d##k, vl);
#define FLOATS(k) d##k = __riscv_vfcvt_f_x_v_f32m4(c##k, vl);
#define FREQUENCY(k) a##k = __riscv_vfnmsac_vf_f32m4(a##k, frequency, d##k, vl);
#define PRESENCE(k) a##k = __riscv_vfsub_vf_f32m4_mu(counted##k, a##k, a##k, presence, vl);
#define STORE(k) __riscv_vse32_v_f32m4(logits + i + (k) * all, a##k, vl);
#define PENALISE(ALL, CHOICE)                                                                      \
    ALL(COUNTS) ALL(LOGITS) ALL(PROMPT) ALL(OUTPUT) ALL(SEEN) ALL(LARGER) ALL(SMALLER) ALL(CHOICE) \
    ALL(FLOATS) ALL(FREQUENCY) ALL(PRESENCE) ALL(STORE)

/* A word is in the prompt where its bit is set: a mask as it lies in memory. Whether the logit is
 * positive or not, a factor above 1 leaves the smaller of product and quotient. */
#define PENALISE_ROW(CHOICE)                                                                       \
    for (vl = (size_t)all; i + 2 * all <= v; i += 2 * all) {                                       \
        ahead(logits + i + 192, VLEN), ahead(counts + i + 192, VLEN);                              \
        PENALISE(TWO, CHOICE)                                                                      \
    }                                                                                              \
    while (i < v) {                                                                                \
        vl = __riscv_vsetvl_e32m4(v - i);                                                          \
        PENALISE(ONE, CHOICE)                                                                      \
        i += (long)vl;                                                                             \
    }

static inline void frequency_penalty_counts(const uint64_t *args) {
    long rows = sizes[0], v = INT(6), words = INT(7), all = (long)__riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        float *logits = OUT(float, 0) + row * v;
        const int32_t *counts = IN(int32_t, 1) + row * v;
        const uint8_t *prompt = IN(uint8_t, 2) + row * words * 4;
        float repetition = IN(float, 3)[row], inverse = 1 / repetition;
        float frequency = IN(float, 4)[row], presence = IN(float, 5)[row];
        size_t vl;
        long i = 0;
        if (repetition >= 1) {
            PENALISE_ROW(LOWER)
        } else {
            PENALISE_ROW(HIGHER)
        }
    }
}
