/* The kernels of twentieth_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the emulated
 * X60, by somebody who knows the instructions and not what the compiler makes. One program does all
 * the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)

/* 1 / x, by a reciprocal of 7 bits and a step of third order. */
static inline vfloat32m4_t inverse(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t y = __riscv_vfrec7_v_f32m4(x, vl);
    vfloat32m4_t off = __riscv_vfrsub_vf_f32m4(__riscv_vfmul_vv_f32m4(x, y, vl), 1, vl);
    off = __riscv_vfmacc_vv_f32m4(off, off, off, vl);
    return __riscv_vfmacc_vv_f32m4(y, y, off, vl);
}

/* sqrt(x), in the same way. */
static inline vfloat32m4_t root(vfloat32m4_t x, size_t vl) {
    x = __riscv_vfmax_vf_f32m4(x, 1e-36f, vl);
    vfloat32m4_t y = __riscv_vfrsqrt7_v_f32m4(x, vl);
    x = __riscv_vfmul_vv_f32m4(x, y, vl);
    vfloat32m4_t off = __riscv_vfrsub_vf_f32m4(__riscv_vfmul_vv_f32m4(x, y, vl), 1, vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(off, 0.375f, vl);
    p = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), off, vl);
    return __riscv_vfmacc_vv_f32m4(x, x, p, vl);
}

/* AdamW: bits of e4m3, shifted by 20, are those of a float that is 2^120 times as small. States lie
 * in the cache between the block's largest of them and their rounding, to the nearest even. */
#define BLOCK 256
static float means[BLOCK], squares[BLOCK];

static inline void round_states(uint8_t *mean_codes, uint8_t *square_codes, long n,
                                float inverse_mean, float inverse_square) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t mean = __riscv_vle32_v_f32m4(means + i, vl);
        vfloat32m4_t square = __riscv_vle32_v_f32m4(squares + i, vl);
        mean = __riscv_vfmul_vf_f32m4(mean, inverse_mean, vl);
        square = __riscv_vfmul_vf_f32m4(square, inverse_square, vl);
        /* Of negative ones the lowest byte is right, too, but for its sign. */
        vint16m2_t m = __riscv_vnclip_wx_i16m2(__riscv_vreinterpret_v_f32m4_i32m4(mean), 20,
                                               __RISCV_VXRM_RNE, vl);
        vuint16m2_t s = __riscv_vnclipu_wx_u16m2(__riscv_vreinterpret_v_f32m4_u32m4(square), 20,
                                                 __RISCV_VXRM_RNE, vl);
        vbool8_t is_negative = __riscv_vmslt_vx_i16m2_b8(m, 0, vl);
        vuint8m1_t code = __riscv_vncvt_x_x_w_u8m1(__riscv_vreinterpret_v_i16m2_u16m2(m), vl);
        code = __riscv_vor_vx_u8m1_mu(is_negative, code, code, 128, vl);
        __riscv_vse8_v_u8m1(mean_codes + i, code, vl);
        __riscv_vse8_v_u8m1(square_codes + i, __riscv_vncvt_x_x_w_u8m1(s, vl), vl);
        i += (long)vl;
    }
}

