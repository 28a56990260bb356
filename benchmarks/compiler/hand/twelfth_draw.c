/* The kernels of twelfth_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Queries lie in lanes, so that no sum crosses them, and keys are scalars. All scores of a strip of
 * queries are kept, as exponents of 2. Up to 1,024 dimensions and 4,096 keys. */
#define QUERIES (VLEN / 8)
static float queries[1025][QUERIES], scores[4096][QUERIES];

static inline void turn_queries(const float *query, long count, long d) {
    for (long k = 0; k < count; k++) {
        for (long i = 0; i < d;) {
            size_t vl = __riscv_vsetvl_e32m4(d - i);
            vfloat32m4_t part = READ(query + k * d + i);
            ahead(query + (k + 4) * d + i, VLEN / 2);
            __riscv_vsse32_v_f32m4(queries[i] + k, sizeof *queries, part, vl);
            i += (long)vl;
        }
    }
}

/* Scores of up to four keys, and the highest so far. */
static inline vfloat32m4_t score(const float *key, long j, long count, long d, float scale,
                                 vfloat32m4_t high) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t value = READ(queries[0]);
    vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0, vl), s1 = s0, s2 = s0, s3 = s0;
    ahead(key + count * d, 4 * count * d);
#pragma clang loop unroll_count(2)
    for (long i = 0; i < d; i++) {
        vfloat32m4_t next = READ(queries[i + 1]);
        s0 = __riscv_vfmacc_vf_f32m4(s0, key[i], value, vl);
        if (count > 1) {
            s1 = __riscv_vfmacc_vf_f32m4(s1, key[d + i], value, vl);
            s2 = __riscv_vfmacc_vf_f32m4(s2, key[2 * d + i], value, vl);
            s3 = __riscv_vfmacc_vf_f32m4(s3, key[3 * d + i], value, vl);
        }
        value = next;
    }
#define KEEP(k, s)                                                                                 \
    s = __riscv_vfmul_vf_f32m4(s, scale, vl);                                                      \
    __riscv_vse32_v_f32m4(scores[j + k], s, vl);                                                   \
    high = __riscv_vfmax_vv_f32m4(high, s, vl);
    KEEP(0, s0)
    if (count > 1) {
        KEEP(1, s1) KEEP(2, s2) KEEP(3, s3)
    }
    return high;
}

/* The sum of 2 to the power of each score less the highest. Two halves of the lanes hide each
 * other's latency, and coefficients stay in registers. */
