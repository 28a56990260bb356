/* The kernels of twentythird_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define HOLD2(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b));
#define ON_2(STEP) STEP(0) STEP(1)

/* Sampson: coordinates are taken apart once, and 288 pairs of points stay in the cache for all
 * matrices, while errors go through it. Two groups of 16 points are worked out at a time. */
#ifndef POINTS
#define POINTS 288
#endif
static float xs[POINTS + 48], ys[POINTS + 48], us[POINTS + 48], vs[POINTS + 48];

#define E_LOAD_X(k) x##k = __riscv_vle32_v_f32m2(xs + i + 16 * (k), vl);
#define E_LOAD_Y(k) y##k = __riscv_vle32_v_f32m2(ys + i + 16 * (k), vl);
#define E_LOAD_U(k) u##k = __riscv_vle32_v_f32m2(us + i + 16 * (k), vl);
#define E_LOAD_V(k) v##k = __riscv_vle32_v_f32m2(vs + i + 16 * (k), vl);
#define E_FIRST(s, x, f, k) s##k = __riscv_vfmul_vf_f32m2(x##k, f, vl);
#define E_SECOND(s, x, f, k) s##k = __riscv_vfmacc_vf_f32m2(s##k, f, x##k, vl);
#define E_THIRD(s, f, k) s##k = __riscv_vfadd_vf_f32m2(s##k, f, vl);
#define E_D0(k) E_FIRST(s, u, f00, k)
#define E_D1(k) E_SECOND(s, v, f10, k)
#define E_D2(k) E_THIRD(s, f20, k)
#define E_GD(k) g##k = __riscv_vfmul_vv_f32m2(s##k, s##k, vl);
#define E_RD(k) r##k = __riscv_vfmul_vv_f32m2(s##k, x##k, vl);
#define E_E0(k) E_FIRST(s, u, f01, k)
#define E_E1(k) E_SECOND(s, v, f11, k)
#define E_E2(k) E_THIRD(s, f21, k)
#define E_ADD_G(k) g##k = __riscv_vfmacc_vv_f32m2(g##k, s##k, s##k, vl);
#define E_RE(k) r##k = __riscv_vfmacc_vv_f32m2(r##k, s##k, y##k, vl);
#define E_R0(k) r##k = __riscv_vfmacc_vf_f32m2(r##k, f02, u##k, vl);
#define E_R1(k) r##k = __riscv_vfmacc_vf_f32m2(r##k, f12, v##k, vl);
#define E_R2(k) r##k = __riscv_vfadd_vf_f32m2(r##k, f22, vl);
#define E_A0(k) E_FIRST(s, x, f00, k)
#define E_A1(k) E_SECOND(s, y, f01, k)
#define E_A2(k) E_THIRD(s, f02, k)
#define E_B0(k) x##k = __riscv_vfmul_vf_f32m2(x##k, f10, vl);
#define E_B1(k) x##k = __riscv_vfmacc_vf_f32m2(x##k, f11, y##k, vl);
#define E_B2(k) x##k = __riscv_vfadd_vf_f32m2(x##k, f12, vl);
#define E_GB(k) g##k = __riscv_vfmacc_vv_f32m2(g##k, x##k, x##k, vl);
#define E_TINY(k) g##k = __riscv_vfadd_vf_f32m2(g##k, 1e-12f, vl);
#define E_INVERSE(k) s##k = __riscv_vfrec7_v_f32m2(g##k, vl);
#define E_SQUARE(k) r##k = __riscv_vfmul_vv_f32m2(r##k, r##k, vl);
#define E_OFF(k) g##k = __riscv_vfnmsub_vv_f32m2(g##k, s##k, one, vl);
#define E_TIMES(k) r##k = __riscv_vfmul_vv_f32m2(r##k, s##k, vl);
#define E_OFFS(k) g##k = __riscv_vfmadd_vv_f32m2(g##k, g##k, g##k, vl);
#define E_DONE(k) r##k = __riscv_vfmacc_vv_f32m2(r##k, r##k, g##k, vl);
#define E_KEEP(k) __riscv_vse32_v_f32m2(to + i + 16 * (k), r##k, vl);
#define E_HOLD(x) HOLD2(x##0, x##1)
#define E_ALL                                                                                      \
    ON_2(E_LOAD_U) ON_2(E_LOAD_V) E_HOLD(v) ON_2(E_D0) E_HOLD(s) ON_2(E_LOAD_X) ON_2(E_D1)         \
    E_HOLD(s) ON_2(E_D2) E_HOLD(s) ON_2(E_GD) ON_2(E_RD) E_HOLD(r) ON_2(E_E0) E_HOLD(s)            \
    ON_2(E_LOAD_Y) ON_2(E_E1) E_HOLD(s) ON_2(E_E2) E_HOLD(s) ON_2(E_ADD_G) ON_2(E_RE) E_HOLD(r)    \
    ON_2(E_A0) E_HOLD(s) ON_2(E_R0) E_HOLD(r) ON_2(E_A1) E_HOLD(s) ON_2(E_R1) E_HOLD(r)            \
    ON_2(E_A2) E_HOLD(s) ON_2(E_R2) E_HOLD(r) ON_2(E_B0) E_HOLD(x) ON_2(E_ADD_G) E_HOLD(g)         \
    ON_2(E_B1) E_HOLD(x) ON_2(E_SQUARE) E_HOLD(r) ON_2(E_B2) E_HOLD(x) ON_2(E_GB) E_HOLD(g)        \
    ON_2(E_TINY) E_HOLD(g) ON_2(E_INVERSE) E_HOLD(s) ON_2(E_OFF) ON_2(E_TIMES) E_HOLD(g)           \
    ON_2(E_OFFS) E_HOLD(g) ON_2(E_DONE) E_HOLD(r) ON_2(E_KEEP)

