/* The kernels of fourteenth_draw2.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define MIN(x, y) __riscv_vfmin_vv_f32m4(x, y, vl)

/* The second series backwards, so that a diagonal's part is consecutive, with no number before and
 * behind it that costs less than infinity. Up to 14,000 numbers. */
#define MOST 15000 /* no power of two: arrays do not share lines of L1 */
#define LANES (VLEN / 8) /* of four registers of floats, or two of shorts */
static float backwards[MOST];

/* One diagonal of a band: left becomes its costs, and corner those of the row above, of the
 * diagonal before. What the next one needs is read early. is_edge: some cells are outside. */
#define NEXT_COSTS(is_edge)                                                                        \
    {                                                                                              \
        vfloat32m4_t step = __riscv_vfsub_vv_f32m4(own, other, vl), best = MIN(left, corner);      \
        other = __riscv_vle32_v_f32m4(--y, vl);                                                    \
        corner = __riscv_vfslide1up_vf_f32m4(left, up, vl);                                        \
        above += above_stride, up = *above;                                                        \
        left = __riscv_vfmacc_vv_f32m4(MIN(best, corner), step, step, vl);                         \
        if (is_edge)                                                                               \
            left = __riscv_vfmin_vf_f32m4(left, far, vl);                                          \
        __riscv_vse32_v_f32m4(to, left, vl);                                                       \
        to += n;                                                                                   \
    }

/* Rows in bands: a vector of them walks along the diagonals, and takes the last row of the band
 * above from memory. Before and behind the rows' own diagonals, all is far. */
static void band_costs(const float *x, long first, long n, long m, float far, float *cost) {
    size_t vl = __riscv_vsetvl_e32m4(n - first);
    long rows = (long)vl, i = first, end = first + m + rows - 1;
    vfloat32m4_t own = __riscv_vle32_v_f32m4(x + first, vl);
    vfloat32m4_t all_far = __riscv_vfmv_v_f_f32m4(far, vl);
    vfloat32m4_t left = all_far, corner = all_far;
    if (first == 0)
        corner = __riscv_vfslide1up_vf_f32m4(all_far, 0, vl);
    /* The number of the first row is y[i - first], and of those below it those before. */
    const float *y = backwards + LANES + m - 1;
    const float *above = first ? cost + (first - 1) * (n + 1) : &far;
    long above_stride = first ? n : 0;
    float up = *above;
    vfloat32m4_t other = __riscv_vle32_v_f32m4(y, vl);
    float *to = cost + first;
    for (long k = 0; k < first; k++, to += n)
        __riscv_vse32_v_f32m4(to, all_far, vl);
    for (; i < end && i < first + rows - 1; i++) {
        NEXT_COSTS(1)
    }
    for (; i < first + m; i++) {
        NEXT_COSTS(0)
    }
    for (; i < end; i++) {
        NEXT_COSTS(1)
    }
    for (; i < n + m - 1; i++, to += n)
        __riscv_vse32_v_f32m4(to, all_far, vl);
}

static inline void dtw_antidiagonal(const uint64_t *args) {
    long b = INT(3), n = INT(4), m = INT(5);
    float far = as_float(args[6]);
    for (long pair = 0; pair < b; pair++) {
        const float *x = IN(float, 0) + pair * n, *y = IN(float, 1) + pair * m;
        for (long i = 0; i < LANES; i++)
            backwards[i] = backwards[LANES + m + i] = 3e38f;
        for (long i = 0; i < m; i++)
            backwards[LANES + m - 1 - i] = y[i];
        for (long first = 0; first < n; first += (long)__riscv_vsetvlmax_e32m4())
            band_costs(x, first, n, m, far, OUT(float, 2) + pair * (n + m - 1) * n);
    }
}

#define MUL(x, y) __riscv_vfmul_vv_f32m2(x, y, vl)