static inline vfloat32m4_t sum_shares(vfloat32m4_t high, long n) {
    size_t vl = __riscv_vsetvlmax_e32m2();
    vfloat32m2_t high0 = __riscv_vget_v_f32m4_f32m2(high, 0);
    vfloat32m2_t high1 = __riscv_vget_v_f32m4_f32m2(high, 1);
    vfloat32m2_t c3 = __riscv_vfmv_v_f_f32m2(5.550742616e-2f, vl);
    vfloat32m2_t c2 = __riscv_vfmv_v_f_f32m2(2.402212175e-1f, vl);
    vfloat32m2_t c1 = __riscv_vfmv_v_f_f32m2(6.931469492e-1f, vl);
    vfloat32m2_t c0 = __riscv_vfmv_v_f_f32m2(1, vl);
    vfloat32m2_t sum0 = __riscv_vfmv_v_f_f32m2(0, vl), sum1 = sum0;
    for (long j = 0; j < n; j++) {
        vfloat32m2_t x0 = __riscv_vle32_v_f32m2(scores[j], vl);
        vfloat32m2_t x1 = __riscv_vle32_v_f32m2(scores[j] + vl, vl);
        vfloat32m2_t moved0, moved1, p0, p1;
#define HALVES(statement) statement(0) statement(1)
#define LESS_HIGH(k) x##k = __riscv_vfsub_vv_f32m2(x##k, high##k, vl);
#define BOUND(k) x##k = __riscv_vfmax_vf_f32m2(x##k, -126, vl);
#define MOVED(k) moved##k = __riscv_vfadd_vf_f32m2(x##k, 0x1.8p23f, vl);
#define WHOLE(k) p##k = __riscv_vfsub_vf_f32m2(moved##k, 0x1.8p23f, vl);
#define REST(k) x##k = __riscv_vfsub_vv_f32m2(x##k, p##k, vl);
#define FIFTH(k) p##k = __riscv_vfmul_vf_f32m2(x##k, 1.326697039e-3f, vl);
#define FOURTH(k) p##k = __riscv_vfadd_vf_f32m2(p##k, 9.675459746e-3f, vl);
#define THIRD(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c3, vl);
#define SECOND(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c2, vl);
#define FIRST(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c1, vl);
#define LAST(k) p##k = __riscv_vfmadd_vv_f32m2(p##k, x##k, c0, vl);
#define INTEGERS(x) __riscv_vreinterpret_v_f32m2_i32m2(x)
#define POWER(k)                                                                                   \
    p##k = __riscv_vreinterpret_v_i32m2_f32m2(                                                     \
        __riscv_vmacc_vx_i32m2(INTEGERS(p##k), 1 << 23, INTEGERS(moved##k), vl));
#define ADDED(k) sum##k = __riscv_vfadd_vv_f32m2(sum##k, p##k, vl);
        HALVES(LESS_HIGH) HALVES(BOUND) HALVES(MOVED) HALVES(WHOLE) HALVES(REST) HALVES(FIFTH)
        HALVES(FOURTH) HALVES(THIRD) HALVES(SECOND) HALVES(FIRST) HALVES(LAST) HALVES(POWER)
        HALVES(ADDED)
    }
    return __riscv_vcreate_v_f32m2_f32m4(sum0, sum1);
}

static inline void info_nce_rows(const uint64_t *args) {
    long m = INT(4), n = INT(5), d = sizes[2];
    float scale = 1.44269504f / as_float(args[6]);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long first = 0; first < m; first += QUERIES) {
        long count = m - first < QUERIES ? m - first : QUERIES, j = 0;
        turn_queries(IN(float, 0) + first * d, count, d);
        vfloat32m4_t high = __riscv_vfmv_v_f_f32m4(-__builtin_huge_valf(), all);
        for (; j + 4 <= n; j += 4)
            high = score(IN(float, 1) + j * d, j, 4, d, scale, high);
        for (; j < n; j++)
            high = score(IN(float, 1) + j * d, j, 1, d, scale, high);
        vfloat32m4_t total = sum_shares(high, n);
        size_t vl = __riscv_vsetvl_e32m4(count);
        vuint32m4_t at = __riscv_vle32_v_u32m4(IN(uint32_t, 2) + first, vl);
        vbool8_t exists = __riscv_vmsltu_vx_u32m4_b8(at, (uint32_t)n, vl);
        at = __riscv_vmul_vx_u32m4(at, QUERIES, vl);
        at = __riscv_vadd_vv_u32m4(at, __riscv_vid_v_u32m4(vl), vl);
        at = __riscv_vmul_vx_u32m4(at, 4, vl);
        vfloat32m4_t own = __riscv_vfmv_v_f_f32m4(0, vl);
        own = __riscv_vluxei32_v_f32m4_mu(exists, own, scores[0], at, vl);
        vfloat32m4_t loss = logarithm(total, vl);
        high = __riscv_vfsub_vv_f32m4(high, own, vl);
        loss = __riscv_vfmacc_vf_f32m4(loss, 0.69314718056f, high, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + first, loss, vl);
    }
}

/* Nine of sixteen masks in a row are eight from an odd one on, with the one before or behind. */
#define PAIR(j, k) vbool8_t pair##j = __riscv_vmand_mm_b8(m##j, m##k, vl);
#define FOUR(j, k) vbool8_t four##j = __riscv_vmand_mm_b8(pair##j, pair##k, vl);
#define NINE(j, k, before, behind)                                                                 \
    found = __riscv_vmor_mm_b8(                                                                    \
        found,                                                                                     \
        __riscv_vmand_mm_b8(__riscv_vmand_mm_b8(four##j, four##k, vl),                             \
                            __riscv_vmor_mm_b8(m##before, m##behind, vl), vl),                     \
        vl);
#define BRIGHT(k) vbool8_t m##k = __riscv_vmsgtu_vv_u8m1_b8(p##k, above, vl);
#define DARK(k) vbool8_t m##k = __riscv_vmsltu_vv_u8m1_b8(p##k, below, vl);
#define RING(each)                                                                                 \
    each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10)       \
    each(11) each(12) each(13) each(14) each(15)
#define FIND_NINE                                                                                  \
    PAIR(1, 2) PAIR(3, 4) PAIR(5, 6) PAIR(7, 8) PAIR(9, 10) PAIR(11, 12) PAIR(13, 14) PAIR(15, 0)  \
    FOUR(1, 3) FOUR(3, 5) FOUR(5, 7) FOUR(7, 9) FOUR(9, 11) FOUR(11, 13) FOUR(13, 15) FOUR(15, 1)  \
    NINE(1, 5, 0, 9) NINE(3, 7, 2, 11) NINE(5, 9, 4, 13) NINE(7, 11, 6, 15)                        \
    NINE(9, 13, 8, 1) NINE(11, 15, 10, 3) NINE(13, 1, 12, 5) NINE(15, 3, 14, 7)

/* Candidates at their places in the image less 3 rows and 3 pixels. */
static inline void test_corners(const uint8_t *image, uint8_t *flags, const uint16_t *places,
                                long w, uint8_t limit, size_t vl) {
    vuint16m2_t place = __riscv_vle16_v_u16m2(places, vl);
#define AT(k, x, y)                                                                                \
    vuint8m1_t p##k = __riscv_vluxei16_v_u8m1(image + ((y) + 3) * w + (x) + 3, place, vl);
    vuint8m1_t centre = __riscv_vluxei16_v_u8m1(image + 3 * w + 3, place, vl);
    AT(0, 0, -3) AT(1, 1, -3) AT(2, 2, -2) AT(3, 3, -1) AT(4, 3, 0) AT(5, 3, 1) AT(6, 2, 2)
    AT(7, 1, 3) AT(8, 0, 3) AT(9, -1, 3) AT(10, -2, 2) AT(11, -3, 1) AT(12, -3, 0) AT(13, -3, -1)
    AT(14, -2, -2) AT(15, -1, -3)
    vuint8m1_t above = __riscv_vsaddu_vx_u8m1(centre, limit, vl);
    vuint8m1_t below = __riscv_vssubu_vx_u8m1(centre, limit, vl);
    vbool8_t found = __riscv_vmclr_m_b8(vl);
    {
        RING(BRIGHT) FIND_NINE
    }
    {
        RING(DARK) FIND_NINE
    }
    __riscv_vsuxei16_v_u8m1_m(found, flags + 3 * w + 3, place, __riscv_vmv_v_x_u8m1(1, vl), vl);
}

/* Nine in a row have a pixel of each two that are opposite: two such pairs leave few candidates,
 * which are gathered. Rows are taken as one, and where they meet is cleared behind. Limits from 0
 * to 255, up to 65,536 pixels. */
static inline void fast_corner_flags(const uint64_t *args) {
    static uint64_t words[1024];
    static uint16_t places[1 << 16];
    long h = INT(2), w = INT(3), begin = 3 * w + 3, size = (h - 6) * w - 6, count = 0;
    uint8_t limit = (uint8_t)INT(4), *flags = OUT(uint8_t, 1);
    const uint8_t *image = IN(uint8_t, 0);
    memset(flags, 0, (size_t)(h * w));
    if (h < 7 || w < 7)
        return;
    ahead(image, 6 * w + 256);
    for (long i = 0; i < size;) {
        size_t vl = __riscv_vsetvl_e8m4(size - i);
        const uint8_t *at = image + begin + i;
        ahead(at + 3 * w + 192, VLEN / 2);
        vuint8m4_t centre = __riscv_vle8_v_u8m4(at, vl);
        vuint8m4_t up = __riscv_vle8_v_u8m4(at - 3 * w, vl);
        vuint8m4_t down = __riscv_vle8_v_u8m4(at + 3 * w, vl);
        vuint8m4_t left = __riscv_vle8_v_u8m4(at - 3, vl);
        vuint8m4_t right = __riscv_vle8_v_u8m4(at + 3, vl);
        vuint8m4_t above = __riscv_vsaddu_vx_u8m4(centre, limit, vl);
        vuint8m4_t below = __riscv_vssubu_vx_u8m4(centre, limit, vl);
        vuint8m4_t bright = __riscv_vminu_vv_u8m4(__riscv_vmaxu_vv_u8m4(up, down, vl),
                                                  __riscv_vmaxu_vv_u8m4(left, right, vl), vl);
        vuint8m4_t dark = __riscv_vmaxu_vv_u8m4(__riscv_vminu_vv_u8m4(up, down, vl),
                                                __riscv_vminu_vv_u8m4(left, right, vl), vl);
        vbool2_t may = __riscv_vmor_mm_b2(__riscv_vmsgtu_vv_u8m4_b2(bright, above, vl),
                                          __riscv_vmsltu_vv_u8m4_b2(dark, below, vl), vl);
        __riscv_vsm_v_b2((uint8_t *)words + i / 8, may, vl);
        i += (long)vl;
    }
    if (size % 64)
        words[size / 64] &= ~(~0ULL << size % 64);
    for (long i = 0; 64 * i < size; i++)
        for (uint64_t word = words[i]; word; word &= word - 1)
            places[count++] = (uint16_t)(64 * i + __builtin_ctzll(word));
    for (long i = 0; i < count;) {
        size_t vl = __riscv_vsetvl_e8m1(count - i);
        test_corners(image, flags, places + i, w, limit, vl);
        i += (long)vl;
    }
    for (long y = 4; y < h - 3; y++)
        for (long x = -3; x < 3; x++)
            flags[y * w + x] = 0;
}

/* Sums of differences of a row from its first number. */
static inline void measure(const float *x, long n, float *pivot, float *sum, float *squares) {
    size_t all = __riscv_vsetvlmax_e32m4(), vl = all;
    vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, all), square = total;
    float first = *pivot = x[0];
    long i = 0;
#define MEASURE                                                                                    \
    vfloat32m4_t value = READ(x + i);                                                              \
    ahead(x + i + 2 * n, VLEN / 2);                                                                \
    value = __riscv_vfsub_vf_f32m4(value, first, vl);                                              \
    total = __riscv_vfadd_vv_f32m4_tu(total, total, value, vl);                                    \
    square = __riscv_vfmacc_vv_f32m4_tu(square, value, value, vl);
    for (; i + (long)all <= n; i += (long)all) {
        MEASURE
    }
    if (i < n) {
        vl = __riscv_vsetvl_e32m4(n - i);
        MEASURE
    }
    store_sum(sum, total), store_sum(squares, square);
}

static inline void write_standard(const float *x, float *y, long n, float mean, float scale) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    long i = 0, all = (long)vl;
#define WRITE(x, y)                                                                                \
    __riscv_vse32_v_f32m4(                                                                         \
        y, __riscv_vfmul_vf_f32m4(__riscv_vfsub_vf_f32m4(READ(x), mean, vl), scale, vl), vl)
    for (; i + 2 * all <= n; i += 2 * all) {
        vfloat32m4_t value = READ(x + i), next = READ(x + i + all);
        value = __riscv_vfsub_vf_f32m4(value, mean, vl);
        next = __riscv_vfsub_vf_f32m4(next, mean, vl);
        __riscv_vse32_v_f32m4(y + i, __riscv_vfmul_vf_f32m4(value, scale, vl), vl);
        __riscv_vse32_v_f32m4(y + i + all, __riscv_vfmul_vf_f32m4(next, scale, vl), vl);
    }
    for (; i < n; i += (long)vl) {
        vl = __riscv_vsetvl_e32m4(n - i);
        WRITE(x + i, y + i);
    }
}

/* Few rows at a time, so that L1 has them still when they are written. A row that begins far from
 * its mean is measured again. */
#define ROWS 4

static inline void weight_standardise(const uint64_t *args) {
    static float sums[ROWS], squares[ROWS], pivots[ROWS], means[ROWS], scales[ROWS];
    long m = INT(3), n = INT(4);
    float eps = as_float(args[5]), share = 1 / (float)n;
    for (long first = 0; first < m; first += ROWS) {
        const float *x = IN(float, 0) + first * n;
        long count = m - first < ROWS ? m - first : ROWS;
        for (long k = 0; k < count; k++)
            measure(x + k * n, n, pivots + k, sums + k, squares + k);
        size_t vl = __riscv_vsetvl_e32m1(count);
        vfloat32m1_t off = __riscv_vle32_v_f32m1(sums, vl);
        off = __riscv_vfmul_vf_f32m1(off, share, vl);
        vfloat32m1_t square = __riscv_vfmul_vv_f32m1(off, off, vl);
        vfloat32m1_t variance = __riscv_vle32_v_f32m1(squares, vl);
        variance = __riscv_vfmsub_vf_f32m1(variance, share, square, vl);
        vfloat32m1_t mean = __riscv_vfadd_vv_f32m1(off, __riscv_vle32_v_f32m1(pivots, vl), vl);
        __riscv_vse32_v_f32m1(means, mean, vl);
        vbool32_t is_good = __riscv_vmfgt_vv_f32m1_b32(
            __riscv_vfmul_vf_f32m1(variance, 256, vl), square, vl);
        if (__riscv_vcpop_m_b32(is_good, vl) < vl) {
            for (long k = 0; k < count; k++) {
                size_t all = __riscv_vsetvlmax_e32m4();
                vfloat32m4_t rests = __riscv_vfmv_v_f_f32m4(0, all);
                for (long i = 0; i < n;) {
                    size_t vl = __riscv_vsetvl_e32m4(n - i);
                    vfloat32m4_t rest = __riscv_vfsub_vf_f32m4(READ(x + k * n + i), means[k], vl);
                    rests = __riscv_vfmacc_vv_f32m4_tu(rests, rest, rest, vl);
                    i += (long)vl;
                }
                squares[k] = sum_m4(rests, all);
            }
            variance = __riscv_vfmul_vf_f32m1(__riscv_vle32_v_f32m1(squares, vl), share, vl);
        }
        variance = __riscv_vfmax_vf_f32m1(__riscv_vfmul_vf_f32m1(variance, (float)n, vl), eps, vl);
        vfloat32m1_t gain = __riscv_vle32_v_f32m1(IN(float, 1) + first, vl);
        gain = __riscv_vfdiv_vv_f32m1(gain, __riscv_vfsqrt_v_f32m1(variance, vl), vl);
        __riscv_vse32_v_f32m1(scales, gain, vl);
        for (long k = 0; k < count; k++)
            write_standard(x + k * n, OUT(float, 2) + (first + k) * n, n, means[k], scales[k]);
    }
}