static inline void taken_apart(const float *from, float *x, float *y, long n) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4x2_t both = __riscv_vlseg2e32_v_f32m4x2(from + 2 * i, vl);
        __riscv_vse32_v_f32m4(x + i, __riscv_vget_v_f32m4x2_f32m4(both, 0), vl);
        __riscv_vse32_v_f32m4(y + i, __riscv_vget_v_f32m4x2_f32m4(both, 1), vl);
        i += (long)vl;
    }
}

static inline void epipolar_sampson_distance(const uint64_t *args) {
    const float *first = IN(float, 0), *second = IN(float, 1);
    long n = INT(4), matrices = INT(5);
    for (long start = 0; start < n; start += POINTS) {
        long some = n - start < POINTS ? n - start : POINTS;
        taken_apart(first + 2 * start, xs, ys, some);
        taken_apart(second + 2 * start, us, vs, some);
        const float *f = IN(float, 2);
        float *to = OUT(float, 3) + start;
        for (long h = 0; h < matrices; h++, f += 9, to += n) {
            float f00 = f[0], f01 = f[1], f02 = f[2], f10 = f[3], f11 = f[4], f12 = f[5];
            float f20 = f[6], f21 = f[7], f22 = f[8];
            size_t vl = VLEN / 16;
            vfloat32m2_t one = __riscv_vfmv_v_f_f32m2(1, vl);
            vfloat32m2_t x0, x1, y0, y1, u0, u1, v0, v1, s0, s1, r0, r1, g0, g1;
            long i = 0;
            for (; i + 32 <= some; i += 32) {
                E_ALL
            }
            if (i < some && some >= 32) {
                i = some - 32;
                E_ALL
            }
            if (some < 32)
                for (; i < some; i += (long)vl) {
                    vl = __riscv_vsetvl_e32m2(some - i);
#undef ON_2
#define ON_2(STEP) STEP(0)
#undef E_HOLD
#define E_HOLD(x)
                    E_ALL
#undef ON_2
#define ON_2(STEP) STEP(0) STEP(1)
                }
        }
    }
}

