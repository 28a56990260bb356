/* The kernels of eleventh_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Roots of 64 rows are taken at once. */
static inline void triplet_margin(const uint64_t *args) {
    static float nears[64], fars[64];
    long rows = sizes[0], d = INT(4);
    float margin = as_float(args[5]), eps = as_float(args[6]);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long first = 0; first < rows; first += 64) {
        long end = first + 64 < rows ? first + 64 : rows;
        for (long row = first; row < end; row++) {
            vfloat32m4_t near = __riscv_vfmv_v_f_f32m4(0, all), far = near;
            for (long i = 0; i < d;) {
                size_t vl = __riscv_vsetvl_e32m4(d - i);
                long at = row * d + i;
                vfloat32m4_t anchor = READ(IN(float, 0) + at);
                vfloat32m4_t positive = READ(IN(float, 1) + at);
                vfloat32m4_t negative = READ(IN(float, 2) + at);
                for (long k = 0; k < 3; k++)
                    ahead(IN(float, k) + at + 128, VLEN / 2);
                positive = __riscv_vfsub_vv_f32m4(anchor, positive, vl);
                negative = __riscv_vfsub_vv_f32m4(anchor, negative, vl);
                positive = __riscv_vfadd_vf_f32m4(positive, eps, vl);
                negative = __riscv_vfadd_vf_f32m4(negative, eps, vl);
                near = __riscv_vfmacc_vv_f32m4_tu(near, positive, positive, vl);
                far = __riscv_vfmacc_vv_f32m4_tu(far, negative, negative, vl);
                i += (long)vl;
            }
            store_sum(nears + row - first, near), store_sum(fars + row - first, far);
        }
        for (long i = 0; i < end - first;) {
            size_t vl = __riscv_vsetvl_e32m4(end - first - i);
            vfloat32m4_t near = __riscv_vfsqrt_v_f32m4(READ(nears + i), vl);
            vfloat32m4_t far = __riscv_vfsqrt_v_f32m4(READ(fars + i), vl);
            near = __riscv_vfadd_vf_f32m4(__riscv_vfsub_vv_f32m4(near, far, vl), margin, vl);
            near = __riscv_vfmax_vf_f32m4(near, 0, vl);
            __riscv_vse32_v_f32m4(OUT(float, 3) + first + i, near, vl);
            i += (long)vl;
        }
    }
}

/* The 16 weights of a group are computed once and split in bytes, since bytes are gathered four
 * times as fast as floats; four bytes come together in a store. Up to two registers of bytes. */
static inline void dequantise(const uint8_t *packed, vfloat32m2_t code, float absmax, uint8_t *out,
                              size_t pairs, size_t vl, size_t vl2) {
    vfloat32m2_t weights = __riscv_vfmul_vf_f32m2(code, absmax, 16);
    vuint32m2_t bits = __riscv_vreinterpret_v_f32m2_u32m2(weights);
    ahead(packed + 512, VLEN / 8);
    vuint8m1_t pair = __riscv_vle8_v_u8m1(packed, pairs);
    vuint8m1_t second = __riscv_vand_vx_u8m1(pair, 15, pairs);
    pair = __riscv_vsrl_vx_u8m1(pair, 4, pairs);
    vuint16m1_t low = __riscv_vnsrl_wx_u16m1(bits, 0, 16);
    vuint16m1_t high = __riscv_vnsrl_wx_u16m1(bits, 16, 16);
#define BYTES(from, shift) __riscv_vlmul_ext_v_u8mf2_u8m1(__riscv_vnsrl_wx_u8mf2(from, shift, 16))
    vuint8m1_t b0 = BYTES(low, 0), b1 = BYTES(low, 8), b2 = BYTES(high, 0), b3 = BYTES(high, 8);
    vuint16m2_t both = __riscv_vwaddu_vv_u16m2(pair, second, pairs);
    both = __riscv_vwmaccu_vx_u16m2(both, 255, second, pairs);
    vuint8m2_t places = __riscv_vreinterpret_v_u16m2_u8m2(both);
    vuint8m1_t at = __riscv_vget_v_u8m2_u8m1(places, 0), at2 = __riscv_vget_v_u8m2_u8m1(places, 1);
#define FOUR(at, vl)                                                                               \
    __riscv_vcreate_v_u8m1x4(                                                                      \
        __riscv_vrgather_vv_u8m1(b0, at, vl), __riscv_vrgather_vv_u8m1(b1, at, vl),                \
        __riscv_vrgather_vv_u8m1(b2, at, vl), __riscv_vrgather_vv_u8m1(b3, at, vl))
    __riscv_vsseg4e8_v_u8m1x4(out, FOUR(at, vl), vl);
    __riscv_vsseg4e8_v_u8m1x4(out + 4 * vl, FOUR(at2, vl2), vl2);
}

