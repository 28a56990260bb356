/* The kernels of twentysecond_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the
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

/* Velocities: two products of what memory gives. */
#ifndef VPRED_AHEAD
#define VPRED_AHEAD 192
#endif
static inline void v_prediction_target(const uint64_t *args) {
    const float *x = IN(float, 0), *noise = IN(float, 1), *alphas = IN(float, 3);
    const int64_t *steps = IN(int64_t, 2);
    float *out = OUT(float, 4);
    long samples = sizes[0], n = INT(5);
    for (long sample = 0; sample < samples; sample++) {
        float alpha = alphas[steps[sample]], signal = sqrtf(alpha), sigma = sqrtf(1 - alpha);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t from_noise = __riscv_vle32_v_f32m4(noise + i, vl);
            vfloat32m4_t from_x = __riscv_vle32_v_f32m4(x + i, vl);
            ahead(x + i + VPRED_AHEAD, VLEN / 2), ahead(noise + i + VPRED_AHEAD, VLEN / 2);
            from_noise = __riscv_vfmul_vf_f32m4(from_noise, signal, vl);
            from_noise = __riscv_vfnmsac_vf_f32m4(from_noise, sigma, from_x, vl);
            __riscv_vse32_v_f32m4(out + i, from_noise, vl);
            i += (long)vl;
        }
        x += n, noise += n, out += n;
    }
}

/* Talking heads: of eight heads, mixtures are sums of four registers' length, four at a time. A
 * mixture's bias is the same for all keys, so the softmax does not see it. Powers are of two, as in
 * vector_math.h, with the polynomial's coefficients in registers; three are worked out at a time,
 * and of what is left over, eight heads'. Sums divide the weights of what follows. Up to 8,192
 * keys, of which heads' rows lie close together, so that the cache holds them. */
#define HEADS 8
#define KEYS stride
static long stride;
static float powers[HEADS * (8192 + 32)], weights[HEADS * HEADS], mosts[HEADS], sums[HEADS];

#define ON_4(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define ON_8(STEP) ON_4(STEP) STEP(4) STEP(5) STEP(6) STEP(7)
#define MIX_FIRST(k) s##k = __riscv_vfmul_vf_f32m4(x, w##k, vl);
#define MIX(k) s##k = __riscv_vfmacc_vf_f32m4(s##k, w##k, x, vl);
#define WEIGHT(k, h) later##k = w[(k) * HEADS + (h)];
#define HOLD_WEIGHTS                                                                               \
    __asm__ volatile("" : "+f"(later0), "+f"(later1), "+f"(later2), "+f"(later3));
#define WEIGHTS(h) WEIGHT(0, h) WEIGHT(1, h) WEIGHT(2, h) WEIGHT(3, h) HOLD_WEIGHTS
#define THESE_WEIGHTS float w0 = later0, w1 = later1, w2 = later2, w3 = later3;
#define MIX_FIRST_M1(k) s##k = __riscv_vfmul_vf_f32m1(x, w[(k) * HEADS], vl);
#define MIX_M1(k) s##k = __riscv_vfmacc_vf_f32m1(s##k, w[(k) * HEADS + h], x, vl);

/* Four of what eight heads at `from` give for 32 keys, by rows of eight weights. Weights and keys are
 * loaded a step before they are used, weights first, as what loads the keys takes long. */
#define MIX_4_HEADS                                                                                \
    float later0, later1, later2, later3;                                                          \
    WEIGHTS(0)                                                                                     \
    vfloat32m4_t s0, s1, s2, s3, next = __riscv_vle32_v_f32m4(from, vl), x;                        \
    HOLD1(next)                                                                                    \
    {                                                                                              \
        THESE_WEIGHTS                                                                              \
        x = next;                                                                                  \
        WEIGHTS(1)                                                                                 \
        next = __riscv_vle32_v_f32m4(from + plane, vl);                                            \
        HOLD1(next)                                                                                \
        ON_4(MIX_FIRST)                                                                            \
        HOLD4(s0, s1, s2, s3)                                                                      \
    }                                                                                              \
    _Pragma("clang loop unroll(full)") for (long h = 1; h < HEADS; h++) {                          \
        THESE_WEIGHTS                                                                              \
        x = next;                                                                                  \
        if (h + 1 < HEADS) {                                                                       \
            WEIGHTS(h + 1)                                                                         \
            next = __riscv_vle32_v_f32m4(from + (h + 1) * plane, vl);                              \
            HOLD1(next)                                                                            \
        }                                                                                          \
        ON_4(MIX)                                                                                  \
        HOLD4(s0, s1, s2, s3)                                                                      \
    }
#define MIX_8_HEADS_M1                                                                             \
    vfloat32m1_t s0, s1, s2, s3, s4, s5, s6, s7, x = __riscv_vle32_v_f32m1(from, vl);              \
    ON_8(MIX_FIRST_M1)                                                                             \
    _Pragma("clang loop unroll(full)") for (long h = 1; h < HEADS; h++) {                          \
        x = __riscv_vle32_v_f32m1(from + h * plane, vl);                                           \
        ON_8(MIX_M1)                                                                               \
    }

