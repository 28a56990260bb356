/* The kernels of twentythird_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

/* Keep what is written here in this order. */
#define HOLD1(a) __asm__ volatile("" : "+vr"(a));
#define HOLD_SCALAR(a) __asm__ volatile("" : "+f"(a));
#define HOLD2(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b));
#define HOLD3(a, b, c) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c));
#define HOLD4(a, b, c, d) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d));

/* Prefixes and tokens: a slot's position stays in registers for all batches, 192 numbers of it. */
static inline const float *row_of(const uint64_t *args, long batch, long slot) {
    const float *prefix = IN(float, 0), *table = IN(float, 3);
    const int64_t *task = IN(int64_t, 1), *ids = IN(int64_t, 2);
    long p = INT(6), t = INT(7), d = INT(8);
    return slot < p ? prefix + (task[batch] * p + slot) * d
                    : table + ids[batch * t + slot - p] * d;
}

#define ADD_PART(k)                                                                                \
    {                                                                                              \
        vfloat32m4_t x = __riscv_vle32_v_f32m4(row + 32 * (k), vl);                                \
        x = __riscv_vfadd_vv_f32m4(x, position##k, vl);                                            \
        __riscv_vse32_v_f32m4(to + 32 * (k), x, vl);                                               \
    }
#define LOAD_PART(k) vfloat32m4_t position##k = __riscv_vle32_v_f32m4(positions + 32 * (k), vl);
#define ON_6(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5)

static inline void bm_prefix_embed_add(const uint64_t *args) {
    const float *positions = IN(float, 4);
    float *out = OUT(float, 5);
    long batches = sizes[0], slots = INT(6) + INT(7), d = INT(8);
    size_t vl = VLEN / 8;
    for (long slot = 0; slot < slots; slot++, positions += d, out += d) {
        const float *row = row_of(args, 0, slot);
        long start = d >= 192 ? 192 : 0;
        size_t rest = (size_t)(d - start) < vl ? (size_t)(d - start) : vl;
        if (start) {
            ON_6(LOAD_PART)
            vfloat32m4_t last = __riscv_vle32_v_f32m4(positions + start, rest);
            for (long batch = 0; batch < batches; batch++) {
                long next_slot = batch + 1 < batches ? slot : slot + 1 < slots ? slot + 1 : slot;
                const float *next = row_of(args, batch + 1 < batches ? batch + 1 : 0, next_slot);
                float *to = out + batch * slots * d;
                ahead(next, d * 4);
                ON_6(ADD_PART)
                vfloat32m4_t x = __riscv_vle32_v_f32m4(row + start, rest);
                x = __riscv_vfadd_vv_f32m4(x, last, rest);
                __riscv_vse32_v_f32m4(to + start, x, rest);
                row = next;
            }
            start += (long)rest;
        }
        for (long i = start; i < d;) {
            size_t some = __riscv_vsetvl_e32m4(d - i);
            vfloat32m4_t position = __riscv_vle32_v_f32m4(positions + i, some);
            for (long batch = 0; batch < batches; batch++) {
                vfloat32m4_t x = __riscv_vle32_v_f32m4(row_of(args, batch, slot) + i, some);
                x = __riscv_vfadd_vv_f32m4(x, position, some);
                __riscv_vse32_v_f32m4(out + batch * slots * d + i, x, some);
            }
            i += (long)some;
        }
    }
}

/* MaxSim: lanes are the query's 32 tokens, so that maxima are over registers. Up to six tokens of a
 * document at a time, whose numbers are scalars; lengths are split evenly. */
#define QUERY 32
#define DIMS 64
#ifndef MOST
#define MOST 6
#endif
static float turned_query[DIMS][QUERY], bests[QUERY], document_scores[1];

#define ON_0(STEP)
#define ON_1(STEP) STEP(0)
#define ON_2(STEP) ON_1(STEP) STEP(1)
#define ON_3(STEP) ON_2(STEP) STEP(2)
#define ON_4(STEP) ON_3(STEP) STEP(3)
#define ON_5(STEP) ON_4(STEP) STEP(4)

#define V_0 "v8"
#define V_1 "v12"
#define V_2 "v16"
#define V_3 "v20"
#define V_4 "v24"
#define V_5 "v28"
#define T_LOAD(t) "flw %[w" #t "], %[row]*" #t "(%[at])\n"
#define T_FIRST(t) "vfmul.vf " V_##t ", v0, %[w" #t "]\nflw %[w" #t "], %[row]*" #t "+4(%[at])\n"
#define T_ODD(t) "vfmacc.vf " V_##t ", %[w" #t "], v4\nflw %[w" #t "], %[row]*" #t "+4(%[at])\n"
#define T_EVEN(t) "vfmacc.vf " V_##t ", %[w" #t "], v0\nflw %[w" #t "], %[row]*" #t "+8(%[at])\n"
#define T_LAST(t) "vfmacc.vf " V_##t ", %[w" #t "], v4\n"
#define T_MAX(t) "vfmax.vv v8, v8, " V_##t "\n"
#define AFTER_0(STEP)
#define AFTER_1(STEP)
#define AFTER_2(STEP) STEP(1)
#define AFTER_3(STEP) AFTER_2(STEP) STEP(2)
#define AFTER_4(STEP) AFTER_3(STEP) STEP(3)
#define AFTER_5(STEP) AFTER_4(STEP) STEP(4)
#define AFTER_6(STEP) AFTER_5(STEP) STEP(5)

/* Written out, so that registers suffice: products of six tokens and two steps of the query are all
 * there are. A scalar is loaded for the next step as soon as it was used. */
#define TOKENS(n)                                                                                  \
    static inline __attribute__((noinline)) void tokens##n(const float *at) {                      \
        float w0, w1, w2, w3, w4, w5;                                                              \
        const float *q = turned_query[0];                                                          \
        long left = DIMS / 2 - 1;                                                                  \
        __asm__ volatile("vsetvli zero, %[vl], e32, m4, ta, ma\n"                                  \
                         "vle32.v v0, (%[q])\n" ON_##n(T_LOAD)                                     \
                         "addi %[q], %[q], 128\nvle32.v v4, (%[q])\naddi %[q], %[q], 128\n"        \
                         ON_##n(T_FIRST)                                                           \
                         "addi %[at], %[at], 4\n1:\n" T_ODD(0)                                     \
                         "vle32.v v0, (%[q])\n" AFTER_##n(T_ODD) T_EVEN(0)                         \
                         "addi %[q], %[q], 128\nvle32.v v4, (%[q])\naddi %[q], %[q], 128\n"        \
                         "addi %[left], %[left], -1\n" AFTER_##n(T_EVEN)                           \
                         "addi %[at], %[at], 8\nbnez %[left], 1b\n" ON_##n(T_LAST)                 \
                         "vle32.v v0, (%[bests])\n" AFTER_##n(T_MAX)                               \
                         "vfmax.vv v8, v8, v0\nvse32.v v8, (%[bests])\n"                           \
                         : [q] "+r"(q), [at] "+r"(at), [left] "+r"(left), [w0] "=&f"(w0),          \
                           [w1] "=&f"(w1), [w2] "=&f"(w2), [w3] "=&f"(w3), [w4] "=&f"(w4),         \
                           [w5] "=&f"(w5)                                                          \
                         : [vl] "r"(QUERY), [row] "i"(DIMS * 4), [bests] "r"(bests)                \
             : "memory", "vl", "vtype", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",      \
               "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",         \
               "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",        \
                           "v31");                                                                 \
    }
TOKENS(1) TOKENS(2) TOKENS(3) TOKENS(4) TOKENS(5) TOKENS(6)

static inline void colbert_max_sim_rows(const uint64_t *args) {
    const float *query = IN(float, 0), *documents = IN(float, 1);
    const int32_t *lengths = IN(int32_t, 2);
    float *scores = OUT(float, 3);
    long count = sizes[0], t = INT(4);
    size_t vl = QUERY;
    for (long k = 0; k < DIMS; k++)
        __riscv_vse32_v_f32m4(turned_query[k], __riscv_vlse32_v_f32m4(query + k, 4 * DIMS, vl), vl);
    for (long document = 0; document < count; document++) {
        const float *at = documents + document * t * DIMS;
        long length = lengths[document];
        __riscv_vse32_v_f32m4(bests, __riscv_vfmv_v_f_f32m4(-__builtin_inff(), vl), vl);
        for (long blocks = (length + MOST - 1) / MOST; blocks > 0; blocks--) {
            long n = (length + blocks - 1) / blocks;
            const float *later = blocks > 1 ? at + n * DIMS : documents + (document + 1) * t * DIMS;
            ahead(later, MOST * DIMS * 4);
            switch (n) {
            case 6: tokens6(at); break;
            case 5: tokens5(at); break;
            case 4: tokens4(at); break;
            case 3: tokens3(at); break;
            case 2: tokens2(at); break;
            default: tokens1(at);
            }
            at += n * DIMS, length -= n;
        }
        store_sum(scores + document, __riscv_vle32_v_f32m4(bests, vl));
    }
}

/* SphereFace: all logits are products; of each row, the label's one is written over. These are
 * worked out before, for 32 rows at a time. */
#define SOME_ROWS 32
static float of_labels[SOME_ROWS];

static inline void logits_of_labels(const float *x, const float *norm, const int64_t *label,
                                    long columns, float weight, size_t vl) {
    vuint64m8_t wide = __riscv_vle64_v_u64m8((const uint64_t *)label, vl);
    vuint32m4_t at = __riscv_vnsrl_wx_u32m4(wide, 0, vl);
    vuint32m4_t row = __riscv_vid_v_u32m4(vl);
    at = __riscv_vmacc_vx_u32m4(at, (uint32_t)columns, row, vl);
    at = __riscv_vsll_vx_u32m4(at, 2, vl);
    vfloat32m4_t c = __riscv_vluxei32_v_f32m4(x, at, vl);
    c = __riscv_vfmin_vf_f32m4(__riscv_vfmax_vf_f32m4(c, -1, vl), 1, vl);
    vfloat32m4_t square = __riscv_vfmul_vv_f32m4(c, c, vl);
    vfloat32m4_t four = __riscv_vfsub_vf_f32m4(square, 1, vl);
    four = __riscv_vfmul_vf_f32m4(__riscv_vfmul_vv_f32m4(four, square, vl), 8, vl);
    four = __riscv_vfadd_vf_f32m4(four, 1, vl);
    vint32m4_t k = __riscv_vmv_v_x_i32m4(0, vl);
    k = __riscv_vadd_vx_i32m4_mu(__riscv_vmflt_vf_f32m4_b8(c, 0.70710678f, vl), k, k, 1, vl);
    k = __riscv_vadd_vx_i32m4_mu(__riscv_vmflt_vf_f32m4_b8(c, 0, vl), k, k, 1, vl);
    k = __riscv_vadd_vx_i32m4_mu(__riscv_vmflt_vf_f32m4_b8(c, -0.70710678f, vl), k, k, 1, vl);
    vint32m4_t sign = __riscv_vsll_vx_i32m4(k, 31, vl);
    four = __riscv_vreinterpret_v_i32m4_f32m4(
        __riscv_vxor_vv_i32m4(__riscv_vreinterpret_v_f32m4_i32m4(four), sign, vl));
    four = __riscv_vfnmsac_vf_f32m4(four, 2, __riscv_vfcvt_f_x_v_f32m4(k, vl), vl);
    four = __riscv_vfmacc_vf_f32m4(four, weight, c, vl);
    four = __riscv_vfmul_vf_f32m4(four, 1 / (1 + weight), vl);
    four = __riscv_vfmul_vv_f32m4(four, __riscv_vle32_v_f32m4(norm, vl), vl);
    __riscv_vse32_v_f32m4(of_labels, four, vl);
}

#ifndef FACE_AHEAD
#define FACE_AHEAD 256
#endif
#define FACE_LOAD(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + i + 32 * (k), vl);
#define FACE_LOW(k) x##k = __riscv_vfmax_vf_f32m4(x##k, -1, vl);
#define FACE_HIGH(k) x##k = __riscv_vfmin_vf_f32m4(x##k, 1, vl);
#define FACE_TIMES(k) x##k = __riscv_vfmul_vf_f32m4(x##k, scale, vl);
#define FACE_KEEP(k) __riscv_vse32_v_f32m4(out + i + 32 * (k), x##k, vl);

static inline void sphereface_angle_power(const uint64_t *args) {
    const float *x = IN(float, 0), *norm = IN(float, 1);
    const int64_t *label = IN(int64_t, 2);
    float *out = OUT(float, 3), weight = as_float(args[5]);
    long rows = sizes[0], columns = INT(4);
    for (long row = 0; row < rows; row++, x += columns, out += columns) {
        if (row % SOME_ROWS == 0) {
            long some = rows - row < SOME_ROWS ? rows - row : SOME_ROWS;
            logits_of_labels(x, norm + row, label + row, columns, weight, (size_t)some);
        }
        float scale = norm[row];
        size_t vl = VLEN / 8;
        long i = 0;
        for (; i + 64 <= columns; i += 64) {
            FACE_LOAD(0)
            FACE_LOAD(1)
            ahead(x + i + FACE_AHEAD, 256);
            ON_2(FACE_LOW)
            ON_2(FACE_HIGH)
            ON_2(FACE_TIMES)
            ON_2(FACE_KEEP)
        }
        for (; i < columns; i += (long)vl) {
            vl = __riscv_vsetvl_e32m4(columns - i);
            FACE_LOAD(0)
            ON_1(FACE_LOW)
            ON_1(FACE_HIGH)
            ON_1(FACE_TIMES)
            ON_1(FACE_KEEP)
        }
        out[label[row]] = of_labels[row % SOME_ROWS];
    }
}

/* Soft suppression: scores are kept as logarithms, of which squares of overlaps are taken, so that
 * powers are of what is given alone. Scores are above zero. Registers of eight boxes are worked out
 * by four or five; up to 1,024 boxes, padded with some of no score. */
#define BOXES 1024 + 40
static float lefts[BOXES], tops[BOXES], rights[BOXES], bottoms[BOXES], areas[BOXES], logs[BOXES];
static float kept_logs[BOXES];

#define N_1(k)                                                                                     \
    h##k = __riscv_vle32_v_f32m1(bottoms + i + 8 * (k), vl);                                       \
    w##k = __riscv_vfmin_vf_f32m1(w##k, x1, vl);                                                   \
    a##k = __riscv_vfmax_vf_f32m1(a##k, x0, vl);                                                   \
    HOLD3(h##k, w##k, a##k)
#define N_2(k)                                                                                     \
    l##k = __riscv_vle32_v_f32m1(tops + i + 8 * (k), vl);                                          \
    w##k = __riscv_vfsub_vv_f32m1(w##k, a##k, vl);                                                 \
    h##k = __riscv_vfmin_vf_f32m1(h##k, y1, vl);                                                   \
    HOLD3(l##k, w##k, h##k)
#define N_3(k)                                                                                     \
    a##k = __riscv_vle32_v_f32m1(areas + i + 8 * (k), vl);                                         \
    w##k = __riscv_vfmax_vf_f32m1(w##k, 0, vl);                                                    \
    l##k = __riscv_vfmax_vf_f32m1(l##k, y0, vl);                                                   \
    HOLD3(a##k, w##k, l##k)
#define N_4(k)                                                                                     \
    h##k = __riscv_vfsub_vv_f32m1(h##k, l##k, vl);
#define N_5(k)                                                                                     \
    l##k = __riscv_vle32_v_f32m1(logs + i + 8 * (k), vl);                                          \
    h##k = __riscv_vfmax_vf_f32m1(h##k, 0, vl);                                                    \
    a##k = __riscv_vfadd_vf_f32m1(a##k, area, vl);                                                 \
    HOLD3(l##k, h##k, a##k)
#define N_6(k)                                                                                     \
    w##k = __riscv_vfmul_vv_f32m1(w##k, h##k, vl);
#define N_7(k)                                                                                     \
    a##k = __riscv_vfsub_vv_f32m1(a##k, w##k, vl);
#define N_8(k)                                                                                     \
    n##k = __riscv_vle32_v_f32m1(rights + later + 8 * (k), vl);                                    \
    h##k = __riscv_vfrec7_v_f32m1(a##k, vl);                                                       \
    HOLD2(n##k, h##k)
#define N_9(k)                                                                                     \
    a##k = __riscv_vfnmsub_vv_f32m1(a##k, h##k, one, vl);                                          \
    w##k = __riscv_vfmul_vv_f32m1(w##k, h##k, vl);
#define N_10(k)                                                                                    \
    h##k = __riscv_vle32_v_f32m1(lefts + later + 8 * (k), vl);                                     \
    a##k = __riscv_vfmadd_vv_f32m1(a##k, a##k, a##k, vl);                                          \
    HOLD2(h##k, a##k)
#define N_11(k)                                                                                    \
    w##k = __riscv_vfmacc_vv_f32m1(w##k, w##k, a##k, vl);
#define N_12(k)                                                                                    \
    a##k = __riscv_vfmul_vf_f32m1(w##k, factor, vl);
#define N_13(k)                                                                                    \
    l##k = __riscv_vfnmsac_vv_f32m1(l##k, a##k, w##k, vl);
#define N_14(k)                                                                                    \
    __riscv_vse32_v_f32m1(logs + i + 8 * (k), l##k, vl);                                           \
    most = __riscv_vfmax_vv_f32m1(most, l##k, vl);                                                 \
    w##k = n##k, a##k = h##k;
#define N_FIRST(k)                                                                                 \
    w##k = __riscv_vle32_v_f32m1(rights + 8 * (k), vl);                                            \
    a##k = __riscv_vle32_v_f32m1(lefts + 8 * (k), vl);
#define N_HOLD_4(x) HOLD4(x##0, x##1, x##2, x##3)
#define N_HOLD_5(x) HOLD4(x##0, x##1, x##2, x##3) HOLD1(x##4)
#define SOFT(n)                                                                                    \
    {                                                                                              \
        long later = i + 8 * (n) < end ? i + 8 * (n) : 0;                                          \
        ON_##n(N_1)                                                                                \
        ON_##n(N_2)                                                                                \
        ON_##n(N_3)                                                                                \
            ON_##n(N_4) N_HOLD_##n(h)                                                              \
        ON_##n(N_5)                                                                                \
            ON_##n(N_6) N_HOLD_##n(w)                                                              \
            ON_##n(N_7) N_HOLD_##n(a)                                                              \
        ON_##n(N_8)                                                                                \
            ON_##n(N_9) N_HOLD_##n(a) N_HOLD_##n(w)                                                \
        ON_##n(N_10)                                                                               \
        if ((n) == 4) {                                                                            \
            n4 = __riscv_vle32_v_f32m1(rights + later + 32, vl);                                   \
            h4 = __riscv_vle32_v_f32m1(lefts + later + 32, vl);                                    \
        }                                                                                          \
            ON_##n(N_11) N_HOLD_##n(w)                                                             \
            ON_##n(N_12) N_HOLD_##n(a)                                                             \
            ON_##n(N_13) N_HOLD_##n(l)                                                             \
        ON_##n(N_14)                                                                               \
        w4 = n4, a4 = h4;                                                                          \
        i += 8 * (n);                                                                              \
    }

/* Boxes by their sides, and logarithms to base two; the number is rounded up to whole registers. */
static inline long load_boxes(const float *boxes, const float *scores, long n) {
    long groups = (n + 7) / 8;
    if (groups < 12) /* what is a sum of fours and fives */
        groups = groups <= 4 ? 4 : groups <= 5 ? 5 : groups <= 8 ? 8 : groups <= 10 ? groups : 12;
    long end = groups * 8;
    vfloat32m4_t none = __riscv_vfmv_v_f_f32m4(0, 32);
    for (long i = n; i < end;) {
        size_t vl = __riscv_vsetvl_e32m4(end - i);
        __riscv_vse32_v_f32m4(lefts + i, none, vl), __riscv_vse32_v_f32m4(rights + i, none, vl);
        __riscv_vse32_v_f32m4(tops + i, none, vl), __riscv_vse32_v_f32m4(bottoms + i, none, vl);
        __riscv_vse32_v_f32m4(areas + i, __riscv_vfmv_v_f_f32m4(1, vl), vl);
        __riscv_vse32_v_f32m4(logs + i, __riscv_vfmv_v_f_f32m4(-__builtin_inff(), vl), vl);
        i += (long)vl;
    }
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2x4_t sides = __riscv_vlseg4e32_v_f32m2x4(boxes + 4 * i, vl);
        vfloat32m2_t left = __riscv_vget_v_f32m2x4_f32m2(sides, 0);
        vfloat32m2_t top = __riscv_vget_v_f32m2x4_f32m2(sides, 1);
        vfloat32m2_t right = __riscv_vget_v_f32m2x4_f32m2(sides, 2);
        vfloat32m2_t bottom = __riscv_vget_v_f32m2x4_f32m2(sides, 3);
        __riscv_vse32_v_f32m2(lefts + i, left, vl), __riscv_vse32_v_f32m2(tops + i, top, vl);
        __riscv_vse32_v_f32m2(rights + i, right, vl);
        __riscv_vse32_v_f32m2(bottoms + i, bottom, vl);
        vfloat32m2_t area = __riscv_vfmul_vv_f32m2(__riscv_vfsub_vv_f32m2(right, left, vl),
                                                   __riscv_vfsub_vv_f32m2(bottom, top, vl), vl);
        __riscv_vse32_v_f32m2(areas + i, area, vl);
        i += (long)vl;
    }
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t x = __riscv_vle32_v_f32m4(scores + i, vl);
        x = __riscv_vfmul_vf_f32m4(logarithm(x, vl), 1.44269504f, vl);
        __riscv_vse32_v_f32m4(logs + i, x, vl);
        i += (long)vl;
    }
    return groups;
}

static inline long place_of(float most, long end) {
    for (long i = 0; i < end;) {
        size_t vl = __riscv_vsetvl_e32m4(end - i);
        vbool8_t is_most = __riscv_vmfeq_vf_f32m4_b8(__riscv_vle32_v_f32m4(logs + i, vl), most, vl);
        long at = __riscv_vfirst_m_b8(is_most, vl);
        if (at >= 0)
            return i + at;
        i += (long)vl;
    }
    return 0;
}

static inline void nms_soft_gaussian_decay(const uint64_t *args) {
    const float *boxes = IN(float, 0), *scores = IN(float, 1);
    int32_t *index = OUT(int32_t, 2);
    float *kept = OUT(float, 3), least = as_float(args[7]);
    float factor = 1.44269504f / as_float(args[6]);
    long classes = sizes[0], n = INT(4), count = INT(5);
    size_t vl = VLEN / 32;
    vfloat32m1_t one = __riscv_vfmv_v_f_f32m1(1, vl);
    vfloat32m1_t lowest = __riscv_vfmv_v_f_f32m1(-__builtin_inff(), vl);
    for (long class = 0; class < classes; class++) {
        long groups = load_boxes(boxes, scores, n), fives = groups % 4, end = groups * 8;
        vfloat32m1_t w0, w1, w2, w3, w4, h0, h1, h2, h3, h4, a0, a1, a2, a3, a4, l0, l1, l2, l3, l4;
        vfloat32m1_t n0, n1, n2, n3, n4;
        vfloat32m1_t most = lowest;
        ON_5(N_FIRST)
        for (long i = 0; i < end; i += 8)
            most = __riscv_vfmax_vv_f32m1(most, __riscv_vle32_v_f32m1(logs + i, vl), vl);
        for (long k = 0; k < count; k++) {
            most = __riscv_vfredmax_vs_f32m1_f32m1(most, most, vl);
            float best = __riscv_vfmv_f_s_f32m1_f32(most);
            long place = place_of(best, end);
            index[k] = (int32_t)place, kept_logs[k] = best;
            float x0 = lefts[place], y0 = tops[place], x1 = rights[place], y1 = bottoms[place];
            float area = areas[place];
            logs[place] = -__builtin_inff();
            most = lowest;
            long i = 0;
            for (long j = 0; j < fives; j++)
                SOFT(5)
            while (i < end)
                SOFT(4)
        }
        for (long i = 0; i < count;) {
            size_t some = __riscv_vsetvl_e32m4(count - i);
            vfloat32m4_t x = power_of_two(__riscv_vle32_v_f32m4(kept_logs + i, some), some);
            vbool8_t is_low = __riscv_vmflt_vf_f32m4_b8(x, least, some);
            vint32m4_t place = __riscv_vle32_v_i32m4(index + i, some);
            place = __riscv_vmerge_vxm_i32m4(place, -1, is_low, some);
            __riscv_vse32_v_i32m4(index + i, place, some);
            __riscv_vse32_v_f32m4(kept + i, __riscv_vfmerge_vfm_f32m4(x, 0, is_low, some), some);
            i += (long)some;
        }
        boxes += 4 * n, scores += n, index += count, kept += count;
    }
}
