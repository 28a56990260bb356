/* The kernels of fifth_draw.py in RVV intrinsics, for bench_hand.py: written by somebody who
 * knows the instructions. One program does all the work. With -DAHEAD, the data of a later step is
 * prefetched. */
#include "entry.h"

/* Each matrix's rows are lanes of one element at a time; b's nine stay in registers for all rows. */
static inline void batched_3x3_products(const uint64_t *args) {
    long n = INT(3);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        const float *a = IN(float, 0) + 9 * i, *b = IN(float, 1) + 9 * i;
        float *c = OUT(float, 2) + 9 * i;
        ahead(a + 9 * vl, 36 * (long)vl), ahead(b + 9 * vl, 36 * (long)vl);
#define COLUMN(k) __riscv_vlse32_v_f32m2(b + k, 36, vl)
        vfloat32m2_t b0 = COLUMN(0), b1 = COLUMN(1), b2 = COLUMN(2), b3 = COLUMN(3), b4 = COLUMN(4);
        vfloat32m2_t b5 = COLUMN(5), b6 = COLUMN(6), b7 = COLUMN(7), b8 = COLUMN(8);
        for (long row = 0; row < 9; row += 3) {
            vfloat32m2_t a0 = __riscv_vlse32_v_f32m2(a + row, 36, vl);
            vfloat32m2_t a1 = __riscv_vlse32_v_f32m2(a + row + 1, 36, vl);
            vfloat32m2_t a2 = __riscv_vlse32_v_f32m2(a + row + 2, 36, vl);
#define PRODUCT(j, x, y, z)                                                                        \
    {                                                                                              \
        vfloat32m2_t sum = __riscv_vfmul_vv_f32m2(a0, x, vl);                                      \
        sum = __riscv_vfmacc_vv_f32m2(sum, a1, y, vl);                                             \
        sum = __riscv_vfmacc_vv_f32m2(sum, a2, z, vl);                                             \
        __riscv_vsse32_v_f32m2(c + row + j, 36, sum, vl);                                          \
    }
            PRODUCT(0, b0, b3, b6) PRODUCT(1, b1, b4, b7) PRODUCT(2, b2, b5, b8)
        }
        i += (long)vl;
    }
}

/* log of numbers from 1 on: the exponent, and a polynomial of the rest around 1. Coefficients as in
 * Cephes' logf. */
static inline vfloat32m2_t log_from_1(vfloat32m2_t x, size_t vl) {
    vint32m2_t bits = __riscv_vreinterpret_v_f32m2_i32m2(x);
    vint32m2_t shifted = __riscv_vsub_vx_i32m2(bits, 0x3f3504f3, vl); /* sqrt(1/2) */
    vint32m2_t exponent = __riscv_vsra_vx_i32m2(shifted, 23, vl);
    bits = __riscv_vsub_vv_i32m2(bits, __riscv_vsll_vx_i32m2(exponent, 23, vl), vl);
    vfloat32m2_t m = __riscv_vreinterpret_v_i32m2_f32m2(bits);
    m = __riscv_vfsub_vf_f32m2(m, 1, vl);
    vfloat32m2_t square = __riscv_vfmul_vv_f32m2(m, m, vl);
#define STEP(c) p = __riscv_vfmadd_vv_f32m2(p, m, __riscv_vfmv_v_f_f32m2(c, vl), vl);
    vfloat32m2_t p = __riscv_vfmv_v_f_f32m2(7.0376836292e-2f, vl);
    STEP(-1.1514610310e-1f) STEP(1.1676998740e-1f) STEP(-1.2420140846e-1f) STEP(1.4249322787e-1f)
    STEP(-1.6668057665e-1f) STEP(2.0000714765e-1f) STEP(-2.4999993993e-1f) STEP(3.3333331174e-1f)
    p = __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(p, m, vl), square, vl);
    p = __riscv_vfnmsac_vf_f32m2(p, 0.5f, square, vl);
    vfloat32m2_t result = __riscv_vfadd_vv_f32m2(m, p, vl);
    return __riscv_vfmacc_vf_f32m2(result, 0.69314718056f,
                                   __riscv_vfcvt_f_x_v_f32m2(exponent, vl), vl);
}

/* A magnitude is rounded down as it is narrowed; QEMU 7.2 has no conversion that cuts off. */
static inline void mulaw_encode(const uint64_t *args) {
    long n = INT(2);
    float mu = as_float(args[3]), inverse = as_float(args[4]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2_t x = __riscv_vle32_v_f32m2(IN(float, 0) + i, vl);
        ahead(IN(float, 0) + i + 4 * vl, 4 * (long)vl);
        vfloat32m2_t y = __riscv_vfmul_vf_f32m2(__riscv_vfabs_v_f32m2(x, vl), mu, vl);
        y = log_from_1(__riscv_vfadd_vf_f32m2(y, 1, vl), vl);
        y = __riscv_vfsgnj_vv_f32m2(__riscv_vfmul_vf_f32m2(y, inverse, vl), x, vl);
        y = __riscv_vfmul_vf_f32m2(__riscv_vfadd_vf_f32m2(y, 1, vl), 0.5f, vl);
        y = __riscv_vfadd_vf_f32m2(__riscv_vfmul_vf_f32m2(y, mu, vl), 0.5f, vl);
        vint16m1_t code =
            __riscv_vfncvt_x_f_w_i16m1_rm(__riscv_vfabs_v_f32m2(y, vl), __RISCV_FRM_RDN, vl);
        code = __riscv_vrsub_vx_i16m1_mu(__riscv_vmflt_vf_f32m2_b16(y, 0, vl), code, code, 0, vl);
        __riscv_vse8_v_i8mf2(OUT(int8_t, 1) + i, __riscv_vnsra_wx_i8mf2(code, 0, vl), vl);
        i += (long)vl;
    }
}

