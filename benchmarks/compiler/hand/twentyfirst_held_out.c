/* The kernels of twentyfirst_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

/* Keep what is written here in this order. */
#define HOLD1(a) __asm__ volatile("" : "+vr"(a));
#define HOLD2(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b));
#define HOLD3(a, b, c) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c));
#define HOLD4(a, b, c, d) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d));
#define HOLD7(a, b, c, d, e, f, g)                                                                 \
    __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d), "+vr"(e), "+vr"(f), "+vr"(g));
#define HOLD8(a, b, c, d, e, f, g, h)                                                              \
    __asm__ volatile(""                                                                            \
                     : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d), "+vr"(e), "+vr"(f), "+vr"(g),       \
                       "+vr"(h));

/* Pooling: maxima of a plane are found while the second one before it is summed up, and neither the
 * maximum nor the sum is waited for. Up to 65,536 planes; r is positive. Powers are of two, as in
 * vector_math.h, with the polynomial's coefficients in registers. */
#define PLANES 65536
static float mosts[PLANES + 2], totals[PLANES];

static inline void store_sum_m2(float *to, vfloat32m2_t values) {
    size_t one = VLEN / 32;
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    vfloat32m1_t half = __riscv_vfadd_vv_f32m1(__riscv_vget_v_f32m2_f32m1(values, 0),
                                               __riscv_vget_v_f32m2_f32m1(values, 1), one);
    __riscv_vse32_v_f32m1(to, __riscv_vfredusum_vs_f32m1_f32m1(half, zero, one), 1);
}

static inline void store_largest_m2(float *to, vfloat32m2_t values) {
    size_t one = VLEN / 32;
    vfloat32m1_t half = __riscv_vfmax_vv_f32m1(__riscv_vget_v_f32m2_f32m1(values, 0),
                                               __riscv_vget_v_f32m2_f32m1(values, 1), one);
    __riscv_vse32_v_f32m1(to, __riscv_vfredmax_vs_f32m1_f32m1(half, half, one), 1);
}

static inline void largest_of_plane(const float *x, long n, float *to) {
    vfloat32m2_t most = __riscv_vfmv_v_f_f32m2(-__builtin_inff(), VLEN / 16);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        most = __riscv_vfmax_vv_f32m2_tu(most, most, __riscv_vle32_v_f32m2(x + i, vl), vl);
        i += (long)vl;
    }
    store_largest_m2(to, most);
}