static inline void nf4_dequantise(const uint64_t *args) {
    long n = INT(4), group = sizes[1], whole = (long)__riscv_vsetvlmax_e8m1();
    vfloat32m2_t code = __riscv_vle32_v_f32m2(IN(float, 1), 16);
    for (long first = 0, of = 0; first < n; first += group, of++) {
        long end = first + group < n ? first + group : n;
        float absmax = IN(float, 2)[of];
        for (long i = first; i < end; i += 2 * whole) {
            const uint8_t *packed = IN(uint8_t, 0) + i / 2;
            uint8_t *out = OUT(uint8_t, 3) + 4 * i;
            if (i + 2 * whole <= end) {
                dequantise(packed, code, absmax, out, (size_t)whole, (size_t)whole, (size_t)whole);
            } else {
                long vl = end - i < whole ? end - i : whole, rest = end - i - vl;
                dequantise(packed, code, absmax, out, (size_t)(end - i) / 2, (size_t)vl,
                           (size_t)rest);
            }
        }
    }
}

/* Four numbers that lie side by side go to the four quarters of a row. Offsets of each fourth
 * number are in a list, that doubles bit by bit. From 8 to 8,192 complex numbers of eight bytes. */
static inline void bit_reverse_permute(const uint64_t *args) {
    static uint16_t offsets[2048];
    long rows = sizes[0], n = INT(2), quarter = n / 4;
    for (long known = 1, more = 4 * n; known < quarter; known *= 2, more /= 2) {
        for (long i = 0; i < known;) {
            size_t vl = __riscv_vsetvl_e16m4(known - i);
            vuint16m4_t offset = __riscv_vle16_v_u16m4(offsets + i, vl);
            offset = __riscv_vadd_vx_u16m4(offset, (uint16_t)more, vl);
            __riscv_vse16_v_u16m4(offsets + known + i, offset, vl);
            i += (long)vl;
        }
    }
    ahead(IN(uint64_t, 0), 8 * n);
    for (long row = 0; row < rows; row++) {
        const uint64_t *x = IN(uint64_t, 0) + row * n;
        uint64_t *y = OUT(uint64_t, 1) + row * n;
        for (long i = 0; i < quarter;) {
            size_t vl = __riscv_vsetvl_e64m2(quarter - i);
            vuint16mf2_t offset = __riscv_vle16_v_u16mf2(offsets + i, vl);
            vuint64m2x4_t four = __riscv_vluxseg4ei16_v_u64m2x4(x, offset, vl);
            ahead(x + n + 4 * i, VLEN);
            __riscv_vse64_v_u64m2(y + i, __riscv_vget_v_u64m2x4_u64m2(four, 0), vl);
            __riscv_vse64_v_u64m2(y + i + 2 * quarter, __riscv_vget_v_u64m2x4_u64m2(four, 1), vl);
            __riscv_vse64_v_u64m2(y + i + quarter, __riscv_vget_v_u64m2x4_u64m2(four, 2), vl);
            __riscv_vse64_v_u64m2(y + i + 3 * quarter, __riscv_vget_v_u64m2x4_u64m2(four, 3), vl);
            i += (long)vl;
        }
    }
}

