/* The kernels of first_draw.py in RVV intrinsics, for bench_hand.py: a quarter of an hour each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Products in 16 bits, added to sums in 32; lanes are added once for each row. */
static inline void int8_row_dots(const uint64_t *args) {
    long rows = sizes[0], n = sizes[1];
    size_t all = __riscv_vsetvlmax_e32m8();
    for (long row = 0; row < rows; row++) {
        const int8_t *a = IN(int8_t, 0) + row * n, *b = IN(int8_t, 1) + row * n;
        vint32m8_t total = __riscv_vmv_v_x_i32m8(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e8m2(n - i);
            vint8m2_t left = __riscv_vle8_v_i8m2(a + i, vl), right = __riscv_vle8_v_i8m2(b + i, vl);
            ahead(a + 2 * n + i, (long)vl), ahead(b + 2 * n + i, (long)vl);
            vint16m4_t products = __riscv_vwmul_vv_i16m4(left, right, vl);
            total = __riscv_vwadd_wv_i32m8_tu(total, total, products, vl);
            i += (long)vl;
        }
        vint32m1_t zero = __riscv_vmv_s_x_i32m1(0, 1);
        vint32m1_t sum = __riscv_vredsum_vs_i32m8_i32m1(total, zero, all);
        OUT(int32_t, 2)[row] = __riscv_vmv_x_s_i32m1_i32(sum);
    }
}

/* The last three rows stay in registers while a strip of channels goes through time. */
static inline void causal_conv1d(const uint64_t *args) {
    long steps = INT(4), channels = INT(5);
    for (long i = 0; i < channels;) {
        size_t vl = __riscv_vsetvl_e32m2(channels - i);
        const float *x = IN(float, 0) + i, *w = IN(float, 1) + i;
        float *y = OUT(float, 3) + i;
        vfloat32m2_t w0 = __riscv_vle32_v_f32m2(w, vl);
        vfloat32m2_t w1 = __riscv_vle32_v_f32m2(w + channels, vl);
        vfloat32m2_t w2 = __riscv_vle32_v_f32m2(w + 2 * channels, vl);
        vfloat32m2_t w3 = __riscv_vle32_v_f32m2(w + 3 * channels, vl);
        vfloat32m2_t bias = __riscv_vle32_v_f32m2(IN(float, 2) + i, vl);
        vfloat32m2_t before3 = __riscv_vfmv_v_f_f32m2(0, vl), before2 = before3, before1 = before3;
        for (long t = 0; t < steps; t++) {
            vfloat32m2_t now = __riscv_vle32_v_f32m2(x + t * channels, vl);
            ahead(x + (t + 4) * channels, 4 * (long)vl);
            vfloat32m2_t total = __riscv_vfmadd_vv_f32m2(before3, w0, bias, vl);
            total = __riscv_vfmacc_vv_f32m2(total, before2, w1, vl);
            total = __riscv_vfmacc_vv_f32m2(total, before1, w2, vl);
            total = __riscv_vfmacc_vv_f32m2(total, now, w3, vl);
            __riscv_vse32_v_f32m2(y + t * channels, total, vl);
            before3 = before2, before2 = before1, before1 = now;
        }
        i += (long)vl;
    }
}

/* a b / (1 + e^(-2 u)), with a reciprocal of 7 bits made exact by two steps of Newton. */
static inline void geglu(const uint64_t *args) {
    long rows = sizes[0], n = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * 2 * n;
        float *y = OUT(float, 1) + row * n;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t a = __riscv_vle32_v_f32m4(x + i, vl);
            ahead(x + 2 * n + i, 4 * (long)vl), ahead(x + 3 * n + i, 4 * (long)vl);
            vfloat32m4_t square = __riscv_vfmul_vv_f32m4(a, a, vl);
            vfloat32m4_t inner = __riscv_vfmul_vf_f32m4(square, -0.0713548163f, vl);
            inner = __riscv_vfmul_vv_f32m4(__riscv_vfsub_vf_f32m4(inner, 1.5957691216f, vl), a, vl);
            vfloat32m4_t below = __riscv_vfadd_vf_f32m4(exponential(inner, vl), 1, vl);
            vfloat32m4_t inverse = __riscv_vfrec7_v_f32m4(below, vl);
            vfloat32m4_t two = __riscv_vfmv_v_f_f32m4(2, vl);
            vfloat32m4_t step = __riscv_vfnmsac_vv_f32m4(two, below, inverse, vl);
            inverse = __riscv_vfmul_vv_f32m4(inverse, step, vl);
            step = __riscv_vfnmsac_vv_f32m4(two, below, inverse, vl);
            inverse = __riscv_vfmul_vv_f32m4(inverse, step, vl);
            vfloat32m4_t b = __riscv_vle32_v_f32m4(x + n + i, vl);
            b = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(a, inverse, vl), b, vl);
            __riscv_vse32_v_f32m4(y + i, b, vl);
            i += (long)vl;
        }
    }
}

