/* The kernels of fifteenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

/* Two groups, whose steps in turn hide each other's latency, or one. */
#define ONE(EACH) EACH(0)
#define TWO(EACH) EACH(0) EACH(1)
#define TIMES(x, y) __riscv_vfmul_vv_f32m4(x, y, vl)

static inline void hardswish_backward(const uint64_t *args) {
    long n = INT(3);
    const float *grads = IN(float, 0), *xs = IN(float, 1);
    float *out = OUT(float, 2);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m8(n - i);
        ahead(xs + i + 192, VLEN), ahead(grads + i + 192, VLEN);
        vfloat32m8_t x = __riscv_vle32_v_f32m8(xs + i, vl);
        vfloat32m8_t grad = __riscv_vle32_v_f32m8(grads + i, vl);
        vfloat32m8_t slope = __riscv_vfmul_vf_f32m8(x, 1.0f / 3, vl);
        vbool4_t above = __riscv_vmfgt_vf_f32m8_b4(x, 3, vl);
        vbool4_t below = __riscv_vmflt_vf_f32m8_b4(x, -3, vl);
        slope = __riscv_vfadd_vf_f32m8(slope, 0.5f, vl);
        slope = __riscv_vfmerge_vfm_f32m8(slope, 1, above, vl);
        slope = __riscv_vfmerge_vfm_f32m8(slope, 0, below, vl);
        __riscv_vse32_v_f32m8(out + i, __riscv_vfmul_vv_f32m8(grad, slope, vl), vl);
        i += (long)vl;
    }
}

/* 2^x, by the steps of power_of_two for groups in turn. */
#define CLAMP(k) x##k = __riscv_vfmax_vf_f32m4(x##k, -126, vl);
#define MOVE(k) vfloat32m4_t n##k = __riscv_vfadd_vf_f32m4(x##k, 0x1.8p23f, vl);
#define BACK(k) vfloat32m4_t p##k = __riscv_vfsub_vf_f32m4(n##k, 0x1.8p23f, vl);
#define REST(k) x##k = __riscv_vfsub_vv_f32m4(x##k, p##k, vl);
#define FIRST(k) p##k = __riscv_vfmul_vf_f32m4(x##k, 1.326697039e-3f, vl);
#define PLUS(k, c) p##k = __riscv_vfadd_vf_f32m4(p##k, c, vl);
#define FIFTH(k) PLUS(k, 9.675459746e-3f)
#define FOURTH(k) PLUS(k, 5.550742616e-2f)
#define THIRD(k) PLUS(k, 2.402212175e-1f)
#define SECOND(k) PLUS(k, 6.931469492e-1f)
#define PLUS_ONE(k) PLUS(k, 1)
#define STEP(k) p##k = TIMES(p##k, x##k);
#define POWER(k)                                                                                   \
    vint32m4_t bits##k = __riscv_vmacc_vx_i32m4(__riscv_vreinterpret_v_f32m4_i32m4(p##k), 1 << 23, \
                                                __riscv_vreinterpret_v_f32m4_i32m4(n##k), vl);     \
    p##k = __riscv_vreinterpret_v_i32m4_f32m4(bits##k);
#define POWERS(ALL)                                                                                \
    ALL(CLAMP) ALL(MOVE) ALL(BACK) ALL(REST) ALL(FIRST) ALL(FIFTH) ALL(STEP) ALL(FOURTH)           \
    ALL(STEP) ALL(THIRD) ALL(STEP) ALL(SECOND) ALL(STEP) ALL(PLUS_ONE) ALL(POWER)

/* Which keys are valid, with SIDE more at both ends that are not: up to 32,768 in all. */
static uint8_t keys[32768];
/* Largest scores of some queries, and sums of their powers. */
enum { QUERIES = 16 };
static float tops[QUERIES], totals[QUERIES];

static inline void store_top(float *to, vfloat32m8_t top) {
    size_t half = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t larger = __riscv_vfmax_vv_f32m4(__riscv_vget_v_f32m8_f32m4(top, 0),
                                                 __riscv_vget_v_f32m8_f32m4(top, 1), half);
    vfloat32m1_t low = __riscv_vfmv_s_f_f32m1(-1e30f, 1);
    __riscv_vse32_v_f32m1(to, __riscv_vfredmax_vs_f32m4_f32m1(larger, low, half), 1);
}

static inline void find_tops(const float *x, const uint8_t *valid, long queries, long width) {
    size_t all = __riscv_vsetvlmax_e32m8();
    for (long query = 0; query < queries; query++, x += width, valid++) {
        vfloat32m8_t top = __riscv_vfmv_v_f_f32m8(-1e30f, all);
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m8(width - i);
            vbool4_t keep = __riscv_vmsne_vx_u8m2_b4(__riscv_vle8_v_u8m2(valid + i, vl), 0, vl);
            vfloat32m8_t part = __riscv_vle32_v_f32m8(x + i, vl);
            top = __riscv_vfmax_vv_f32m8_tumu(keep, top, top, part, vl);
            i += (long)vl;
        }
        store_top(tops + query, top);
    }
}