/* Humidity: powers and logarithms are of two. Two quotients of temperatures share a reciprocal, and
 * so do those of the ratio and the dew point; one over a saturated pressure is a power as well. All
 * pressures are in parts of 6.112. Two registers' pairs of 16 hours are worked out at a time. */
#ifndef H_AHEAD
#define H_AHEAD 160
#endif
#define LOG2E 1.44269504f
#define POWER(p, moved)                                                                            \
    __riscv_vreinterpret_v_i32m2_f32m2(                                                            \
        __riscv_vmacc_vx_i32m2(__riscv_vreinterpret_v_f32m2_i32m2(p), 1 << 23,                     \
                               __riscv_vreinterpret_v_f32m2_i32m2(moved), vl))
#define AS_BITS(x) __riscv_vreinterpret_v_f32m2_i32m2(x)
#define AS_IS(x) __riscv_vreinterpret_v_i32m2_f32m2(x)
#define LOG_BITS(x) AS_IS(__riscv_vsub_vx_i32m2(AS_BITS(x), 0x3f3504f3, vl))
#define EXPONENT(x) AS_IS(__riscv_vsra_vx_i32m2(AS_BITS(x), 23, vl))
#define MANTISSA(x, e) AS_IS(__riscv_vnmsac_vx_i32m2(AS_BITS(x), 1 << 23, AS_BITS(e), vl))
#define AS_FLOAT(x) __riscv_vfcvt_f_x_v_f32m2(AS_BITS(x), vl)
#define H_LOAD_T(k) t##k = __riscv_vle32_v_f32m2(dry + i + 16 * (k), vl);
#define H_LOAD_W(k) w##k = __riscv_vle32_v_f32m2(wet + i + 16 * (k), vl);
#define H_T_OFF(k) a##k = __riscv_vfadd_vf_f32m2(t##k, 243.5f, vl);
#define H_W_OFF(k) b##k = __riscv_vfadd_vf_f32m2(w##k, 243.5f, vl);
#define H_T_TIMES(k) y##k = __riscv_vfmul_vf_f32m2(t##k, -17.67f * LOG2E, vl);
#define H_OFFS(k) c##k = __riscv_vfmul_vv_f32m2(a##k, b##k, vl);
#define H_W_TIMES(k) x##k = __riscv_vfmul_vf_f32m2(w##k, 17.67f * LOG2E, vl);
#define H_Y_OFF(k) y##k = __riscv_vfmul_vv_f32m2(y##k, b##k, vl);
#define H_REC(k) b##k = __riscv_vfrec7_v_f32m2(c##k, vl);
#define H_X_OFF(k) x##k = __riscv_vfmul_vv_f32m2(x##k, a##k, vl);
#define H_REC_OFF(k) c##k = __riscv_vfnmsub_vv_f32m2(c##k, b##k, one, vl);
#define H_GAP(k) t##k = __riscv_vfsub_vv_f32m2(t##k, w##k, vl);
#define H_REC_OFFS(k) c##k = __riscv_vfmadd_vv_f32m2(c##k, c##k, c##k, vl);
#define H_IS_ICE(k) ice##k = __riscv_vmflt_vf_f32m2_b16(w##k, 0, vl);
#define H_REC_DONE(k) b##k = __riscv_vfmacc_vv_f32m2(b##k, b##k, c##k, vl);
#define H_Y_DONE(k) y##k = __riscv_vfmul_vv_f32m2(y##k, b##k, vl);
#define H_X_DONE(k) x##k = __riscv_vfmul_vv_f32m2(x##k, b##k, vl);
#define H_Y_MOVED(k) a##k = __riscv_vfadd_vf_f32m2(y##k, 0x1.8p23f, vl);
#define H_X_MOVED(k) b##k = __riscv_vfadd_vf_f32m2(x##k, 0x1.8p23f, vl);
#define H_Y_WHOLE(k) w##k = __riscv_vfsub_vf_f32m2(a##k, 0x1.8p23f, vl);
#define H_X_WHOLE(k) c##k = __riscv_vfsub_vf_f32m2(b##k, 0x1.8p23f, vl);
#define H_Y_REST(k) y##k = __riscv_vfsub_vv_f32m2(y##k, w##k, vl);
#define H_X_REST(k) x##k = __riscv_vfsub_vv_f32m2(x##k, c##k, vl);
#define H_Y_5(k) w##k = __riscv_vfmul_vf_f32m2(y##k, 1.326697039e-3f, vl);
#define H_X_5(k) c##k = __riscv_vfmul_vf_f32m2(x##k, 1.326697039e-3f, vl);
#define H_Y_4(k) w##k = __riscv_vfadd_vf_f32m2(w##k, 9.675459746e-3f, vl);
#define H_X_4(k) c##k = __riscv_vfadd_vf_f32m2(c##k, 9.675459746e-3f, vl);
#define H_Y_c4(k) w##k = __riscv_vfmadd_vv_f32m2(w##k, y##k, c4, vl);
#define H_X_c4(k) c##k = __riscv_vfmadd_vv_f32m2(c##k, x##k, c4, vl);
#define H_Y_c3(k) w##k = __riscv_vfmadd_vv_f32m2(w##k, y##k, c3, vl);
#define H_X_c3(k) c##k = __riscv_vfmadd_vv_f32m2(c##k, x##k, c3, vl);
#define H_Y_c2(k) w##k = __riscv_vfmadd_vv_f32m2(w##k, y##k, c2, vl);
#define H_X_c2(k) c##k = __riscv_vfmadd_vv_f32m2(c##k, x##k, c2, vl);
#define H_Y_one(k) w##k = __riscv_vfmadd_vv_f32m2(w##k, y##k, one, vl);
#define H_X_one(k) c##k = __riscv_vfmadd_vv_f32m2(c##k, x##k, one, vl);
#define H_CONST(k) x##k = __riscv_vfmerge_vfm_f32m2(water, over_ice, ice##k, vl);
#define H_Y_POWER(k) w##k = POWER(w##k, a##k);
#define H_X_POWER(k) c##k = POWER(c##k, b##k);
#define H_VAPOUR(k) c##k = __riscv_vfnmsac_vv_f32m2(c##k, x##k, t##k, vl);
#define H_VAPOUR_LOW(k) c##k = __riscv_vfmax_vf_f32m2(c##k, 0.01f / 6.112f, vl);
#define H_RELATIVE(k) w##k = __riscv_vfmul_vv_f32m2(w##k, c##k, vl);
#define H_L_INT(k) a##k = LOG_BITS(c##k);
#define H_RELATIVE_100(k) w##k = __riscv_vfmul_vf_f32m2(w##k, 100, vl);
#define H_L_EXP(k) a##k = EXPONENT(a##k);
#define H_RELATIVE_MIN(k) w##k = __riscv_vfmin_vf_f32m2(w##k, 100, vl);
#define H_L_MANT(k) x##k = MANTISSA(c##k, a##k);
#define H_KEEP_RELATIVE(k) __riscv_vse32_v_f32m2(relative + i + 16 * (k), w##k, vl);
#define H_L_FLOAT(k) a##k = AS_FLOAT(a##k);
#define H_L_OFF(k) x##k = __riscv_vfsub_vf_f32m2(x##k, 1, vl);
#define H_REST(k) b##k = __riscv_vfrsub_vf_f32m2(c##k, pressure / 6.112f, vl);
#define H_L_6(k) y##k = __riscv_vfmul_vf_f32m2(x##k, 1.716243637e-1f, vl);
#define H_L_5(k) y##k = __riscv_vfadd_vf_f32m2(y##k, -2.693201439e-1f, vl);
#define H_L_4_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, x##k, vl);
#define H_L_4(k) y##k = __riscv_vfadd_vf_f32m2(y##k, 2.956995467e-1f, vl);
#define H_L_3_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, x##k, vl);
#define H_L_3(k) y##k = __riscv_vfadd_vf_f32m2(y##k, -3.593716518e-1f, vl);
#define H_L_2_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, x##k, vl);
#define H_L_2(k) y##k = __riscv_vfadd_vf_f32m2(y##k, 4.806267673e-1f, vl);
#define H_L_1_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, x##k, vl);
#define H_L_1(k) y##k = __riscv_vfadd_vf_f32m2(y##k, -7.213635758e-1f, vl);
#define H_L_0_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, x##k, vl);
#define H_L_0(k) y##k = __riscv_vfadd_vf_f32m2(y##k, 1.442696447f, vl);
#define H_L_DONE(k) y##k = __riscv_vfmadd_vv_f32m2(y##k, x##k, a##k, vl);
#define H_RATIO(k) c##k = __riscv_vfmul_vf_f32m2(c##k, 621.98f, vl);
#define H_BELOW(k) x##k = __riscv_vfrsub_vf_f32m2(y##k, 17.67f * LOG2E, vl);
#define H_DEW(k) y##k = __riscv_vfmul_vf_f32m2(y##k, 243.5f, vl);
#define H_PRODUCT(k) a##k = __riscv_vfmul_vv_f32m2(b##k, x##k, vl);
#define H_RATIO_X(k) c##k = __riscv_vfmul_vv_f32m2(c##k, x##k, vl);
#define H_DEW_X(k) y##k = __riscv_vfmul_vv_f32m2(y##k, b##k, vl);
#define H_REC2(k) w##k = __riscv_vfrec7_v_f32m2(a##k, vl);
#define H_REC2_OFF(k) a##k = __riscv_vfnmsub_vv_f32m2(a##k, w##k, one, vl);
#define H_RATIO_R(k) c##k = __riscv_vfmul_vv_f32m2(c##k, w##k, vl);
#define H_DEW_R(k) y##k = __riscv_vfmul_vv_f32m2(y##k, w##k, vl);
#define H_REC2_OFFS(k) a##k = __riscv_vfmadd_vv_f32m2(a##k, a##k, a##k, vl);
#define H_RATIO_DONE(k) c##k = __riscv_vfmacc_vv_f32m2(c##k, c##k, a##k, vl);
#define H_DEW_DONE(k) y##k = __riscv_vfmacc_vv_f32m2(y##k, y##k, a##k, vl);
#define H_KEEP_RATIO(k) __riscv_vse32_v_f32m2(ratio + i + 16 * (k), c##k, vl);
#define H_KEEP_DEW(k) __riscv_vse32_v_f32m2(dew + i + 16 * (k), y##k, vl);
#define H_HOLD(x) HOLD2(x##0, x##1)
#define H_ALL                                                                                      \
    ON_2(H_LOAD_T) H_HOLD(t) ON_2(H_LOAD_W) H_HOLD(w) ON_2(H_T_OFF) H_HOLD(a)                      \
    ON_2(H_W_OFF) H_HOLD(b) ON_2(H_T_TIMES) H_HOLD(y) ON_2(H_OFFS) H_HOLD(c)                       \
    ON_2(H_W_TIMES) H_HOLD(x) ON_2(H_Y_OFF) H_HOLD(y) ON_2(H_REC) H_HOLD(b)                        \
    ON_2(H_X_OFF) H_HOLD(x) ON_2(H_REC_OFF) H_HOLD(c) ON_2(H_GAP) H_HOLD(t)                        \
    ON_2(H_REC_OFFS) H_HOLD(c) ON_2(H_IS_ICE) ON_2(H_REC_DONE) H_HOLD(b)                           \
    ON_2(H_Y_DONE) H_HOLD(y) ON_2(H_X_DONE) H_HOLD(x) ON_2(H_Y_MOVED) H_HOLD(a)                    \
    ON_2(H_X_MOVED) H_HOLD(b) ON_2(H_Y_WHOLE) H_HOLD(w) ON_2(H_X_WHOLE) H_HOLD(c)                  \
    ON_2(H_Y_REST) H_HOLD(y) ON_2(H_X_REST) H_HOLD(x) ON_2(H_Y_5) H_HOLD(w)                        \
    ON_2(H_X_5) H_HOLD(c) ON_2(H_Y_4) H_HOLD(w) ON_2(H_X_4) H_HOLD(c) ON_2(H_Y_c4) H_HOLD(w)       \
    ON_2(H_X_c4) H_HOLD(c) ON_2(H_Y_c3) H_HOLD(w) ON_2(H_X_c3) H_HOLD(c) ON_2(H_Y_c2) H_HOLD(w)    \
    ON_2(H_X_c2) H_HOLD(c) ON_2(H_Y_one) H_HOLD(w) ON_2(H_X_one) H_HOLD(c)                         \
    ON_2(H_CONST) H_HOLD(x) ON_2(H_Y_POWER) H_HOLD(w) ON_2(H_X_POWER) H_HOLD(c)                    \
    ON_2(H_VAPOUR) H_HOLD(c) ON_2(H_VAPOUR_LOW) H_HOLD(c) ON_2(H_RELATIVE) H_HOLD(w)               \
    ON_2(H_L_INT) H_HOLD(a) ON_2(H_RELATIVE_100) H_HOLD(w) ON_2(H_L_EXP) H_HOLD(a)                 \
    ON_2(H_RELATIVE_MIN) H_HOLD(w) ON_2(H_L_MANT) H_HOLD(x) ON_2(H_KEEP_RELATIVE)                  \
    ON_2(H_L_FLOAT) H_HOLD(a) ON_2(H_L_OFF) H_HOLD(x) ON_2(H_REST) H_HOLD(b)                       \
    ON_2(H_L_6) H_HOLD(y) ON_2(H_L_5) H_HOLD(y) ON_2(H_L_4_X) H_HOLD(y) ON_2(H_L_4) H_HOLD(y)      \
    ON_2(H_L_3_X) H_HOLD(y) ON_2(H_L_3) H_HOLD(y) ON_2(H_L_2_X) H_HOLD(y) ON_2(H_L_2) H_HOLD(y)    \
    ON_2(H_L_1_X) H_HOLD(y) ON_2(H_L_1) H_HOLD(y) ON_2(H_L_0_X) H_HOLD(y) ON_2(H_L_0) H_HOLD(y)    \
    ON_2(H_L_DONE) H_HOLD(y) ON_2(H_RATIO) H_HOLD(c) ON_2(H_BELOW) H_HOLD(x)                       \
    ON_2(H_DEW) H_HOLD(y) ON_2(H_PRODUCT) H_HOLD(a) ON_2(H_RATIO_X) H_HOLD(c)                      \
    ON_2(H_DEW_X) H_HOLD(y) ON_2(H_REC2) H_HOLD(w) ON_2(H_REC2_OFF) H_HOLD(a)                      \
    ON_2(H_RATIO_R) H_HOLD(c) ON_2(H_DEW_R) H_HOLD(y) ON_2(H_REC2_OFFS) H_HOLD(a)                  \
    ON_2(H_RATIO_DONE) H_HOLD(c) ON_2(H_DEW_DONE) H_HOLD(y) ON_2(H_KEEP_RATIO) ON_2(H_KEEP_DEW)

