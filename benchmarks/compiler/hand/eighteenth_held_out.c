/* The kernels of eighteenth_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the emulated
 * X60, by somebody who knows the instructions and not what the compiler makes. One program does all
 * the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#if VLEN < 256
#error "a rank of 16 fills two registers of 256 bits, half of a head of 64 four"
#endif

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define ONE(EACH) EACH(0)

/* GraphNorm: sums of 128 channels stay in registers while a graph's nodes go by in order; squares
 * take its channels one after another, from the cache; results are written four nodes at a time.
 * Up to 1,024 channels. */
#define READ(from) __riscv_vle32_v_f32m4(from, vl)

static float shifts[1024], scales[1024];

/* 1 / sqrt(x), by a reciprocal of 7 bits and a step of third order. */
static inline vfloat32m4_t inverse_root(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t y = __riscv_vfrsqrt7_v_f32m4(x, vl);
    x = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(x, y, vl), y, vl);
    x = __riscv_vfrsub_vf_f32m4(x, 1, vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(x, 0.375f, vl);
    p = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), x, vl);
    return __riscv_vfmacc_vv_f32m4(y, y, p, vl);
}

/* Sums of registers of channels beside each other, times a factor and the mean's share. */
#define NOTHING(k) vfloat32m4_t s##k = __riscv_vfmv_v_f_f32m4(0, vl);
#define ADD(k) s##k = __riscv_vfadd_vv_f32m4(s##k, READ(x + (k) * lanes), vl);
#define SHIFT(k)                                                                                   \
    s##k = __riscv_vfmul_vv_f32m4(s##k, READ(share + (k) * lanes), vl);                            \
    __riscv_vse32_v_f32m4(to + (k) * lanes, __riscv_vfmul_vf_f32m4(s##k, inverse, vl), vl);
#define SHIFTS(name, ALL, BYTES)                                                                   \
    static inline void name(const float *x, const float *share, float *to, long count,             \
                            long stride, float inverse, size_t vl) {                               \
        long lanes = (long)vl;                                                                     \
        ALL(NOTHING)                                                                               \
        for (long n = 0; n < count; n++, x += stride) {                                            \
            ahead(x + 6 * stride, BYTES);                                                          \
            ALL(ADD)                                                                               \
        }                                                                                          \
        ALL(SHIFT)                                                                                 \
    }
SHIFTS(shift_four, FOUR, 2 * VLEN)
SHIFTS(shift_one, ONE, VLEN / 2)

static inline vfloat32m4_t squares(const float *x, vfloat32m4_t shift, long count, long stride,
                                   size_t vl) {
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl), other = sum;
    long n = 0;
    for (; n + 2 <= count; n += 2, x += 2 * stride) {
        vfloat32m4_t a = __riscv_vfsub_vv_f32m4(READ(x), shift, vl);
        vfloat32m4_t b = __riscv_vfsub_vv_f32m4(READ(x + stride), shift, vl);
        sum = __riscv_vfmacc_vv_f32m4(sum, a, a, vl);
        other = __riscv_vfmacc_vv_f32m4(other, b, b, vl);
    }
    if (n < count) {
        vfloat32m4_t a = __riscv_vfsub_vv_f32m4(READ(x), shift, vl);
        sum = __riscv_vfmacc_vv_f32m4(sum, a, a, vl);
    }
    return __riscv_vfadd_vv_f32m4(sum, other, vl);
}

#define LOAD(k) vfloat32m4_t x##k = READ(x + (k) * channels + c);
#define CENTRE(k) x##k = __riscv_vfsub_vv_f32m4(x##k, shift, vl);
#define SCALE(k) x##k = __riscv_vfmadd_vv_f32m4(x##k, scale, offset, vl);
#define PUT(k) __riscv_vse32_v_f32m4(out + (k) * channels + c, x##k, vl);
#define RESULTS(ALL)                                                                               \
    for (long c = 0; c < channels;) {                                                              \
        size_t vl = __riscv_vsetvl_e32m4(channels - c);                                            \
        vfloat32m4_t shift = READ(shifts + c), scale = READ(scales + c), offset = READ(bias + c);  \
        ALL(LOAD) ALL(CENTRE) ALL(SCALE) ALL(PUT)                                                  \
        c += (long)vl;                                                                             \
    }

static inline void graph_norm_segments(const uint64_t *args) {
    const float *x = IN(float, 0), *weight = IN(float, 2), *bias = IN(float, 3);
    const float *share = IN(float, 4);
    const int32_t *offsets = IN(int32_t, 1);
    float *out = OUT(float, 5), eps = as_float(args[7]);
    long graphs = sizes[0], channels = INT(6), all = (long)__riscv_vsetvlmax_e32m4();
    for (long graph = 0; graph < graphs; graph++) {
        long count = offsets[graph + 1] - offsets[graph], c = 0, n = 0;
        float inverse = 1 / (float)count;
        for (; c + 4 * all <= channels; c += 4 * all)
            shift_four(x + c, share + c, shifts + c, count, channels, inverse, (size_t)all);
        while (c < channels) {
            size_t vl = __riscv_vsetvl_e32m4(channels - c);
            shift_one(x + c, share + c, shifts + c, count, channels, inverse, vl);
            c += (long)vl;
        }
        for (c = 0; c < channels;) {
            size_t vl = __riscv_vsetvl_e32m4(channels - c);
            vfloat32m4_t sum = squares(x + c, READ(shifts + c), count, channels, vl);
            sum = __riscv_vfadd_vf_f32m4(__riscv_vfmul_vf_f32m4(sum, inverse, vl), eps, vl);
            sum = __riscv_vfmul_vv_f32m4(inverse_root(sum, vl), READ(weight + c), vl);
            __riscv_vse32_v_f32m4(scales + c, sum, vl);
            c += (long)vl;
        }
        for (; n + 4 <= count; n += 4, x += 4 * channels, out += 4 * channels) {
            RESULTS(FOUR)
        }
        for (; n < count; n++, x += channels, out += channels) {
            RESULTS(ONE)
        }
    }
}

/* LoRA: parts of both matrices are transposed once; eight rows of x, and then four of the result,
 * take each register of them. The rank is 16, there are up to 4,096 rows. */
#define RANK 16
#define PART 1024
#define EIGHT(EACH) FOUR(EACH) EACH(4) EACH(5) EACH(6) EACH(7)

static float part[PART * RANK], lows[4096 * RANK];

#define LOW_ROW(i) vfloat32m2_t s##i = __riscv_vle32_v_f32m2(low + RANK * (i), RANK);
#define DOWN(i) s##i = __riscv_vfmacc_vf_f32m2(s##i, x[(i) * stride + k], w, RANK);
#define KEEP_LOW(i) __riscv_vse32_v_f32m2(low + RANK * (i), s##i, RANK);
#define BASE(i) vfloat32m4_t y##i = __riscv_vle32_v_f32m4(base + (i) * stride + n, vl);
#define UP(i) y##i = __riscv_vfmacc_vf_f32m4(y##i, low[RANK * (i) + r], w, vl);
#define PUT_UP(i) __riscv_vse32_v_f32m4(out + (i) * stride + n, y##i, vl);
#define AHEAD_X(i) ahead(x + (i) * stride + k + 32, 64);
#define AHEAD_BASE(i) ahead(base + (i) * stride + n + 32, 128);

/* Rows of low, for size columns of x; then as many columns of out from them. */
#define DOWN_ROWS(rows, ALL)                                                                       \
    static inline void down_##rows(const float *x, long stride, long size, float *low) {           \
        ALL(LOW_ROW)                                                                               \
        for (long k = 0; k < size;) {                                                              \
            long end = k + 16 < size ? k + 16 : size;                                              \
            ALL(AHEAD_X)                                                                           \
            ahead(part + RANK * (k + 16), 1024);                                                   \
            _Pragma("clang loop unroll_count(4)") for (; k < end; k++) {                           \
                vfloat32m2_t w = __riscv_vle32_v_f32m2(part + RANK * k, RANK);                     \
                ALL(DOWN)                                                                          \
            }                                                                                      \
        }                                                                                          \
        ALL(KEEP_LOW)                                                                              \
    }