static inline void adamw_8bit_blockwise_step(const uint64_t *args) {
    float *params = OUT(float, 0), *mean_scales = OUT(float, 3), *square_scales = OUT(float, 5);
    const float *grads = IN(float, 1);
    uint8_t *mean_codes = OUT(uint8_t, 2), *square_codes = OUT(uint8_t, 4);
    long n = INT(6);
    float rate = as_float(args[7]), beta1 = as_float(args[8]), beta2 = as_float(args[9]);
    float eps = as_float(args[10]), decay = as_float(args[11]);
    float per_mean = rate / as_float(args[12]), per_root = 1 / sqrtf(as_float(args[13]));
    for (long start = 0; start < n; start += BLOCK) {
        long count = n - start < BLOCK ? n - start : BLOCK;
        float from_mean = *mean_scales * beta1 * 0x1p120f;
        float from_square = *square_scales * beta2 * 0x1p120f;
        size_t all = __riscv_vsetvlmax_e32m4();
        vfloat32m4_t most = __riscv_vfmv_v_f_f32m4(1e-12f, all), most_square = most;
        for (long i = 0; i < count;) {
            size_t vl = __riscv_vsetvl_e32m4(count - i);
            vfloat32m4_t grad = __riscv_vle32_v_f32m4(grads + i, vl);
            ahead(grads + i + 96, VLEN / 2), ahead(params + i + 96, VLEN / 2);
            vint32m4_t m =
                __riscv_vsext_vf4_i32m4(__riscv_vle8_v_i8m1((int8_t *)mean_codes + i, vl), vl);
            vuint32m4_t s = __riscv_vzext_vf4_u32m4(__riscv_vle8_v_u8m1(square_codes + i, vl), vl);
            m = __riscv_vand_vx_i32m4(__riscv_vsll_vx_i32m4(m, 20, vl), (int32_t)0x87f00000, vl);
            s = __riscv_vsll_vx_u32m4(s, 20, vl);
            vfloat32m4_t mean = __riscv_vreinterpret_v_i32m4_f32m4(m);
            vfloat32m4_t square = __riscv_vreinterpret_v_u32m4_f32m4(s);
            mean = __riscv_vfmul_vf_f32m4(mean, from_mean, vl);
            square = __riscv_vfmul_vf_f32m4(square, from_square, vl);
            mean = __riscv_vfmacc_vf_f32m4(mean, 1 - beta1, grad, vl);
            grad = __riscv_vfmul_vv_f32m4(grad, grad, vl);
            square = __riscv_vfmacc_vf_f32m4(square, 1 - beta2, grad, vl);
            __riscv_vse32_v_f32m4(means + i, mean, vl);
            __riscv_vse32_v_f32m4(squares + i, square, vl);
            most = __riscv_vfmax_vv_f32m4_tu(most, most, __riscv_vfabs_v_f32m4(mean, vl), vl);
            most_square = __riscv_vfmax_vv_f32m4_tu(most_square, most_square, square, vl);
            vfloat32m4_t param = __riscv_vle32_v_f32m4(params + i, vl);
            vfloat32m4_t below = __riscv_vfmul_vf_f32m4(root(square, vl), per_root, vl);
            below = inverse(__riscv_vfadd_vf_f32m4(below, eps, vl), vl);
            mean = __riscv_vfmul_vf_f32m4(mean, per_mean, vl);
            param = __riscv_vfmul_vf_f32m4(param, 1 - rate * decay, vl);
            param = __riscv_vfnmsac_vv_f32m4(param, mean, below, vl);
            __riscv_vse32_v_f32m4(params + i, param, vl);
            i += (long)vl;
        }
        float mean_scale = largest_m4(most, all) / 448;
        float square_scale = largest_m4(most_square, all) / 448;
        *mean_scales++ = mean_scale, *square_scales++ = square_scale;
        round_states(mean_codes, square_codes, count, 0x1p-120f / mean_scale,
                     0x1p-120f / square_scale);
        params += BLOCK, grads += BLOCK, mean_codes += BLOCK, square_codes += BLOCK;
    }
}

/* Pairs: rooms of all rows come first, then squares of distances, then what both lead to, for many
 * pairs together. Rows of 32 have code of their own. Up to 65,536 rows and pairs. */
#define LATER 8 /* pairs from now, whose rows are prefetched */
static float rooms[65536], both_rooms[65536], aparts[65536];
static uint32_t left_at[65536 + LATER + 2], right_at[65536 + LATER + 2]; /* in bytes */

#define ROW(at) ((const float *)((const char *)table + (at)))
/* Halves of a row of 32. */
#define READ(from) __riscv_vle32_v_f32m2(from, 2 * one)
#define U(k)                                                                                       \
    vfloat32m2_t u##k = READ(ROW(left_at[pair + (k)]));                                            \
    vfloat32m2_t x##k = READ(ROW(left_at[pair + (k)]) + 2 * one);
#define V(k)                                                                                       \
    vfloat32m2_t v##k = READ(ROW(right_at[pair + (k)]));                                           \
    vfloat32m2_t y##k = READ(ROW(right_at[pair + (k)]) + 2 * one);
#define OFF(k)                                                                                     \
    u##k = __riscv_vfsub_vv_f32m2(u##k, v##k, 2 * one);                                            \
    x##k = __riscv_vfsub_vv_f32m2(x##k, y##k, 2 * one);