/* Two rows are added as they lie, then neighbours, split by narrowing shifts. */
static inline void avg_pool(const uint64_t *args) {
    long planes = sizes[0], height = INT(2), width = INT(3);
    for (long row = 0; row < planes * height / 2; row++) {
        const float *x = IN(float, 0) + row * 2 * width;
        float *y = OUT(float, 1) + row * (width / 2);
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m8(width - i);
            vfloat32m8_t sum = __riscv_vfadd_vv_f32m8(
                __riscv_vle32_v_f32m8(x + i, vl), __riscv_vle32_v_f32m8(x + width + i, vl), vl);
            ahead(x + 2 * width + i, 4 * (long)vl), ahead(x + 3 * width + i, 4 * (long)vl);
            vuint64m8_t pairs =
                __riscv_vreinterpret_v_u32m8_u64m8(__riscv_vreinterpret_v_f32m8_u32m8(sum));
            vuint32m4_t even = __riscv_vnsrl_wx_u32m4(pairs, 0, vl / 2);
            vuint32m4_t odd = __riscv_vnsrl_wx_u32m4(pairs, 32, vl / 2);
            vfloat32m4_t total = __riscv_vfadd_vv_f32m4(__riscv_vreinterpret_v_u32m4_f32m4(even),
                                                        __riscv_vreinterpret_v_u32m4_f32m4(odd),
                                                        vl / 2);
            total = __riscv_vfmul_vf_f32m4(total, 0.25f, vl / 2);
            __riscv_vse32_v_f32m4(y + i / 2, total, vl / 2);
            i += (long)vl;
        }
    }
}

/* Four rows of x at a time, so that a row of yt is loaded once for all of them. */
static inline void pairwise_l1(const uint64_t *args) {
    long rows = sizes[0], n = INT(3), depth = INT(4);
    for (long row = 0; row < rows; row += 4)
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            const float *x = IN(float, 0) + row * depth, *y = IN(float, 1) + i;
            vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0, vl), s1 = s0, s2 = s0, s3 = s0;
#define ADD(sum, at)                                                                               \
    sum = __riscv_vfadd_vv_f32m4(                                                                  \
        sum, __riscv_vfabs_v_f32m4(__riscv_vfsub_vf_f32m4(column, x[(at) * depth + d], vl), vl), vl)
            for (long d = 0; d < depth; d++) {
                vfloat32m4_t column = __riscv_vle32_v_f32m4(y + d * n, vl);
                ahead(y + (d + 4) * n, 4 * (long)vl);
                ADD(s0, 0);
                ADD(s1, 1);
                ADD(s2, 2);
                ADD(s3, 3);
            }
            float *out = OUT(float, 2) + row * n + i;
            __riscv_vse32_v_f32m4(out, s0, vl), __riscv_vse32_v_f32m4(out + n, s1, vl);
            __riscv_vse32_v_f32m4(out + 2 * n, s2, vl), __riscv_vse32_v_f32m4(out + 3 * n, s3, vl);
            i += (long)vl;
        }
}