#define UP_ROWS(rows, ALL)                                                                         \
    static inline void up_##rows(const float *low, const float *base, float *out, long stride,     \
                                 long size) {                                                      \
        const float *tile = part;                                                                  \
        for (long n = 0; n < size; n += 32, tile += 32 * RANK) {                                   \
            size_t vl = size - n < 32 ? (size_t)(size - n) : 32;                                   \
            ALL(BASE)                                                                              \
            ALL(AHEAD_BASE)                                                                        \
            ahead(tile + 32 * RANK, 2048);                                                         \
            _Pragma("clang loop unroll_count(4)") for (long r = 0; r < RANK; r++) {                \
                vfloat32m4_t w = __riscv_vle32_v_f32m4(tile + 32 * r, vl);                         \
                ALL(UP)                                                                            \
            }                                                                                      \
            ALL(PUT_UP)                                                                            \
        }                                                                                          \
    }
DOWN_ROWS(eight, EIGHT)
DOWN_ROWS(one, ONE)
UP_ROWS(four, FOUR)
UP_ROWS(one, ONE)

static inline void lora_down_up_rows(const uint64_t *args) {
    const float *x = IN(float, 0), *base = IN(float, 1), *a = IN(float, 2), *b = IN(float, 3);
    float *out = OUT(float, 4);
    long rows = INT(5), k_size = INT(6), n_size = INT(7), row;
    float scale = as_float(args[8]);
    memset(lows, 0, (size_t)(4 * RANK * rows));
    for (long start = 0; start < k_size; start += PART) {
        long size = k_size - start < PART ? k_size - start : PART;
        for (long k = 0; k < size;) {
            size_t vl = __riscv_vsetvl_e32m4(size - k);
            for (long r = 0; r < RANK; r++) {
                const float *from = a + r * k_size + start + k;
                ahead(from + 64, VLEN / 2);
                vfloat32m4_t w = __riscv_vle32_v_f32m4(from, vl);
                w = __riscv_vfmul_vf_f32m4(w, scale, vl);
                __riscv_vsse32_v_f32m4(part + RANK * k + r, 4 * RANK, w, vl);
            }
            k += (long)vl;
        }
        for (row = 0; row + 8 <= rows; row += 8)
            down_eight(x + row * k_size + start, k_size, size, lows + RANK * row);
        for (; row < rows; row++)
            down_one(x + row * k_size + start, k_size, size, lows + RANK * row);
    }
    for (long start = 0; start < n_size; start += PART) {
        long size = n_size - start < PART ? n_size - start : PART;
        for (long n = 0; n < size; n += 32) {
            size_t vl = size - n < 32 ? (size_t)(size - n) : 32;
            const float *from = b + RANK * (start + n);
            ahead(from + 32 * RANK, 4 * 32 * RANK);
            for (long r = 0; r < RANK; r++)
                __riscv_vse32_v_f32m4(part + RANK * n + 32 * r,
                                      __riscv_vlse32_v_f32m4(from + r, 4 * RANK, vl), vl);
        }
        for (row = 0; row + 4 <= rows; row += 4)
            up_four(lows + RANK * row, base + row * n_size + start, out + row * n_size + start,
                    n_size, size);
        for (; row < rows; row++)
            up_one(lows + RANK * row, base + row * n_size + start, out + row * n_size + start,
                   n_size, size);
    }
}