static inline void psychrometric_humidity_rows(const uint64_t *args) {
    const float *dry = IN(float, 0), *wet = IN(float, 1), *pressures = IN(float, 2);
    float *relative = OUT(float, 3), *ratio = OUT(float, 4), *dew = OUT(float, 5);
    long stations = sizes[0], n = INT(6);
    size_t vl = VLEN / 16;
    vfloat32m2_t one = __riscv_vfmv_v_f_f32m2(1, vl);
    vfloat32m2_t c4 = __riscv_vfmv_v_f_f32m2(5.550742616e-2f, vl);
    vfloat32m2_t c3 = __riscv_vfmv_v_f_f32m2(2.402212175e-1f, vl);
    vfloat32m2_t c2 = __riscv_vfmv_v_f_f32m2(6.931469492e-1f, vl);
    for (long station = 0; station < stations; station++) {
        float pressure = pressures[station], over_ice = 5.83e-4f / 6.112f * pressure;
        vfloat32m2_t water = __riscv_vfmv_v_f_f32m2(6.62e-4f / 6.112f * pressure, vl);
        vfloat32m2_t a0, b0, c0, t0, w0, x0, y0, a1, b1, c1, t1, w1, x1, y1;
        vbool16_t ice0, ice1;
        for (long i = 0; i < n; i += 32) {
            if (n - i < 32) /* the last ones are worked out once more, rather than fewer */
                i = n - 32;
            ahead(dry + i + H_AHEAD, 128), ahead(wet + i + H_AHEAD, 128);
            H_ALL
        }
        dry += n, wet += n, relative += n, ratio += n, dew += n;
    }
}