/* The logarithms' sum is the logarithm of a quotient a / b, of up to three scales: products of
 * bytes stay in the range. With a as near to b as a power of two brings it, by the difference of
 * their bits, it is that power and 2 atanh of s = (a - b) / (a + b), which is below 0.21: a series
 * of four terms, with 1 / 7 somewhat larger for those behind it. The steps of three groups in turn
 * hide each other's latency. */
#define OWN(k)                                                                                     \
    vuint8mf2_t byte##k = __riscv_vle8_v_u8mf2(image + i + (k) * all, vl);                         \
    vuint16m1_t light##k = __riscv_vwaddu_vx_u16m1(byte##k, 1, vl);
#define OWN_FLOAT(k) vfloat32m2_t a##k = __riscv_vfwcvt_f_xu_v_f32m2(light##k, vl);
#define AROUND(k) vfloat32m2_t b##k = __riscv_vle32_v_f32m2(blur + i + (k) * all, vl);
#define PLUS_ONE(k) b##k = __riscv_vfadd_vf_f32m2(b##k, 1, vl);
#define OTHER(k) vfloat32m2_t s##k = __riscv_vle32_v_f32m2(blur + i + (k) * all, vl);
#define OTHER_ONE(k) s##k = __riscv_vfadd_vf_f32m2(s##k, 1, vl);
#define OTHER_PRODUCT(k) b##k = MUL(b##k, s##k);
#define OWN_PRODUCT(k) a##k = MUL(a##k, own##k);
#define KEEP(k) vfloat32m2_t own##k = a##k;
#define BITS(x) __riscv_vreinterpret_v_f32m2_i32m2(x)
#define DIFFERENCE(k) vint32m2_t n##k = __riscv_vsub_vv_i32m2(BITS(a##k), BITS(b##k), vl);
#define TO_NEAREST(k) n##k = __riscv_vadd_vx_i32m2(n##k, 1 << 22, vl);
#define EXPONENT(k) n##k = __riscv_vsra_vx_i32m2(n##k, 23, vl);
#define NEAR(k)                                                                                    \
    vint32m2_t near##k = __riscv_vnmsac_vx_i32m2(BITS(a##k), 1 << 23, n##k, vl);                   \
    a##k = __riscv_vreinterpret_v_i32m2_f32m2(near##k);
#define APART(k) s##k = __riscv_vfsub_vv_f32m2(a##k, b##k, vl);
#define TOGETHER(k) b##k = __riscv_vfadd_vv_f32m2(a##k, b##k, vl);
#define INVERSE(k) a##k = __riscv_vfrec7_v_f32m2(b##k, vl);
#define CLOSE(k) b##k = MUL(b##k, a##k);
#define ERROR(k) b##k = __riscv_vfrsub_vf_f32m2(b##k, 1, vl);
#define SERIES(k) b##k = __riscv_vfmacc_vv_f32m2(b##k, b##k, b##k, vl);
#define CLOSER(k) a##k = __riscv_vfmacc_vv_f32m2(a##k, a##k, b##k, vl);
#define QUOTIENT(k) s##k = MUL(s##k, a##k);
#define SQUARE(k) a##k = MUL(s##k, s##k);
#define FIRST(k) b##k = __riscv_vfmul_vf_f32m2(a##k, 2 * 0.1508f, vl);
#define FIFTH(k) b##k = __riscv_vfadd_vf_f32m2(b##k, 2 * 0.2f, vl);
#define THIRD(k) b##k = __riscv_vfadd_vf_f32m2(b##k, 2 * 0.33333333f, vl);
#define WHOLE(k) b##k = __riscv_vfadd_vf_f32m2(b##k, 2, vl);
#define STEP(k) b##k = MUL(b##k, a##k);
#define LOG(k) b##k = MUL(b##k, s##k);
#define POWER(k) a##k = __riscv_vfcvt_f_x_v_f32m2(n##k, vl);
#define ADD(k) b##k = __riscv_vfmacc_vf_f32m2(b##k, 0.69314718056f, a##k, vl);
#define GAIN(k) b##k = __riscv_vfmul_vf_f32m2(b##k, gain, vl);
#define OFFSET(k) b##k = __riscv_vfadd_vf_f32m2(b##k, offset, vl);
#define WRITE(k) __riscv_vse32_v_f32m2(out + i + (k) * all, b##k, vl);
#define ONE(EACH) EACH(0)
#define THREE(EACH) EACH(0) EACH(1) EACH(2)
#define LIGHTER(ALL)                                                                               \
    ALL(OWN) ALL(OWN_FLOAT) ALL(AROUND) ALL(KEEP) ALL(PLUS_ONE)                                    \
    for (blur += n; blur < end; blur += n) {                                                       \
        ALL(OTHER) ALL(OTHER_ONE) ALL(OTHER_PRODUCT) ALL(OWN_PRODUCT)                              \
    }                                                                                              \
    vfloat32m2_t s0, s1, s2;                                                                       \
    ALL(DIFFERENCE) ALL(TO_NEAREST) ALL(EXPONENT) ALL(NEAR) ALL(APART) ALL(TOGETHER) ALL(INVERSE)  \
    ALL(CLOSE) ALL(ERROR) ALL(SERIES) ALL(CLOSER) ALL(QUOTIENT) ALL(SQUARE) ALL(FIRST) ALL(FIFTH)  \
    ALL(STEP) ALL(THIRD) ALL(STEP) ALL(WHOLE) ALL(LOG) ALL(POWER) ALL(ADD) ALL(GAIN) ALL(OFFSET)   \
    ALL(WRITE)