#define KEEP(k)                                                                                    \
    vbool8_t gone##k = __riscv_vmseq_vx_u8m1_b8(__riscv_vle8_v_u8m1(valid + i + (k), vl), 0, vl);
#define SCORE(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + i + (k) * width, vl);
#define SCALE(k) x##k = __riscv_vfmul_vf_f32m4(x##k, scale, vl);
#define LESS(k) x##k = __riscv_vfsub_vf_f32m4(x##k, most##k, vl);
#define DROP(k) p##k = __riscv_vfmerge_vfm_f32m4(p##k, 0, gone##k, vl);
#define TOTAL(k) total##k = __riscv_vfadd_vv_f32m4_tu(total##k, total##k, p##k, vl);
#define WRITE(k) __riscv_vse32_v_f32m4(out + i + (k) * width, p##k, vl);
#define SUM(k) vfloat32m4_t total##k = __riscv_vfmv_v_f_f32m4(0, all);
#define MOST(k) float most##k = scale * tops[query + (k)];
#define STORE_SUM(k) store_sum(totals + query + (k), total##k);
#define WINDOWS(ALL)                                                                               \
    ALL(SUM) ALL(MOST)                                                                             \
    for (long i = 0; i < width;) {                                                                 \
        size_t vl = __riscv_vsetvl_e32m4(width - i);                                               \
        ahead(x + i + QUERIES * width, VLEN / 2);                                                  \
        ALL(SCORE) ALL(SCALE) ALL(LESS) POWERS(ALL) ALL(KEEP) ALL(DROP) ALL(TOTAL) ALL(WRITE)      \
        i += (long)vl;                                                                             \
    }                                                                                              \
    ALL(STORE_SUM)

/* Reductions of some queries are stored, and read when all are done. */
static inline void some_windows(const float *x, const uint8_t *valid, float *out, long queries,
                                long width, float scale) {
    size_t all = __riscv_vsetvlmax_e32m4();
    float *to = out;
    long query = 0;
    find_tops(x, valid, queries, width);
    for (; query + 2 <= queries; query += 2, x += 2 * width, out += 2 * width, valid += 2) {
        WINDOWS(TWO)
    }
    if (query < queries) {
        WINDOWS(ONE)
    }
    for (query = 0; query < queries; query++)
        totals[query] = 1 / fmaxf(totals[query], 1e-30f);
    for (query = 0; query < queries; query++, to += width) {
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m8(width - i);
            vfloat32m8_t part = __riscv_vle32_v_f32m8(to + i, vl);
            part = __riscv_vfmul_vf_f32m8(part, totals[query], vl);
            __riscv_vse32_v_f32m8(to + i, part, vl);
            i += (long)vl;
        }
    }
}