#define QUARTER(s, k) __riscv_vget_v_f32m4_f32m1(s, k)
#define LARGEST_OF(k, q)                                                                           \
    most##k = __riscv_vfmax_vv_f32m1(most##k, QUARTER(s##k, q), VLEN / 32);
#define KEEP_MIXED(k) __riscv_vse32_v_f32m4(to + (k) * KEYS, s##k, vl);
#define KEEP_MOST(k)                                                                               \
    __riscv_vse32_v_f32m1(mosts + half + k,                                                        \
                          __riscv_vfredmax_vs_f32m1_f32m1(most##k, most##k, VLEN / 32), 1);

/* Mixtures of 32 keys each. */
static inline void mixed_before(const float *x, const float *w, long plane, long n) {
    size_t vl = VLEN / 8;
    vfloat32m1_t low = __riscv_vfmv_v_f_f32m1(-__FLT_MAX__, VLEN / 32);
    for (long half = 0; half < HEADS; half += 4, w += 4 * HEADS) {
        vfloat32m1_t most0 = low, most1 = low, most2 = low, most3 = low;
        for (long i = 0; i < n; i += 32) {
            const float *from = x + i;
            float *to = powers + half * KEYS + i;
            MIX_4_HEADS
            LARGEST_OF(0, 0)
            LARGEST_OF(1, 0) LARGEST_OF(2, 0) LARGEST_OF(3, 0) LARGEST_OF(0, 1) LARGEST_OF(1, 1)
                LARGEST_OF(2, 1) LARGEST_OF(3, 1) LARGEST_OF(0, 2) LARGEST_OF(1, 2)
                    LARGEST_OF(2, 2) LARGEST_OF(3, 2) LARGEST_OF(0, 3) LARGEST_OF(1, 3)
                        LARGEST_OF(2, 3) LARGEST_OF(3, 3) ON_4(KEEP_MIXED)
        }
        ON_4(KEEP_MOST)
    }
}

#define KEEP_TAIL(k)                                                                               \
    __riscv_vse32_v_f32m1(powers + (k) * KEYS + i, s##k, vl);                                      \
    {                                                                                              \
        vfloat32m1_t most = __riscv_vfmv_s_f_f32m1(mosts[k], 1);                                   \
        __riscv_vse32_v_f32m1(mosts + k, __riscv_vfredmax_vs_f32m1_f32m1(s##k, most, vl), 1);      \
    }

static inline void mixed_before_tail(const float *x, const float *w, long plane, long i, long n) {
    for (; i < n; i += 8) {
        size_t vl = n - i < 8 ? (size_t)(n - i) : 8;
        const float *from = x + i;
        MIX_8_HEADS_M1
        ON_8(KEEP_TAIL)
    }
}

/* Steps of each group of numbers, of m2 or m1. */
#define ON_3(STEP, m) STEP(0, m) STEP(1, m) STEP(2, m)
#define P_OFF(k, m) x##k = __riscv_vfadd_vf_f32##m(x##k, below##k, vl);
#define P_LOW(k, m) x##k = __riscv_vfmax_vf_f32##m(x##k, -126, vl);
#define P_ROUND(k, m) q##k = __riscv_vfadd_vf_f32##m(x##k, 0x1.8p23f, vl);
#define P_WHOLE(k, m) p##k = __riscv_vfsub_vf_f32##m(q##k, 0x1.8p23f, vl);
#define P_REST(k, m) x##k = __riscv_vfsub_vv_f32##m(x##k, p##k, vl);
#define P_C5(k, m) p##k = __riscv_vfmul_vf_f32##m(x##k, 1.326697039e-3f, vl);
#define P_C4(k, m) p##k = __riscv_vfadd_vf_f32##m(p##k, 9.675459746e-3f, vl);
#define P_C3(k, m) p##k = __riscv_vfmadd_vv_f32##m(p##k, x##k, c3, vl);
#define P_C2(k, m) p##k = __riscv_vfmadd_vv_f32##m(p##k, x##k, c2, vl);
#define P_C1(k, m) p##k = __riscv_vfmadd_vv_f32##m(p##k, x##k, c1, vl);
#define P_C0(k, m) p##k = __riscv_vfmadd_vv_f32##m(p##k, x##k, c0, vl);
#define P_DONE(k, m)                                                                               \
    p##k = __riscv_vreinterpret_v_i32##m##_f32##m(                                                 \
        __riscv_vmacc_vx_i32##m(__riscv_vreinterpret_v_f32##m##_i32##m(p##k), 1 << 23,             \
                                __riscv_vreinterpret_v_f32##m##_i32##m(q##k), vl));
#define COEFFICIENTS(m)                                                                            \
    vfloat32##m##_t c3 = __riscv_vfmv_v_f_f32##m(5.550742616e-2f, vl);                             \
    vfloat32##m##_t c2 = __riscv_vfmv_v_f_f32##m(2.402212175e-1f, vl);                             \
    vfloat32##m##_t c1 = __riscv_vfmv_v_f_f32##m(6.931469492e-1f, vl);                             \
    vfloat32##m##_t c0 = __riscv_vfmv_v_f_f32##m(1, vl);
#define HOLD_3(x) HOLD3(x##0, x##1, x##2)
#define POWERS_3                                                                                   \
    ON_3(P_OFF, m2)                                                                                \
    HOLD_3(x) ON_3(P_LOW, m2) HOLD_3(x) ON_3(P_ROUND, m2) HOLD_3(q) ON_3(P_WHOLE, m2) HOLD_3(p)    \
        ON_3(P_REST, m2) HOLD_3(x) ON_3(P_C5, m2) HOLD_3(p) ON_3(P_C4, m2) HOLD_3(p)               \
            ON_3(P_C3, m2) HOLD_3(p) ON_3(P_C2, m2) HOLD_3(p) ON_3(P_C1, m2) HOLD_3(p)             \
                ON_3(P_C0, m2) HOLD_3(p) ON_3(P_DONE, m2)

/* Powers of 48 keys each, of all heads, and their sums. */
static inline void powers_of_keys(long n) {
    size_t vl = VLEN / 16, one = VLEN / 32;
    COEFFICIENTS(m2)
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    for (long head = 0; head < HEADS; head++) {
        float *at = powers + head * KEYS, below0 = -mosts[head], below1 = below0, below2 = below0;
        vfloat32m2_t sum = __riscv_vfmv_v_f_f32m2(0, vl);
        for (long i = 0; i < n; i += 48) {
            vfloat32m2_t x0 = __riscv_vle32_v_f32m2(at + i, vl), q0, q1, q2, p0, p1, p2;
            vfloat32m2_t x1 = __riscv_vle32_v_f32m2(at + i + 16, vl);
            vfloat32m2_t x2 = __riscv_vle32_v_f32m2(at + i + 32, vl);
            POWERS_3
            __riscv_vse32_v_f32m2(at + i, p0, vl);
            __riscv_vse32_v_f32m2(at + i + 16, p1, vl);
            __riscv_vse32_v_f32m2(at + i + 32, p2, vl);
            sum = __riscv_vfadd_vv_f32m2(sum, p0, vl);
            p1 = __riscv_vfadd_vv_f32m2(p1, p2, vl);
            sum = __riscv_vfadd_vv_f32m2(sum, p1, vl);
        }
        vfloat32m1_t half = __riscv_vfadd_vv_f32m1(__riscv_vget_v_f32m2_f32m1(sum, 0),
                                                   __riscv_vget_v_f32m2_f32m1(sum, 1), one);
        __riscv_vse32_v_f32m1(sums + head, __riscv_vfredusum_vs_f32m1_f32m1(half, zero, one), 1);
    }
}

#define ALL_8(STEP)                                                                                \
    STEP(0, m1) STEP(1, m1) STEP(2, m1) STEP(3, m1) STEP(4, m1) STEP(5, m1) STEP(6, m1) STEP(7, m1)
#define LOAD_TAIL(k, m) vfloat32m1_t x##k = __riscv_vle32_v_f32m1(at + (k) * KEYS, vl), q##k, p##k;
#define OFF_TAIL(k, m) x##k = __riscv_vfsub_vf_f32m1(x##k, mosts[k], vl);
#define STORE_POWER(k, m) __riscv_vse32_v_f32m1(at + (k) * KEYS, p##k, vl);
#define SUM_TAIL(k, m)                                                                             \
    __riscv_vse32_v_f32m1(                                                                         \
        sums + k,                                                                                  \
        __riscv_vfredusum_vs_f32m1_f32m1(p##k, __riscv_vle32_v_f32m1(sums + k, 1), vl), 1);

static inline void powers_of_tail(long i, long n) {
    for (; i < n; i += 8) {
        size_t vl = n - i < 8 ? (size_t)(n - i) : 8;
        float *at = powers + i;
        COEFFICIENTS(m1)
        ALL_8(LOAD_TAIL)
        ALL_8(OFF_TAIL)
        ALL_8(P_LOW)
        ALL_8(P_ROUND)
        ALL_8(P_WHOLE)
        ALL_8(P_REST)
        ALL_8(P_C5)
        ALL_8(P_C4) ALL_8(P_C3) ALL_8(P_C2) ALL_8(P_C1) ALL_8(P_C0) ALL_8(P_DONE)
            ALL_8(STORE_POWER) ALL_8(SUM_TAIL)
    }
}

/* Weights of the second mixture, divided by the sums. */
static inline void divided_weights(const float *after) {
    size_t vl = VLEN / 32;
    vfloat32m1_t inverse = __riscv_vle32_v_f32m1(sums, vl);
    inverse = __riscv_vfrdiv_vf_f32m1(inverse, 1, vl);
    for (long k = 0; k < HEADS; k++) {
        vfloat32m1_t w = __riscv_vle32_v_f32m1(after + k * HEADS, vl);
        __riscv_vse32_v_f32m1(weights + k * HEADS, __riscv_vfmul_vv_f32m1(w, inverse, vl), vl);
    }
}

#define KEEP_OUT(k)                                                                                \
    s##k = __riscv_vfadd_vf_f32m4(s##k, bias[half + k], vl);                                       \
    __riscv_vse32_v_f32m4(to + (k) * out_plane, s##k, vl);
#define KEEP_OUT_M1(k)                                                                             \
    s##k = __riscv_vfadd_vf_f32m1(s##k, bias[k], vl);                                              \
    __riscv_vse32_v_f32m1(to + (k) * out_plane, s##k, vl);

static inline void mixed_after(float *out, const float *bias, long out_plane, long n) {
    size_t vl = VLEN / 8;
    const long plane = KEYS;
    const float *w = weights;
    for (long half = 0; half < HEADS; half += 4, w += 4 * HEADS)
        for (long i = 0; i < n; i += 32) {
            const float *from = powers + i;
            float *to = out + half * out_plane + i;
            MIX_4_HEADS
            ON_4(KEEP_OUT)
        }
}

static inline void mixed_after_tail(float *out, const float *bias, long out_plane, long i, long n) {
    const long plane = KEYS;
    const float *w = weights;
    for (; i < n; i += 8) {
        size_t vl = n - i < 8 ? (size_t)(n - i) : 8;
        const float *from = powers + i;
        float *to = out + i;
        MIX_8_HEADS_M1
        ON_8(KEEP_OUT_M1)
    }
}

static inline void attention_talking_heads_mix(const uint64_t *args) {
    const float *x = IN(float, 0), *before = IN(float, 1), *after = IN(float, 3);
    const float *bias = IN(float, 4);
    float *out = OUT(float, 5), scaled[HEADS * HEADS];
    long batches = sizes[0], queries = INT(6), n = INT(7), plane = queries * n;
    stride = (n + 15) / 16 * 16 + 16;
    for (long i = 0; i < HEADS * HEADS; i++)
        scaled[i] = before[i] * 1.44269504f;
    for (long batch = 0; batch < batches; batch++, x += HEADS * plane, out += HEADS * plane)
        for (long query = 0; query < queries; query++) {
            long at = query * n;
            for (long head = 0; head < HEADS; head++)
                ahead(x + head * plane + at + n, n * 4);
            mixed_before(x + at, scaled, plane, n / 32 * 32);
            mixed_before_tail(x + at, scaled, plane, n / 32 * 32, n);
            powers_of_keys(n / 48 * 48);
            powers_of_tail(n / 48 * 48, n);
            divided_weights(after);
            mixed_after(out + at, bias, plane, n / 32 * 32);
            mixed_after_tail(out + at, bias, plane, n / 32 * 32, n);
        }
}

/* Gumbel: all logarithms and powers are of two, which leaves the same maximum. The softmax is worked
 * out in place, from rows that the cache holds meanwhile. */
#define L_INT(k)                                                                                   \
    b##k = __riscv_vsub_vx_i32m2(__riscv_vreinterpret_v_f32m2_i32m2(x##k), 0x3f3504f3, vl);
#define L_EXPONENT(k) b##k = __riscv_vsra_vx_i32m2(b##k, 23, vl);
#define L_MANTISSA(k)                                                                              \
    x##k = __riscv_vreinterpret_v_i32m2_f32m2(__riscv_vnmsac_vx_i32m2(                             \
        __riscv_vreinterpret_v_f32m2_i32m2(x##k), 1 << 23, b##k, vl));
#define L_OFF(k) x##k = __riscv_vfsub_vf_f32m2(x##k, 1, vl);
#define L_C6(k) p##k = __riscv_vfmul_vf_f32m2(x##k, 1.716243637e-1f, vl);
#define L_C5(k) p##k = __riscv_vfadd_vf_f32m2(p##k, -2.693201439e-1f, vl);
#define L_C4(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, l4, vl);
#define L_C3(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, l3, vl);
#define L_C2(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, l2, vl);
#define L_C1(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, l1, vl);
#define L_C0(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, l0, vl);
#define L_FLOAT(k) e##k = __riscv_vfcvt_f_x_v_f32m2(b##k, vl);
#define L_DONE(k) x##k = __riscv_vfmadd_vv_f32m2(x##k, p##k, e##k, vl);
#define L_NEGATIVE(k)                                                                              \
    x##k = __riscv_vfnmadd_vv_f32m2(x##k, p##k, e##k, vl); /* -(x p) - e */
#define ALL_3(STEP) STEP(0) STEP(1) STEP(2)
#define LOG2_3(FINISH)                                                                             \
    ALL_3(L_INT)                                                                                   \
    HOLD_3(b) ALL_3(L_EXPONENT) HOLD_3(b) ALL_3(L_MANTISSA) HOLD_3(x) ALL_3(L_FLOAT) HOLD_3(e)     \
        ALL_3(L_OFF) HOLD_3(x) ALL_3(L_C6) HOLD_3(p) ALL_3(L_C5) HOLD_3(p) ALL_3(L_C4) HOLD_3(p)   \
            ALL_3(L_C3) HOLD_3(p) ALL_3(L_C2) HOLD_3(p) ALL_3(L_C1) HOLD_3(p) ALL_3(L_C0)          \
                HOLD_3(p) ALL_3(FINISH) HOLD_3(x)
#define TINY(k) x##k = __riscv_vfadd_vf_f32m2(x##k, 1e-20f, vl);
#define LOAD_UNIFORM(k) x##k = __riscv_vle32_v_f32m2(uniform + i + 16 * (k), vl);
#define LOAD_SOME(k)                                                                               \
    x##k = __riscv_vfmv_v_f_f32m2(0.5f, vl);                                                       \
    x##k = __riscv_vle32_v_f32m2_tu(x##k, uniform + i + 16 * (k), vl##k);
#define LOAD_LOGITS(k) p##k = __riscv_vle32_v_f32m2(logits + i + 16 * (k), vl##k);
#define SCALE_LOGITS(k) p##k = __riscv_vfmul_vf_f32m2(p##k, scale, vl);
#define LESS_NOISE(k) x##k = __riscv_vfnmsac_vf_f32m2(p##k, inverse, x##k, vl);
#define KEEP_LOGITS(k)                                                                             \
    __riscv_vse32_v_f32m2(to + i + 16 * (k), x##k, vl##k);                                         \
    most = __riscv_vfmax_vv_f32m2_tu(most, most, x##k, vl##k);

/* Logits with noise, all times log2(e) over the temperature, and the largest. */
static inline float with_noise(const float *logits, const float *uniform, float *to, long n,
                               float inverse) {
    size_t vl = VLEN / 16;
    vfloat32m2_t l4 = __riscv_vfmv_v_f_f32m2(2.956995467e-1f, vl);
    vfloat32m2_t l3 = __riscv_vfmv_v_f_f32m2(-3.593716518e-1f, vl);
    vfloat32m2_t l2 = __riscv_vfmv_v_f_f32m2(4.806267673e-1f, vl);
    vfloat32m2_t l1 = __riscv_vfmv_v_f_f32m2(-7.213635758e-1f, vl);
    vfloat32m2_t l0 = __riscv_vfmv_v_f_f32m2(1.442696447f, vl);
    vfloat32m2_t most = __riscv_vfmv_v_f_f32m2(-__FLT_MAX__, vl);
    float scale = inverse * 1.44269504f;
    for (long i = 0; i < n; i += 48) {
        /* The last ones are worked out once more, rather than fewer. */
        if (n - i < 48 && n >= 48)
            i = n - 48;
        vfloat32m2_t x0, x1, x2, p0, p1, p2, e0, e1, e2;
        vint32m2_t b0, b1, b2;
        size_t vl0 = vl, vl1 = vl, vl2 = vl;
        if (n >= 48) {
            ALL_3(LOAD_UNIFORM)
        } else {
            vl0 = n < 16 ? (size_t)n : 16, vl1 = n < 32 ? (size_t)n - vl0 : 16;
            vl2 = (size_t)n - vl0 - vl1;
            ALL_3(LOAD_SOME)
        }
        ahead(uniform + i + 96, VLEN * 3 / 4), ahead(logits + i + 96, VLEN * 3 / 4);
        ALL_3(TINY)
        HOLD_3(x)
        LOG2_3(L_NEGATIVE)
        ALL_3(TINY)
        HOLD_3(x)
        LOG2_3(L_DONE)
        ALL_3(LOAD_LOGITS)
        ALL_3(SCALE_LOGITS)
        ALL_3(LESS_NOISE)
        ALL_3(KEEP_LOGITS)
    }
    vfloat32m1_t half = __riscv_vfmax_vv_f32m1(__riscv_vget_v_f32m2_f32m1(most, 0),
                                               __riscv_vget_v_f32m2_f32m1(most, 1), VLEN / 32);
    half = __riscv_vfredmax_vs_f32m1_f32m1(half, half, VLEN / 32);
    return __riscv_vfmv_f_s_f32m1_f32(half);
}

/* Where the largest is: the first one that is as large. */
static inline long place_of(const float *x, float most, long n) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m8(n - i);
        vbool4_t is_most = __riscv_vmfeq_vf_f32m8_b4(__riscv_vle32_v_f32m8(x + i, vl), most, vl);
        long at = __riscv_vfirst_m_b4(is_most, vl);
        if (at >= 0)
            return i + at;
        i += (long)vl;
    }
    return 0;
}

/* In place of numbers their powers, less the largest one's; gives the sum. */
static inline float powers_in_place(float *at, float most, long n) {
    size_t vl = VLEN / 16;
    COEFFICIENTS(m2)
    vfloat32m2_t sum = __riscv_vfmv_v_f_f32m2(0, vl);
    float below0 = -most, below1 = below0, below2 = below0;
    long i = 0;
    vfloat32m2_t x0, x1, x2, q0, q1, q2, p0, p1, p2;
    for (; i + 48 <= n; i += 48) {
        x0 = __riscv_vle32_v_f32m2(at + i, vl), x1 = __riscv_vle32_v_f32m2(at + i + 16, vl);
        x2 = __riscv_vle32_v_f32m2(at + i + 32, vl);
        POWERS_3
        __riscv_vse32_v_f32m2(at + i, p0, vl);
        __riscv_vse32_v_f32m2(at + i + 16, p1, vl);
        __riscv_vse32_v_f32m2(at + i + 32, p2, vl);
        sum = __riscv_vfadd_vv_f32m2(sum, p0, vl);
        p1 = __riscv_vfadd_vv_f32m2(p1, p2, vl);
        sum = __riscv_vfadd_vv_f32m2(sum, p1, vl);
    }
    if (i < n) { /* of the last ones, and of others that are next to nothing */
        size_t vl0 = n - i < 16 ? (size_t)(n - i) : 16;
        size_t vl1 = n - i < 32 ? (size_t)(n - i) - vl0 : 16, vl2 = (size_t)(n - i) - vl0 - vl1;
        x0 = x1 = x2 = __riscv_vfmv_v_f_f32m2(-__FLT_MAX__, vl);
        x0 = __riscv_vle32_v_f32m2_tu(x0, at + i, vl0);
        x1 = __riscv_vle32_v_f32m2_tu(x1, at + i + 16, vl1);
        x2 = __riscv_vle32_v_f32m2_tu(x2, at + i + 32, vl2);
        POWERS_3
        __riscv_vse32_v_f32m2(at + i, p0, vl0);
        __riscv_vse32_v_f32m2(at + i + 16, p1, vl1);
        __riscv_vse32_v_f32m2(at + i + 32, p2, vl2);
        p1 = __riscv_vfadd_vv_f32m2(p1, p2, vl);
        sum = __riscv_vfadd_vv_f32m2(sum, __riscv_vfadd_vv_f32m2(p0, p1, vl), vl);
    }
    vfloat32m1_t half = __riscv_vfadd_vv_f32m1(__riscv_vget_v_f32m2_f32m1(sum, 0),
                                               __riscv_vget_v_f32m2_f32m1(sum, 1), VLEN / 32);
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m1_f32m1(half, zero, VLEN / 32));
}

static inline void gumbel_softmax_hard_rows(const uint64_t *args) {
    const float *logits = IN(float, 0), *uniform = IN(float, 1);
    float *hard = OUT(float, 2), *soft = OUT(float, 3);
    long rows = INT(4), n = INT(5);
    float inverse = 1 / as_float(args[6]);
    for (long row = 0; row < rows; row++) {
        float most = with_noise(logits, uniform, soft, n, inverse);
        long place = place_of(soft, most, n);
        float scale = 1 / powers_in_place(soft, most, n);
        vfloat32m4_t zero = __riscv_vfmv_v_f_f32m4(0, __riscv_vsetvlmax_e32m4());
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t x = __riscv_vle32_v_f32m4(soft + i, vl);
            __riscv_vse32_v_f32m4(soft + i, __riscv_vfmul_vf_f32m4(x, scale, vl), vl);
            __riscv_vse32_v_f32m4(hard + i, zero, vl);
            i += (long)vl;
        }
        hard[place] = 1;
        logits += n, uniform += n, hard += n, soft += n;
    }
}

/* Local response: sums of five channels share sums of two and three, for four channels at a time,
 * of which the squares stay in registers. For an exponent of 3/4, powers are no logarithms: an
 * estimate y of s^(-3/4) by those of square roots, times (1 - h)^(-1/4), where h is 1 - s^3 y^4. */
static inline vfloat32m2_t normalised(vfloat32m2_t s, const float *x, float scale, float k,
                                      vfloat32m2_t n1, vfloat32m2_t n0, size_t vl) {
    s = __riscv_vfadd_vf_f32m2(__riscv_vfmul_vf_f32m2(s, scale, vl), k, vl);
    vfloat32m2_t root = __riscv_vfrsqrt7_v_f32m2(s, vl);
    vfloat32m2_t y = __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(root, root, vl),
                                            __riscv_vfrsqrt7_v_f32m2(root, vl), vl);
    vfloat32m2_t a = __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(y, y, vl), s, vl);
    a = __riscv_vfmul_vv_f32m2(a, a, vl);
    vfloat32m2_t h = __riscv_vfnmsub_vv_f32m2(a, s, n0, vl); /* n0 is one */
    y = __riscv_vfmul_vv_f32m2(y, __riscv_vle32_v_f32m2(x, vl), vl);
    vfloat32m2_t p = __riscv_vfmul_vf_f32m2(h, 1.178922051e-1f, vl);
    p = __riscv_vfadd_vf_f32m2(p, 1.568621251e-1f, vl);
    p = __riscv_vfmadd_vv_f32m2(p, h, n1, vl);
    p = __riscv_vfmul_vv_f32m2(p, h, vl);
    return __riscv_vfmacc_vv_f32m2(y, p, y, vl);
}

/* For any exponent. */
static inline vfloat32m2_t normalised_any(vfloat32m2_t s, const float *x, float scale, float k,
                                          float beta, size_t vl) {
    vfloat32m4_t all = __riscv_vlmul_ext_v_f32m2_f32m4(s);
    all = __riscv_vfadd_vf_f32m4(__riscv_vfmul_vf_f32m4(all, scale, vl), k, vl);
    all = __riscv_vfmul_vf_f32m4(logarithm(all, vl), -beta * 1.44269504f, vl);
    s = __riscv_vlmul_trunc_v_f32m4_f32m2(power_of_two(all, vl));
    return __riscv_vfmul_vv_f32m2(s, __riscv_vle32_v_f32m2(x, vl), vl);
}

#define ADD(x, y) __riscv_vfadd_vv_f32m2(x, y, vl)
#ifndef LRN_AHEAD
#define LRN_AHEAD 64
#endif
#define SQUARE(x, at)                                                                              \
    x = __riscv_vle32_v_f32m2(from + (at) * plane, vl);                                            \
    x = __riscv_vfmul_vv_f32m2(x, x, vl);
#define KEEP_NORMALISED(sum, at)                                                                   \
    {                                                                                              \
        vfloat32m2_t y = is_usual ? normalised(sum, from + (at) * plane, scale, k, n1, n0, vl)     \
                                  : normalised_any(sum, from + (at) * plane, scale, k, beta, vl);  \
        __riscv_vse32_v_f32m2(to + (at) * plane, y, vl);                                           \
    }

#define N_SCALE(k) s##k = __riscv_vfmul_vf_f32m2(s##k, scale, vl);
#define N_SUM(j) s##j = __riscv_vfadd_vf_f32m2(s##j, k, vl);
#define N_ROOT(k) vfloat32m2_t r##k = __riscv_vfrsqrt7_v_f32m2(s##k, vl);
#define N_FOURTH(k) vfloat32m2_t y##k = __riscv_vfrsqrt7_v_f32m2(r##k, vl);
#define N_SQUARE(k) r##k = __riscv_vfmul_vv_f32m2(r##k, r##k, vl);
#define N_FIRST(k) y##k = __riscv_vfmul_vv_f32m2(y##k, r##k, vl);
#define N_Y2(k) r##k = __riscv_vfmul_vv_f32m2(y##k, y##k, vl);
#define N_Y2S(k) r##k = __riscv_vfmul_vv_f32m2(r##k, s##k, vl);
#define N_Y4S2(k) r##k = __riscv_vfmul_vv_f32m2(r##k, r##k, vl);
#define N_H(k) r##k = __riscv_vfnmsub_vv_f32m2(r##k, s##k, n0, vl);
#define N_CENTRE(k) s##k = __riscv_vle32_v_f32m2(from + (k) * plane, vl);
#define N_TIMES(k) y##k = __riscv_vfmul_vv_f32m2(y##k, s##k, vl);
#define N_C3(k) s##k = __riscv_vfmul_vf_f32m2(r##k, 1.178922051e-1f, vl);
#define N_C2(k) s##k = __riscv_vfadd_vf_f32m2(s##k, 1.568621251e-1f, vl);
#define N_C1(k) s##k = __riscv_vfmadd_vv_f32m2(s##k, r##k, n1, vl);
#define N_C0(k) s##k = __riscv_vfmul_vv_f32m2(s##k, r##k, vl);
#define N_DONE(k) y##k = __riscv_vfmacc_vv_f32m2(y##k, s##k, y##k, vl);
#define N_KEEP(k) __riscv_vse32_v_f32m2(to + (k) * plane, y##k, vl);
#define N_HOLD(x) HOLD4(x##0, x##1, x##2, x##3)

/* Four channels, of which there are two more on either side, and no fewer than 16 numbers each. */
static inline __attribute__((always_inline)) void
four_usual_channels(const float *x, float *out, long plane, float scale, float k) {
    size_t vl = VLEN / 16;
    vfloat32m2_t n1 = __riscv_vfmv_v_f_f32m2(2.499986984e-1f, vl);
    vfloat32m2_t n0 = __riscv_vfmv_v_f_f32m2(1, vl);
    for (long i = 0; i < plane; i += 16) {
        if (plane - i < 16) /* the last ones are worked out once more, rather than fewer */
            i = plane - 16;
        const float *from = x + i;
        float *to = out + i;
        vfloat32m2_t a, b, c, d, e, f, g, h;
        SQUARE(c, 0)
        SQUARE(d, 1)
        SQUARE(e, 2)
        SQUARE(f, 3)
        SQUARE(g, 4)
        SQUARE(h, 5)
        SQUARE(a, -2)
        SQUARE(b, -1)
        for (long at = 2; at < 6; at++)
            ahead(from + at * plane + LRN_AHEAD, VLEN / 4);
        vfloat32m2_t de = ADD(d, e), cde = ADD(c, de), cdef = ADD(cde, f);
        vfloat32m2_t s0 = ADD(ADD(a, b), cde), s1 = ADD(b, cdef), s2 = ADD(cdef, g);
        vfloat32m2_t s3 = ADD(ADD(de, f), ADD(g, h));
        N_HOLD(s)
        ON_4(N_SCALE)
        N_HOLD(s)
        ON_4(N_SUM)
        N_HOLD(s)
        ON_4(N_ROOT)
        N_HOLD(r)
        ON_4(N_FOURTH)
        N_HOLD(y)
        ON_4(N_SQUARE)
        N_HOLD(r)
        ON_4(N_FIRST)
        N_HOLD(y)
        ON_4(N_Y2)
        N_HOLD(r)
        ON_4(N_Y2S)
        N_HOLD(r)
        ON_4(N_Y4S2)
        N_HOLD(r)
        ON_4(N_H)
        N_HOLD(r)
        ON_4(N_CENTRE)
        ON_4(N_TIMES)
        N_HOLD(y)
        ON_4(N_C3)
        N_HOLD(s)
        ON_4(N_C2)
        N_HOLD(s)
        ON_4(N_C1)
        N_HOLD(s)
        ON_4(N_C0)
        N_HOLD(s)
        ON_4(N_DONE)
        ON_4(N_KEEP)
    }
}

/* The same for any exponent, and any number of pixels. */
static inline __attribute__((always_inline)) void
four_channels(const float *x, float *out, long plane, float scale, float k, float beta,
              int is_usual) {
    size_t all = VLEN / 16;
    vfloat32m2_t n1 = __riscv_vfmv_v_f_f32m2(2.499986984e-1f, all);
    vfloat32m2_t n0 = __riscv_vfmv_v_f_f32m2(1, all);
    for (long i = 0; i < plane;) {
        size_t vl = __riscv_vsetvl_e32m2(plane - i);
        const float *from = x + i;
        float *to = out + i;
        vfloat32m2_t a, b, c, d, e, f, g, h;
        SQUARE(c, 0)
        SQUARE(d, 1)
        SQUARE(e, 2)
        SQUARE(f, 3)
        SQUARE(g, 4)
        SQUARE(h, 5)
        SQUARE(a, -2)
        SQUARE(b, -1)
        for (long at = 2; at < 6; at++)
            ahead(from + at * plane + LRN_AHEAD, VLEN / 4);
        vfloat32m2_t de = ADD(d, e), cde = ADD(c, de), cdef = ADD(cde, f);
        vfloat32m2_t s0 = ADD(ADD(a, b), cde), s1 = ADD(b, cdef), s2 = ADD(cdef, g);
        vfloat32m2_t s3 = ADD(ADD(de, f), ADD(g, h));
        KEEP_NORMALISED(s0, 0)
        KEEP_NORMALISED(s1, 1)
        KEEP_NORMALISED(s2, 2)
        KEEP_NORMALISED(s3, 3)
        i += (long)vl;
    }
}

/* A channel that has fewer than two on one side, or is left over. */
static inline void one_channel(const float *x, float *out, long low, long high, long plane,
                               float scale, float k, float beta, int is_usual) {
    size_t all = VLEN / 16;
    vfloat32m2_t n1 = __riscv_vfmv_v_f_f32m2(2.499986984e-1f, all);
    vfloat32m2_t n0 = __riscv_vfmv_v_f_f32m2(1, all);
    for (long i = 0; i < plane;) {
        size_t vl = __riscv_vsetvl_e32m2(plane - i);
        const float *from = x + i;
        float *to = out + i;
        vfloat32m2_t sum = __riscv_vfmv_v_f_f32m2(0, vl);
        for (long near = low; near <= high; near++) {
            vfloat32m2_t of_near = __riscv_vle32_v_f32m2(from + near * plane, vl);
            sum = __riscv_vfmacc_vv_f32m2(sum, of_near, of_near, vl);
        }
        KEEP_NORMALISED(sum, 0)
        i += (long)vl;
    }
}

static inline __attribute__((always_inline)) void
of_image(const float *x, float *out, long channels, long plane, float scale, float k, float beta,
         int is_usual) {
    for (long channel = 0; channel < channels;) {
        const float *from = x + channel * plane;
        float *to = out + channel * plane;
        if (channel >= 2 && channel + 6 <= channels) {
            if (is_usual && plane >= 16)
                four_usual_channels(from, to, plane, scale, k);
            else
                four_channels(from, to, plane, scale, k, beta, is_usual);
            channel += 4;
        } else {
            long low = channel < 2 ? -channel : -2;
            long high = channels - 1 - channel < 2 ? channels - 1 - channel : 2;
            one_channel(from, to, low, high, plane, scale, k, beta, is_usual);
            channel++;
        }
    }
}

static inline void local_response_norm_channels(const uint64_t *args) {
    const float *x = IN(float, 0);
    float *out = OUT(float, 1), alpha = as_float(args[4]), beta = as_float(args[5]);
    float k = as_float(args[6]), scale = alpha / 5;
    long images = sizes[0], channels = INT(2), plane = INT(3);
    for (long image = 0; image < images; image++) {
        if (beta == 0.75f)
            of_image(x, out, channels, plane, scale, k, beta, 1);
        else
            of_image(x, out, channels, plane, scale, k, beta, 0);
        x += channels * plane, out += channels * plane;
    }
}