/* A product that widens, and the sum with itself, take half the time of an extension and a shift by
 * 16. Two strips at a time hide each other's latency. */
static inline void average(const float *ema, const uint16_t *weight, float *out, float decay,
                           size_t vl, size_t vl2) {
    vuint16m2_t high1 = __riscv_vle16_v_u16m2(weight, vl);
    vuint16m2_t high2 = __riscv_vle16_v_u16m2(weight + vl, vl2);
    ahead(weight + 512, VLEN / 2);
    vuint32m4_t bits1 = __riscv_vwmulu_vx_u32m4(high1, 1 << 15, vl);
    vfloat32m4_t ema1 = __riscv_vle32_v_f32m4(ema, vl);
    vuint32m4_t bits2 = __riscv_vwmulu_vx_u32m4(high2, 1 << 15, vl2);
    vfloat32m4_t ema2 = __riscv_vle32_v_f32m4(ema + vl, vl2);
    ahead(ema + 512, VLEN);
    bits1 = __riscv_vadd_vv_u32m4(bits1, bits1, vl);
    ema1 = __riscv_vfmul_vf_f32m4(ema1, decay, vl);
    bits2 = __riscv_vadd_vv_u32m4(bits2, bits2, vl2);
    ema2 = __riscv_vfmul_vf_f32m4(ema2, decay, vl2);
    vfloat32m4_t weight1 = __riscv_vreinterpret_v_u32m4_f32m4(bits1);
    vfloat32m4_t weight2 = __riscv_vreinterpret_v_u32m4_f32m4(bits2);
    ema1 = __riscv_vfmacc_vf_f32m4(ema1, 1 - decay, weight1, vl);
    ema2 = __riscv_vfmacc_vf_f32m4(ema2, 1 - decay, weight2, vl2);
    __riscv_vse32_v_f32m4(out, ema1, vl), __riscv_vse32_v_f32m4(out + vl, ema2, vl2);
}

static inline void ema_of_weights(const uint64_t *args) {
    const float *ema = IN(float, 0);
    const uint16_t *weight = IN(uint16_t, 1);
    float *out = OUT(float, 3);
    long n = INT(4), i = 0, all = (long)__riscv_vsetvlmax_e32m4();
    float step = (float)IN(int32_t, 2)[0], decay = (1 + step) / (10 + step);
    decay = decay < as_float(args[5]) ? decay : as_float(args[5]);
    for (; i + 2 * all <= n; i += 2 * all)
        average(ema + i, weight + i, out + i, decay, (size_t)all, (size_t)all);
    size_t vl = __riscv_vsetvl_e32m4(n - i);
    average(ema + i, weight + i, out + i, decay, vl, __riscv_vsetvl_e32m4(n - i - (long)vl));
}

/* 1 / x, whose steps of Newton need no copies of constants. */
static inline vfloat32m4_t inverse(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t y = __riscv_vfrec7_v_f32m4(x, vl);
    for (int step = 0; step < 2; step++) {
        vfloat32m4_t product = __riscv_vfmul_vv_f32m4(x, y, vl);
        y = __riscv_vfmul_vv_f32m4(y, __riscv_vfrsub_vf_f32m4(product, 2, vl), vl);
    }
    return y;
}

/* The root of x from 1e-30 on, by its reciprocal of 7 bits and two steps of Goldschmidt. */
static inline vfloat32m4_t root(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t half = __riscv_vfrsqrt7_v_f32m4(x, vl);
    vfloat32m4_t y = __riscv_vfmul_vv_f32m4(x, half, vl);
    half = __riscv_vfmul_vf_f32m4(half, 0.5f, vl);
    vfloat32m4_t rest = __riscv_vfmul_vv_f32m4(y, half, vl);
    rest = __riscv_vfrsub_vf_f32m4(rest, 0.5f, vl);
    y = __riscv_vfmacc_vv_f32m4(y, y, rest, vl);
    half = __riscv_vfmacc_vv_f32m4(half, half, rest, vl);
    x = __riscv_vfnmsac_vv_f32m4(x, y, y, vl);
    return __riscv_vfmacc_vv_f32m4(y, half, x, vl);
}

