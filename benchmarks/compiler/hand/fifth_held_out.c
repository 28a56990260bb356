/* The kernels of fifth_held_out.py in RVV intrinsics, for bench_hand.py: written by somebody
 * who knows the instructions. One program does all the work. With -DAHEAD, the data of a later step
 * is prefetched. */
#include "entry.h"

/* A group is eight registers: its largest magnitude, and its elements as bytes. */
static inline void quantise_groups_absmax(const uint64_t *args) {
    long groups = INT(3), size = sizes[1];
    size_t vl = __riscv_vsetvl_e32m8(size);
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    for (long group = 0; group < groups; group++) {
        const float *x = IN(float, 0) + group * size;
        vfloat32m8_t values = __riscv_vle32_v_f32m8(x, vl);
        ahead(x + 4 * size, 4 * size);
        vfloat32m8_t sizes_ = __riscv_vfabs_v_f32m8(values, vl);
        float largest =
            __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmax_vs_f32m8_f32m1(sizes_, zero, vl));
        float scale = (largest > 1e-8f ? largest : 1e-8f) / 127;
        vfloat32m8_t q = __riscv_vfmul_vf_f32m8(sizes_, 1 / scale, vl);
        q = __riscv_vfadd_vf_f32m8(q, 0.5f, vl);
        vint16m4_t whole = __riscv_vfncvt_x_f_w_i16m4_rm(q, __RISCV_FRM_RDN, vl);
        vbool4_t is_low = __riscv_vmflt_vf_f32m8_b4(values, 0, vl);
        whole = __riscv_vrsub_vx_i16m4_mu(is_low, whole, whole, 0, vl);
        __riscv_vse8_v_i8m2(OUT(int8_t, 1) + group * size, __riscv_vnsra_wx_i8m2(whole, 0, vl), vl);
        OUT(float, 2)[group] = scale;
    }
}

/* A strip of the result stays in registers for all rows of a bag, which are read two at a time. */
static inline void weighted_embedding_bag(const uint64_t *args) {
    long bags = sizes[0], depth = INT(5);
    const int32_t *ids = IN(int32_t, 1), *offsets = IN(int32_t, 3);
    const float *weights = IN(float, 2);
    for (long bag = 0; bag < bags; bag++)
        for (long i = 0; i < depth;) {
            size_t vl = __riscv_vsetvl_e32m8(depth - i);
            vfloat32m8_t total = __riscv_vfmv_v_f_f32m8(0, vl);
            long at = offsets[bag], end = offsets[bag + 1];
            for (; at < end; at++) {
                const float *row = IN(float, 0) + ids[at] * depth + i;
                ahead(IN(float, 0) + ids[at + 2] * depth + i, 4 * (long)vl);
                total = __riscv_vfmacc_vf_f32m8(total, weights[at],
                                                __riscv_vle32_v_f32m8(row, vl), vl);
            }
            __riscv_vse32_v_f32m8(OUT(float, 4) + bag * depth + i, total, vl);
            i += (long)vl;
        }
}

/* Two neighbours are one number of 64 bits, which narrowing shifts take apart. */
static inline void haar_wavelet_step(const uint64_t *args) {
    long rows = sizes[0], half = INT(3);
    for (long row = 0; row < rows; row++)
        for (long i = 0; i < half;) {
            size_t vl = __riscv_vsetvl_e32m4(half - i);
            const float *x = IN(float, 0) + 2 * (row * half + i);
            vuint64m8_t both = __riscv_vreinterpret_v_u32m8_u64m8(
                __riscv_vle32_v_u32m8((const uint32_t *)x, 2 * vl));
            ahead(x + 4 * vl, 8 * (long)vl);
            vfloat32m4_t even = __riscv_vreinterpret_v_u32m4_f32m4(
                __riscv_vnsrl_wx_u32m4(both, 0, vl));
            vfloat32m4_t odd = __riscv_vreinterpret_v_u32m4_f32m4(
                __riscv_vnsrl_wx_u32m4(both, 32, vl));
            vfloat32m4_t low = __riscv_vfadd_vv_f32m4(even, odd, vl);
            vfloat32m4_t high = __riscv_vfsub_vv_f32m4(even, odd, vl);
            low = __riscv_vfmul_vf_f32m4(low, 0.70710678f, vl);
            high = __riscv_vfmul_vf_f32m4(high, 0.70710678f, vl);
            __riscv_vse32_v_f32m4(OUT(float, 1) + row * half + i, low, vl);
            __riscv_vse32_v_f32m4(OUT(float, 2) + row * half + i, high, vl);
            i += (long)vl;
        }
}

/* Sums of 32 bits are clipped twice, to 16 and to 8 bits, and stored in segments. */
static inline vuint8mf2_t colour(vint32m2_t sum, size_t vl) {
    sum = __riscv_vmax_vx_i32m2(sum, 0, vl);
    vuint16m1_t half =
        __riscv_vnclipu_wx_u16m1(__riscv_vreinterpret_v_i32m2_u32m2(sum), 8, __RISCV_VXRM_RDN, vl);
    return __riscv_vnclipu_wx_u8mf2(half, 0, __RISCV_VXRM_RDN, vl);
}

