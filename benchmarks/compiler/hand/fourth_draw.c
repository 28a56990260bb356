/* The kernels of fourth_draw.py in RVV intrinsics, for bench_hand.py: written together in half
 * an hour, by somebody who knows the instructions. One program does all the work. With -DAHEAD, the
 * data of a later step is prefetched. */
#include "entry.h"

static inline float sum_m2(vfloat32m2_t values, size_t vl) {
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m2_f32m1(values, zero, vl));
}

/* Four keys at a time, so that their sums do not wait for one another; the query is in registers. */
static inline void masked_scores(const uint64_t *args) {
    long heads = sizes[0], n = INT(4), depth = sizes[2];
    float scale = as_float(args[5]);
    const uint8_t *keep = IN(uint8_t, 2);
    for (long head = 0; head < heads; head++) {
        const float *query = IN(float, 0) + head * depth, *keys = IN(float, 1) + head * n * depth;
        float *scores = OUT(float, 3) + head * n;
        for (long at = 0; at < n; at += 4) {
            const float *k0 = keys + at * depth, *k1 = k0 + depth, *k2 = k1 + depth, *k3 = k2 + depth;
            size_t all = __riscv_vsetvlmax_e32m2();
            vfloat32m2_t s0 = __riscv_vfmv_v_f_f32m2(0, all), s1 = s0, s2 = s0, s3 = s0;
            for (long i = 0; i < depth;) {
                size_t vl = __riscv_vsetvl_e32m2(depth - i);
                vfloat32m2_t q = __riscv_vle32_v_f32m2(query + i, vl);
                ahead(k0 + 4 * depth + i, 4 * (long)vl), ahead(k1 + 4 * depth + i, 4 * (long)vl);
                ahead(k2 + 4 * depth + i, 4 * (long)vl), ahead(k3 + 4 * depth + i, 4 * (long)vl);
                s0 = __riscv_vfmacc_vv_f32m2_tu(s0, q, __riscv_vle32_v_f32m2(k0 + i, vl), vl);
                s1 = __riscv_vfmacc_vv_f32m2_tu(s1, q, __riscv_vle32_v_f32m2(k1 + i, vl), vl);
                s2 = __riscv_vfmacc_vv_f32m2_tu(s2, q, __riscv_vle32_v_f32m2(k2 + i, vl), vl);
                s3 = __riscv_vfmacc_vv_f32m2_tu(s3, q, __riscv_vle32_v_f32m2(k3 + i, vl), vl);
                i += (long)vl;
            }
            scores[at] = keep[at] ? sum_m2(s0, all) * scale : -1e9f;
            scores[at + 1] = keep[at + 1] ? sum_m2(s1, all) * scale : -1e9f;
            scores[at + 2] = keep[at + 2] ? sum_m2(s2, all) * scale : -1e9f;
            scores[at + 3] = keep[at + 3] ? sum_m2(s3, all) * scale : -1e9f;
        }
    }
}

/* (t + 128 + 32768) >> 8 is t rounded and shifted, plus 128, of t between -32768 and 32639. */
static inline vuint8m1_t colour(vuint16m2_t more, vuint16m2_t less, size_t vl) {
    vuint16m2_t t = __riscv_vadd_vx_u16m2(__riscv_vsub_vv_u16m2(more, less, vl), 32768 + 128, vl);
    return __riscv_vnsrl_wx_u8m1(t, 8, vl);
}

