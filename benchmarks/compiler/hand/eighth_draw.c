/* The kernels of eighth_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions. One program does all the work. With -DAHEAD, the data of a
 * later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Bytes stay bytes: a distance is the larger less the smaller. */
static inline void absdiff_threshold(const uint64_t *args) {
    long n = INT(3), limit = INT(4);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e8m4(n - i);
        vuint8m4_t a = __riscv_vle8_v_u8m4(IN(uint8_t, 0) + i, vl);
        vuint8m4_t b = __riscv_vle8_v_u8m4(IN(uint8_t, 1) + i, vl);
        ahead(IN(uint8_t, 0) + i + 1024, (long)vl), ahead(IN(uint8_t, 1) + i + 1024, (long)vl);
        vuint8m4_t d = __riscv_vsub_vv_u8m4(__riscv_vmaxu_vv_u8m4(a, b, vl),
                                            __riscv_vminu_vv_u8m4(a, b, vl), vl);
        vuint8m4_t moved = __riscv_vmv_v_x_u8m4(limit < 0 ? 255 : 0, vl);
        if (limit >= 0 && limit < 255)
            moved = __riscv_vmerge_vxm_u8m4(
                moved, 255, __riscv_vmsgtu_vx_u8m4_b2(d, (uint8_t)limit, vl), vl);
        __riscv_vse8_v_u8m4(OUT(uint8_t, 2) + i, moved, vl);
        i += (long)vl;
    }
}

/* All pairs of one stretch have one direction; each stretch is walked in whole groups. */
static inline void bitonic_step(const uint64_t *args) {
    long n = INT(2), distance = INT(3), size = INT(4);
    for (long low = 0; low < n; low += 2 * distance) {
        const float *x = IN(float, 0) + low;
        float *least = OUT(float, 1) + low, *most = least + distance;
        if (low & size)
            least = most, most = OUT(float, 1) + low;
        for (long i = 0; i < distance;) {
            size_t vl = __riscv_vsetvl_e32m4(distance - i);
            vfloat32m4_t a = __riscv_vle32_v_f32m4(x + i, vl);
            vfloat32m4_t b = __riscv_vle32_v_f32m4(x + distance + i, vl);
            ahead(x + i + 512, 4 * (long)vl), ahead(x + distance + i + 512, 4 * (long)vl);
            __riscv_vse32_v_f32m4(least + i, __riscv_vfmin_vv_f32m4(a, b, vl), vl);
            __riscv_vse32_v_f32m4(most + i, __riscv_vfmax_vv_f32m4(a, b, vl), vl);
            i += (long)vl;
        }
    }
}

static inline void elu_backward(const uint64_t *args) {
    long n = INT(3);
    float alpha = as_float(args[4]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t dy = __riscv_vle32_v_f32m4(IN(float, 0) + i, vl);
        vfloat32m4_t x = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        ahead(IN(float, 0) + i + 512, 4 * (long)vl), ahead(IN(float, 1) + i + 512, 4 * (long)vl);
        vbool8_t is_above = __riscv_vmfgt_vf_f32m4_b8(x, 0, vl);
        vfloat32m4_t e = __riscv_vfmul_vf_f32m4(exponential(x, vl), alpha, vl);
        e = __riscv_vfmul_vv_f32m4(e, dy, vl);
        __riscv_vse32_v_f32m4(OUT(float, 2) + i, __riscv_vmerge_vvm_f32m4(e, dy, is_above, vl), vl);
        i += (long)vl;
    }
}

/* The mean first; then all three powers in one pass over a row that is in L1. */
static inline void row_moments(const uint64_t *args) {
    long rows = INT(2), n = INT(3);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            sum = __riscv_vfadd_vv_f32m4_tu(sum, sum, __riscv_vle32_v_f32m4(x + i, vl), vl);
            i += (long)vl;
        }
        float inverse = 1 / (float)n, mean = sum_m4(sum, all) * inverse;
        vfloat32m4_t s2 = __riscv_vfmv_v_f_f32m4(0, all), s3 = s2, s4 = s2;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t d = __riscv_vfsub_vf_f32m4(__riscv_vle32_v_f32m4(x + i, vl), mean, vl);
            ahead(x + n + i, 4 * (long)vl);
            vfloat32m4_t square = __riscv_vfmul_vv_f32m4(d, d, vl);
            s2 = __riscv_vfadd_vv_f32m4_tu(s2, s2, square, vl);
            s3 = __riscv_vfmacc_vv_f32m4_tu(s3, square, d, vl);
            s4 = __riscv_vfmacc_vv_f32m4_tu(s4, square, square, vl);
            i += (long)vl;
        }
        float variance = sum_m4(s2, all) * inverse;
        float *out = OUT(float, 1) + 4 * row;
        out[0] = mean, out[1] = variance;
        out[2] = sum_m4(s3, all) * inverse / (variance * __builtin_sqrtf(variance));
        out[3] = sum_m4(s4, all) * inverse / (variance * variance);
    }
}