#define SQUARE(k) u##k = __riscv_vfmul_vv_f32m2(u##k, u##k, 2 * one);
#define MORE(k) u##k = __riscv_vfmacc_vv_f32m2(u##k, x##k, x##k, 2 * one);
#define HALF(k)                                                                                    \
    vfloat32m1_t half##k = __riscv_vfadd_vv_f32m1(__riscv_vget_v_f32m2_f32m1(u##k, 0),             \
                                                  __riscv_vget_v_f32m2_f32m1(u##k, 1), one);
#define TOTAL(k) half##k = __riscv_vfredusum_vs_f32m1_f32m1(half##k, zero, one);
#define KEEP(k) __riscv_vse32_v_f32m1(aparts + pair + (k), half##k, 1);
/* Keeps the compiler from finishing one pair before it begins the other. */
#define TOGETHER(x) __asm__ volatile("" : "+vr"(x##0), "+vr"(x##1));
/* Two lines, which are all of a row. */
#define FETCH(k)                                                                                   \
    ahead(ROW(left_at[pair + LATER + (k)]), 128);                                                  \
    ahead(ROW(right_at[pair + LATER + (k)]), 128);
#define TWO(EACH) EACH(0) EACH(1)

static inline void two_pairs(const float *table, long pair) {
    size_t one = VLEN / 32;
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    ahead(left_at + pair + 48, 4), ahead(right_at + pair + 48, 4);
    TWO(U) TWO(V) TWO(FETCH) TWO(OFF)
    TOGETHER(u) TWO(SQUARE) TOGETHER(u) TWO(MORE) TOGETHER(u) TWO(HALF) TOGETHER(half)
    TWO(TOTAL) TWO(KEEP)
}

static inline void room_of_32(const float *u, float *room) {
    size_t one = VLEN / 32;
    vfloat32m1_t first = __riscv_vfmv_s_f_f32m1(0, 1);
    vfloat32m2_t u0 = READ(u), x0 = READ(u + 2 * one);
    ahead(u + 192, 128);
    SQUARE(0) MORE(0) HALF(0)
    __riscv_vse32_v_f32m1(room, __riscv_vfredusum_vs_f32m1_f32m1(half0, first, one), 1);
}

static inline void poincare_distance_pairs(const uint64_t *args) {
    const float *table = IN(float, 0);
    const int32_t *left = IN(int32_t, 1), *right = IN(int32_t, 2);
    float *out = OUT(float, 3);
    long rows = sizes[0], pairs = INT(4), d = INT(5), pair = 0;
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        const float *u = table + row * d;
        if (d == (long)all) {
            room_of_32(u, rooms + row);
            continue;
        }
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < d;) {
            size_t vl = __riscv_vsetvl_e32m4(d - i);
            vfloat32m4_t x = __riscv_vle32_v_f32m4(u + i, vl);
            sum = __riscv_vfmacc_vv_f32m4_tu(sum, x, x, vl);
            i += (long)vl;
        }
        store_sum(rooms + row, sum);
    }
    for (long row = 0; row < rows;) {
        size_t vl = __riscv_vsetvl_e32m8(rows - row);
        vfloat32m8_t room = __riscv_vle32_v_f32m8(rooms + row, vl);
        __riscv_vse32_v_f32m8(rooms + row, __riscv_vfrsub_vf_f32m8(room, 1, vl), vl);
        row += (long)vl;
    }
    for (long i = 0; i < pairs;) {
        size_t vl = __riscv_vsetvl_e32m4(pairs - i);
        vint32m4_t l = __riscv_vle32_v_i32m4(left + i, vl);
        vint32m4_t r = __riscv_vle32_v_i32m4(right + i, vl);
        vuint32m4_t at = __riscv_vreinterpret_v_i32m4_u32m4(__riscv_vsll_vx_i32m4(l, 2, vl));
        vuint32m4_t to = __riscv_vreinterpret_v_i32m4_u32m4(__riscv_vsll_vx_i32m4(r, 2, vl));
        vfloat32m4_t room = __riscv_vluxei32_v_f32m4(rooms, at, vl);
        room = __riscv_vfmul_vv_f32m4(room, __riscv_vluxei32_v_f32m4(rooms, to, vl), vl);
        __riscv_vse32_v_f32m4(both_rooms + i, room, vl);
        l = __riscv_vmul_vx_i32m4(l, (int32_t)(4 * d), vl);
        r = __riscv_vmul_vx_i32m4(r, (int32_t)(4 * d), vl);
        __riscv_vse32_v_i32m4((int32_t *)left_at + i, l, vl);
        __riscv_vse32_v_i32m4((int32_t *)right_at + i, r, vl);
        i += (long)vl;
    }
    if (d == (long)all) {
        for (; pair + 2 <= pairs; pair += 2)
            two_pairs(table, pair);
    }
    for (; pair < pairs; pair++) {
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < d;) {
            size_t vl = __riscv_vsetvl_e32m4(d - i);
            vfloat32m4_t x = __riscv_vle32_v_f32m4(ROW(left_at[pair]) + i, vl);
            x = __riscv_vfsub_vv_f32m4(x, __riscv_vle32_v_f32m4(ROW(right_at[pair]) + i, vl), vl);
            sum = __riscv_vfmacc_vv_f32m4_tu(sum, x, x, vl);
            i += (long)vl;
        }
        store_sum(aparts + pair, sum);
    }
    for (long i = 0; i < pairs;) {
        size_t vl = __riscv_vsetvl_e32m4(pairs - i);
        vfloat32m4_t more = inverse(__riscv_vle32_v_f32m4(both_rooms + i, vl), vl);
        vfloat32m4_t apart = __riscv_vle32_v_f32m4(aparts + i, vl);
        more = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vv_f32m4(apart, apart, vl), more, vl);
        vfloat32m4_t q = __riscv_vfmul_vv_f32m4(more, __riscv_vfadd_vf_f32m4(more, 2, vl), vl);
        more = __riscv_vfadd_vv_f32m4(__riscv_vfadd_vf_f32m4(more, 1, vl), root(q, vl), vl);
        __riscv_vse32_v_f32m4(out + i, logarithm(more, vl), vl);
        i += (long)vl;
    }
}

