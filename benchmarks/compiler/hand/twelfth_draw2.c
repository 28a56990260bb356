/* The kernels of twelfth_draw2.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* 1 / sqrt(x), by a reciprocal of 7 bits and a step of third order. */
#define INVERSE_ROOT(m)                                                                            \
    static inline vfloat32##m##_t inverse_root_##m(vfloat32##m##_t x, size_t vl) {                 \
        vfloat32##m##_t y = __riscv_vfrsqrt7_v_f32##m(x, vl);                                      \
        x = __riscv_vfmul_vv_f32##m(__riscv_vfmul_vv_f32##m(x, y, vl), y, vl);                     \
        x = __riscv_vfrsub_vf_f32##m(x, 1, vl);                                                    \
        vfloat32##m##_t p = __riscv_vfmul_vf_f32##m(x, 0.375f, vl);                                \
        p = __riscv_vfmul_vv_f32##m(__riscv_vfadd_vf_f32##m(p, 0.5f, vl), x, vl);                  \
        return __riscv_vfmacc_vv_f32##m(y, y, p, vl);                                              \
    }
INVERSE_ROOT(m2)
INVERSE_ROOT(m4)

#define EACH_ROW(statement)                                                                        \
    statement(0);                                                                                  \
    if (count > 1) {                                                                               \
        statement(1);                                                                              \
    }

/* Few rows at a time, so that L1 has them still when they are written. */
#define ROWS 4

/* Sums of squares of two rows, or of one. */
__attribute__((always_inline)) static inline void sum_squares(const float *grad, long n, long count,
                                                              float *sums) {
    size_t all = __riscv_vsetvlmax_e32m4(), vl = all;
    vfloat32m4_t sum0 = __riscv_vfmv_v_f_f32m4(0, all), sum1 = sum0;
    long i = 0;
#define SQUARE(k)                                                                                  \
    vfloat32m4_t grad##k = READ(grad + k * n + i);                                                 \
    ahead(grad + k * n + i + 96, VLEN / 2);                                                        \
    sum##k = __riscv_vfmacc_vv_f32m4_tu(sum##k, grad##k, grad##k, vl)
    for (; i + (long)all <= n; i += (long)all) {
        EACH_ROW(SQUARE)
    }
    if (i < n) {
        vl = __riscv_vsetvl_e32m4(n - i);
        EACH_ROW(SQUARE)
    }
#define STORE(k) store_sum(sums + k, sum##k)
    EACH_ROW(STORE)
}

/* Roots of columns are taken once: up to 16,384. */
static float roots[16384];