static inline void sliding_window_softmax(const uint64_t *args) {
    long heads = sizes[0], t = INT(3), side = INT(4), width = 2 * side + 1;
    float scale = 1.44269504f * as_float(args[5]);
    memset(keys, 0, (size_t)(t + 2 * side));
    memcpy(keys + side, IN(uint8_t, 1), (size_t)t);
    for (long head = 0; head < heads; head++) {
        const float *x = IN(float, 0) + head * t * width;
        float *out = OUT(float, 2) + head * t * width;
        for (long query = 0; query < t; query += QUERIES) {
            long some = t - query < QUERIES ? t - query : QUERIES;
            some_windows(x + query * width, keys + query, out + query * width, some, width, scale);
        }
    }
}

/* Root and quotient by approximations of 7 bits and one step of third order each. */
#define PARAM(k) vfloat32m4_t e##k = __riscv_vle32_v_f32m4(params + i + (k) * all, vl);
#define GRAD(k) vfloat32m4_t grad##k = __riscv_vle32_v_f32m4(grads + i + (k) * all, vl);
#define READ_SUM(k) vfloat32m4_t s##k = __riscv_vle32_v_f32m4(sums + i + (k) * all, vl);
#define DECAY(k) grad##k = __riscv_vfmacc_vf_f32m4(grad##k, decay, e##k, vl);
#define SQUARE(k) s##k = __riscv_vfmacc_vv_f32m4(s##k, grad##k, grad##k, vl);
#define WRITE_SUM(k) __riscv_vse32_v_f32m4(sums + i + (k) * all, s##k, vl);
#define SMALLEST(k) s##k = __riscv_vfmax_vf_f32m4(s##k, 1e-37f, vl);
#define ROOT(k) e##k = __riscv_vfrsqrt7_v_f32m4(s##k, vl);
#define ROOT_TIMES(k) s##k = TIMES(s##k, e##k);
#define ROOT_ERROR(k) e##k = TIMES(s##k, e##k);
#define LESS_ONE(k) e##k = __riscv_vfrsub_vf_f32m4(e##k, 1, vl);
#define SERIES(k) vfloat32m4_t q##k = __riscv_vfmul_vf_f32m4(e##k, 0.375f, vl);
#define HALF(k) q##k = __riscv_vfadd_vf_f32m4(q##k, 0.5f, vl);
#define SERIES_TIMES(k) q##k = TIMES(q##k, e##k);
#define BETTER_ROOT(k) s##k = __riscv_vfmacc_vv_f32m4(s##k, s##k, q##k, vl);
#define EPS(k) s##k = __riscv_vfadd_vf_f32m4(s##k, eps, vl);
#define INVERSE(k) q##k = __riscv_vfrec7_v_f32m4(s##k, vl);
#define ERROR(k) e##k = TIMES(s##k, q##k);
#define ERRORS(k) e##k = __riscv_vfmacc_vv_f32m4(e##k, e##k, e##k, vl);
#define BETTER(k) q##k = __riscv_vfmacc_vv_f32m4(q##k, q##k, e##k, vl);
#define DIVIDE(k) grad##k = TIMES(grad##k, q##k);
#define PARAM_AGAIN(k) e##k = __riscv_vle32_v_f32m4(params + i + (k) * all, vl);
#define DESCEND(k) e##k = __riscv_vfnmsac_vf_f32m4(e##k, rate, grad##k, vl);
#define WRITE_PARAM(k) __riscv_vse32_v_f32m4(params + i + (k) * all, e##k, vl);
#define ADAGRAD(ALL)                                                                               \
    ALL(PARAM) ALL(GRAD) ALL(READ_SUM) ALL(DECAY) ALL(SQUARE) ALL(WRITE_SUM) ALL(SMALLEST)         \
    ALL(ROOT) ALL(ROOT_TIMES) ALL(ROOT_ERROR) ALL(LESS_ONE) ALL(SERIES) ALL(HALF)                  \
    ALL(SERIES_TIMES) ALL(BETTER_ROOT) ALL(EPS) ALL(INVERSE) ALL(ERROR) ALL(LESS_ONE) ALL(ERRORS)  \
    ALL(BETTER) ALL(DIVIDE) ALL(PARAM_AGAIN) ALL(DESCEND) ALL(WRITE_PARAM)

