/* Functions of registers that kernels in intrinsics share. */
#ifndef HAND_VECTOR_MATH_H
#define HAND_VECTOR_MATH_H

#include <riscv_vector.h>

static inline float sum_m4(vfloat32m4_t values, size_t vl) {
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m4_f32m1(values, zero, vl));
}

static inline float largest_m4(vfloat32m4_t values, size_t vl) {
    vfloat32m1_t low = __riscv_vfmv_s_f_f32m1(-__builtin_inff(), 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmax_vs_f32m4_f32m1(values, low, vl));
}

/* The sum of four registers, which is stored and not waited for. */
static inline void store_sum(float *to, vfloat32m4_t values) {
    size_t all = __riscv_vsetvlmax_e32m2(), one = __riscv_vsetvlmax_e32m1();
    vfloat32m2_t half = __riscv_vfadd_vv_f32m2(__riscv_vget_v_f32m4_f32m2(values, 0),
                                               __riscv_vget_v_f32m4_f32m2(values, 1), all);
    vfloat32m1_t quarter = __riscv_vfadd_vv_f32m1(__riscv_vget_v_f32m2_f32m1(half, 0),
                                                  __riscv_vget_v_f32m2_f32m1(half, 1), one);
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    __riscv_vse32_v_f32m1(to, __riscv_vfredusum_vs_f32m1_f32m1(quarter, zero, one), 1);
}

/* e^x for x up to 88: 2^n by the exponent's bits, times a polynomial of degree 5 in the rest. */
static inline vfloat32m4_t exponential(vfloat32m4_t x, size_t vl) {
    x = __riscv_vfmax_vf_f32m4(__riscv_vfmin_vf_f32m4(x, 88.0f, vl), -87.0f, vl);
    vint32m4_t n = __riscv_vfcvt_x_f_v_i32m4(__riscv_vfmul_vf_f32m4(x, 1.44269504f, vl), vl);
    vfloat32m4_t whole = __riscv_vfcvt_f_x_v_f32m4(n, vl);
    x = __riscv_vfnmsac_vf_f32m4(x, 0.693359375f, whole, vl);
    x = __riscv_vfnmsac_vf_f32m4(x, -2.12194440e-4f, whole, vl);
    vfloat32m4_t p = __riscv_vfmv_v_f_f32m4(8.3333333e-3f, vl);
    p = __riscv_vfmadd_vv_f32m4(p, x, __riscv_vfmv_v_f_f32m4(4.1666667e-2f, vl), vl);
    p = __riscv_vfmadd_vv_f32m4(p, x, __riscv_vfmv_v_f_f32m4(1.6666667e-1f, vl), vl);
    p = __riscv_vfmadd_vv_f32m4(p, x, __riscv_vfmv_v_f_f32m4(5.0e-1f, vl), vl);
    p = __riscv_vfmadd_vv_f32m4(p, x, __riscv_vfmv_v_f_f32m4(1, vl), vl);
    p = __riscv_vfmadd_vv_f32m4(p, x, __riscv_vfmv_v_f_f32m4(1, vl), vl);
    vint32m4_t bits = __riscv_vreinterpret_v_f32m4_i32m4(p);
    bits = __riscv_vadd_vv_i32m4(bits, __riscv_vsll_vx_i32m4(n, 23, vl), vl);
    return __riscv_vreinterpret_v_i32m4_f32m4(bits);
}

/* One step of a polynomial p in x. */
#define TERM(c) p = __riscv_vfadd_vf_f32m4(__riscv_vfmul_vv_f32m4(p, x, vl), c, vl);

/* 2^x for x from -126 up to 127, exclusive. Adding 1.5 * 2^23 rounds, and its bits times 2^23 are the
 * exponent's. */
static inline vfloat32m4_t power_of_two(vfloat32m4_t x, size_t vl) {
    x = __riscv_vfmax_vf_f32m4(x, -126, vl);
    vfloat32m4_t moved = __riscv_vfadd_vf_f32m4(x, 0x1.8p23f, vl);
    x = __riscv_vfsub_vv_f32m4(x, __riscv_vfsub_vf_f32m4(moved, 0x1.8p23f, vl), vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(x, 1.326697039e-3f, vl);
    p = __riscv_vfadd_vf_f32m4(p, 9.675459746e-3f, vl);
    TERM(5.550742616e-2f) TERM(2.402212175e-1f) TERM(6.931469492e-1f) TERM(1)
    vint32m4_t bits = __riscv_vreinterpret_v_f32m4_i32m4(p);
    bits = __riscv_vmacc_vx_i32m4(bits, 1 << 23, __riscv_vreinterpret_v_f32m4_i32m4(moved), vl);
    return __riscv_vreinterpret_v_i32m4_f32m4(bits);
}

/* log of numbers from 1 on: the exponent, and a polynomial of the rest around 1. Coefficients as in
 * Cephes' logf. */
static inline vfloat32m4_t logarithm(vfloat32m4_t x, size_t vl) {
    vint32m4_t bits = __riscv_vreinterpret_v_f32m4_i32m4(x);
    vint32m4_t shifted = __riscv_vsub_vx_i32m4(bits, 0x3f3504f3, vl); /* sqrt(1/2) */
    vint32m4_t exponent = __riscv_vsra_vx_i32m4(shifted, 23, vl);
    bits = __riscv_vsub_vv_i32m4(bits, __riscv_vsll_vx_i32m4(exponent, 23, vl), vl);
    vfloat32m4_t m = __riscv_vreinterpret_v_i32m4_f32m4(bits);
    m = __riscv_vfsub_vf_f32m4(m, 1, vl);
    vfloat32m4_t square = __riscv_vfmul_vv_f32m4(m, m, vl);
#define LOG_STEP(c) p = __riscv_vfmadd_vv_f32m4(p, m, __riscv_vfmv_v_f_f32m4(c, vl), vl);
    vfloat32m4_t p = __riscv_vfmv_v_f_f32m4(7.0376836292e-2f, vl);
    LOG_STEP(-1.1514610310e-1f) LOG_STEP(1.1676998740e-1f) LOG_STEP(-1.2420140846e-1f)
    LOG_STEP(1.4249322787e-1f) LOG_STEP(-1.6668057665e-1f) LOG_STEP(2.0000714765e-1f)
    LOG_STEP(-2.4999993993e-1f) LOG_STEP(3.3333331174e-1f)
    p = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(p, m, vl), square, vl);
    p = __riscv_vfnmsac_vf_f32m4(p, 0.5f, square, vl);
    vfloat32m4_t result = __riscv_vfadd_vv_f32m4(m, p, vl);
    return __riscv_vfmacc_vf_f32m4(result, 0.69314718056f,
                                   __riscv_vfcvt_f_x_v_f32m4(exponent, vl), vl);
}

/* 1 / x, by a reciprocal of 7 bits and two steps of Newton. */
static inline vfloat32m4_t reciprocal(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t inverse = __riscv_vfrec7_v_f32m4(x, vl);
    vfloat32m4_t two = __riscv_vfmv_v_f_f32m4(2, vl);
    inverse = __riscv_vfmul_vv_f32m4(inverse, __riscv_vfnmsac_vv_f32m4(two, x, inverse, vl), vl);
    return __riscv_vfmul_vv_f32m4(inverse, __riscv_vfnmsac_vv_f32m4(two, x, inverse, vl), vl);
}

#endif