/* Up to three scales. */
static inline void retinex_log_ratio(const uint64_t *args) {
    long n = INT(3), all = (long)__riscv_vsetvlmax_e32m2(), i = 0;
    float gain = as_float(args[4]) / (float)sizes[2], offset = as_float(args[5]);
    const uint8_t *image = IN(uint8_t, 0);
    const float *end = IN(float, 1) + sizes[2] * n;
    float *out = OUT(float, 2);
    for (size_t vl = (size_t)all; i + 3 * all <= n; i += 3 * all) {
        const float *blur = IN(float, 1);
        ahead(image + i + 128, 64);
        for (const float *at = blur + i + 96; at < end; at += n)
            ahead(at, 3 * VLEN / 4);
        LIGHTER(THREE)
    }
    while (i < n) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        const float *blur = IN(float, 1);
        LIGHTER(ONE)
        i += (long)vl;
    }
}

/* The second sequences of two pairs backwards, between letters that the first ones lack, so that
 * scores outside the matrix are no better than those in it. Up to 14,000 letters, of fewer than 256
 * kinds. Scores are below 32,768. */
static int8_t letters[2][MOST];

/* Scores of a band's last row, backwards: the last lane stays when the next diagonal is stored one
 * element before. A band reads those of the one above, and writes the other. */
static uint16_t last_rows[2][2][MOST];

#define AS_SIGNED(x) __riscv_vreinterpret_v_u16m2_i16m2(x)
#define AS_UNSIGNED(x) __riscv_vreinterpret_v_i16m2_u16m2(x)

/* One diagonal of a band of rows. Two pairs in turn hide each other's latency. A gap's subtraction
 * ends at zero; what a mismatch takes is taken from a match. The best is that of those before. */
#define START(k)                                                                                   \
    vint8m1_t query##k = __riscv_vle8_v_i8m1(query + pair##k * n + first, vl);             \
    vuint16m2_t score##k = __riscv_vmv_v_x_u16m2(0, vl), corner##k = score##k;                     \
    vuint16m2_t best##k = score##k;                                                                \
    const int8_t *target##k = letters[k] + all + m - 1;                                            \
    const uint16_t *above##k = last_rows[k][first / all % 2] + m + all - 1;                        \
    uint16_t *to##k = last_rows[k][1 - first / all % 2] + m + all - 1, up##k = *above##k;          \
    vint8m1_t letter##k = __riscv_vle8_v_i8m1(target##k, vl);