__attribute__((always_inline)) static inline void
update_rows(const float *grad, float *update, long n, long count, const float *scales,
            float *squares) {
    size_t all = __riscv_vsetvlmax_e32m4(), vl = all;
    vfloat32m4_t sum0 = __riscv_vfmv_v_f_f32m4(0, all), sum1 = sum0, root;
    long i = 0;
#define UPDATE(k)                                                                                  \
    vfloat32m4_t grad##k = READ(grad + k * n + i);                                                 \
    grad##k = __riscv_vfmul_vf_f32m4(grad##k, scales[k], vl);                                      \
    grad##k = __riscv_vfmul_vv_f32m4(grad##k, root, vl);                                           \
    __riscv_vse32_v_f32m4(update + k * n + i, grad##k, vl);                                        \
    sum##k = __riscv_vfmacc_vv_f32m4_tu(sum##k, grad##k, grad##k, vl)
    for (; i + (long)all <= n; i += (long)all) {
        root = READ(roots + i);
        EACH_ROW(UPDATE)
    }
    if (i < n) {
        vl = __riscv_vsetvl_e32m4(n - i);
        root = READ(roots + i);
        EACH_ROW(UPDATE)
    }
#define STORE_SQUARES(k) store_sum(squares + k, sum##k)
    EACH_ROW(STORE_SQUARES)
}

/* Moments of some rows at once, between two passes over them. */
static inline void adafactor_rows(const uint64_t *args) {
    static float sums[ROWS], scales[ROWS];
    long m = sizes[0], n = INT(7);
    const float *grad = IN(float, 0);
    float beta = as_float(args[8]), eps = as_float(args[9]), mean = IN(float, 3)[0];
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        ahead(IN(float, 2) + i + 128, VLEN / 2);
        __riscv_vse32_v_f32m4(roots + i, inverse_root_m4(READ(IN(float, 2) + i), vl), vl);
        i += (long)vl;
    }
    for (long first = 0; first < m; first += ROWS) {
        long count = m - first < ROWS ? m - first : ROWS, k = 0;
        for (; k + 2 <= count; k += 2)
            sum_squares(grad + (first + k) * n, n, 2, sums + k);
        for (; k < count; k++)
            sum_squares(grad + (first + k) * n, n, 1, sums + k);
        size_t vl = __riscv_vsetvl_e32m1(count);
        vfloat32m1_t sum = __riscv_vle32_v_f32m1(sums, vl);
        sum = __riscv_vfmul_vf_f32m1(sum, (1 - beta) / (float)n, vl);
        sum = __riscv_vfadd_vf_f32m1(sum, (1 - beta) * eps, vl);
        vfloat32m1_t before = __riscv_vle32_v_f32m1(IN(float, 1) + first, vl);
        sum = __riscv_vfmacc_vf_f32m1(sum, beta, before, vl);
        __riscv_vse32_v_f32m1(OUT(float, 4) + first, sum, vl);
        sum = __riscv_vfsqrt_v_f32m1(__riscv_vfrdiv_vf_f32m1(sum, mean, vl), vl);
        __riscv_vse32_v_f32m1(scales, sum, vl);
        float *update = OUT(float, 5) + first * n, *squares = OUT(float, 6) + first;
        for (k = 0; k + 2 <= count; k += 2)
            update_rows(grad + (first + k) * n, update + k * n, n, 2, scales + k, squares + k);
        for (; k < count; k++)
            update_rows(grad + (first + k) * n, update + k * n, n, 1, scales + k, squares + k);
    }
}

#define TIMES(x, y) __riscv_vfmul_vv_f32m2(x, y, vl)
#define LESS(x, y) __riscv_vfsub_vv_f32m2(x, y, vl)

/* Places of nodes as pairs, that a gather takes at once: up to 8,192. */
static float pairs[8192][2];

static inline void spring_layout_forces(const uint64_t *args) {
    long n = INT(6);
    float spacing = as_float(args[7]), heat = as_float(args[8]);
    const float *xs = IN(float, 0), *ys = IN(float, 1);
    const int32_t *starts = IN(int32_t, 2);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        __riscv_vsseg2e32_v_f32m4x2(pairs[i], __riscv_vcreate_v_f32m4x2(READ(xs + i), READ(ys + i)),
                                    vl);
        i += (long)vl;
    }
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2_t x = __riscv_vle32_v_f32m2(xs + i, vl), y = __riscv_vle32_v_f32m2(ys + i, vl);
        vfloat32m2_t force_x = __riscv_vfmv_v_f_f32m2(0, vl), force_y = force_x;
        /* The steps of two others in turn hide each other's latency. */
#define DX(k) vfloat32m2_t dx##k = __riscv_vfsub_vf_f32m2(x, pairs[j + k][0], vl);
#define DY(k) vfloat32m2_t dy##k = __riscv_vfsub_vf_f32m2(y, pairs[j + k][1], vl);
#define SQUARE_X(k) vfloat32m2_t square##k = TIMES(dx##k, dx##k);
#define SQUARE_Y(k) square##k = __riscv_vfmacc_vv_f32m2(square##k, dy##k, dy##k, vl);
#define AT_LEAST(k) square##k = __riscv_vfmax_vf_f32m2(square##k, 1e-4f, vl);
#define INVERSE(k) vfloat32m2_t inverse##k = __riscv_vfrec7_v_f32m2(square##k, vl);
#define PRODUCT(k) square##k = TIMES(square##k, inverse##k);
#define ERROR(k) square##k = __riscv_vfrsub_vf_f32m2(square##k, 1, vl);
#define SERIES(k) square##k = __riscv_vfmacc_vv_f32m2(square##k, square##k, square##k, vl);
#define BETTER(k) inverse##k = __riscv_vfmacc_vv_f32m2(inverse##k, inverse##k, square##k, vl);
#define PUSH_X(k) force_x = __riscv_vfmacc_vv_f32m2(force_x, dx##k, inverse##k, vl);
#define PUSH_Y(k) force_y = __riscv_vfmacc_vv_f32m2(force_y, dy##k, inverse##k, vl);
#define PUSH(EACH)                                                                              \
    EACH(DX) EACH(DY) EACH(SQUARE_X) EACH(SQUARE_Y) EACH(AT_LEAST)                  \
    EACH(INVERSE) EACH(PRODUCT) EACH(ERROR) EACH(SERIES) EACH(BETTER)               \
    EACH(PUSH_X) EACH(PUSH_Y)
