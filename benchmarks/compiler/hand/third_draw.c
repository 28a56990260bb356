/* The kernels of third_draw.py in RVV intrinsics, for bench_hand.py: a quarter of an hour each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

/* Two heads at a time share the angles; pairs are told apart by segment loads. */
static inline void rotary_embedding(const uint64_t *args) {
    long tokens = sizes[0], heads = INT(4), half = sizes[2];
    for (long token = 0; token < tokens; token++)
        for (long i = 0; i < half;) {
            size_t vl = __riscv_vsetvl_e32m4(half - i);
            vfloat32m4_t cosine = __riscv_vle32_v_f32m4(IN(float, 1) + token * half + i, vl);
            vfloat32m4_t sine = __riscv_vle32_v_f32m4(IN(float, 2) + token * half + i, vl);
            for (long head = 0; head < heads; head++) {
                long at = (token * heads + head) * 2 * half + 2 * i;
                vfloat32m4x2_t pairs = __riscv_vlseg2e32_v_f32m4x2(IN(float, 0) + at, vl);
                ahead(IN(float, 0) + at + 4 * half, 8 * (long)vl);
                vfloat32m4_t even = __riscv_vget_v_f32m4x2_f32m4(pairs, 0);
                vfloat32m4_t odd = __riscv_vget_v_f32m4x2_f32m4(pairs, 1);
                vfloat32m4_t first = __riscv_vfmul_vv_f32m4(even, cosine, vl);
                first = __riscv_vfnmsac_vv_f32m4(first, odd, sine, vl);
                vfloat32m4_t second = __riscv_vfmul_vv_f32m4(even, sine, vl);
                second = __riscv_vfmacc_vv_f32m4(second, odd, cosine, vl);
                __riscv_vsseg2e32_v_f32m4x2(OUT(float, 3) + at,
                                            __riscv_vcreate_v_f32m4x2(first, second), vl);
            }
            i += (long)vl;
        }
}

/* A strip goes down the plate with two rows in registers; neighbours of a row are loaded. */
static inline void heat_stencil(const uint64_t *args) {
    long height = INT(2) - 2, width = INT(3), columns = width - 2;
    float rate = as_float(args[4]), rest = 1 - 4 * rate;
    for (long i = 0; i < columns;) {
        size_t vl = __riscv_vsetvl_e32m4(columns - i);
        const float *x = IN(float, 0) + 1 + i;
        float *y = OUT(float, 1) + i;
        vfloat32m4_t above = __riscv_vle32_v_f32m4(x, vl);
        vfloat32m4_t centre = __riscv_vle32_v_f32m4(x + width, vl);
        for (long row = 0; row < height; row++) {
            const float *here = x + (row + 1) * width;
            vfloat32m4_t below = __riscv_vle32_v_f32m4(here + width, vl);
            vfloat32m4_t left = __riscv_vle32_v_f32m4(here - 1, vl);
            vfloat32m4_t right = __riscv_vle32_v_f32m4(here + 1, vl);
            ahead(here + 5 * width, 4 * (long)vl);
            vfloat32m4_t around = __riscv_vfadd_vv_f32m4(above, below, vl);
            around = __riscv_vfadd_vv_f32m4(around, __riscv_vfadd_vv_f32m4(left, right, vl), vl);
            vfloat32m4_t result = __riscv_vfmul_vf_f32m4(centre, rest, vl);
            result = __riscv_vfmacc_vf_f32m4(result, rate, around, vl);
            __riscv_vse32_v_f32m4(y + row * columns, result, vl);
            above = centre, centre = below;
        }
        i += (long)vl;
    }
}

/* a front + (255 - a) back, divided by 255 with rounding: (t + (t >> 8) + 1) >> 8 of t + 127. */
static inline vuint8m1_t blended(vuint8m1_t front, vuint8m1_t back, vuint8m1_t alpha,
                                 vuint8m1_t rest, size_t vl) {
    vuint16m2_t sum = __riscv_vwmulu_vv_u16m2(front, alpha, vl);
    sum = __riscv_vadd_vx_u16m2(__riscv_vwmaccu_vv_u16m2(sum, back, rest, vl), 127, vl);
    vuint16m2_t high = __riscv_vadd_vx_u16m2(__riscv_vsrl_vx_u16m2(sum, 8, vl), 1, vl);
    return __riscv_vnsrl_wx_u8m1(__riscv_vadd_vv_u16m2(sum, high, vl), 8, vl);
}