/* Widening products of a tap and 64 samples, whose sums saturate by one narrowing. */
static inline void q15_fir(const uint64_t *args) {
    long n = INT(3), taps = sizes[1];
    const int16_t *x = IN(int16_t, 0), *h = IN(int16_t, 1);
    int16_t head[256];
    memset(head, 0, sizeof head);
    memcpy(head + 64, x, 64 * sizeof *x); /* taps up to 64; more than 64 samples */
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e16m4(i ? n - i : 64);
        const int16_t *from = i ? x + i : head + 64;
        vint32m8_t sum =
            __riscv_vwmul_vx_i32m8(__riscv_vle16_v_i16m4(from, vl), h[0], vl);
#pragma clang loop unroll(disable) /* else clang loads all taps' samples first, and spills */
        for (long k = 1; k < taps; k++)
            sum = __riscv_vwmacc_vx_i32m8(sum, h[k], __riscv_vle16_v_i16m4(from - k, vl), vl);
        ahead(x + i + 256, 2 * (long)vl);
        __riscv_vse16_v_i16m4(OUT(int16_t, 2) + i,
                              __riscv_vnclip_wx_i16m4(sum, 15, __RISCV_VXRM_RNU, vl), vl);
        i += (long)vl;
    }
}

/* Squares are added up as they lie, 128 of a frame in registers; pairs are joined at the end. */
static inline void power_spectrum(const uint64_t *args) {
    long frames = INT(2), n = 2 * (long)INT(3);
    float inverse = 1 / (float)frames, sums[1024];
    size_t all = __riscv_vsetvlmax_e32m4();
    long i = 0;
    for (; i + 4 * (long)all <= n; i += 4 * (long)all) {
        vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0, all), s1 = s0, s2 = s0, s3 = s0;
        for (long frame = 0; frame < frames; frame++) {
            const float *x = IN(float, 0) + frame * n + i;
            ahead(x + 3 * n, 16 * (long)all);
            vfloat32m4_t a = __riscv_vle32_v_f32m4(x, all);
            vfloat32m4_t b = __riscv_vle32_v_f32m4(x + all, all);
            vfloat32m4_t c = __riscv_vle32_v_f32m4(x + 2 * all, all);
            vfloat32m4_t d = __riscv_vle32_v_f32m4(x + 3 * all, all);
            s0 = __riscv_vfmacc_vv_f32m4(s0, a, a, all);
            s1 = __riscv_vfmacc_vv_f32m4(s1, b, b, all);
            s2 = __riscv_vfmacc_vv_f32m4(s2, c, c, all);
            s3 = __riscv_vfmacc_vv_f32m4(s3, d, d, all);
        }
        __riscv_vse32_v_f32m4(sums + i, s0, all);
        __riscv_vse32_v_f32m4(sums + i + all, s1, all);
        __riscv_vse32_v_f32m4(sums + i + 2 * all, s2, all);
        __riscv_vse32_v_f32m4(sums + i + 3 * all, s3, all);
    }
    while (i < n) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long frame = 0; frame < frames; frame++) {
            vfloat32m4_t x = __riscv_vle32_v_f32m4(IN(float, 0) + frame * n + i, vl);
            sum = __riscv_vfmacc_vv_f32m4(sum, x, x, vl);
        }
        __riscv_vse32_v_f32m4(sums + i, sum, vl);
        i += (long)vl;
    }
    for (i = 0; i < n / 2;) {
        size_t vl = __riscv_vsetvl_e32m4(n / 2 - i);
        vfloat32m4_t re = __riscv_vlse32_v_f32m4(sums + 2 * i, 8, vl);
        vfloat32m4_t im = __riscv_vlse32_v_f32m4(sums + 2 * i + 1, 8, vl);
        re = __riscv_vfmul_vf_f32m4(__riscv_vfadd_vv_f32m4(re, im, vl), inverse, vl);
        __riscv_vse32_v_f32m4(OUT(float, 1) + i, re, vl);
        i += (long)vl;
    }
}