#define ONE(statement) statement(0)
#define TWO(statement) statement(0) statement(1)
        long j = 0;
        for (; j + 2 <= n; j += 2) {
            PUSH(TWO)
        }
        if (j < n) {
            PUSH(ONE)
        }
        force_x = __riscv_vfmul_vf_f32m2(force_x, spacing * spacing, vl);
        force_y = __riscv_vfmul_vf_f32m2(force_y, spacing * spacing, vl);
        /* A node without more edges is pulled by itself: not at all. */
        vuint32m2_t self = __riscv_vadd_vx_u32m2(__riscv_vid_v_u32m2(vl), (uint32_t)i, vl);
        vint32m2_t edge = __riscv_vle32_v_i32m2(starts + i, vl);
        vint32m2_t end = __riscv_vle32_v_i32m2(starts + i + 1, vl);
        vfloat32m2_t pulled_x = __riscv_vfmv_v_f_f32m2(0, vl), pulled_y = pulled_x;
        for (;;) {
            vbool16_t is_edge = __riscv_vmslt_vv_i32m2_b16(edge, end, vl);
            if (__riscv_vfirst_m_b16(is_edge, vl) < 0)
                break;
            vuint32m2_t offset = __riscv_vreinterpret_v_i32m2_u32m2(edge);
            offset = __riscv_vmul_vx_u32m2(offset, 4, vl);
            vuint32m2_t node =
                __riscv_vluxei32_v_u32m2_mu(is_edge, self, IN(uint32_t, 3), offset, vl);
            vuint16m1_t place = __riscv_vncvt_x_x_w_u16m1(node, vl);
            place = __riscv_vmul_vx_u16m1(place, 8, vl);
            vuint64m4_t pair = __riscv_vluxei16_v_u64m4((const uint64_t *)pairs, place, vl);
            edge = __riscv_vadd_vx_i32m2(edge, 1, vl);
            vuint32m2_t low = __riscv_vncvt_x_x_w_u32m2(pair, vl);
            vuint32m2_t high = __riscv_vnsrl_wx_u32m2(pair, 32, vl);
            vfloat32m2_t dx = LESS(x, __riscv_vreinterpret_v_u32m2_f32m2(low));
            vfloat32m2_t dy = LESS(y, __riscv_vreinterpret_v_u32m2_f32m2(high));
            vfloat32m2_t square = __riscv_vfmacc_vv_f32m2(TIMES(dx, dx), dy, dy, vl);
            vfloat32m2_t root = inverse_root_m2(__riscv_vfmax_vf_f32m2(square, 1e-30f, vl), vl);
            root = TIMES(root, square);
            pulled_x = __riscv_vfmacc_vv_f32m2(pulled_x, dx, root, vl);
            pulled_y = __riscv_vfmacc_vv_f32m2(pulled_y, dy, root, vl);
        }
        force_x = __riscv_vfnmsac_vf_f32m2(force_x, 1 / spacing, pulled_x, vl);
        force_y = __riscv_vfnmsac_vf_f32m2(force_y, 1 / spacing, pulled_y, vl);
        vfloat32m2_t square = TIMES(force_x, force_x);
        square = __riscv_vfmacc_vv_f32m2(square, force_y, force_y, vl);
        square = __riscv_vfmax_vf_f32m2(square, 1e-12f, vl);
        vfloat32m2_t move = __riscv_vfmul_vf_f32m2(inverse_root_m2(square, vl), heat, vl);
        move = __riscv_vfmin_vf_f32m2(move, 1, vl);
        x = __riscv_vfmacc_vv_f32m2(x, force_x, move, vl);
        y = __riscv_vfmacc_vv_f32m2(y, force_y, move, vl);
        __riscv_vse32_v_f32m2(OUT(float, 4) + i, x, vl);
        __riscv_vse32_v_f32m2(OUT(float, 5) + i, y, vl);
        i += (long)vl;
    }
}