/* Steps of each block of 16 numbers, for two blocks or for three. */
#define ON_2(STEP) STEP(0) STEP(1) BOTH_HELD
#define ON_3(STEP) STEP(0) STEP(1) STEP(2)
#define POWER_OFF(k) x##k = __riscv_vfmadd_vf_f32m2(x##k, scale, below, vl);
#define POWER_LOW(k) x##k = __riscv_vfmax_vf_f32m2(x##k, -126, vl);
#define POWER_ROUND(k) m##k = __riscv_vfadd_vf_f32m2(x##k, 0x1.8p23f, vl);
#define POWER_WHOLE(k) p##k = __riscv_vfsub_vf_f32m2(m##k, 0x1.8p23f, vl);
#define POWER_REST(k) x##k = __riscv_vfsub_vv_f32m2(x##k, p##k, vl);
#define POWER_C5(k) p##k = __riscv_vfmul_vf_f32m2(x##k, 1.326697039e-3f, vl);
#define POWER_C4(k) p##k = __riscv_vfadd_vf_f32m2(p##k, 9.675459746e-3f, vl);
#define POWER_C3(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c3, vl);
#define POWER_C2(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c2, vl);
#define POWER_C1(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c1, vl);
#define POWER_C0(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c0, vl);
#define POWER_DONE(k)                                                                              \
    p##k = __riscv_vreinterpret_v_i32m2_f32m2(                                                     \
        __riscv_vmacc_vx_i32m2(__riscv_vreinterpret_v_f32m2_i32m2(p##k), 1 << 23,                  \
                               __riscv_vreinterpret_v_f32m2_i32m2(m##k), vl));
#define POWER_ADD(k) sum = __riscv_vfadd_vv_f32m2(sum, p##k, vl);
#define LOAD_NEXT(y, from)                                                                         \
    y = __riscv_vle32_v_f32m2(from, vl);                                                           \
    HOLD1(y)
#define LARGER(y)                                                                                  \
    most = __riscv_vfmax_vv_f32m2(most, y, vl);                                                    \
    HOLD1(most)

/* n is 32 or more. The last numbers are in a block that is filled up with the lowest number, whose
 * power is next to nothing. */
static inline void sum_of_powers(const float *x, const float *next, long n, float scale,
                                 float *total, float *most_of_next) {
    size_t vl = VLEN / 16;
    vfloat32m2_t below = __riscv_vfmv_v_f_f32m2(-scale * mosts[total - totals], vl);
    vfloat32m2_t c3 = __riscv_vfmv_v_f_f32m2(5.550742616e-2f, vl);
    vfloat32m2_t c2 = __riscv_vfmv_v_f_f32m2(2.402212175e-1f, vl);
    vfloat32m2_t c1 = __riscv_vfmv_v_f_f32m2(6.931469492e-1f, vl);
    vfloat32m2_t c0 = __riscv_vfmv_v_f_f32m2(1, vl);
    vfloat32m2_t sum = __riscv_vfmv_v_f_f32m2(0, vl);
    vfloat32m2_t most = __riscv_vfmv_v_f_f32m2(-__FLT_MAX__, vl);
    vfloat32m2_t x0, x1, x2, m0, m1, m2, p0, p1, p2, y0, y1, y2;
    vfloat32m2_t later0 = __riscv_vle32_v_f32m2(x, vl), later1;
    long i = 0;
    later1 = __riscv_vle32_v_f32m2(x + 16, vl);
#define BOTH_HELD HOLD2(p0, p1)
    for (; i + 64 <= n; i += 32) {
        x0 = later0, x1 = later1;
        LOAD_NEXT(y0, next + i)
        POWER_OFF(0)
        POWER_OFF(1) HOLD2(x0, x1) LOAD_NEXT(y1, next + i + 16) ahead(next + i + 96, 128);
        POWER_LOW(0)
        POWER_LOW(1) HOLD2(x0, x1) LARGER(y0) POWER_ROUND(0) POWER_ROUND(1) HOLD2(m0, m1)
            ON_2(POWER_WHOLE) POWER_REST(0) POWER_REST(1) HOLD2(x0, x1)
                LOAD_NEXT(later0, x + i + 32) ON_2(POWER_C5) ON_2(POWER_C4)
                    LOAD_NEXT(later1, x + i + 48) ON_2(POWER_C3) LARGER(y1) ON_2(POWER_C2)
                        ON_2(POWER_C1) ON_2(POWER_C0) ON_2(POWER_DONE) POWER_ADD(0) POWER_ADD(1)
    }
    x0 = later0, x1 = later1;
    y0 = __riscv_vle32_v_f32m2(next + i, vl), y1 = __riscv_vle32_v_f32m2(next + i + 16, vl);
    vfloat32m2_t low = __riscv_vfmv_v_f_f32m2(-__FLT_MAX__, vl);
    for (i += 32; i < n; i += 16) {
        size_t some = n - i < 16 ? (size_t)(n - i) : 16;
        y2 = __riscv_vle32_v_f32m2_tu(low, next + i, some);
        x2 = __riscv_vle32_v_f32m2_tu(low, x + i, some);
        LARGER(y2)
        if (i + 16 < n) { /* two more of 16 each, the first on its own */
            POWER_OFF(2)
            POWER_LOW(2) POWER_ROUND(2) POWER_WHOLE(2) POWER_REST(2) POWER_C5(2) POWER_C4(2)
                POWER_C3(2) POWER_C2(2) POWER_C1(2) POWER_C0(2) POWER_DONE(2) POWER_ADD(2)
        } else {
            ON_3(POWER_OFF)
            LARGER(y0)
            ON_3(POWER_LOW)
            ON_3(POWER_ROUND) ON_3(POWER_WHOLE) ON_3(POWER_REST) ON_3(POWER_C5) ON_3(POWER_C4)
                ON_3(POWER_C3) ON_3(POWER_C2) ON_3(POWER_C1) ON_3(POWER_C0) ON_3(POWER_DONE)
                    LARGER(y1) ON_3(POWER_ADD) goto done;
        }
    }
    LARGER(y0)
    LARGER(y1)
    POWER_OFF(0)
    POWER_OFF(1) POWER_LOW(0) POWER_LOW(1) POWER_ROUND(0) POWER_ROUND(1) ON_2(POWER_WHOLE)
        POWER_REST(0) POWER_REST(1) ON_2(POWER_C5) ON_2(POWER_C4) ON_2(POWER_C3) ON_2(POWER_C2)
            ON_2(POWER_C1) ON_2(POWER_C0) ON_2(POWER_DONE) POWER_ADD(0) POWER_ADD(1) done
        : store_sum_m2(total, sum);
    store_largest_m2(most_of_next, most);
}

static inline void log_sum_exp_pool_planes(const uint64_t *args) {
    const float *x = IN(float, 0);
    float *out = OUT(float, 1);
    long planes = INT(2), n = INT(3);
    float r = as_float(args[4]), each = 1 / (float)n, scale = r * 1.44269504f;
    for (long plane = 0; plane < planes && plane < 2; plane++)
        largest_of_plane(x + plane * n, n, mosts + plane);
    for (long plane = 0; plane < planes; plane++) {
        /* The last two have no plane after the next. */
        const float *next = plane + 2 < planes ? x + (plane + 2) * n : x + plane * n;
        sum_of_powers(x + plane * n, next, n, scale, totals + plane, mosts + plane + 2);
    }
    for (long i = 0; i < planes;) {
        size_t vl = __riscv_vsetvl_e32m4(planes - i);
        vfloat32m4_t total = __riscv_vle32_v_f32m4(totals + i, vl);
        vfloat32m4_t most = __riscv_vle32_v_f32m4(mosts + i, vl);
        total = logarithm(__riscv_vfmul_vf_f32m4(total, each, vl), vl);
        __riscv_vse32_v_f32m4(out + i, __riscv_vfmacc_vf_f32m4(most, 1 / r, total, vl), vl);
        i += (long)vl;
    }
}

/* Coordinates of boxes, each in an array of its own, that do not begin in the same set of the
 * cache. Up to 8,192 boxes. */
#define BOXES (8192 + 336)
static float lefts[BOXES], tops[BOXES], rights[BOXES], bottoms[BOXES], areas[BOXES];
static float widths[BOXES], heights[BOXES];

/* Suppression: common / union > t is common > t / (1 + t) * (the sum of areas), so areas are stored
 * times that. 16 columns, which are two bytes of the mask, are compared with four rows. */
#define SIXTEEN (VLEN / 16)
static float by_sixteens[(8192 / SIXTEEN + 1) * 5 * SIXTEEN]; /* right, left, bottom, top, area */
#define AT(i, what) by_sixteens[((i) / SIXTEEN * 5 + (what)) * SIXTEEN + (i) % SIXTEEN]
#define OF_ROW(k)                                                                                  \
    float right##k = AT(row + k, 0), left##k = AT(row + k, 1), bottom##k = AT(row + k, 2);         \
    float top##k = AT(row + k, 3), area##k = AT(row + k, 4);                                       \
    __asm__("" : "+f"(right##k), "+f"(left##k), "+f"(top##k), "+f"(bottom##k), "+f"(area##k));
#define SET_X(k)                                                                                   \
    w##k = __riscv_vfmin_vf_f32m2(r, right##k, vl), v##k = __riscv_vfmax_vf_f32m2(l, left##k, vl);
#define SET_Y(k)                                                                                   \
    h##k = __riscv_vfmin_vf_f32m2(b, bottom##k, vl), g##k = __riscv_vfmax_vf_f32m2(t, top##k, vl);
#define SIZE_X(k) w##k = __riscv_vfsub_vv_f32m2(w##k, v##k, vl);
#define SIZE_Y(k) h##k = __riscv_vfsub_vv_f32m2(h##k, g##k, vl);
/* If both are negative, the product is zero; if one is, it is none or less. */
#define LOW_X(k) w##k = __riscv_vfmax_vf_f32m2(w##k, 0, vl);
#define AREAS(k) v##k = __riscv_vfadd_vf_f32m2(area, area##k, vl);
#define COMMON(k) w##k = __riscv_vfmul_vv_f32m2(w##k, h##k, vl);
#define OVER(k)                                                                                    \
    vbool16_t over##k = __riscv_vmflt_vv_f32m2_b16(v##k, w##k, vl);                                \
    if (on_diagonal)                                                                               \
        over##k = __riscv_vmand_mm_b16(                                                            \
            over##k, __riscv_vmsgt_vx_i32m2_b16(lane, (int32_t)(row + (k) - column), vl), vl);
#define KEEP(k) __riscv_vsm_v_b16(mask + (k) * bytes + column / 8, over##k, vl);
#define NEXT_COLUMNS(x)                                                                            \
    x = __riscv_vle32_v_f32m2(from, vl), from += SIXTEEN;                                          \
    HOLD1(x)
/* Of the next columns, coordinates are loaded as soon as these ones' are not needed any more. */
#define START(i, j) SET_X(i) SET_X(j) HOLD8(w##i, w##j, v##i, v##j, b, t, r, l)
#define START_Y(i, j) SET_Y(i) SET_Y(j) HOLD8(h##i, h##j, g##i, g##j, w##i, w##j, v##i, v##j)
#define SIZES_OF(i, j)                                                                             \
    SIZE_X(i)                                                                                      \
    SIZE_X(j) HOLD8(h##i, h##j, g##i, g##j, w##i, w##j, v##i, v##j) SIZE_Y(i) SIZE_Y(j)            \
        HOLD4(h##i, h##j, w##i, w##j) LOW_X(i) LOW_X(j) HOLD3(w##i, w##j, area)
#define COMMONS(i, j)                                                                              \
    AREAS(i)                                                                                       \
    AREAS(j) HOLD4(w##i, w##j, v##i, v##j) COMMON(i) COMMON(j)                                     \
        HOLD8(w##i, w##j, v##i, v##j, r, l, b, t)

static inline __attribute__((always_inline)) void some_rows(long row, long rows, long columns,
                                                            uint8_t *mask, long bytes) {
    const float *from;
    size_t vl = VLEN / 16;
    long column = (row + 1) / 16 * 16;
    OF_ROW(0) OF_ROW(1) OF_ROW(2) OF_ROW(3) for (long k = 0; k < rows; k++) {
        uint64_t *words = __builtin_assume_aligned(mask + k * bytes, 8);
        for (long word = 0; word < (column + 63) / 64; word++) {
            words[word] = 0;
            __asm__ volatile("" : : : "memory"); /* fewer than a call of memset is for */
        }
    }
    vfloat32m2_t r, l, b, t, area, w0, w1, v0, v1, h0, h1, g0, g1;
    vfloat32m2_t w2, w3, v2, v3, h2, h3, g2, g3;
    from = &AT(column, 0);
    NEXT_COLUMNS(r)
    NEXT_COLUMNS(l) NEXT_COLUMNS(b) NEXT_COLUMNS(t) NEXT_COLUMNS(area) vint32m2_t lane =
        __riscv_vreinterpret_v_u32m2_i32m2(__riscv_vid_v_u32m2(vl));
#define BLOCK                                                                                      \
    START(0, 1)                                                                                    \
    START_Y(0, 1)                                                                                  \
    SIZES_OF(0, 1)                                                                                 \
    if (rows == 4) {                                                                               \
        COMMONS(0, 1)                                                                              \
        START(2, 3)                                                                                \
        NEXT_COLUMNS(r)                                                                            \
        OVER(0)                                                                                    \
        OVER(1) NEXT_COLUMNS(l) START_Y(2, 3) KEEP(0) NEXT_COLUMNS(b) SIZES_OF(2, 3) KEEP(1)       \
            NEXT_COLUMNS(t) COMMONS(2, 3) NEXT_COLUMNS(area) OVER(2) OVER(3) KEEP(2) KEEP(3)       \
    } else {                                                                                       \
        COMMONS(0, 1)                                                                              \
        NEXT_COLUMNS(r)                                                                            \
        NEXT_COLUMNS(l) NEXT_COLUMNS(b) NEXT_COLUMNS(t) NEXT_COLUMNS(area) OVER(0) OVER(1) KEEP(0) \
            KEEP(1)                                                                                \
    }
    int on_diagonal = 1;
    for (; column < columns && column < row + rows; column += 16) {
        BLOCK
    }
    for (on_diagonal = 0; column < columns; column += 16) {
        BLOCK
    }
}

static __attribute__((noinline)) void four_rows(long row, long columns, uint8_t *mask, long bytes) {
    some_rows(row, 4, columns, mask, bytes);
}

static __attribute__((noinline)) void two_rows(long row, long columns, uint8_t *mask, long bytes) {
    some_rows(row, 2, columns, mask, bytes);
}

static inline void nms_iou_bitmask_rows(const uint64_t *args) {
    const float *boxes = IN(float, 0);
    uint8_t *mask = OUT(uint8_t, 1);
    long n = INT(2), bytes = 8 * INT(3), columns = 8 * bytes, row = 0;
    float threshold = as_float(args[4]), share = threshold / (1 + threshold);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2x4_t box = __riscv_vlseg4e32_v_f32m2x4(boxes + 4 * i, vl);
        vfloat32m2_t l = __riscv_vget_v_f32m2x4_f32m2(box, 0);
        vfloat32m2_t t = __riscv_vget_v_f32m2x4_f32m2(box, 1);
        vfloat32m2_t r = __riscv_vget_v_f32m2x4_f32m2(box, 2);
        vfloat32m2_t b = __riscv_vget_v_f32m2x4_f32m2(box, 3);
        vfloat32m2_t area = __riscv_vfmul_vf_f32m2(__riscv_vfsub_vv_f32m2(r, l, vl), share, vl);
        area = __riscv_vfmul_vv_f32m2(area, __riscv_vfsub_vv_f32m2(b, t, vl), vl);
        __riscv_vse32_v_f32m2(&AT(i, 0), r, vl);
        __riscv_vse32_v_f32m2(&AT(i, 1), l, vl);
        __riscv_vse32_v_f32m2(&AT(i, 2), b, vl);
        __riscv_vse32_v_f32m2(&AT(i, 3), t, vl);
        __riscv_vse32_v_f32m2(&AT(i, 4), area, vl);
        i += (long)vl;
    }
    for (long i = n; i < columns; i++)
        AT(i, 4) = __FLT_MAX__; /* boxes that nothing suppresses */
    for (; row + 4 <= n; row += 4)
        four_rows(row, columns, mask + row * bytes, bytes);
    for (; row + 2 <= n; row += 2)
        two_rows(row, columns, mask + row * bytes, bytes);
    if (row < n && n >= 2) /* the last one with the one before it */
        two_rows(row - 1, columns, mask + (row - 1) * bytes, bytes);
}

/* GIoU: the width of the hull is the sum of both widths less that of what is common, which may be
 * negative. common / union - 1 + union / hull has one quotient. Two queries are in work together,
 * so that none waits. */
#define STEP_0(name, f, a, b) name##0 = OP(f)(a##0, b, vl), name##1 = OP(f)(a##1, b, vl);
#define STEP_VV(name, f, a, b) name##0 = OP(f)(a##0, b##0, vl), name##1 = OP(f)(a##1, b##1, vl);
#define STEP_Q(name, f, a, b) name##0 = OP(f)(a, b##_0, vl), name##1 = OP(f)(a, b##_1, vl);
#define STEP_1(name, f, a) name##0 = OP(f)(a##0, vl), name##1 = OP(f)(a##1, vl);
#define STEP_MAC(name, f, a, b)                                                                    \
    name##0 = OP(f)(name##0, a##0, b##0, vl), name##1 = OP(f)(name##1, a##1, b##1, vl);
#define NOW(x, from)                                                                               \
    x = OP_LOAD(from + i, vl);                                                                     \
    HOLD1(x)
#define NEXT(x, from)                                                                              \
    x = OP_LOAD(from + i + vl, vl);                                                                \
    HOLD1(x)

/* Of the next targets, corners are loaded while these are in work. Costs are for `some`. */
#define GIOU_BODY(some)                                                                            \
    FLOATS w0, w1, v0, v1, h0, h1, g0, g1, u0, u1, n0, n1, wide, high, area;                       \
    NOW(wide, t_widths)                                                                            \
    NOW(high, t_heights) STEP_Q(w, vfmin_vf, r, right) STEP_Q(v, vfmax_vf, l, left)                \
        HOLD8(w0, w1, v0, v1, b, t, wide, high) STEP_Q(h, vfmin_vf, b, bottom)                     \
            STEP_Q(g, vfmax_vf, t, top) HOLD8(w0, w1, v0, v1, h0, h1, g0, g1) NOW(area, t_areas)   \
                STEP_VV(w, vfsub_vv, w, v) STEP_VV(h, vfsub_vv, h, g)                              \
                    HOLD7(w0, w1, h0, h1, wide, high, area) STEP_Q(v, vfadd_vf, wide, width)       \
                        STEP_Q(g, vfadd_vf, high, height) HOLD8(w0, w1, v0, v1, h0, h1, g0, g1)    \
                            STEP_VV(v, vfsub_vv, v, w) STEP_VV(g, vfsub_vv, g, h)                  \
                                HOLD8(w0, w1, v0, v1, h0, h1, g0, g1) NEXT(r, t_rights)            \
                                    STEP_0(w, vfmax_vf, w, 0) STEP_0(h, vfmax_vf, h, 0)            \
                                        HOLD8(w0, w1, v0, v1, h0, h1, g0, g1)                      \
                                            STEP_VV(v, vfmul_vv, v, g) STEP_VV(w, vfmul_vv, w, h)  \
                                                HOLD4(v0, v1, w0, w1) NEXT(l, t_lefts)             \
                                                    STEP_Q(u, vfadd_vf, area, area) HOLD2(u0, u1)  \
                                                        STEP_VV(u, vfsub_vv, u, w)                 \
                                                            STEP_VV(n, vfmul_vv, w, v)             \
                                                                HOLD4(u0, u1, n0, n1)              \
                                                                    FLOATS cost0 =                 \
                                                                        OP_LOAD(cost + i, some);   \
    FLOATS cost1 = OP_LOAD(cost + second + i, some);                                               \
    HOLD2(cost0, cost1)                                                                            \
    ahead(cost + 2 * second + i, VLEN / 4), ahead(cost + 3 * second + i, VLEN / 4);                \
    STEP_VV(g, vfmul_vv, u, v)                                                                     \
    STEP_MAC(n, vfmacc_vv, u, u)                                                                   \
    HOLD4(g0, g1, n0, n1)                                                                          \
    STEP_1(h, vfrec7_v, g)                                                                         \
    HOLD4(h0, h1, n0, n1)                                                                          \
    STEP_0(n, vfmul_vf, n, weight)                                                                 \
    HOLD4(n0, n1, g0, g1)                                                                          \
    STEP_VV(g, vfmul_vv, g, h)                                                                     \
    HOLD4(n0, n1, g0, g1)                                                                          \
    NEXT(b, t_bottoms)                                                                             \
    STEP_VV(n, vfmul_vv, n, h)                                                                     \
    HOLD4(n0, n1, g0, g1)                                                                          \
    STEP_0(g, vfrsub_vf, g, 1)                                                                     \
    HOLD4(g0, g1, cost0, cost1)                                                                    \
    STEP_0(cost, vfadd_vf, cost, weight)                                                           \
    HOLD4(cost0, cost1, g0, g1)                                                                    \
    STEP_MAC(g, vfmacc_vv, g, g)                                                                   \
    HOLD4(g0, g1, cost0, cost1)                                                                    \
    STEP_VV(cost, vfsub_vv, cost, n)                                                               \
    HOLD2(cost0, cost1)                                                                            \
    NEXT(t, t_tops)                                                                                \
    STEP_MAC(cost, vfnmsac_vv, n, g)                                                               \
    OP_STORE(cost + i, cost0, some);                                                               \
    OP_STORE(cost + second + i, cost1, some);

static float t_lefts[BOXES], t_tops[BOXES], t_rights[BOXES], t_bottoms[BOXES], t_areas[BOXES];
static float t_widths[BOXES], t_heights[BOXES];

static inline void box_arrays(const float *boxes, long n, float *left, float *top, float *right,
                              float *bottom, float *width, float *height, float *area) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2x4_t box = __riscv_vlseg4e32_v_f32m2x4(boxes + 4 * i, vl);
        vfloat32m2_t x = __riscv_vget_v_f32m2x4_f32m2(box, 0);
        vfloat32m2_t y = __riscv_vget_v_f32m2x4_f32m2(box, 1);
        vfloat32m2_t w = __riscv_vget_v_f32m2x4_f32m2(box, 2);
        vfloat32m2_t h = __riscv_vget_v_f32m2x4_f32m2(box, 3);
        __riscv_vse32_v_f32m2(left + i, __riscv_vfnmsac_vf_f32m2(x, 0.5f, w, vl), vl);
        __riscv_vse32_v_f32m2(top + i, __riscv_vfnmsac_vf_f32m2(y, 0.5f, h, vl), vl);
        __riscv_vse32_v_f32m2(right + i, __riscv_vfmacc_vf_f32m2(x, 0.5f, w, vl), vl);
        __riscv_vse32_v_f32m2(bottom + i, __riscv_vfmacc_vf_f32m2(y, 0.5f, h, vl), vl);
        __riscv_vse32_v_f32m2(width + i, w, vl);
        __riscv_vse32_v_f32m2(height + i, h, vl);
        __riscv_vse32_v_f32m2(area + i, __riscv_vfmul_vv_f32m2(w, h, vl), vl);
        i += (long)vl;
    }
}

#define QUERY(k)                                                                                   \
    float right_##k = rights[query + k], left_##k = lefts[query + k], top_##k = tops[query + k];   \
    float bottom_##k = bottoms[query + k], area_##k = areas[query + k];                            \
    float width_##k = widths[query + k], height_##k = heights[query + k];                          \
    __asm__(""                                                                                     \
            : "+f"(right_##k), "+f"(left_##k), "+f"(top_##k), "+f"(bottom_##k), "+f"(area_##k),    \
              "+f"(width_##k), "+f"(height_##k));

static inline void two_queries(long query, long second, float *cost, long targets, float weight) {
    QUERY(0) QUERY(1) long i = 0;
#define FLOATS vfloat32m2_t
#define OP(name) __riscv_##name##_f32m2
#define OP_LOAD __riscv_vle32_v_f32m2
#define OP_STORE __riscv_vse32_v_f32m2
#define FIRST(x) OP_LOAD(x, vl)
#define TARGETS                                                                                    \
    FLOATS r = FIRST(t_rights + i), l = FIRST(t_lefts + i), b = FIRST(t_bottoms + i);              \
    FLOATS t = FIRST(t_tops + i);
    {
        size_t vl = VLEN / 16;
        TARGETS
        for (; i + VLEN / 16 <= targets; i += VLEN / 16) {
            GIOU_BODY(vl)
        }
        if (i + VLEN / 32 < targets) {
            size_t some = (size_t)(targets - i);
            GIOU_BODY(some)
            return;
        }
    }
#undef FLOATS
#undef OP
#undef OP_LOAD
#undef OP_STORE
#define FLOATS vfloat32m1_t
#define OP(name) __riscv_##name##_f32m1
#define OP_LOAD __riscv_vle32_v_f32m1
#define OP_STORE __riscv_vse32_v_f32m1
    if (i < targets) {
        size_t vl = VLEN / 32, some = (size_t)(targets - i);
        TARGETS
        GIOU_BODY(some)
    }
}

static inline void giou_cost_matrix_tile(const uint64_t *args) {
    float *cost = OUT(float, 2);
    long queries = INT(3), targets = INT(4), query = 0;
    float weight = as_float(args[5]);
    box_arrays(IN(float, 0), queries, lefts, tops, rights, bottoms, widths, heights, areas);
    box_arrays(IN(float, 1), targets, t_lefts, t_tops, t_rights, t_bottoms, t_widths, t_heights,
               t_areas);
    if (queries % 2) { /* the last one with a copy of its costs */
        static float copies[2 * BOXES];
        long last = queries - 1;
        float *arrays[] = {lefts, tops, rights, bottoms, widths, heights, areas};
        for (int k = 0; k < 7; k++)
            arrays[k][queries] = arrays[k][last];
        memcpy(copies, cost + last * targets, (size_t)targets * 4);
        two_queries(last, targets, copies, targets, weight);
        memcpy(cost + last * targets, copies, (size_t)targets * 4);
    }
    for (; query + 2 <= queries; query += 2)
        two_queries(query, targets, cost + query * targets, targets, weight);
}

/* Orthogonalisation, of four columns: all products of columns come from one pass, in fp64, so that
 * no more is lost than column by column. From these follow, without the columns, what each new
 * column has of the old ones. */
#define EACH_PAIR(EACH)                                                                            \
    EACH(0, 0)                                                                                     \
    EACH(0, 1) EACH(0, 2) EACH(0, 3) EACH(1, 1) EACH(1, 2) EACH(1, 3) EACH(2, 2) EACH(2, 3)        \
        EACH(3, 3)
#define ZERO_SUM(i, j) vfloat64m2_t sum##i##j = __riscv_vfmv_v_f_f64m2(0, VLEN / 32);
#define ADD_PAIR(i, j) sum##i##j = __riscv_vfwmacc_vv_f64m2(sum##i##j, COLUMN(i), COLUMN(j), vl);
#define STORE_PAIR(i, j)                                                                           \
    half = __riscv_vfadd_vv_f64m1(__riscv_vget_v_f64m2_f64m1(sum##i##j, 0),                        \
                                  __riscv_vget_v_f64m2_f64m1(sum##i##j, 1), VLEN / 64);            \
    half = __riscv_vfredusum_vs_f64m1_f64m1(half, zero, VLEN / 64);                                \
    __riscv_vse64_v_f64m1(&gram[i][j], half, 1);
#define ROWS (VLEN / 32)
/* What was loaded before is loaded now, and sums grow later. */
#define LOADED                                                                                     \
    __asm__ volatile(""                                                                            \
                     : "+vr"(sum00), "+vr"(sum01), "+vr"(sum02), "+vr"(sum03), "+vr"(sum11),       \
                       "+vr"(sum12), "+vr"(sum13), "+vr"(sum22), "+vr"(sum23), "+vr"(sum33)        \
                     :                                                                             \
                     : "memory");

static inline void products_of_columns(const float *matrix, long n, double gram[4][4]) {
    EACH_PAIR(ZERO_SUM)
    size_t vl = ROWS;
    vfloat32m1x4_t now, later;
    long i = 0, whole = n / ROWS * ROWS;
    if (whole)
        now = __riscv_vlseg4e32_v_f32m1x4(matrix, vl);
#define COLUMN(k) __riscv_vget_v_f32m1x4_f32m1(now, k)
    for (; i + 2 * ROWS < whole; i += 2 * ROWS) {
        later = __riscv_vlseg4e32_v_f32m1x4(matrix + 4 * (i + ROWS), vl);
        LOADED
        ahead(matrix + 4 * i + 128, VLEN / 2);
        EACH_PAIR(ADD_PAIR)
        now = __riscv_vlseg4e32_v_f32m1x4(matrix + 4 * (i + 2 * ROWS), vl);
        LOADED
        ahead(matrix + 4 * i + 160, VLEN / 2);
#undef COLUMN
#define COLUMN(k) __riscv_vget_v_f32m1x4_f32m1(later, k)
        EACH_PAIR(ADD_PAIR)
#undef COLUMN
#define COLUMN(k) __riscv_vget_v_f32m1x4_f32m1(now, k)
    }
    for (; i < whole; i += ROWS) { /* the first of them is loaded */
        EACH_PAIR(ADD_PAIR)
        if (i + ROWS < whole)
            now = __riscv_vlseg4e32_v_f32m1x4(matrix + 4 * (i + ROWS), vl);
    }
    if (i < n) {
        float last[4 * ROWS] = {0};
        memcpy(last, matrix + 4 * i, (size_t)(n - i) * 16);
        now = __riscv_vlseg4e32_v_f32m1x4(last, vl);
        EACH_PAIR(ADD_PAIR)
    }
    vfloat64m1_t half, zero = __riscv_vfmv_s_f_f64m1(0, 1);
    EACH_PAIR(STORE_PAIR)
}

/* New column k is the sum of from[j][k] times old column j. */
static inline void mixtures(double gram[4][4], double eps, double from[4][4]) {
#pragma clang loop unroll(full)
    for (int k = 0; k < 4; k++) {
        double square = gram[k][k], mix[4] = {0, 0, 0, 0};
        mix[k] = 1;
        for (int j = 0; j < k; j++) {
            double along = 0;
            for (int i = 0; i <= j; i++)
                along += from[i][j] * gram[i][k];
            for (int i = 0; i <= j; i++)
                mix[i] -= along * from[i][j];
            square -= along * along;
        }
        double inverse = 1 / (sqrt(square > 0 ? square : 0) + eps);
        for (int j = 0; j <= k; j++)
            from[j][k] = mix[j] * inverse;
    }
}

#define PART(x, k) vfloat32m1_t x##k = __riscv_vget_v_f32m1x4_f32m1(x, k);
#define PARTS(x) PART(x, 0) PART(x, 1) PART(x, 2) PART(x, 3)
#define NEW(x, k) x##_##k = __riscv_vfmul_vf_f32m1(x##k, f##k##k, vl);
#define MORE(x, j, k) x##_##k = __riscv_vfmacc_vf_f32m1(x##_##k, f##j##k, x##j, vl);
#define MIX_FIRST(x)                                                                               \
    PARTS(x)                                                                                       \
    NEW(x, 3) NEW(x, 2) NEW(x, 1) NEW(x, 0) HOLD4(x##_0, x##_1, x##_2, x##_3)
#define MIX_REST(x)                                                                                \
    MORE(x, 0, 3)                                                                                  \
    MORE(x, 0, 2) MORE(x, 0, 1) HOLD3(x##_1, x##_2, x##_3) MORE(x, 1, 3) MORE(x, 1, 2)             \
        HOLD2(x##_2, x##_3) MORE(x, 2, 3)
#define PUT_BACK(to, x)                                                                            \
    __riscv_vsseg4e32_v_f32m1x4(to, __riscv_vcreate_v_f32m1x4(x##_0, x##_1, x##_2, x##_3), vl);    \
    __asm__ volatile("" : : : "memory");
#define LOAD(x, from)                                                                              \
    x = __riscv_vlseg4e32_v_f32m1x4(from, vl);                                                     \
    __asm__ volatile("" : : : "memory");

/* Eight rows are mixed while those before are stored, and those behind them loaded. */
static inline void mix_columns(float *matrix, long n, double from[4][4]) {
    float f00 = (float)from[0][0], f01 = (float)from[0][1], f02 = (float)from[0][2];
    float f03 = (float)from[0][3], f11 = (float)from[1][1], f12 = (float)from[1][2];
    float f13 = (float)from[1][3], f22 = (float)from[2][2], f23 = (float)from[2][3];
    float f33 = (float)from[3][3];
    size_t vl = ROWS;
    long i = 0;
    vfloat32m1x4_t a, b;
    vfloat32m1_t a_0, a_1, a_2, a_3, b_0, b_1, b_2, b_3;
    if (n >= 2 * ROWS) {
        LOAD(a, matrix)
        MIX_FIRST(a)
        LOAD(b, matrix + 4 * ROWS)
        MIX_REST(a)
        for (; i + 4 * ROWS <= n; i += 2 * ROWS) {
            LOAD(a, matrix + 4 * (i + 2 * ROWS)){MIX_FIRST(b) PUT_BACK(matrix + 4 * i, a) MIX_REST(
                b)} LOAD(b, matrix + 4 * (i + 3 * ROWS)) MIX_FIRST(a)
                PUT_BACK(matrix + 4 * (i + ROWS), b) MIX_REST(a)
        }
        PUT_BACK(matrix + 4 * i, a)
        MIX_FIRST(b)
        MIX_REST(b)
        PUT_BACK(matrix + 4 * (i + ROWS), b)
        i += 2 * ROWS;
    }
    for (; i < n; i += ROWS) {
        vl = n - i < ROWS ? (size_t)(n - i) : ROWS;
        LOAD(a, matrix + 4 * i)
        MIX_FIRST(a)
        MIX_REST(a)
        PUT_BACK(matrix + 4 * i, a)
    }
}

static inline void powersgd_orthogonalise_columns(const uint64_t *args) {
    float *matrix = OUT(float, 0);
    long matrices = sizes[0], n = INT(1);
    double eps = as_float(args[2]), gram[4][4], from[4][4];
    for (long k = 0; k < matrices; k++, matrix += 4 * n) {
        products_of_columns(matrix, n, gram);
        mixtures(gram, eps, from);
        mix_columns(matrix, n, from);
    }
}