/* Two rows of output together, which share four of their five rows of input. */
static inline void gaussian5(const uint64_t *args) {
    long height = INT(3) - 4, width = INT(4), columns = width - 4;
    float w[25];
    memcpy(w, IN(float, 1), sizeof w);
    for (long row = 0; row < height; row += 2)
        for (long i = 0; i < columns;) {
            size_t vl = __riscv_vsetvl_e32m4(columns - i);
            const float *x = IN(float, 0) + row * width + i;
            vfloat32m4_t upper = __riscv_vfmv_v_f_f32m4(0, vl), lower = upper;
#pragma clang loop unroll(full)
            for (int dy = 0; dy < 6; dy++) {
                ahead(x + (dy + 2) * width, 4 * (long)vl);
#pragma clang loop unroll(full)
                for (int dx = 0; dx < 5; dx++) {
                    vfloat32m4_t pixels = __riscv_vle32_v_f32m4(x + dy * width + dx, vl);
                    if (dy < 5)
                        upper = __riscv_vfmacc_vf_f32m4(upper, w[dy * 5 + dx], pixels, vl);
                    if (dy > 0)
                        lower = __riscv_vfmacc_vf_f32m4(lower, w[(dy - 1) * 5 + dx], pixels, vl);
                }
            }
            float *y = OUT(float, 2) + row * columns + i;
            __riscv_vse32_v_f32m4(y, upper, vl), __riscv_vse32_v_f32m4(y + columns, lower, vl);
            i += (long)vl;
        }
}

static inline void batch_norm_inference(const uint64_t *args) {
    long planes = sizes[0] * sizes[1], channels = INT(6), n = INT(7);
    for (long plane = 0; plane < planes; plane++) {
        long c = plane % channels;
        float inverse = 1 / __builtin_sqrtf(IN(float, 2)[c] + as_float(args[8]));
        float scale = IN(float, 3)[c] * inverse;
        float shift = IN(float, 4)[c] - IN(float, 1)[c] * scale;
        const float *x = IN(float, 0) + plane * n;
        float *y = OUT(float, 5) + plane * n;
        vfloat32m8_t shifts = __riscv_vfmv_v_f_f32m8(shift, __riscv_vsetvlmax_e32m8());
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t values = __riscv_vle32_v_f32m8(x + i, vl);
            ahead(x + i + 4 * (long)vl, 4 * (long)vl);
            values = __riscv_vfmadd_vf_f32m8(values, scale, shifts, vl);
            __riscv_vse32_v_f32m8(y + i, __riscv_vfmax_vf_f32m8(values, 0, vl), vl);
            i += (long)vl;
        }
    }
}

static inline vfloat32m4_t widened(const int8_t *bytes, size_t vl) {
    vint16m2_t half = __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(bytes, vl), vl);
    return __riscv_vfwcvt_f_x_v_f32m4(half, vl);
}

/* Four rows at a time share a group of the vector; lanes are added once for each row. */
static inline void q8_matvec(const uint64_t *args) {
    long rows = sizes[0], k = INT(4), groups = k / 32;
    size_t vl = __riscv_vsetvl_e32m4(32);
    for (long row = 0; row < rows; row += 4) {
        const int8_t *w = IN(int8_t, 0) + row * k;
        const float *scale = IN(float, 1) + row * groups;
        vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0, vl), s1 = s0, s2 = s0, s3 = s0;
        for (long g = 0; g < groups; g++) {
            vfloat32m4_t x = __riscv_vle32_v_f32m4(IN(float, 2) + 32 * g, vl);
#define GROUP(sum, at)                                                                             \
    ahead(w + (4 + (at)) * k + 32 * g, 32);                                                        \
    sum = __riscv_vfmacc_vf_f32m4(                                                                 \
        sum, scale[(at) * groups + g],                                                             \
        __riscv_vfmul_vv_f32m4(widened(w + (at) * k + 32 * g, vl), x, vl), vl)
            GROUP(s0, 0);
            GROUP(s1, 1);
            GROUP(s2, 2);
            GROUP(s3, 3);
        }
        float *y = OUT(float, 3) + row;
        y[0] = sum_m4(s0, vl), y[1] = sum_m4(s1, vl), y[2] = sum_m4(s2, vl), y[3] = sum_m4(s3, vl);
    }
}