#define MATCH(k) vint16m2_t match##k = __riscv_vadd_vx_i16m2(AS_SIGNED(corner##k), match, vl);
#define MOVE(k)                                                                                    \
    corner##k = __riscv_vslide1up_vx_u16m2(score##k, up##k, vl);                                   \
    up##k = *--above##k;
#define BEST(k) best##k = __riscv_vmaxu_vv_u16m2(best##k, score##k, vl);
#define SAME(k)                                                                                    \
    vint8m1_t other##k = __riscv_vxor_vv_i8m1(query##k, letter##k, vl);                            \
    letter##k = __riscv_vle8_v_i8m1(--target##k, vl);
#define DIFFERS(k)                                                                                 \
    vuint8m1_t differs##k = __riscv_vreinterpret_v_i8m1_u8m1(other##k);                            \
    other##k = __riscv_vreinterpret_v_u8m1_i8m1(__riscv_vminu_vx_u8m1(differs##k, 1, vl));
#define MISMATCH(k) match##k = __riscv_vwmacc_vx_i16m2(match##k, differs, other##k, vl);
#define BESIDE(k) score##k = __riscv_vmaxu_vv_u16m2(score##k, corner##k, vl);
#define GAP(k) score##k = __riscv_vssubu_vx_u16m2(score##k, gap, vl);
#define BETTER(k)                                                                                  \
    score##k = AS_UNSIGNED(__riscv_vmax_vv_i16m2(match##k, AS_SIGNED(score##k), vl));
#define KEEP_ROW(k) __riscv_vse16_v_u16m2(to##k--, score##k, vl);
#define TOP(k)                                                                                     \
    BEST(k) top##k = __riscv_vredmaxu_vs_u16m2_u16m1(best##k, top##k, vl);
#define BOTH(EACH) EACH(0) EACH(1)

static void make_letters(int8_t *to, const int8_t *query, long n, const int8_t *target, long m) {
    uint8_t seen[256] = {0}, absent = 0;
    for (long i = 0; i < n; i++)
        seen[(uint8_t)query[i]] = 1;
    while (seen[absent])
        absent++;
    memset(to, absent, (size_t)(m + 2 * LANES));
    for (long i = 0; i < m; i++)
        to[LANES + m - 1 - i] = target[i];
}

/* An odd last pair is computed twice. */
static inline void smith_waterman_diagonal(const uint64_t *args) {
    long b = INT(4), n = INT(5), m = INT(6), all = LANES;
    const int8_t *query = IN(int8_t, 0), *target = IN(int8_t, 1);
    int16_t match = (int16_t)INT(7);
    int8_t differs = (int8_t)(INT(8) - INT(7));
    uint16_t gap = (uint16_t)INT(9);
    for (long pair0 = 0; pair0 < b; pair0 += 2) {
        long pair1 = pair0 + 1 < b ? pair0 + 1 : pair0;
        make_letters(letters[0], query + pair0 * n, n, target + pair0 * m, m);
        make_letters(letters[1], query + pair1 * n, n, target + pair1 * m, m);
        memset(last_rows[0][0], 0, (size_t)(m + all) * sizeof(uint16_t));
        memset(last_rows[1][0], 0, (size_t)(m + all) * sizeof(uint16_t));
        vuint16m1_t top0 = __riscv_vmv_s_x_u16m1(0, 1), top1 = top0;
        for (long first = 0; first < n; first += all) {
            size_t vl = __riscv_vsetvl_e16m2(n - first);
            BOTH(START)
            for (long t = 0; t < m + (long)vl - 1; t++) {
                BOTH(MATCH) BOTH(MOVE) BOTH(SAME) BOTH(DIFFERS) BOTH(MISMATCH) BOTH(BEST)
                BOTH(BESIDE) BOTH(GAP) BOTH(BETTER) BOTH(KEEP_ROW)
            }
            BOTH(TOP)
        }
        OUT(int32_t, 3)[pair0] = __riscv_vmv_x_s_u16m1_u16(top0);
        OUT(int32_t, 3)[pair1] = __riscv_vmv_x_s_u16m1_u16(top1);
    }
}