static inline void adagrad_step(const uint64_t *args) {
    long n = INT(3), all = (long)__riscv_vsetvlmax_e32m4(), i = 0;
    float rate = as_float(args[4]), decay = as_float(args[5]), eps = as_float(args[6]);
    float *params = OUT(float, 0), *sums = OUT(float, 1);
    const float *grads = IN(float, 2);
    for (size_t vl = (size_t)all; i + 2 * all <= n; i += 2 * all) {
        ahead(params + i + 192, VLEN), ahead(sums + i + 192, VLEN);
        ahead(grads + i + 192, VLEN);
        ADAGRAD(TWO)
    }
    while (i < n) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        ADAGRAD(ONE)
        i += (long)vl;
    }
}

static inline float largest_of(const float *x, long n) {
    size_t all = __riscv_vsetvlmax_e32m8(), half = __riscv_vsetvlmax_e32m4();
    vfloat32m8_t top = __riscv_vfmv_v_f_f32m8(-__builtin_inff(), all);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m8(n - i);
        ahead(x + i + 192, VLEN);
        top = __riscv_vfmax_vv_f32m8_tu(top, top, __riscv_vle32_v_f32m8(x + i, vl), vl);
        i += (long)vl;
    }
    return largest_m4(__riscv_vfmax_vv_f32m4(__riscv_vget_v_f32m8_f32m4(top, 0),
                                             __riscv_vget_v_f32m8_f32m4(top, 1), half),
                      half);
}

#define LOGIT(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + i + (k) * (long)all, vl);
#define LOGIT_AGAIN(k) x##k = __riscv_vle32_v_f32m4(x + i + (k) * (long)all, vl);
#define LESS_TOP(k) x##k = __riscv_vfsub_vf_f32m4(x##k, most, vl);
#define ADD(k) total = __riscv_vfadd_vv_f32m4_tu(total, total, p##k, vl);
#define ADD_WEIGHTED(k) weighted = __riscv_vfmacc_vv_f32m4_tu(weighted, p##k, x##k, vl);
#define SUM_UP(ALL)                                                                                \
    ALL(LOGIT) ALL(SCALE) ALL(LESS_TOP) POWERS(ALL) ALL(LOGIT_AGAIN) ALL(ADD) ALL(ADD_WEIGHTED)

/* A word's surprise less the entropy is the mean of logits by their chance, less its own. */
static inline void typical_sampling_entropy(const uint64_t *args) {
    long rows = sizes[0], n = INT(3);
    size_t all = __riscv_vsetvlmax_e32m4();
    const float scale = 1.44269504f;
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        float *out = OUT(float, 1) + row * n;
        float largest = largest_of(x, n), most = scale * largest;
        vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, all), weighted = total;
        long i = 0;
        for (size_t vl = all; i + 2 * (long)all <= n; i += 2 * (long)all) {
            SUM_UP(TWO)
        }
        while (i < n) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            SUM_UP(ONE)
            i += (long)vl;
        }
        float sum = sum_m4(total, all), mean = sum_m4(weighted, all) / sum;
        OUT(float, 2)[row] = logf(sum) + (largest - mean);
        for (i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t part = __riscv_vle32_v_f32m8(x + i, vl);
            part = __riscv_vfabs_v_f32m8(__riscv_vfsub_vf_f32m8(part, mean, vl), vl);
            __riscv_vse32_v_f32m8(out + i, part, vl);
            i += (long)vl;
        }
    }
}