static inline vint16m1_t centred(const uint8_t *bytes, int16_t centre, size_t vl) {
    vuint16m1_t wide = __riscv_vzext_vf2_u16m1(__riscv_vle8_v_u8mf2(bytes, vl), vl);
    return __riscv_vsub_vx_i16m1(__riscv_vreinterpret_v_u16m1_i16m1(wide), centre, vl);
}

static inline void yuv_to_rgb_interleaved(const uint64_t *args) {
    long pixels = INT(4);
    for (long i = 0; i < pixels;) {
        size_t vl = __riscv_vsetvl_e8mf2(pixels - i);
        vint16m1_t u = centred(IN(uint8_t, 1) + i, 128, vl), v = centred(IN(uint8_t, 2) + i, 128, vl);
        vint32m2_t y = __riscv_vwmul_vx_i32m2(centred(IN(uint8_t, 0) + i, 16, vl), 298, vl);
        ahead(IN(uint8_t, 0) + i + 128, 1), ahead(IN(uint8_t, 1) + i + 128, 1);
        ahead(IN(uint8_t, 2) + i + 128, 1);
        y = __riscv_vadd_vx_i32m2(y, 128, vl);
        vint32m2_t green = __riscv_vwmacc_vx_i32m2(y, -100, u, vl);
        vuint8mf2x3_t rgb = __riscv_vcreate_v_u8mf2x3(
            colour(__riscv_vwmacc_vx_i32m2(y, 409, v, vl), vl),
            colour(__riscv_vwmacc_vx_i32m2(green, -208, v, vl), vl),
            colour(__riscv_vwmacc_vx_i32m2(y, 516, u, vl), vl));
        __riscv_vsseg3e8_v_u8mf2x3(OUT(uint8_t, 3) + 3 * i, rgb, vl);
        i += (long)vl;
    }
}

static inline float sum_m2(vfloat32m2_t values, size_t vl) {
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m2_f32m1(values, zero, vl));
}

/* Two outputs of three tokens each are six sums, for which the weight is read once. */
static inline void matvec_few_rows(const uint64_t *args) {
    long outputs = INT(3), depth = INT(4);
    const float *x0 = IN(float, 0), *x1 = x0 + depth, *x2 = x1 + depth;
    size_t all = __riscv_vsetvlmax_e32m2();
    for (long n = 0; n < outputs; n += 2) {
        const float *w0 = IN(float, 1) + n * depth, *w1 = w0 + depth;
        vfloat32m2_t s0 = __riscv_vfmv_v_f_f32m2(0, all), s1 = s0, s2 = s0, t0 = s0, t1 = s0, t2 = s0;
        for (long i = 0; i < depth;) {
            size_t vl = __riscv_vsetvl_e32m2(depth - i);
            vfloat32m2_t a = __riscv_vle32_v_f32m2(w0 + i, vl), b = __riscv_vle32_v_f32m2(w1 + i, vl);
            ahead(w0 + 2 * depth + i, 4 * (long)vl), ahead(w1 + 2 * depth + i, 4 * (long)vl);
            vfloat32m2_t x = __riscv_vle32_v_f32m2(x0 + i, vl), y = __riscv_vle32_v_f32m2(x1 + i, vl);
            vfloat32m2_t z = __riscv_vle32_v_f32m2(x2 + i, vl);
            s0 = __riscv_vfmacc_vv_f32m2_tu(s0, a, x, vl);
            t0 = __riscv_vfmacc_vv_f32m2_tu(t0, b, x, vl);
            s1 = __riscv_vfmacc_vv_f32m2_tu(s1, a, y, vl);
            t1 = __riscv_vfmacc_vv_f32m2_tu(t1, b, y, vl);
            s2 = __riscv_vfmacc_vv_f32m2_tu(s2, a, z, vl);
            t2 = __riscv_vfmacc_vv_f32m2_tu(t2, b, z, vl);
            i += (long)vl;
        }
        float *y = OUT(float, 2) + n;
        y[0] = sum_m2(s0, all), y[1] = sum_m2(t0, all);
        y[outputs] = sum_m2(s1, all), y[outputs + 1] = sum_m2(t1, all);
        y[2 * outputs] = sum_m2(s2, all), y[2 * outputs + 1] = sum_m2(t2, all);
    }
}

/* Of nine: largest of two, of four, and of eight neighbours, each from the one before by a slide; the
 * last nine lanes of a run are not complete, and begin the next one. */
static inline void windowed_max(const uint64_t *args) {
    long rows = sizes[0], n = INT(2), out = INT(3), window = sizes[2];
    for (long row = 0; row < rows; row++)
        for (long i = 0; i < out;) {
            const float *x = IN(float, 0) + row * n + i;
            size_t vl = __riscv_vsetvl_e32m8(out - i + window - 1);
            vfloat32m8_t one = __riscv_vle32_v_f32m8(x, vl), most = one;
            ahead(x + 64, 256);
#define WIDER(by) most = __riscv_vfmax_vv_f32m8(most, __riscv_vslidedown_vx_f32m8(most, by, vl), vl);
            WIDER(1) WIDER(2) WIDER(4)
            most = __riscv_vfmax_vv_f32m8(most, __riscv_vslidedown_vx_f32m8(one, 8, vl), vl);
            size_t done = vl - (size_t)window + 1;
            __riscv_vse32_v_f32m8(OUT(float, 1) + row * out + i, most, done);
            i += (long)done;
        }
}