/* IQ4_NL times Q8_0: sums of blocks in integers, four rows at a time; scales come at the end, for
 * a row's blocks together. Rows of up to 1,024 blocks. */
static int32_t dots[4][1024];
static float x_scales[1024];

/* The sign goes to bit 31, all else to its place; the exponent is 112 too small. */
static inline vfloat32m4_t halves(const int16_t *from, size_t vl) {
    vint32m4_t bits = __riscv_vwmul_vx_i32m4(__riscv_vle16_v_i16m2(from, vl), 1 << 13, vl);
    bits = __riscv_vand_vx_i32m4(bits, (int32_t)0x8fffffff, vl);
    return __riscv_vfmul_vf_f32m4(__riscv_vreinterpret_v_i32m4_f32m4(bits), 0x1p112f, vl);
}

#define NIBBLES(i) vuint8mf2_t q##i = __riscv_vle8_v_u8mf2(q + 16 * ((i) * blocks + b), 16);
#define LOW(i)                                                                                     \
    vint8mf2_t l##i = __riscv_vrgather_vv_i8mf2(table, __riscv_vand_vx_u8mf2(q##i, 15, 16), 16);
#define HIGH(i)                                                                                    \
    vint8mf2_t h##i = __riscv_vrgather_vv_i8mf2(table, __riscv_vsrl_vx_u8mf2(q##i, 4, 16), 16);
