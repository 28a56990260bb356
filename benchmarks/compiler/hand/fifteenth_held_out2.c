/* The kernels of fifteenth_held_out2.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Gradients of bytes are of 11 bits and a sign. |gy| * 2^15 < 13573 * |gx| is |gy| <= the quotient
 * without its fraction, for all but |gx| = 0: 16 bits suffice. */
static inline void sobel_non_maximum(const uint64_t *args) {
    long h = INT(4), w = INT(5), stride = w + 2;
    for (long y = 0; y < h; y++) {
        const int16_t *sizes_at = IN(int16_t, 0) + (y + 1) * stride + 1;
        const int16_t *gxs = IN(int16_t, 1) + y * w, *gys = IN(int16_t, 2) + y * w;
        int16_t *out = OUT(int16_t, 3) + y * w;
        for (long x = 0; x < w;) {
            size_t vl = __riscv_vsetvl_e16m4(w - x);
#define SIZE(at) __riscv_vle16_v_i16m4(size + (at), vl)
            const int16_t *size = sizes_at + x;
            ahead(gxs + x + 256, VLEN / 2), ahead(gys + x + 256, VLEN / 2);
            ahead(size + stride + 256, VLEN / 2);
            vint16m4_t gx = __riscv_vle16_v_i16m4(gxs + x, vl);
            vint16m4_t gy = __riscv_vle16_v_i16m4(gys + x, vl);
            vint16m4_t across = __riscv_vmax_vv_i16m4(gx, __riscv_vneg_v_i16m4(gx, vl), vl);
            vint16m4_t down = __riscv_vmax_vv_i16m4(gy, __riscv_vneg_v_i16m4(gy, vl), vl);
            vuint16m4_t wide = __riscv_vreinterpret_v_i16m4_u16m4(across);
            vuint16m4_t steep = __riscv_vreinterpret_v_i16m4_u16m4(down);
            vuint16m4_t flat = __riscv_vmulhu_vx_u16m4(wide, 2 * 13573, vl);
            vbool4_t rising = __riscv_vmslt_vx_i16m4_b4(__riscv_vxor_vv_i16m4(gx, gy, vl), 0, vl);
            vint16m4_t first =
                __riscv_vmerge_vvm_i16m4(SIZE(-stride - 1), SIZE(1 - stride), rising, vl);
            vint16m4_t second =
                __riscv_vmerge_vvm_i16m4(SIZE(stride + 1), SIZE(stride - 1), rising, vl);
            vbool4_t horizontal = __riscv_vmsleu_vv_u16m4_b4(steep, flat, vl);
            flat = __riscv_vadd_vv_u16m4(flat, __riscv_vadd_vv_u16m4(wide, wide, vl), vl);
            vbool4_t vertical = __riscv_vmsgtu_vv_u16m4_b4(steep, flat, vl);
            first = __riscv_vmerge_vvm_i16m4(first, SIZE(-stride), vertical, vl);
            second = __riscv_vmerge_vvm_i16m4(second, SIZE(stride), vertical, vl);
            first = __riscv_vmerge_vvm_i16m4(first, SIZE(-1), horizontal, vl);
            second = __riscv_vmerge_vvm_i16m4(second, SIZE(1), horizontal, vl);
            vint16m4_t own = SIZE(0);
            vbool4_t less = __riscv_vmor_mm_b4(__riscv_vmsle_vv_i16m4_b4(own, first, vl),
                                               __riscv_vmslt_vv_i16m4_b4(own, second, vl), vl);
            __riscv_vse16_v_i16m4(out + x, __riscv_vmerge_vxm_i16m4(own, 0, less, vl), vl);
            x += (long)vl;
        }
    }
}

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define PIECE(k) vint32m1_t x##k = __riscv_vget_v_i32m4_i32m1(lifted, k);
#define SLIDE(k) vint32m1_t y##k = __riscv_vslideup_vx_i32m1(x##k, x##k, step, lanes);
#define LARGER(k) x##k = __riscv_vmax_vv_i32m1(x##k, y##k, lanes);
#define LAST(k) vint32m1_t last##k = __riscv_vrgather_vx_i32m1(x##k, lanes - 1, lanes);
#define CARRY(k)                                                                                   \
    x##k = __riscv_vmax_vv_i32m1(x##k, before, lanes);                                             \
    before = __riscv_vmax_vv_i32m1(before, last##k, lanes);

/* Each register's largest up to an element, by steps of slides, and then those of all before. */
#define SCAN                                                                                       \
    FOUR(PIECE)                                                                                    \
    for (size_t step = 1; step < VLEN / 32; step *= 2) {                                           \
        FOUR(SLIDE) FOUR(LARGER)                                                                   \
    }                                                                                              \
    FOUR(LAST) FOUR(CARRY)                                                                         \
    vint32m4_t highest = __riscv_vcreate_v_i32m1_i32m4(x0, x1, x2, x3);

/* Scores are lifted by what a gap costs up to their place, so the largest before needs no more. */
#define ALIGN                                                                                      \
    vint32m4_t gap = __riscv_vle32_v_i32m4(gaps + i, vl);                                          \
    vint32m4_t above = __riscv_vle32_v_i32m4(score + i + 1, vl);                                   \
    vint32m4_t best = __riscv_vle32_v_i32m4(score + i, vl);                                        \
    vint8m1_t letters = __riscv_vle8_v_i8m1(target + i, vl);                                       \
    ahead(gaps + i + 96, VLEN / 2), ahead(score + i + 96, VLEN / 2);                               \
    ahead(target + i + 96, VLEN / 8);                                                              \
    vbool8_t same = __riscv_vmseq_vx_i8m1_b8(letters, letter, vl);                                 \
    gap = __riscv_vmax_vv_i32m4(gap, __riscv_vsub_vx_i32m4(above, gap_open, vl), vl);              \
    gap = __riscv_vsub_vx_i32m4(gap, gap_extend, vl);                                              \
    best = __riscv_vadd_vx_i32m4(best, mismatch, vl);                                              \
    best = __riscv_vadd_vx_i32m4_mu(same, best, best, match - mismatch, vl);                       \
    __riscv_vse32_v_i32m4(new_gaps + i, gap, vl);                                                  \
    best = __riscv_vmax_vv_i32m4(best, gap, vl);

#define WRITE_BEST                                                                                 \
    highest = __riscv_vsub_vx_i32m4(highest, gap_open, vl);                                        \
    highest = __riscv_vmax_vv_i32m4(highest, lifted, vl);                                          \
    __riscv_vse32_v_i32m4(new_score + i + 1, __riscv_vsub_vv_i32m4(highest, cost, vl), vl);

static inline void needleman_affine_row(const uint64_t *args) {
    long pairs = sizes[0], n = INT(6), row = INT(7);
    int match = (int)INT(8), mismatch = (int)INT(9);
    int gap_open = (int)INT(10), gap_extend = (int)INT(11);
    int edge = -(gap_open + gap_extend * (int)row);
    size_t all = __riscv_vsetvlmax_e32m4(), lanes = __riscv_vsetvlmax_e32m1();
    vint32m4_t place = __riscv_vreinterpret_v_u32m4_i32m4(__riscv_vid_v_u32m4(all));
    place = __riscv_vadd_vx_i32m4(place, 1, all);
    for (long pair = 0; pair < pairs; pair++) {
        const int32_t *score = IN(int32_t, 0) + pair * (n + 1), *gaps = IN(int32_t, 1) + pair * n;
        const int8_t *target = IN(int8_t, 2) + pair * n;
        int8_t letter = IN(int8_t, 3)[pair];
        int32_t *new_score = OUT(int32_t, 4) + pair * (n + 1);
        int32_t *new_gaps = OUT(int32_t, 5) + pair * n;
        vint32m4_t cost = __riscv_vmul_vx_i32m4(place, gap_extend, all);
        vint32m1_t before = __riscv_vmv_v_x_i32m1(edge, lanes);
        long i = 0;
        new_score[0] = edge;
        for (size_t vl = all; i + (long)all <= n; i += (long)all) {
            ALIGN
            vint32m4_t lifted = __riscv_vadd_vv_i32m4(best, cost, vl);
            SCAN
            WRITE_BEST
            cost = __riscv_vadd_vx_i32m4(cost, gap_extend * (int)all, all);
        }
        if (i < n) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            ALIGN
            vint32m4_t lifted = __riscv_vmv_v_x_i32m4(-1000000000, all);
            lifted = __riscv_vadd_vv_i32m4_tu(lifted, best, cost, vl);
            SCAN
            WRITE_BEST
        }
    }
}

