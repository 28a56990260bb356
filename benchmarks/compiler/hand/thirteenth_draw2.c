/* The kernels of thirteenth_draw2.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Cosines of two rows, or of one, whose classes' scales are read once for both. */
__attribute__((always_inline)) static inline void scale_rows(const float *dot,
                                                             const float *class_scales,
                                                             const float *row_scales, float scale,
                                                             float *logits, long n, long count) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    long all = (long)vl;
    for (long i = 0; i < n; i += all) {
        if (i + all > n)
            vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t class_scale = READ(class_scales + i);
#define READ_ROW(k)                                                                                \
    vfloat32m4_t x##k = READ(dot + k * n + i);                                                     \
    ahead(dot + k * n + i + 128, VLEN / 2);
#define SCALE_ROW(k)                                                                               \
    x##k = __riscv_vfmul_vf_f32m4(x##k, row_scales[k], vl);                                        \
    x##k = __riscv_vfmul_vv_f32m4(x##k, class_scale, vl);                                          \
    x##k = __riscv_vfmin_vf_f32m4(x##k, scale, vl);                                                \
    x##k = __riscv_vfmax_vf_f32m4(x##k, -scale, vl);                                               \
    __riscv_vse32_v_f32m4(logits + k * n + i, x##k, vl);
        READ_ROW(0)
        if (count > 1) {
            READ_ROW(1)
            SCALE_ROW(0) SCALE_ROW(1)
        } else {
            SCALE_ROW(0)
        }
    }
}

/* All classes without a margin first, and then the one of each row that has it. A scale above 0. */
static inline void arcface_margin_logits(const uint64_t *args) {
    long m = sizes[0], n = INT(5);
    float margin_cos = as_float(args[6]), margin_sin = as_float(args[7]);
    float least = as_float(args[8]), linear = as_float(args[9]), scale = as_float(args[10]);
    const float *dot = IN(float, 0), *class_scale = IN(float, 2);
    float *logits = OUT(float, 4);
    for (long row = 0; row < m; row += 2) {
        float row_scales[2] = {0, 0};
        long count = m - row < 2 ? m - row : 2;
        for (long k = 0; k < count; k++)
            row_scales[k] = IN(float, 1)[row + k] * scale;
        const float *x = dot + row * n;
        if (count == 2)
            scale_rows(x, class_scale, row_scales, scale, logits + row * n, n, 2);
        else
            scale_rows(x, class_scale, row_scales, scale, logits + row * n, n, 1);
        for (long k = row; k < row + count; k++) {
            long label = IN(int32_t, 3)[k];
            float own = dot[k * n + label] * IN(float, 1)[k] * class_scale[label];
            own = own > 1 ? 1 : own < -1 ? -1 : own;
            float moved = own * margin_cos - sqrtf(1 - own * own) * margin_sin;
            logits[k * n + label] = scale * (own > least ? moved : own - linear);
        }
    }
}

/* A head's tokens lie one after another: they are copied as bytes. */
static inline void beam_search_reorder(const uint64_t *args) {
    long requests = sizes[0], beams = INT(4), heads = INT(5), room = INT(6), d = sizes[4];
    long whole = 2 * room * d;
    for (long row = 0; row < requests * beams; row++) {
        long request = row / beams, size = 2 * d * IN(int32_t, 2)[request];
        long parent = request * beams + IN(int32_t, 1)[row];
        const uint8_t *from = IN(uint8_t, 0) + parent * heads * whole;
        uint8_t *to = OUT(uint8_t, 3) + row * heads * whole;
        for (long head = 0; head < heads; head++, from += whole, to += whole) {
            ahead(from, 512);
            for (long i = 0; i < size;) {
                size_t vl = __riscv_vsetvl_e8m8(size - i);
                ahead(from + i + 512, (long)vl);
                __riscv_vse8_v_u8m8(to + i, __riscv_vle8_v_u8m8(from + i, vl), vl);
                i += (long)vl;
            }
        }
    }
}

/* Rows as they lie in memory, with sums of one register each: its reduction is the cheapest. */
#define ROWS(statement) statement(0) statement(1) statement(2) statement(3)