#define FIRST(i) vint16m1_t p##i = __riscv_vwmul_vv_i16m1(l##i, x_low, 16);
#define SECOND(i) p##i = __riscv_vwmacc_vv_i16m1(p##i, h##i, x_high, 16);
#define SUM(i) vint32m1_t s##i = __riscv_vwredsum_vs_i16m1_i32m1(p##i, zero, 16);
#define KEEP_DOT(i) __riscv_vse32_v_i32m1(dots[i] + b, s##i, 1);
#define SOON(i) ahead(q + 16 * ((i) * blocks + b) + 256, 16);
#define DOTS(ALL)                                                                                  \
    for (long b = 0; b < blocks; b++) {                                                            \
        vint8mf2_t x_low = __riscv_vle8_v_i8mf2(x + 32 * b, 16);                                   \
        vint8mf2_t x_high = __riscv_vle8_v_i8mf2(x + 32 * b + 16, 16);                             \
        ALL(NIBBLES) ALL(SOON) ALL(LOW) ALL(HIGH) ALL(FIRST) ALL(SECOND) ALL(SUM) ALL(KEEP_DOT)    \
    }

static inline void scaled_sum(const int32_t *row_dots, const int16_t *scales, long blocks,
                              float *to) {
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, __riscv_vsetvlmax_e32m4());
    for (long b = 0; b < blocks;) {
        size_t vl = __riscv_vsetvl_e32m4(blocks - b);
        vfloat32m4_t dot = __riscv_vfcvt_f_x_v_f32m4(__riscv_vle32_v_i32m4(row_dots + b, vl), vl);
        dot = __riscv_vfmul_vv_f32m4(dot, __riscv_vle32_v_f32m4(x_scales + b, vl), vl);
        sum = __riscv_vfmacc_vv_f32m4_tu(sum, dot, halves(scales + b, vl), vl);
        b += (long)vl;
    }
    store_sum(to, sum);
}

static inline void iq4_nl_lookup_dot(const uint64_t *args) {
    const uint8_t *q = IN(uint8_t, 0);
    const int16_t *scales = IN(int16_t, 1);
    const int8_t *x = IN(int8_t, 2);
    float *y = OUT(float, 5);
    long rows = sizes[0], blocks = INT(6), row = 0;
    for (long b = 0; b < blocks;) {
        size_t vl = __riscv_vsetvl_e32m4(blocks - b);
        __riscv_vse32_v_f32m4(x_scales + b, halves(IN(int16_t, 3) + b, vl), vl);
        b += (long)vl;
    }
    vint8mf2_t table = __riscv_vle8_v_i8mf2(IN(int8_t, 4), 16);
    vint32m1_t zero = __riscv_vmv_v_x_i32m1(0, 1);
    for (; row + 4 <= rows; row += 4, q += 64 * blocks) {
        DOTS(FOUR)
        for (long i = 0; i < 4; i++)
            scaled_sum(dots[i], scales + (row + i) * blocks, blocks, y + row + i);
    }
    for (; row < rows; row++, q += 16 * blocks) {
        DOTS(ONE)
        scaled_sum(dots[0], scales + row * blocks, blocks, y + row);
    }
}

/* Attention of one token to keys and values of e4m3: scores, their softmax, and the mix of values.
 * Heads of 64, up to 8,192 tokens. */
#define HEAD 64
#define HALF 32
#define SMALL 0x1p120f /* what e4m3's numbers are too small by, when their bits are a float's */

static float weights[8192];

/* Halves of two tokens: the sign goes to bit 31, exponent and fraction to bit 20 and above. */
#define TWO_TOKENS(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define ONE_TOKEN(EACH) EACH(0) EACH(1)
#define BYTES(i) vint8m1_t b##i = __riscv_vle8_v_i8m1(bytes + HALF * (i), HALF);
#define WIDE(i) vint16m2_t h##i = __riscv_vwmul_vx_i16m2(b##i, 1 << 6, HALF);
#define WIDER(i) vint32m4_t w##i = __riscv_vwmul_vx_i32m4(h##i, 1 << 14, HALF);
#define CLEAN(i) w##i = __riscv_vand_vx_i32m4(w##i, (int32_t)0x87ffffff, HALF);
#define FLOAT(i) vfloat32m4_t x##i = __riscv_vreinterpret_v_i32m4_f32m4(w##i);
#define NUMBERS(ALL) ALL(BYTES) ALL(WIDE) ALL(WIDER) ALL(CLEAN) ALL(FLOAT)