#define TIMES(x, y) __riscv_vfmul_vv_f32m2(x, y, vl)
#define PLUS(to, x, y) __riscv_vfmacc_vv_f32m2(to, x, y, vl)
#define MINUS(to, x, y) __riscv_vfnmsac_vv_f32m2(to, x, y, vl)
#define PLUS_TWICE(to, x) __riscv_vfmacc_vf_f32m2(to, 2, x, vl)

static inline void quaternion_rotate_points(const uint64_t *args) {
    long n = INT(3);
    const float *points = IN(float, 0), *turns = IN(float, 1);
    float *out = OUT(float, 2);
    for (long at = 0; at < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - at);
        ahead(points + 3 * at + 96, 3 * VLEN / 4), ahead(turns + 4 * at + 128, VLEN);
        vfloat32m2x3_t point = __riscv_vlseg3e32_v_f32m2x3(points + 3 * at, vl);
        vfloat32m2x4_t turn = __riscv_vlseg4e32_v_f32m2x4(turns + 4 * at, vl);
        vfloat32m2_t x = __riscv_vget_v_f32m2x3_f32m2(point, 0);
        vfloat32m2_t y = __riscv_vget_v_f32m2x3_f32m2(point, 1);
        vfloat32m2_t z = __riscv_vget_v_f32m2x3_f32m2(point, 2);
        vfloat32m2_t w = __riscv_vget_v_f32m2x4_f32m2(turn, 0);
        vfloat32m2_t i = __riscv_vget_v_f32m2x4_f32m2(turn, 1);
        vfloat32m2_t j = __riscv_vget_v_f32m2x4_f32m2(turn, 2);
        vfloat32m2_t k = __riscv_vget_v_f32m2x4_f32m2(turn, 3);
        vfloat32m2_t a = TIMES(j, z), b = TIMES(k, x), c = TIMES(i, y);
        a = MINUS(a, k, y), b = MINUS(b, i, z), c = MINUS(c, j, x);
        vfloat32m2_t to_x = TIMES(w, a), to_y = TIMES(w, b), to_z = TIMES(w, c);
        to_x = PLUS(to_x, j, c), to_y = PLUS(to_y, k, a), to_z = PLUS(to_z, i, b);
        to_x = MINUS(to_x, k, b), to_y = MINUS(to_y, i, c), to_z = MINUS(to_z, j, a);
        x = PLUS_TWICE(x, to_x), y = PLUS_TWICE(y, to_y), z = PLUS_TWICE(z, to_z);
        __riscv_vsseg3e32_v_f32m2x3(out + 3 * at, __riscv_vcreate_v_f32m2x3(x, y, z), vl);
        at += (long)vl;
    }
}