/* Symbols lie in lanes. Where they have an even number of samples, two come with each element. */
#define TONES(x, i)                                                                                \
    mark_real = __riscv_vfmacc_vf_f32m4(mark_real, tones[i], x, vl);                               \
    mark_imaginary = __riscv_vfmacc_vf_f32m4(mark_imaginary, tones[samples + i], x, vl);           \
    space_real = __riscv_vfmacc_vf_f32m4(space_real, tones[2 * samples + i], x, vl);               \
    space_imaginary = __riscv_vfmacc_vf_f32m4(space_imaginary, tones[3 * samples + i], x, vl);

static inline void fsk_demodulate(const uint64_t *args) {
    long symbols = INT(4), samples = INT(5);
    const float *tones = IN(float, 1);
    ahead(IN(int16_t, 0), 2 * samples * VLEN / 8);
    for (long first = 0; first < symbols;) {
        size_t vl = __riscv_vsetvl_e32m4(symbols - first);
        const int16_t *x = IN(int16_t, 0) + first * samples;
        const int16_t *later = x + samples * (long)vl;
        vfloat32m4_t mark_real = __riscv_vfmv_v_f_f32m4(0, vl), mark_imaginary = mark_real;
        vfloat32m4_t space_real = mark_real, space_imaginary = mark_real;
        long i = 0;
        for (; samples % 2 == 0 && i < samples; i += 2) {
            vint32m4_t two = __riscv_vlse32_v_i32m4((const int32_t *)(x + i), 2 * samples, vl);
            ahead(later + i * VLEN / 8, VLEN / 2);
            vint16m2_t low = __riscv_vncvt_x_x_w_i16m2(two, vl);
            vint16m2_t high = __riscv_vnsra_wx_i16m2(two, 16, vl);
            vfloat32m4_t value = __riscv_vfwcvt_f_x_v_f32m4(low, vl);
            TONES(value, i)
            value = __riscv_vfwcvt_f_x_v_f32m4(high, vl);
            TONES(value, i + 1)
        }
        for (; i < samples; i++) {
            vint16m2_t one = __riscv_vlse16_v_i16m2(x + i, 2 * samples, vl);
            vfloat32m4_t value = __riscv_vfwcvt_f_x_v_f32m4(one, vl);
            TONES(value, i)
        }
        vfloat32m4_t mark = __riscv_vfmul_vv_f32m4(mark_real, mark_real, vl);
        mark = __riscv_vfmacc_vv_f32m4(mark, mark_imaginary, mark_imaginary, vl);
        vfloat32m4_t space = __riscv_vfmul_vv_f32m4(space_real, space_real, vl);
        space = __riscv_vfmacc_vv_f32m4(space, space_imaginary, space_imaginary, vl);
        vbool8_t is_mark = __riscv_vmfgt_vv_f32m4_b8(mark, space, vl);
        vuint8m1_t bit = __riscv_vmerge_vxm_u8m1(__riscv_vmv_v_x_u8m1(0, vl), 1, is_mark, vl);
        __riscv_vse8_v_u8m1(OUT(uint8_t, 2) + first, bit, vl);
        vfloat32m4_t both = __riscv_vfadd_vv_f32m4(mark, space, vl);
        both = reciprocal(__riscv_vfadd_vf_f32m4(both, 1, vl), vl);
        mark = __riscv_vfmul_vv_f32m4(__riscv_vfsub_vv_f32m4(mark, space, vl), both, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + first, mark, vl);
        first += (long)vl;
    }
}