static inline void lamb_trust_ratio(const uint64_t *args) {
    long layers = sizes[0];
    float scale_m = as_float(args[6]), scale_v = as_float(args[7]);
    float decay = as_float(args[8]), eps = as_float(args[9]);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long layer = 0; layer < layers; layer++) {
        long i = IN(int32_t, 3)[layer], end = IN(int32_t, 3)[layer + 1];
        vfloat32m4_t weights = __riscv_vfmv_v_f_f32m4(0, all), updates = weights;
        while (i < end) {
            size_t vl = __riscv_vsetvl_e32m4(end - i);
            vfloat32m4_t v = __riscv_vfmul_vf_f32m4(READ(IN(float, 2) + i), scale_v, vl);
            for (long k = 0; k < 3; k++)
                ahead(IN(float, k) + i + 128, VLEN / 2);
            v = root(__riscv_vfmax_vf_f32m4(v, 1e-30f, vl), vl);
            v = inverse(__riscv_vfadd_vf_f32m4(v, eps, vl), vl);
            vfloat32m4_t m = __riscv_vfmul_vf_f32m4(READ(IN(float, 1) + i), scale_m, vl);
            vfloat32m4_t weight = READ(IN(float, 0) + i);
            v = __riscv_vfmul_vv_f32m4(v, m, vl);
            weights = __riscv_vfmacc_vv_f32m4_tu(weights, weight, weight, vl);
            v = __riscv_vfmacc_vf_f32m4(v, decay, weight, vl);
            __riscv_vse32_v_f32m4(OUT(float, 4) + i, v, vl);
            updates = __riscv_vfmacc_vv_f32m4_tu(updates, v, v, vl);
            i += (long)vl;
        }
        float weight_norm = __builtin_sqrtf(sum_m4(weights, all));
        float update_norm = __builtin_sqrtf(sum_m4(updates, all));
        int is_usual = weight_norm > 0 && update_norm > 0;
        OUT(float, 5)[layer] = is_usual ? weight_norm / update_norm : 1;
    }
}

/* Pixels of a class are counted by their mask. */
static inline void dice_loss(const uint64_t *args) {
    long images = sizes[0], classes = INT(3), pixels = INT(4);
    float smooth = as_float(args[5]);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long plane = 0; plane < images * classes; plane++) {
        const float *logits = IN(float, 0) + plane * pixels;
        const uint8_t *labels = IN(uint8_t, 1) + plane / classes * pixels;
        vfloat32m4_t overlap = __riscv_vfmv_v_f_f32m4(0, all), sum = overlap;
        long count = 0;
        for (long i = 0; i < pixels;) {
            size_t vl = __riscv_vsetvl_e32m4(pixels - i);
            vfloat32m4_t x = __riscv_vfmul_vf_f32m4(READ(logits + i), -1.44269504f, vl);
            ahead(logits + i + 128, VLEN / 2), ahead(labels + i + 256, VLEN / 8);
            x = __riscv_vfadd_vf_f32m4(power_of_two(__riscv_vfmin_vf_f32m4(x, 126, vl), vl), 1, vl);
            vuint8m1_t label = __riscv_vle8_v_u8m1(labels + i, vl);
            vbool8_t is_one = __riscv_vmseq_vx_u8m1_b8(label, (uint8_t)(plane % classes), vl);
            x = inverse(x, vl);
            count += (long)__riscv_vcpop_m_b8(is_one, vl);
            sum = __riscv_vfadd_vv_f32m4_tu(sum, sum, x, vl);
            overlap = __riscv_vfadd_vv_f32m4_tumu(is_one, overlap, overlap, x, vl);
            i += (long)vl;
        }
        float share = (2 * sum_m4(overlap, all) + smooth) /
                      (sum_m4(sum, all) + (float)count + smooth);
        OUT(float, 2)[plane] = 1 - share;
    }
}