/* All sums fit 16 bits. */
static inline void yuv_planes(const uint64_t *args) {
    long pixels = INT(4);
    for (long i = 0; i < pixels;) {
        size_t vl = __riscv_vsetvl_e8m1(pixels - i);
        vuint8m1x3_t rgb = __riscv_vlseg3e8_v_u8m1x3(IN(uint8_t, 0) + 3 * i, vl);
        ahead(IN(uint8_t, 0) + 3 * i + 9 * vl, 3 * (long)vl);
        vuint8m1_t red = __riscv_vget_v_u8m1x3_u8m1(rgb, 0);
        vuint8m1_t green = __riscv_vget_v_u8m1x3_u8m1(rgb, 1);
        vuint8m1_t blue = __riscv_vget_v_u8m1x3_u8m1(rgb, 2);
        vuint16m2_t y = __riscv_vwmulu_vx_u16m2(red, 66, vl);
        y = __riscv_vwmaccu_vx_u16m2(y, 129, green, vl);
        y = __riscv_vadd_vx_u16m2(__riscv_vwmaccu_vx_u16m2(y, 25, blue, vl), 128 + 4096, vl);
        vuint16m2_t less = __riscv_vwmulu_vx_u16m2(red, 38, vl);
        less = __riscv_vwmaccu_vx_u16m2(less, 74, green, vl);
        vuint8m1_t u = colour(__riscv_vwmulu_vx_u16m2(blue, 112, vl), less, vl);
        less = __riscv_vwmulu_vx_u16m2(green, 94, vl);
        less = __riscv_vwmaccu_vx_u16m2(less, 18, blue, vl);
        vuint8m1_t v = colour(__riscv_vwmulu_vx_u16m2(red, 112, vl), less, vl);
        __riscv_vse8_v_u8m1(OUT(uint8_t, 1) + i, __riscv_vnsrl_wx_u8m1(y, 8, vl), vl);
        __riscv_vse8_v_u8m1(OUT(uint8_t, 2) + i, u, vl);
        __riscv_vse8_v_u8m1(OUT(uint8_t, 3) + i, v, vl);
        i += (long)vl;
    }
}

/* A strip of channels goes along time with its mean in registers. */
static inline void decayed_mean(const uint64_t *args) {
    long steps = INT(3), channels = INT(4);
    for (long i = 0; i < channels;) {
        size_t vl = __riscv_vsetvl_e32m4(channels - i);
        vfloat32m4_t decay = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        vfloat32m4_t rest = __riscv_vfrsub_vf_f32m4(decay, 1, vl);
        vfloat32m4_t mean = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long step = 0; step < steps; step++) {
            const float *x = IN(float, 0) + step * channels + i;
            vfloat32m4_t share = __riscv_vfmul_vv_f32m4(__riscv_vle32_v_f32m4(x, vl), rest, vl);
            ahead(x + 4 * channels, 4 * (long)vl);
            mean = __riscv_vfmadd_vv_f32m4(mean, decay, share, vl);
            __riscv_vse32_v_f32m4(OUT(float, 2) + step * channels + i, mean, vl);
        }
        i += (long)vl;
    }
}

/* A comparison makes the bits, and a store of masks writes them as they are. */
static inline void pack_bits(const uint64_t *args) {
    long n = 8 * INT(3);
    float threshold = as_float(args[1]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m8(n - i);
        vfloat32m8_t x = __riscv_vle32_v_f32m8(IN(float, 0) + i, vl);
        ahead(IN(float, 0) + i + 4 * vl, 4 * (long)vl);
        __riscv_vsm_v_b4(OUT(uint8_t, 2) + i / 8, __riscv_vmfgt_vf_f32m8_b4(x, threshold, vl), vl);
        i += (long)vl;
    }
}

static inline vfloat32m8_t clipped(const float *x, float low, float high, size_t vl) {
    vfloat32m8_t values = __riscv_vfmax_vf_f32m8(__riscv_vle32_v_f32m8(x, vl), low, vl);
    return __riscv_vfmin_vf_f32m8(values, high, vl);
}

/* Twice over a row, which is in L1 the second time. */
static inline void clip_renormalise(const uint64_t *args) {
    long rows = sizes[0], n = INT(2);
    float low = as_float(args[3]), high = as_float(args[4]);
    size_t all = __riscv_vsetvlmax_e32m8();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        vfloat32m8_t total = __riscv_vfmv_v_f_f32m8(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            total = __riscv_vfadd_vv_f32m8_tu(total, total, clipped(x + i, low, high, vl), vl);
            i += (long)vl;
        }
        vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
        zero = __riscv_vfredusum_vs_f32m8_f32m1(total, zero, all);
        float inverse = 1 / __riscv_vfmv_f_s_f32m1_f32(zero);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t values = clipped(x + i, low, high, vl);
            ahead(x + n + i, 4 * (long)vl);
            values = __riscv_vfmul_vf_f32m8(values, inverse, vl);
            __riscv_vse32_v_f32m8(OUT(float, 1) + row * n + i, values, vl);
            i += (long)vl;
        }
    }
}

