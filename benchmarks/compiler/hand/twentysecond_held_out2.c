/* The kernels of twentysecond_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Zigzag: of twice half a code, less the code, all bits are its lowest. A register has every fourth
 * of 16 differences, so that three sums over registers and one over lanes are those of all. Two of
 * such groups are worked out at a time. */
#define BLOCK 128
#define ON_4(STEP, g) STEP(g, 0) STEP(g, 1) STEP(g, 2) STEP(g, 3)
#define LOAD_CODE(g, k)                                                                            \
    c##g##k = __riscv_vlse64_v_u64m1(from + 16 * (g) + (k), 32, vl);                               \
    __asm__ volatile("" : "+vr"(c##g##k));
#define HALF(g, k) vuint64m1_t h##g##k = __riscv_vsrl_vx_u64m1(c##g##k, 1, vl);
#define TWICE(g, k) vuint64m1_t s##g##k = __riscv_vadd_vv_u64m1(h##g##k, h##g##k, vl);
#define SIGN(g, k) s##g##k = __riscv_vsub_vv_u64m1(s##g##k, c##g##k, vl);
#define DELTA(g, k) h##g##k = __riscv_vxor_vv_u64m1(h##g##k, s##g##k, vl);
#define NEXT(g, k, before) h##g##k = __riscv_vadd_vv_u64m1(h##g##k, h##g##before, vl);
#define LANES(g)                                                                                   \
    vuint64m1_t e##g = __riscv_vslide1up_vx_u64m1(h##g##3, 0, vl);                                 \
    vuint64m1_t f##g = __riscv_vslide1up_vx_u64m1(e##g, 0, vl);
#define MORE_LANES(g)                                                                              \
    vuint64m1_t l##g = __riscv_vslide1up_vx_u64m1(f##g, 0, vl);                                    \
    e##g = __riscv_vadd_vv_u64m1(e##g, f##g, vl);
#define ALL_LANES(g) e##g = __riscv_vadd_vv_u64m1(e##g, l##g, vl);
#define WITH_LANES(g, k) h##g##k = __riscv_vadd_vv_u64m1(h##g##k, e##g, vl);
#define KEEP_GROUP(g)                                                                              \
    __riscv_vsseg4e64_v_u64m1x4(                                                                   \
        to + 16 * (g), __riscv_vcreate_v_u64m1x4(h##g##0, h##g##1, h##g##2, h##g##3), vl);

static inline void delta_zigzag_decode_i64(const uint64_t *args) {
    const uint64_t *from = IN(uint64_t, 0), *first = IN(uint64_t, 1);
    uint64_t *to = OUT(uint64_t, 2);
    long n = INT(3);
    size_t vl = VLEN / 64;
    vuint64m1_t c00, c01, c02, c03, c10, c11, c12, c13;
    if (n >= BLOCK) {
        ON_4(LOAD_CODE, 0)
        ON_4(LOAD_CODE, 1)
    }
    for (; n >= BLOCK; n -= BLOCK, first++) {
        vuint64m1_t carry = __riscv_vmv_v_x_u64m1(*first, vl);
        for (long i = 0; i < BLOCK; i += 32, to += 32) {
            /* Codes are read a step before; behind the last ones, these again. */
            from += n >= 2 * BLOCK || i + 32 < BLOCK ? 32 : 0;
            ahead(from + 96, 256);
            ON_4(HALF, 0)
            ON_4(TWICE, 0)
            ON_4(SIGN, 0)
            ON_4(LOAD_CODE, 0)
            ON_4(DELTA, 0)
            NEXT(0, 1, 0)
            NEXT(0, 3, 2)
            ON_4(HALF, 1)
            NEXT(0, 2, 1) NEXT(0, 3, 1)
            ON_4(TWICE, 1)
            LANES(0)
            ON_4(SIGN, 1)
            ON_4(LOAD_CODE, 1)
            MORE_LANES(0)
            ON_4(DELTA, 1)
            ALL_LANES(0)
            NEXT(1, 1, 0)
            NEXT(1, 3, 2)
            e0 = __riscv_vadd_vv_u64m1(e0, carry, vl);
            NEXT(1, 2, 1) NEXT(1, 3, 1)
            ON_4(WITH_LANES, 0)
            LANES(1)
            carry = __riscv_vrgather_vx_u64m1(h03, 3, vl);
            KEEP_GROUP(0)
            MORE_LANES(1)
            ALL_LANES(1)
            e1 = __riscv_vadd_vv_u64m1(e1, carry, vl);
            ON_4(WITH_LANES, 1)
            carry = __riscv_vrgather_vx_u64m1(h13, 3, vl);
            KEEP_GROUP(1)
        }
    }
    if (n != INT(3))
        from += 32;
    uint64_t sum = n > 0 ? *first : 0;
    for (long i = 0; i < n; i++) {
        uint64_t half = from[i] >> 1;
        to[i] = sum += half ^ (2 * half - from[i]);
    }
}

/* Overlapping frames: sizes are multiples of the hop, which is one of 32. Between the ends, the sum
 * of the windows' squares is the same for all hops, and divides the window once; at the ends,
 * windows are divided for each hop. Windows are read beside the frames. Up to 8,192 numbers. */
#define WINDOW 8192
static float divided[WINDOW], at_end[WINDOW];

/* The window over the sum of its squares at frames from `low` to `high` hops back. */
static inline void divide_window(const float *window, float *to, long size, long hop, long low,
                                 long high) {
    (void)size;
    for (long i = 0; i < hop; i += 32) {
        size_t vl = 32;
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long back = low; back <= high; back++) {
            vfloat32m4_t w = __riscv_vle32_v_f32m4(window + back * hop + i, vl);
            sum = __riscv_vfmacc_vv_f32m4(sum, w, w, vl);
        }
        vbool8_t is_low = __riscv_vmfle_vf_f32m4_b8(sum, 1e-11f, vl);
        sum = reciprocal(__riscv_vfmerge_vfm_f32m4(sum, 1, is_low, vl), vl);
        for (long back = low; back <= high; back++) {
            vfloat32m4_t w = __riscv_vle32_v_f32m4(window + back * hop + i, vl);
            __riscv_vse32_v_f32m4(to + back * hop + i, __riscv_vfmul_vv_f32m4(w, sum, vl), vl);
        }
    }
}

/* A hop of four frames. */
static inline void hop_of_4(const float *frame, const float *w, float *to, long size, long hop) {
    size_t vl = 32;
    const float *frame1 = frame - size + hop, *frame2 = frame1 - size + hop;
    const float *frame3 = frame2 - size + hop;
    for (long i = 0; i < hop; i += 32) {
        vfloat32m4_t x0 = __riscv_vle32_v_f32m4(frame + i, vl);
        vfloat32m4_t w0 = __riscv_vle32_v_f32m4(w + i, vl);
        vfloat32m4_t x1 = __riscv_vle32_v_f32m4(frame1 + i, vl);
        vfloat32m4_t w1 = __riscv_vle32_v_f32m4(w + hop + i, vl);
        ahead(frame + size + i, 128), ahead(frame1 + size + i, 128);
        ahead(frame2 + size + i, 128), ahead(frame3 + size + i, 128);
        x0 = __riscv_vfmul_vv_f32m4(x0, w0, vl);
        vfloat32m4_t x2 = __riscv_vle32_v_f32m4(frame2 + i, vl);
        vfloat32m4_t w2 = __riscv_vle32_v_f32m4(w + 2 * hop + i, vl);
        x0 = __riscv_vfmacc_vv_f32m4(x0, x1, w1, vl);
        vfloat32m4_t x3 = __riscv_vle32_v_f32m4(frame3 + i, vl);
        vfloat32m4_t w3 = __riscv_vle32_v_f32m4(w + 3 * hop + i, vl);
        x0 = __riscv_vfmacc_vv_f32m4(x0, x2, w2, vl);
        x0 = __riscv_vfmacc_vv_f32m4(x0, x3, w3, vl);
        __riscv_vse32_v_f32m4(to + i, x0, vl);
    }
}

static inline void some_of_hop(const float *frame, const float *w, float *to, long size, long hop,
                               long low, long high) {
    size_t vl = 32;
    for (long i = 0; i < hop; i += 32) {
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long back = low; back <= high; back++) {
            vfloat32m4_t x = __riscv_vle32_v_f32m4(frame + back * (hop - size) + i, vl);
            vfloat32m4_t of_window = __riscv_vle32_v_f32m4(w + back * hop + i, vl);
            sum = __riscv_vfmacc_vv_f32m4(sum, x, of_window, vl);
        }
        __riscv_vse32_v_f32m4(to + i, sum, vl);
    }
}

static inline void istft_overlap_add(const uint64_t *args) {
    const float *frames = IN(float, 0), *window = IN(float, 1);
    float *to = OUT(float, 2);
    long channels = sizes[0], count = INT(3), samples = INT(4), size = sizes[2], hop = sizes[3];
    long backs = size / hop, first = size / 2 / hop;
    divide_window(window, divided, size, hop, 0, backs - 1);
    for (long channel = 0; channel < channels; channel++, frames += count * size)
        for (long at = first; at < first + samples / hop; at++, to += hop) {
            const float *frame = frames + at * size;
            long low = at < count ? 0 : at - count + 1, high = at < backs ? at : backs - 1;
            if (low == 0 && high == backs - 1 && backs == 4)
                hop_of_4(frame, divided, to, size, hop);
            else {
                divide_window(window, at_end, size, hop, low, high);
                some_of_hop(frame, at_end, to, size, hop, low, high);
            }
        }
}

/* Pairs: what leads to the second node is eight lanes, of which each row that leads to the first one
 * is gathered from. Sums are stored and not waited for; those of some pairs are divided at a time. */
#define SOME_PAIRS 1024
static float pair_sums[SOME_PAIRS];
static int32_t pair_terms[SOME_PAIRS];

static inline void simrank_pair_step(const uint64_t *args) {
    const int32_t *first = IN(int32_t, 0), *second = IN(int32_t, 1), *offsets = IN(int32_t, 2);
    const int32_t *sources = IN(int32_t, 3);
    const float *before = IN(float, 4);
    float *after = OUT(float, 5), decay = as_float(args[8]);
    long pairs = INT(6), n = INT(7);
    size_t all = VLEN / 32;
    vfloat32m1_t zero = __riscv_vfmv_v_f_f32m1(0, all);
    for (long start = 0; start < pairs; start += SOME_PAIRS) {
        long some = pairs - start < SOME_PAIRS ? pairs - start : SOME_PAIRS;
        for (long k = 0; k < some; k++) {
            long a = first[start + k], b = second[start + k];
            long x_start = offsets[a], x_end = offsets[a + 1];
            long y_start = offsets[b], y_end = offsets[b + 1];
            pair_terms[k] = (int32_t)((x_end - x_start) * (y_end - y_start));
            vfloat32m1_t sum = zero;
            for (long j = y_start; j < y_end; j += 8) {
                size_t vl = y_end - j < 8 ? (size_t)(y_end - j) : 8;
                vuint32m1_t y = __riscv_vle32_v_u32m1((const uint32_t *)sources + j, vl);
                y = __riscv_vsll_vx_u32m1(y, 2, vl);
                for (long i = x_start; i < x_end; i++) {
                    vfloat32m1_t row = __riscv_vluxei32_v_f32m1(before + sources[i] * n, y, vl);
                    sum = __riscv_vfadd_vv_f32m1_tu(sum, sum, row, vl);
                }
            }
            __riscv_vse32_v_f32m1(pair_sums + k, __riscv_vfredusum_vs_f32m1_f32m1(sum, zero, all),
                                  1);
        }
        for (long k = 0; k < some;) {
            size_t vl = __riscv_vsetvl_e32m4(some - k);
            vint32m4_t terms = __riscv_vle32_v_i32m4(pair_terms + k, vl);
            vfloat32m4_t sum = __riscv_vle32_v_f32m4(pair_sums + k, vl);
            terms = __riscv_vmax_vx_i32m4(terms, 1, vl);
            vfloat32m4_t inverse = reciprocal(__riscv_vfcvt_f_x_v_f32m4(terms, vl), vl);
            sum = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vf_f32m4(sum, decay, vl), inverse, vl);
            vint32m4_t a = __riscv_vle32_v_i32m4(first + start + k, vl);
            vint32m4_t b = __riscv_vle32_v_i32m4(second + start + k, vl);
            sum = __riscv_vfmerge_vfm_f32m4(sum, 1, __riscv_vmseq_vv_i32m4_b8(a, b, vl), vl);
            __riscv_vse32_v_f32m4(after + start + k, sum, vl);
            k += (long)vl;
        }
    }
}

/* Buckets: a lane is a row, so that bounds grow by one step for each bucket, from either side. Eight
 * rows are turned into columns by stores of four pairs of them, where pairs are numbers of 64 bits;
 * costs are turned back. What is after a bucket is kept until the other side comes. */
#define BUCKETS 16
#define LANES8 (VLEN / 32)
static float columns[7][BUCKETS][LANES8], rest_areas[BUCKETS][LANES8], costs[BUCKETS][LANES8];
static int32_t rest_counts[BUCKETS][LANES8];

#define PAIR(k)                                                                                    \
    vuint64m2_t pair##k;                                                                           \
    {                                                                                              \
        vuint32m1_t even = __riscv_vle32_v_u32m1(rows[2 * (k)] + i, vl);                           \
        vuint32m1_t odd = __riscv_vle32_v_u32m1(rows[2 * (k) + 1] + i, vl);                        \
        pair##k = __riscv_vwmaccu_vx_u64m2(__riscv_vwaddu_vv_u64m2(even, odd, vl), 0xffffffffu,    \
                                           odd, vl);                                               \
    }