/* Halves: bytes that lie two behind are taken off bytes, all of which are split afterwards. What
 * comes before a step's bytes is loaded once more. */
#ifndef EXR_AHEAD
#define EXR_AHEAD 512
#endif
static inline void exr_half_split_bytes(const uint64_t *args) {
    const uint8_t *from = IN(uint8_t, 0);
    uint8_t *to = OUT(uint8_t, 1);
    long chunks = sizes[0], n = INT(2);
    for (long chunk = 0; chunk < chunks; chunk++, from += 2 * n, to += 2 * n) {
        to[0] = from[0], to[n] = (uint8_t)(from[1] - from[2 * n - 2] + 128);
        size_t vl = 64;
        if (n > 64) {
            const uint8_t *x_at = from + 2;
            vuint8m4_t x = __riscv_vle8_v_u8m4(x_at, 2 * vl);
            vuint8m4_t before = __riscv_vle8_v_u8m4(x_at - 2, 2 * vl);
            for (long i = 1;;) {
                long next = i + 128 <= n ? i + 64 : n - 64;
                x_at = from + 2 * next;
                vuint8m4_t change = __riscv_vsub_vv_u8m4(x, before, 2 * vl);
                x = __riscv_vle8_v_u8m4(x_at, 2 * vl);
                ahead(x_at + EXR_AHEAD, 128);
                change = __riscv_vadd_vx_u8m4(change, 128, 2 * vl);
                before = __riscv_vle8_v_u8m4(x_at - 2, 2 * vl);
                vuint16m4_t both = __riscv_vreinterpret_v_u8m4_u16m4(change);
                vuint8m2_t low = __riscv_vnsrl_wx_u8m2(both, 0, vl);
                vuint8m2_t high = __riscv_vnsrl_wx_u8m2(both, 8, vl);
                __riscv_vse8_v_u8m2(to + i, low, vl);
                __riscv_vse8_v_u8m2(to + n + i, high, vl);
                if (i == n - 64)
                    break;
                i = next; /* the last ones are worked out once more, rather than fewer */
            }
        } else {
            for (long i = 1; i < n; i++) {
                to[i] = (uint8_t)(from[2 * i] - from[2 * i - 2] + 128);
                to[n + i] = (uint8_t)(from[2 * i + 1] - from[2 * i - 1] + 128);
            }
        }
    }
}