/* Coefficients stay in registers; two chains of multiply-adds hide their latency. */
static inline void horner(const uint64_t *args) {
    long n = INT(3);
    const float *c = IN(float, 1);
    size_t all = __riscv_vsetvlmax_e32m2();
    vfloat32m2_t c0 = __riscv_vfmv_v_f_f32m2(c[0], all), c1 = __riscv_vfmv_v_f_f32m2(c[1], all);
    vfloat32m2_t c2 = __riscv_vfmv_v_f_f32m2(c[2], all), c3 = __riscv_vfmv_v_f_f32m2(c[3], all);
    vfloat32m2_t c4 = __riscv_vfmv_v_f_f32m2(c[4], all), c5 = __riscv_vfmv_v_f_f32m2(c[5], all);
    vfloat32m2_t c6 = __riscv_vfmv_v_f_f32m2(c[6], all);
    for (long i = 0; i < n;) {
        // Both halves are whole but at the end, where they overlap.
        long left = n - i, begin = left < 2 * (long)all && n >= 2 * (long)all ? n - 2 * (long)all : i;
        size_t vl = n < 2 * (long)all ? __riscv_vsetvl_e32m2(left) : all;
        long next = n < 2 * (long)all ? 0 : (long)all;
        const float *x = IN(float, 0) + begin;
        float *out = OUT(float, 2) + begin;
        vfloat32m2_t a = __riscv_vle32_v_f32m2(x, vl), b = __riscv_vle32_v_f32m2(x + next, vl);
        ahead(x + 8 * all, 8 * (long)all);
        vfloat32m2_t y = __riscv_vfmadd_vf_f32m2(a, c[7], c6, vl);
        vfloat32m2_t z = __riscv_vfmadd_vf_f32m2(b, c[7], c6, vl);
#define STEP(coefficient)                                                                          \
    y = __riscv_vfmadd_vv_f32m2(y, a, coefficient, vl);                                            \
    z = __riscv_vfmadd_vv_f32m2(z, b, coefficient, vl);
        STEP(c5) STEP(c4) STEP(c3) STEP(c2) STEP(c1) STEP(c0)
        __riscv_vse32_v_f32m2(out, y, vl);
        __riscv_vse32_v_f32m2(out + next, z, vl);
        i += n < 2 * (long)all ? (long)vl : 2 * (long)all;
    }
}

/* Masks of bytes have as many lanes as registers of floats. */
static inline void relu_dropout_backward(const uint64_t *args) {
    long n = INT(4);
    float slope = as_float(args[5]), scale = as_float(args[6]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vuint8m1_t keep = __riscv_vle8_v_u8m1(IN(uint8_t, 1) + i, vl);
        vfloat32m4_t x = __riscv_vle32_v_f32m4(IN(float, 0) + i, vl);
        vfloat32m4_t grad = __riscv_vle32_v_f32m4(IN(float, 2) + i, vl);
        ahead(IN(uint8_t, 1) + i + 4 * vl, (long)vl);
        ahead(IN(float, 0) + i + 4 * vl, 4 * (long)vl), ahead(IN(float, 2) + i + 4 * vl, 4 * (long)vl);
        grad = __riscv_vfmul_vf_f32m4(grad, scale, vl);
        vbool8_t dropped = __riscv_vmseq_vx_u8m1_b8(keep, 0, vl);
        grad = __riscv_vfmerge_vfm_f32m4(grad, 0, dropped, vl);
        vbool8_t is_low = __riscv_vmfle_vf_f32m4_b8(x, 0, vl);
        grad = __riscv_vfmul_vf_f32m4_mu(is_low, grad, grad, slope, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + i, grad, vl);
        i += (long)vl;
    }
}