/* Of fewer than eight rows, the last one is there more than once. */
static inline void turned(const void *from, long row_size, long count, float (*to)[LANES8]) {
    size_t vl = LANES8;
    const uint32_t *rows[LANES8];
    for (long k = 0; k < LANES8; k++)
        rows[k] = (const uint32_t *)from + (k < count ? k : count - 1) * row_size;
    for (long i = 0; i < BUCKETS; i += 8) {
        PAIR(0)
        PAIR(1)
        PAIR(2)
        PAIR(3)
        __riscv_vsseg4e64_v_u64m2x4((uint64_t *)to[i],
                                    __riscv_vcreate_v_u64m2x4(pair0, pair1, pair2, pair3), vl);
    }
}

#define LEAST(x, y) __riscv_vfmin_vv_f32m1(x, y, vl)
#define MOST(x, y) __riscv_vfmax_vv_f32m1(x, y, vl)
#define EXTENT(low, high)                                                                          \
    __riscv_vfmax_vf_f32m1(__riscv_vfsub_vv_f32m1(high, low, vl), 0, vl)
#define AREA                                                                                       \
    vfloat32m1_t x = EXTENT(x0, x1), y = EXTENT(y0, y1), z = EXTENT(z0, z1);                       \
    vfloat32m1_t area = __riscv_vfmul_vv_f32m1(__riscv_vfadd_vv_f32m1(x, z, vl), y, vl);           \
    area = __riscv_vfmacc_vv_f32m1(area, x, z, vl);