/* Envelopes: a note's parts are worked out one after another, lines by sums and curves by products
 * with what a step of 32 samples changes. */
#ifndef ADSR_AHEAD
#define ADSR_AHEAD 256
#endif
static inline float power_of_e(float x) {
    vfloat32m4_t power = __riscv_vfmv_v_f_f32m4(x, 1);
    return __riscv_vfmv_f_s_f32m4_f32(exponential(power, 1));
}

static inline long samples_up_to(float seconds, float rate, long n) {
    float samples = __builtin_ceilf(seconds * rate);
    return samples < 0 ? 0 : samples < (float)n ? (long)samples : n;
}

#define SOUND(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + i + 32 * (k), vl);
#define SHAPED(k, shape) x##k = __riscv_vfmul_vv_f32m4(x##k, shape, vl);
#define KEEP_SOUND(k) __riscv_vse32_v_f32m4(out + i + 32 * (k), x##k, vl);

/* A part of a note: of `first` and `second` are 32 samples each, and STEP makes the next ones. */
#define PART(end, SHAPE, STEP)                                                                     \
    vl = VLEN / 8;                                                                                 \
    for (; i + 64 <= (end); i += 64) {                                                             \
        SOUND(0)                                                                                   \
        SOUND(1)                                                                                   \
        ahead(x + i + ADSR_AHEAD, 256);                                                            \
        SHAPED(0, SHAPE(first))                                                                    \
        STEP(first)                                                                                \
        KEEP_SOUND(0)                                                                              \
        SHAPED(1, SHAPE(second))                                                                   \
        STEP(second)                                                                               \
        KEEP_SOUND(1)                                                                              \
    }                                                                                              \
    for (; i < (end); i += (long)vl) {                                                             \
        vl = __riscv_vsetvl_e32m4((end) - i);                                                      \
        SOUND(0)                                                                                   \
        SHAPED(0, SHAPE(first))                                                                    \
        KEEP_SOUND(0)                                                                              \
        first = second;                                                                            \
    }