/* Two bytes are read as one number of 16 bits, whose halves are added. */
static inline vuint16m4_t pairs_of_row(const uint8_t *x, size_t vl) {
    vuint16m4_t both = __riscv_vle16_v_u16m4((const uint16_t *)x, vl);
    return __riscv_vadd_vv_u16m4(__riscv_vand_vx_u16m4(both, 255, vl),
                                 __riscv_vsrl_vx_u16m4(both, 8, vl), vl);
}

static inline void halve_bytes(const uint64_t *args) {
    long height = INT(2), width = INT(3);
    for (long row = 0; row < height; row++)
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e16m4(width - i);
            const uint8_t *x = IN(uint8_t, 0) + 4 * row * width + 2 * i;
            ahead(x + 4 * width, 2 * (long)vl), ahead(x + 6 * width, 2 * (long)vl);
            vuint16m4_t sum = pairs_of_row(x, vl);
            sum = __riscv_vadd_vv_u16m4(sum, pairs_of_row(x + 2 * width, vl), vl);
            sum = __riscv_vadd_vx_u16m4(sum, 2, vl);
            __riscv_vse8_v_u8m2(OUT(uint8_t, 1) + row * width + i, __riscv_vnsrl_wx_u8m2(sum, 2, vl),
                                vl);
            i += (long)vl;
        }
}

/* A strip goes down the rows with its scales and biases in registers. Conversions round down and
 * saturate. */
static inline void requantise_channels(const uint64_t *args) {
    long rows = INT(4), n = INT(5);
    int16_t zero = (int16_t)as_float(args[6]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t scale = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        vint32m4_t bias = __riscv_vle32_v_i32m4(IN(int32_t, 2) + i, vl);
        vfloat32m4_t half = __riscv_vfmv_v_f_f32m4(0.5f, vl);
        for (long row = 0; row < rows; row++) {
            const int32_t *sums = IN(int32_t, 0) + row * n + i;
            vint32m4_t sum = __riscv_vadd_vv_i32m4(__riscv_vle32_v_i32m4(sums, vl), bias, vl);
            ahead(sums + 4 * n, 4 * (long)vl);
            vfloat32m4_t q = __riscv_vfcvt_f_x_v_f32m4(sum, vl);
            q = __riscv_vfmadd_vv_f32m4(q, scale, half, vl);
            vint16m2_t down = __riscv_vfncvt_x_f_w_i16m2_rm(q, __RISCV_FRM_RDN, vl);
            down = __riscv_vsadd_vx_i16m2(down, zero, vl);
            vint8m1_t bytes = __riscv_vnclip_wx_i8m1(down, 0, __RISCV_VXRM_RDN, vl);
            __riscv_vse8_v_i8m1(OUT(int8_t, 3) + row * n + i, bytes, vl);
        }
        i += (long)vl;
    }
}

/* A strip of columns goes down the rows with both sums in registers. */
static inline void batch_statistics(const uint64_t *args) {
    long rows = INT(3), n = INT(4);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, vl), squares = total;
        for (long row = 0; row < rows; row++) {
            const float *start = IN(float, 0) + row * n + i;
            vfloat32m4_t x = __riscv_vle32_v_f32m4(start, vl);
            ahead(start + 4 * n, 4 * (long)vl);
            total = __riscv_vfadd_vv_f32m4(total, x, vl);
            squares = __riscv_vfmacc_vv_f32m4(squares, x, x, vl);
        }
        float share = 1 / (float)rows;
        total = __riscv_vfmul_vf_f32m4(total, share, vl);
        squares = __riscv_vfmul_vf_f32m4(squares, share, vl);
        squares = __riscv_vfnmsac_vv_f32m4(squares, total, total, vl);
        __riscv_vse32_v_f32m4(OUT(float, 1) + i, total, vl);
        __riscv_vse32_v_f32m4(OUT(float, 2) + i, squares, vl);
        i += (long)vl;
    }
}