/* Sorted choices: each expert has a bin for its own, of 16 bits, for four shards at a time, so that
 * none waits for another. Then bins are copied. Up to 64 experts, and 1,024 choices of a shard. */
#define EXPERTS 64
static uint16_t bins[4 * EXPERTS * (1024 + 64)], *ends[4][EXPERTS];

#define CHOSEN(k) long e##k = chosen[(k) * n + i];
#define END(k) uint16_t *end##k = ends[k][e##k];
#define PUT(k) *end##k = (uint16_t)i, ends[k][e##k] = end##k + 1;

#define PUT_INTO_BINS(name, ALL)                                                                   \
    static inline void name(const int32_t *chosen, long n) {                                       \
        for (long i = 0; i < n; i++) {                                                             \
            ALL(CHOSEN) ALL(END) ALL(PUT)                                                          \
        }                                                                                          \
    }
#define ONE(EACH) EACH(0)
PUT_INTO_BINS(put_of_four, FOUR)
PUT_INTO_BINS(put_of_one, ONE)

static inline void moe_histogram_sorted_ids(const uint64_t *args) {
    const int32_t *chosen = IN(int32_t, 0);
    int32_t *counts = OUT(int32_t, 1), *sorted = OUT(int32_t, 2);
    long shards = sizes[0], n = INT(3), experts = sizes[2];
    long bin = n / 64 * 64 + 96; /* bins do not begin in the same set of the cache */
    for (long shard = 0; shard < shards;) {
        long some = shard + 4 <= shards ? 4 : 1;
        for (long k = 0; k < some; k++)
            for (long expert = 0; expert < experts; expert++)
                ends[k][expert] = bins + (k * experts + expert) * bin;
        if (some == 4)
            put_of_four(chosen, n);
        else
            put_of_one(chosen, n);
        for (long k = 0; k < some; k++) {
            for (long expert = 0; expert < experts; expert++) {
                const uint16_t *from = bins + (k * experts + expert) * bin;
                long count = ends[k][expert] - from;
                *counts++ = (int32_t)count;
                while (count > 0) {
                    size_t vl = __riscv_vsetvl_e32m4(count);
                    vuint16m2_t some_of = __riscv_vle16_v_u16m2(from, vl);
                    __riscv_vse32_v_u32m4((uint32_t *)sorted, __riscv_vzext_vf2_u32m4(some_of, vl),
                                          vl);
                    from += vl, sorted += vl, count -= (long)vl;
                }
            }
        }
        shard += some, chosen += some * n;
    }
}