#define BOUNDS                                                                                     \
    vfloat32m1_t x0 = __riscv_vfmv_v_f_f32m1(1e30f, vl), y0 = x0, z0 = x0;                         \
    vfloat32m1_t x1 = __riscv_vfmv_v_f_f32m1(-1e30f, vl), y1 = x1, z1 = x1;
#define GROW(least, most, axis)                                                                    \
    least = LEAST(least, __riscv_vle32_v_f32m1(columns[2 * (axis)][bucket], vl));                  \
    most = MOST(most, __riscv_vle32_v_f32m1(columns[2 * (axis) + 1][bucket], vl));

static inline void bvh_sah_bucket_costs(const uint64_t *args) {
    const float *low = IN(float, 0), *high = IN(float, 1);
    const int32_t *count = IN(int32_t, 2);
    float *cost = OUT(float, 3);
    int32_t *best = OUT(int32_t, 4);
    for (long rows = INT(5); rows > 0; rows -= LANES8) {
        long some = rows < LANES8 ? rows : LANES8;
        size_t vl = LANES8;
        ahead(low + LANES8 * 3 * BUCKETS, LANES8 * 3 * BUCKETS * 4);
        ahead(high + LANES8 * 3 * BUCKETS, LANES8 * 3 * BUCKETS * 4);
        ahead(count + LANES8 * BUCKETS, LANES8 * BUCKETS * 4);
        for (long axis = 0; axis < 3; axis++) {
            turned(low + axis * BUCKETS, 3 * BUCKETS, some, columns[2 * axis]);
            turned(high + axis * BUCKETS, 3 * BUCKETS, some, columns[2 * axis + 1]);
        }
        turned(count, BUCKETS, some, columns[6]);
        vfloat32m1_t whole;
        vint32m1_t total = __riscv_vmv_v_x_i32m1(0, vl);
        {
            BOUNDS
            whole = x0;
            for (long bucket = BUCKETS - 1; bucket >= 0; bucket--) {
                GROW(x0, x1, 0)
                GROW(y0, y1, 1)
                GROW(z0, z1, 2)
                vint32m1_t more = __riscv_vle32_v_i32m1((const int32_t *)columns[6][bucket], vl);
                total = __riscv_vadd_vv_i32m1(total, more, vl);
                AREA
                __riscv_vse32_v_f32m1(rest_areas[bucket], area, vl);
                __riscv_vse32_v_i32m1(rest_counts[bucket], total, vl);
                whole = area;
            }
            whole = __riscv_vfrdiv_vf_f32m1(whole, 1, vl);
        }
        BOUNDS
        vfloat32m1_t least = __riscv_vfmv_v_f_f32m1(__FLT_MAX__, vl);
        vint32m1_t place = __riscv_vmv_v_x_i32m1(0, vl);
        for (long bucket = 0; bucket < BUCKETS - 1; bucket++) {
            GROW(x0, x1, 0)
            GROW(y0, y1, 1)
            GROW(z0, z1, 2)
            AREA
            vint32m1_t after = __riscv_vle32_v_i32m1(rest_counts[bucket + 1], vl);
            vint32m1_t before = __riscv_vsub_vv_i32m1(total, after, vl);
            vfloat32m1_t rest = __riscv_vle32_v_f32m1(rest_areas[bucket + 1], vl);
            vfloat32m1_t value =
                __riscv_vfmul_vv_f32m1(area, __riscv_vfcvt_f_x_v_f32m1(before, vl), vl);
            value = __riscv_vfmacc_vv_f32m1(value, rest, __riscv_vfcvt_f_x_v_f32m1(after, vl), vl);
            value = __riscv_vfadd_vf_f32m1(__riscv_vfmul_vv_f32m1(value, whole, vl), 0.125f, vl);
            vbool32_t is_none =
                __riscv_vmseq_vx_i32m1_b32(__riscv_vmin_vv_i32m1(before, after, vl), 0, vl);
            value = __riscv_vfmerge_vfm_f32m1(value, 1e30f, is_none, vl);
            vbool32_t is_less = __riscv_vmflt_vv_f32m1_b32(value, least, vl);
            least = LEAST(least, value);
            place = __riscv_vmerge_vxm_i32m1(place, (int32_t)bucket, is_less, vl);
            __riscv_vse32_v_f32m1(costs[bucket], value, vl);
        }
        __riscv_vse32_v_f32m1(costs[BUCKETS - 1], __riscv_vfmv_v_f_f32m1(1e30f, vl), vl);
        __riscv_vse32_v_i32m1(best, place, (size_t)some);
        for (long k = 0; k < some; k++) {
            vfloat32m2_t row = __riscv_vlse32_v_f32m2(&costs[0][k], LANES8 * 4, BUCKETS);
            __riscv_vse32_v_f32m2(cost + k * BUCKETS, row, BUCKETS);
        }
        low += LANES8 * 3 * BUCKETS, high += LANES8 * 3 * BUCKETS, count += LANES8 * BUCKETS;
        cost += LANES8 * BUCKETS, best += LANES8;
    }
}