static inline void scores_of(const float *q, float scale, const int8_t *bytes, long length) {
    vfloat32m4_t q0 = __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(q, HALF), scale, HALF);
    vfloat32m4_t q1 = __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(q + HALF, HALF), scale, HALF);
    long t = 0;
    for (; t + 2 <= length; t += 2, bytes += 2 * HEAD) {
        ahead(bytes + 8 * HEAD, 2 * HEAD);
        NUMBERS(TWO_TOKENS)
        x0 = __riscv_vfmul_vv_f32m4(x0, q0, HALF), x2 = __riscv_vfmul_vv_f32m4(x2, q0, HALF);
        x0 = __riscv_vfmacc_vv_f32m4(x0, x1, q1, HALF);
        x2 = __riscv_vfmacc_vv_f32m4(x2, x3, q1, HALF);
        store_sum(weights + t, x0), store_sum(weights + t + 1, x2);
    }
    if (t < length) {
        NUMBERS(ONE_TOKEN)
        x0 = __riscv_vfmul_vv_f32m4(x0, q0, HALF);
        store_sum(weights + t, __riscv_vfmacc_vv_f32m4(x0, x1, q1, HALF));
    }
}

/* Scores become e^(score - largest), and their sum comes back. */
static inline float weigh(long length) {
    size_t all = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t top = __riscv_vfmv_v_f_f32m4(-__builtin_inff(), all);
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
    for (long t = 0; t < length;) {
        size_t vl = __riscv_vsetvl_e32m4(length - t);
        top = __riscv_vfmax_vv_f32m4_tu(top, top, __riscv_vle32_v_f32m4(weights + t, vl), vl);
        t += (long)vl;
    }
    float largest = largest_m4(top, all);
    for (long t = 0; t < length;) {
        size_t vl = __riscv_vsetvl_e32m4(length - t);
        vfloat32m4_t x = __riscv_vle32_v_f32m4(weights + t, vl);
        x = exponential(__riscv_vfsub_vf_f32m4(x, largest, vl), vl);
        __riscv_vse32_v_f32m4(weights + t, x, vl);
        sum = __riscv_vfadd_vv_f32m4_tu(sum, sum, x, vl);
        t += (long)vl;
    }
    return sum_m4(sum, all);
}

static inline void mix(const int8_t *bytes, long length, float scale, float *out) {
    vfloat32m4_t low = __riscv_vfmv_v_f_f32m4(0, HALF), high = low;
    long t = 0;
    for (; t + 2 <= length; t += 2, bytes += 2 * HEAD) {
        float first = weights[t] * SMALL, second = weights[t + 1] * SMALL;
        ahead(bytes + 8 * HEAD, 2 * HEAD);
        NUMBERS(TWO_TOKENS)
        low = __riscv_vfmacc_vf_f32m4(low, first, x0, HALF);
        high = __riscv_vfmacc_vf_f32m4(high, first, x1, HALF);
        low = __riscv_vfmacc_vf_f32m4(low, second, x2, HALF);
        high = __riscv_vfmacc_vf_f32m4(high, second, x3, HALF);
    }
    if (t < length) {
        NUMBERS(ONE_TOKEN)
        low = __riscv_vfmacc_vf_f32m4(low, weights[t] * SMALL, x0, HALF);
        high = __riscv_vfmacc_vf_f32m4(high, weights[t] * SMALL, x1, HALF);
    }
    __riscv_vse32_v_f32m4(out, __riscv_vfmul_vf_f32m4(low, scale, HALF), HALF);
    __riscv_vse32_v_f32m4(out + HALF, __riscv_vfmul_vf_f32m4(high, scale, HALF), HALF);
}

static inline void fp8_kv_decode_rows(const uint64_t *args) {
    const float *k_scales = IN(float, 3), *v_scales = IN(float, 4);
    const int32_t *lengths = IN(int32_t, 5);
    long sequences = sizes[0], heads = INT(7), tokens = INT(8);
    float scale = as_float(args[9]);
    for (long row = 0; row < sequences * heads; row++) {
        long length = lengths[row / heads], head = row % heads;
        scores_of(IN(float, 0) + row * HEAD, scale * k_scales[head] * SMALL,
                  IN(int8_t, 1) + row * tokens * HEAD, length);
        ahead(IN(int8_t, 2) + row * tokens * HEAD, 8 * HEAD);
        float bottom = weigh(length);
        mix(IN(int8_t, 2) + row * tokens * HEAD, length, v_scales[head] / bottom,
            OUT(float, 6) + row * HEAD);
    }
}