/* Penalties: bits of the prompt are a mask as they are. Of a logit times the factor and by it, the
 * smaller one counts if the factor is above 1, and else the larger one. The next logits are on
 * their way meanwhile. */
#define COUNTS(k, i) count##k = __riscv_vle32_v_i32m4(counts + (i), vl);
#define LOGITS(k, i) x##k = __riscv_vle32_v_f32m4(logits + (i), vl);
#define PART(k, i, CHOOSE, next_counts, next_logits)                                               \
    {                                                                                              \
        vbool8_t seen = __riscv_vlm_v_b8(prompt + (i) / 8, vl);                                    \
        ahead(counts + (i) + 128, VLEN / 2), ahead(logits + (i) + 128, VLEN / 2);                  \
        vbool8_t has = __riscv_vmsgt_vx_i32m4_b8(count##k, 0, vl);                                 \
        next_counts;                                                                               \
        vfloat32m4_t times = __riscv_vfcvt_f_x_v_f32m4(count##k, vl);                              \
        vfloat32m4_t large = __riscv_vfmul_vf_f32m4(x##k, up, vl);                                 \
        vfloat32m4_t small = __riscv_vfmul_vf_f32m4(x##k, down, vl);                               \
        next_logits;                                                                               \
        seen = __riscv_vmor_mm_b8(seen, has, vl);                                                  \
        x##k = CHOOSE(seen, x##k, large, small, vl);                                               \
        x##k = __riscv_vfnmsac_vf_f32m4(x##k, frequency, times, vl);                               \
        times = __riscv_vfmin_vf_f32m4(times, 1, vl);                                              \
        x##k = __riscv_vfnmsac_vf_f32m4(x##k, presence, times, vl);                                \
        __riscv_vse32_v_f32m4(out + (i), x##k, vl);                                                \
    }
#define PENALISE(name, CHOOSE)                                                                     \
    static inline void name(const float *logits, const uint8_t *prompt, const int32_t *counts,     \
                            float *out, long n, float up, float frequency, float presence) {       \
        float down = 1 / up;                                                                       \
        vint32m4_t count0, count1;                                                                 \
        vfloat32m4_t x0, x1;                                                                       \
        long i = 0, lanes = VLEN / 8;                                                              \
        if (n >= lanes) {                                                                          \
            size_t vl = VLEN / 8;                                                                  \
            COUNTS(0, 0) LOGITS(0, 0)                                                              \
            for (; i + 3 * lanes <= n; i += 2 * lanes) {                                           \
                PART(0, i, CHOOSE, COUNTS(1, i + lanes), LOGITS(1, i + lanes))                     \
                PART(1, i + lanes, CHOOSE, COUNTS(0, i + 2 * lanes), LOGITS(0, i + 2 * lanes))     \
            }                                                                                      \
        }                                                                                          \
        while (i < n) {                                                                            \
            size_t vl = __riscv_vsetvl_e32m4(n - i);                                               \
            COUNTS(0, i) LOGITS(0, i)                                                              \
            PART(0, i, CHOOSE, (void)0, (void)0)                                                   \
            i += (long)vl;                                                                         \
        }                                                                                          \
    }
PENALISE(penalise, __riscv_vfmin_vv_f32m4_mu)
PENALISE(favour, __riscv_vfmax_vv_f32m4_mu)

static inline void rope_token_penalty_repeat(const uint64_t *args) {
    const float *logits = IN(float, 0);
    const uint8_t *prompt = IN(uint8_t, 1);
    const int32_t *counts = IN(int32_t, 2);
    float *out = OUT(float, 6);
    long rows = sizes[0], n = INT(7), words = INT(8);
    for (long row = 0; row < rows; row++) {
        float up = IN(float, 3)[row], frequency = IN(float, 4)[row], presence = IN(float, 5)[row];
        if (up >= 1)
            penalise(logits, prompt, counts, out, n, up, frequency, presence);
        else
            favour(logits, prompt, counts, out, n, up, frequency, presence);
        logits += n, prompt += 4 * words, counts += n, out += n;
    }
}