/* Neighbours are loaded one element off; the ends of a row are put right behind that. */
static inline void median3_rows(const uint64_t *args) {
    long rows = sizes[0], n = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        float *y = OUT(float, 1) + row * n;
        y[0] = x[0], y[n - 1] = x[n - 1];
        for (long i = 1; i < n - 1;) {
            size_t vl = __riscv_vsetvl_e32m4(n - 1 - i);
            vfloat32m4_t left = __riscv_vle32_v_f32m4(x + i - 1, vl);
            vfloat32m4_t mid = __riscv_vle32_v_f32m4(x + i, vl);
            vfloat32m4_t right = __riscv_vle32_v_f32m4(x + i + 1, vl);
            ahead(x + i + 4 * vl, 4 * (long)vl);
            vfloat32m4_t low = __riscv_vfmin_vv_f32m4(left, mid, vl);
            vfloat32m4_t high = __riscv_vfmax_vv_f32m4(left, mid, vl);
            high = __riscv_vfmin_vv_f32m4(high, right, vl);
            __riscv_vse32_v_f32m4(y + i, __riscv_vfmax_vv_f32m4(low, high, vl), vl);
            i += (long)vl;
        }
    }
}

/* Codes as bytes, of which four neighbours are one number of 32 bits: three shifts pack them. */
static inline void pack_ternary(const uint64_t *args) {
    long bytes = INT(3);
    float inverse = as_float(args[2]);
    for (long i = 0; i < bytes;) {
        size_t vl = __riscv_vsetvl_e32m2(bytes - i), all = 4 * vl;
        const float *w = IN(float, 0) + 4 * i;
        ahead(w + 2 * all, 4 * (long)all);
        vfloat32m8_t x = __riscv_vfmul_vf_f32m8(__riscv_vle32_v_f32m8(w, all), inverse, all);
        x = __riscv_vfmin_vf_f32m8(__riscv_vfmax_vf_f32m8(x, -1, all), 1, all);
        vint16m4_t code = __riscv_vfncvt_x_f_w_i16m4_rm(__riscv_vfadd_vf_f32m8(x, 1.5f, all),
                                                       __RISCV_FRM_RDN, all);
        vuint8m2_t byte = __riscv_vreinterpret_v_i8m2_u8m2(__riscv_vnsra_wx_i8m2(code, 0, all));
        vuint32m2_t four = __riscv_vreinterpret_v_u8m2_u32m2(byte);
        vuint32m2_t pairs = __riscv_vor_vv_u32m2(four, __riscv_vsrl_vx_u32m2(four, 6, vl), vl);
        vuint16m1_t packed = __riscv_vnsrl_wx_u16m1(
            __riscv_vor_vv_u32m2(pairs, __riscv_vsrl_vx_u32m2(pairs, 12, vl), vl), 0, vl);
        __riscv_vse8_v_u8mf2(OUT(uint8_t, 1) + i, __riscv_vnsrl_wx_u8mf2(packed, 0, vl), vl);
        i += (long)vl;
    }
}

/* Bits are loaded as a mask, which chooses between the scale and its negative. */
static inline void unpack_bits_signs(const uint64_t *args) {
    long rows = sizes[0], n = INT(3);
    for (long row = 0; row < rows; row++) {
        float scale = IN(float, 1)[row];
        const uint8_t *bits = IN(uint8_t, 0) + row * (n / 8);
        size_t all = __riscv_vsetvlmax_e32m8();
        vfloat32m8_t negative = __riscv_vfmv_v_f_f32m8(-scale, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vbool4_t is_set = __riscv_vlm_v_b4(bits + i / 8, vl);
            vfloat32m8_t w = __riscv_vfmerge_vfm_f32m8(negative, scale, is_set, vl);
            __riscv_vse32_v_f32m8(OUT(float, 2) + row * n + i, w, vl);
            i += (long)vl;
        }
    }
}

/* A strip of the list becomes offsets of 32 bits once, which gather from every row. */
static inline void gather_columns(const uint64_t *args) {
    long rows = INT(3), n = INT(4), count = INT(5);
    for (long i = 0; i < count;) {
        size_t vl = __riscv_vsetvl_e32m4(count - i);
        vint64m8_t index = __riscv_vle64_v_i64m8(IN(int64_t, 1) + i, vl);
        vuint32m4_t offset = __riscv_vreinterpret_v_i32m4_u32m4(
            __riscv_vsll_vx_i32m4(__riscv_vnsra_wx_i32m4(index, 0, vl), 2, vl));
        for (long row = 0; row < rows; row++) {
            const float *x = IN(float, 0) + row * n;
            ahead(x + 2 * n, 4 * n);
            vfloat32m4_t y = __riscv_vluxei32_v_f32m4(x, offset, vl);
            __riscv_vse32_v_f32m4(OUT(float, 2) + row * count + i, y, vl);
        }
        i += (long)vl;
    }
}