#define AS_IT_IS(x) x
#define SUSTAINED(x) __riscv_vfadd_vf_f32m4(x, sustain, vl)
#define ON_LINE(x) x = __riscv_vfadd_vf_f32m4(x, 64 * slope, vl);
#define ON_CURVE(x) x = __riscv_vfmul_vf_f32m4(x, less, vl);

static inline void adsr_envelope_rows(const uint64_t *args) {
    const float *x = IN(float, 0), *attacks = IN(float, 1), *decays = IN(float, 2);
    const float *sustains = IN(float, 3), *releases = IN(float, 4), *offs = IN(float, 5);
    float *out = OUT(float, 6), rate = as_float(args[8]);
    long voices = sizes[0], n = INT(7);
    size_t vl = VLEN / 8;
    vfloat32m4_t steps = __riscv_vfcvt_f_xu_v_f32m4(__riscv_vid_v_u32m4(vl), vl), first, second;
    for (long voice = 0; voice < voices; voice++, x += n, out += n) {
        float attack = attacks[voice], decay = decays[voice], sustain = sustains[voice];
        float release = releases[voice], off = offs[voice];
        long end = samples_up_to(off, rate, n), i = 0;
        long up = samples_up_to(attack < off ? attack : off, rate, end);
        float slope = 1 / (rate * attack), level = off / attack;
        vl = VLEN / 8;
        first = __riscv_vfmul_vf_f32m4(steps, slope, vl);
        second = __riscv_vfadd_vf_f32m4(first, 32 * slope, vl);
        PART(up, AS_IT_IS, ON_LINE)
        if (attack <= off) {
            i = up, vl = VLEN / 8;
            float speed = -5 / (rate * decay), less = power_of_e(32 * speed);
            level = sustain + (1 - sustain) * power_of_e(-5 * (off - attack) / decay);
            first = __riscv_vfadd_vf_f32m4(steps, (float)i - attack * rate, vl);
            first = exponential(__riscv_vfmul_vf_f32m4(first, speed, vl), vl);
            first = __riscv_vfmul_vf_f32m4(first, 1 - sustain, vl);
            second = __riscv_vfmul_vf_f32m4(first, less, vl);
            less *= less;
            PART(end, SUSTAINED, ON_CURVE)
        }
        i = end, vl = VLEN / 8;
        float speed = -5 / (rate * release), less = power_of_e(32 * speed);
        first = __riscv_vfadd_vf_f32m4(steps, (float)i - off * rate, vl);
        first = exponential(__riscv_vfmul_vf_f32m4(first, speed, vl), vl);
        first = __riscv_vfmul_vf_f32m4(first, level, vl);
        second = __riscv_vfmul_vf_f32m4(first, less, vl);
        less *= less;
        PART(n, AS_IT_IS, ON_CURVE)
    }
}