static inline void four_products(const float *x, const float *beta, long p, float *to) {
    size_t all = __riscv_vsetvlmax_e32m1(), vl = all;
    vfloat32m1_t zero = __riscv_vfmv_v_f_f32m1(0, all);
    vfloat32m1_t sum0 = zero, sum1 = zero, sum2 = zero, sum3 = zero;
    long i = 0;
#define PRODUCT(k)                                                                                 \
    sum##k =                                                                                       \
        __riscv_vfmacc_vv_f32m1_tu(sum##k, __riscv_vle32_v_f32m1(x + k * p + i, vl), factor, vl);
    for (; i + (long)all <= p; i += (long)all) {
        vfloat32m1_t factor = __riscv_vle32_v_f32m1(beta + i, vl);
        ROWS(PRODUCT)
    }
    if (i < p) {
        vl = __riscv_vsetvl_e32m1(p - i);
        vfloat32m1_t factor = __riscv_vle32_v_f32m1(beta + i, vl);
        ROWS(PRODUCT)
    }
#define REDUCE(k) sum##k = __riscv_vfredusum_vs_f32m1_f32m1(sum##k, zero, all);
#define WRITE(k) __riscv_vse32_v_f32m1(to + k, sum##k, 1);
    ROWS(REDUCE) ROWS(WRITE)
}

static inline float one_product(const float *x, const float *beta, long p) {
    size_t all = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
    for (long i = 0; i < p;) {
        size_t vl = __riscv_vsetvl_e32m4(p - i);
        sum = __riscv_vfmacc_vv_f32m4_tu(sum, READ(x + i), READ(beta + i), vl);
        i += (long)vl;
    }
    return sum_m4(sum, all);
}

/* Two passes over some rows at a time, so that L1 keeps what is between them. */
#define SOME 256

static inline void poisson_irls_weights(const uint64_t *args) {
    static float products[SOME];
    long n = INT(7), p = INT(8);
    const float *x = IN(float, 0), *beta = IN(float, 1);
    for (long first = 0; first < n; first += SOME) {
        long count = n - first < SOME ? n - first : SOME, k = 0;
        for (; k + 4 <= count; k += 4) {
            ahead(x + (first + k + 8) * p, 16 * p);
            four_products(x + (first + k) * p, beta, p, products + k);
        }
        for (; k < count; k++)
            products[k] = one_product(x + (first + k) * p, beta, p);
        for (long i = 0; i < count;) {
            size_t vl = __riscv_vsetvl_e32m4(count - i);
            long at = first + i;
            vfloat32m4_t linear = READ(products + i);
            vfloat32m4_t eta = __riscv_vfadd_vv_f32m4(linear, READ(IN(float, 2) + at), vl);
            eta = __riscv_vfmin_vf_f32m4(__riscv_vfmax_vf_f32m4(eta, -20, vl), 20, vl);
            vint16m2_t whole = __riscv_vle16_v_i16m2(IN(int16_t, 3) + at, vl);
            vfloat32m4_t seen = __riscv_vfwcvt_f_x_v_f32m4(whole, vl);
            vfloat32m4_t mu = __riscv_vfmul_vf_f32m4(eta, 1.44269504f, vl);
            mu = power_of_two(mu, vl);
            __riscv_vse32_v_f32m4(OUT(float, 4) + at, mu, vl);
            vfloat32m4_t more = __riscv_vfsub_vv_f32m4(seen, mu, vl);
            linear = __riscv_vfmacc_vv_f32m4(linear, more, reciprocal(mu, vl), vl);
            __riscv_vse32_v_f32m4(OUT(float, 5) + at, linear, vl);
            vfloat32m4_t rest = logarithm(__riscv_vfmax_vf_f32m4(seen, 1, vl), vl);
            rest = __riscv_vfsub_vv_f32m4(rest, eta, vl);
            more = __riscv_vfmsub_vv_f32m4(rest, seen, more, vl);
            more = __riscv_vfadd_vv_f32m4(more, more, vl);
            __riscv_vse32_v_f32m4(OUT(float, 6) + at, more, vl);
            i += (long)vl;
        }
    }
}