/* Squares of distances but for x, of two rows' atoms: up to 4,096 of them. */
static float rest0[4096], rest1[4096];

static inline void find_rest(float *rest, const float *atoms, long count, float y, float height) {
    for (long atom = 0; atom < count; atom++) {
        float dy = y - atoms[4 * atom + 1], dz = height - atoms[4 * atom + 2];
        rest[atom] = dy * dy + dz * dz;
    }
}

/* 1 / sqrt by 7 bits, r, and a step of third order: with e = 1 - r^2 * square, it is
 * r * (1 + e / 2 + 3 / 8 * e^2) = 3 / 8 * r * ((e + 2 / 3)^2 + 20 / 9). */
#define ONE(EACH) EACH(0)
#define TWO(EACH) EACH(0) EACH(1)
#define NONE(k) vfloat32m4_t total##k = __riscv_vfmv_v_f_f32m4(0, vl);
#define SQUARE(k) vfloat32m4_t square##k = __riscv_vfadd_vf_f32m4(dx, rest##k[atom], vl);
#define ROOT(k) vfloat32m4_t root##k = __riscv_vfrsqrt7_v_f32m4(square##k, vl);
#define ONCE(k) square##k = __riscv_vfmul_vv_f32m4(square##k, root##k, vl);
#define ERROR(k) square##k = __riscv_vfrsub_vf_f32m4(square##k, 5.0f / 3, vl);
#define AGAIN(k) square##k = __riscv_vfmul_vv_f32m4(square##k, square##k, vl);
#define SERIES(k) square##k = __riscv_vfadd_vf_f32m4(square##k, 20.0f / 9, vl);
#define ADD(k) total##k = __riscv_vfmacc_vf_f32m4(total##k, charge, square##k, vl);
#define WRITE(k) __riscv_vse32_v_f32m4(out + (k) * nx + i, total##k, vl);
#define POTENTIAL(ALL)                                                                             \
    for (long i = 0; i < nx;) {                                                                    \
        size_t vl = __riscv_vsetvl_e32m4(nx - i);                                                  \
        vfloat32m4_t x = __riscv_vfcvt_f_xu_v_f32m4(__riscv_vid_v_u32m4(vl), vl);                  \
        x = __riscv_vfadd_vf_f32m4(x, (float)i, vl);                                               \
        x = __riscv_vfmul_vf_f32m4(x, spacing, vl);                                                \
        ALL(NONE)                                                                                  \
        for (long atom = 0; atom < atoms; atom++) {                                                \
            float charge = 0.375f * from[4 * atom + 3];                                            \
            vfloat32m4_t dx = __riscv_vfsub_vf_f32m4(x, from[4 * atom], vl);                       \
            dx = __riscv_vfmul_vv_f32m4(dx, dx, vl);                                               \
            ALL(SQUARE) ALL(ROOT) ALL(ONCE) ALL(ONCE) ALL(ERROR) ALL(AGAIN) ALL(SERIES) ALL(ONCE)  \
            ALL(ADD)                                                                               \
        }                                                                                          \
        ALL(WRITE)                                                                                 \
        i += (long)vl;                                                                             \
    }

/* Two rows share the distances along x. */
static inline void coulomb_potential_grid(const uint64_t *args) {
    long atoms = INT(2), nx = INT(3), ny = INT(4), row = 0;
    float spacing = as_float(args[5]), height = as_float(args[6]);
    const float *from = IN(float, 0);
    float *out = OUT(float, 1);
    for (; row + 2 <= ny; row += 2, out += 2 * nx) {
        find_rest(rest0, from, atoms, (float)row * spacing, height);
        find_rest(rest1, from, atoms, (float)(row + 1) * spacing, height);
        POTENTIAL(TWO)
    }
    if (row < ny) {
        find_rest(rest0, from, atoms, (float)row * spacing, height);
        POTENTIAL(ONE)
    }
}