static inline void alpha_blend(const uint64_t *args) {
    long pixels = INT(3);
    for (long i = 0; i < pixels;) {
        size_t vl = __riscv_vsetvl_e8m1(pixels - i);
        vuint8m1x4_t front = __riscv_vlseg4e8_v_u8m1x4(IN(uint8_t, 0) + 4 * i, vl);
        vuint8m1x4_t back = __riscv_vlseg4e8_v_u8m1x4(IN(uint8_t, 1) + 4 * i, vl);
        ahead(IN(uint8_t, 0) + 4 * i + 16 * vl, 4 * (long)vl);
        ahead(IN(uint8_t, 1) + 4 * i + 16 * vl, 4 * (long)vl);
        vuint8m1_t alpha = __riscv_vget_v_u8m1x4_u8m1(front, 3);
        vuint8m1_t rest = __riscv_vnot_v_u8m1(alpha, vl);
#define BLENDED(at)                                                                                \
    blended(__riscv_vget_v_u8m1x4_u8m1(front, at), __riscv_vget_v_u8m1x4_u8m1(back, at), alpha,    \
            rest, vl)
        vuint8m1_t opaque = __riscv_vmv_v_x_u8m1(255, vl);
        vuint8m1x4_t mixed =
            __riscv_vcreate_v_u8m1x4(BLENDED(0), BLENDED(1), BLENDED(2), opaque);
        __riscv_vsseg4e8_v_u8m1x4(OUT(uint8_t, 2) + 4 * i, mixed, vl);
        i += (long)vl;
    }
}

/* Least values first, without their places; then the row, which is in L1, is searched for it. */
static inline void argmin_rows(const uint64_t *args) {
    long rows = sizes[0], n = INT(3);
    size_t all = __riscv_vsetvlmax_e32m8();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        vfloat32m8_t least = __riscv_vfmv_v_f_f32m8(__builtin_inff(), all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            ahead(x + n + i, 4 * (long)vl);
            least = __riscv_vfmin_vv_f32m8_tu(least, least, __riscv_vle32_v_f32m8(x + i, vl), vl);
            i += (long)vl;
        }
        vfloat32m1_t most = __riscv_vfmv_s_f_f32m1(__builtin_inff(), 1);
        most = __riscv_vfredmin_vs_f32m8_f32m1(least, most, all);
        float value = __riscv_vfmv_f_s_f32m1_f32(most);
        long found = -1, i = 0;
        while (found < 0 && i < n) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vbool4_t same = __riscv_vmfeq_vf_f32m8_b4(__riscv_vle32_v_f32m8(x + i, vl), value, vl);
            found = __riscv_vfirst_m_b4(same, vl);
            i += found < 0 ? (long)vl : found;
        }
        OUT(float, 1)[row] = value;
        OUT(int32_t, 2)[row] = (int32_t)i;
    }
}

/* Neighbours are gathered from L1; offsets in bytes come from the conversion and a shift. */
static inline void table_interpolation(const uint64_t *args) {
    long n = INT(3);
    float low = as_float(args[4]), per_step = as_float(args[5]), top = (float)sizes[1] - 0.001f;
    const float *table = IN(float, 1);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t place = __riscv_vle32_v_f32m4(IN(float, 0) + i, vl);
        ahead(IN(float, 0) + i + 4 * vl, 4 * (long)vl);
        place = __riscv_vfmul_vf_f32m4(__riscv_vfsub_vf_f32m4(place, low, vl), per_step, vl);
        place = __riscv_vfmin_vf_f32m4(__riscv_vfmax_vf_f32m4(place, 0, vl), top, vl);
        vuint32m4_t step = __riscv_vfcvt_rtz_xu_f_v_u32m4(place, vl);
        place = __riscv_vfsub_vv_f32m4(place, __riscv_vfcvt_f_xu_v_f32m4(step, vl), vl);
        step = __riscv_vsll_vx_u32m4(step, 2, vl);
        vfloat32m4_t first = __riscv_vluxei32_v_f32m4(table, step, vl);
        vfloat32m4_t second = __riscv_vluxei32_v_f32m4(table + 1, step, vl);
        second = __riscv_vfsub_vv_f32m4(second, first, vl);
        __riscv_vse32_v_f32m4(OUT(float, 2) + i, __riscv_vfmacc_vv_f32m4(first, place, second, vl),
                              vl);
        i += (long)vl;
    }
}
