/* The kernels of nineteenth_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define TWO(EACH) EACH(0) EACH(1)
#define ONE(EACH) EACH(0)

/* Variance swaps: a row's strikes go into a buffer with one more at either end, and are counted up
 * to the forward; then puts are read up to there and calls from there on. What is left of a row
 * comes at the end, for many together. Rows of up to 4,096 strikes, and as many rows. */
#define LATER 100 /* how far ahead quotes are prefetched */
static float strikes_of_row[4096 + 2], totals[4096], middles[4096];

/* 1 / x, by a reciprocal of 7 bits and a step of third order. */
static inline vfloat32m2_t inverse_m2(vfloat32m2_t x, size_t vl) {
    vfloat32m2_t y = __riscv_vfrec7_v_f32m2(x, vl);
    vfloat32m2_t off = __riscv_vfrsub_vf_f32m2(__riscv_vfmul_vv_f32m2(x, y, vl), 1, vl);
    off = __riscv_vfmacc_vv_f32m2(off, off, off, vl);
    return __riscv_vfmacc_vv_f32m2(y, y, off, vl);
}

/* Four times the shares of quotes from i up to end. */
static inline vfloat32m2_t shares(vfloat32m2_t sum, const float *strikes, const float *bids,
                                  const float *asks, long i, long end) {
    while (i < end) {
        size_t vl = __riscv_vsetvl_e32m2(end - i);
        vfloat32m2_t strike = __riscv_vle32_v_f32m2(strikes + i, vl);
        vfloat32m2_t width = __riscv_vle32_v_f32m2(strikes + i + 1, vl);
        vfloat32m2_t below = __riscv_vle32_v_f32m2(strikes + i - 1, vl);
        vfloat32m2_t bid = __riscv_vle32_v_f32m2(bids + i, vl);
        vfloat32m2_t quote = __riscv_vle32_v_f32m2(asks + i, vl);
        ahead(bids + i + LATER, 64), ahead(asks + i + LATER, 64);
        strike = __riscv_vfmul_vv_f32m2(strike, strike, vl);
        width = __riscv_vfsub_vv_f32m2(width, below, vl);
        vbool16_t has_bid = __riscv_vmfgt_vf_f32m2_b16(bid, 0, vl);
        quote = __riscv_vfadd_vv_f32m2(quote, bid, vl);
        quote = __riscv_vfmul_vv_f32m2(quote, width, vl);
        strike = inverse_m2(strike, vl);
        sum = __riscv_vfmacc_vv_f32m2_tumu(has_bid, sum, quote, strike, vl);
        i += (long)vl;
    }
    return sum;
}

static inline void variance_swap_strip(const uint64_t *args) {
    const float *strikes = IN(float, 0), *call_bids = IN(float, 1), *call_asks = IN(float, 2);
    const float *put_bids = IN(float, 3), *put_asks = IN(float, 4), *forwards = IN(float, 5);
    const float *rates = IN(float, 6), *years = IN(float, 7);
    const int32_t *counts = IN(int32_t, 8);
    float *out = OUT(float, 9), *padded = strikes_of_row + 1;
    long rows = INT(10), size = INT(11);
    size_t all = __riscv_vsetvlmax_e32m2();
    for (long row = 0; row < rows; row++) {
        long count = counts[row], below = 0;
        for (long i = 0; i < count;) {
            size_t vl = __riscv_vsetvl_e32m8(count - i);
            vfloat32m8_t strike = __riscv_vle32_v_f32m8(strikes + i, vl);
            ahead(strikes + size + i, VLEN);
            __riscv_vse32_v_f32m8(padded + i, strike, vl);
            below +=
                (long)__riscv_vcpop_m_b4(__riscv_vmfle_vf_f32m8_b4(strike, forwards[row], vl), vl);
            i += (long)vl;
        }
        padded[-1] = 2 * strikes[0] - strikes[1];
        padded[count] = 2 * strikes[count - 1] - strikes[count - 2];
        long m = below - 1;
        vfloat32m2_t sum = __riscv_vfmv_v_f_f32m2(0, all);
        sum = shares(sum, padded, put_bids, put_asks, 0, m);
        sum = shares(sum, padded, call_bids, call_asks, below, count);
        float middle = strikes[m], quote = 0;
        if (call_bids[m] > 0)
            quote += call_bids[m] + call_asks[m];
        if (put_bids[m] > 0)
            quote += put_bids[m] + put_asks[m];
        float share = (padded[m + 1] - padded[m - 1]) * quote / (2 * middle * middle);
        vfloat32m1_t total = __riscv_vfmv_s_f_f32m1(share, 1);
        total = __riscv_vfredusum_vs_f32m2_f32m1(sum, total, all);
        __riscv_vse32_v_f32m1(totals + row, total, 1);
        middles[row] = middle;
        strikes += size, call_bids += size, call_asks += size, put_bids += size, put_asks += size;
    }
    for (long i = 0; i < rows;) {
        size_t vl = __riscv_vsetvl_e32m4(rows - i);
        vfloat32m4_t time = __riscv_vle32_v_f32m4(years + i, vl);
        vfloat32m4_t growth =
            __riscv_vfmul_vv_f32m4(__riscv_vle32_v_f32m4(rates + i, vl), time, vl);
        growth = exponential(growth, vl);
        vfloat32m4_t total = __riscv_vle32_v_f32m4(totals + i, vl);
        total = __riscv_vfmul_vf_f32m4(__riscv_vfmul_vv_f32m4(total, growth, vl), 0.5f, vl);
        vfloat32m4_t middle = __riscv_vle32_v_f32m4(middles + i, vl);
        vfloat32m4_t off =
            __riscv_vfsub_vv_f32m4(__riscv_vle32_v_f32m4(forwards + i, vl), middle, vl);
        off = __riscv_vfmul_vv_f32m4(off, reciprocal(middle, vl), vl);
        total = __riscv_vfnmsac_vv_f32m4(total, off, off, vl);
        total = __riscv_vfmul_vv_f32m4(total, reciprocal(time, vl), vl);
        __riscv_vse32_v_f32m4(out + i, total, vl);
        i += (long)vl;
    }
}

/* Coils: two at a time for some pixels, whose sums lie in the cache until the last two, since more
 * streams would be in each other's way. Halves of 64 bits are real and imaginary parts. */
#define PIXELS 1024
static float reals[PIXELS], imaginaries[PIXELS], powers[PIXELS];

/* Parts of the maps are told apart by shifts, those of the data as they are loaded: both units have
 * as much to do. */
#define COIL(k)                                                                                    \
    ahead(data + (k) * n + i + 64, 128), ahead(maps + (k) * n + i + 64, 128);                      \
    vuint64m4_t map##k = __riscv_vle64_v_u64m4(maps + (k) * n + i, vl);                            \
    vfloat32m2x2_t data##k = __riscv_vlseg2e32_v_f32m2x2((const float *)(data + (k) * n + i), vl); \
    vfloat32m2_t c##k = __riscv_vreinterpret_v_u32m2_f32m2(__riscv_vnsrl_wx_u32m2(map##k, 0, vl)); \
    vfloat32m2_t d##k =                                                                            \
        __riscv_vreinterpret_v_u32m2_f32m2(__riscv_vnsrl_wx_u32m2(map##k, 32, vl));                \
    power = __riscv_vfmacc_vv_f32m2(power, c##k, c##k, vl);                                        \
    power = __riscv_vfmacc_vv_f32m2(power, d##k, d##k, vl);                                        \
    __asm__ volatile("" : "+vr"(power));
#define PRODUCTS(k)                                                                                \
    vfloat32m2_t a##k = __riscv_vget_v_f32m2x2_f32m2(data##k, 0);                                  \
    vfloat32m2_t b##k = __riscv_vget_v_f32m2x2_f32m2(data##k, 1);                                  \
    real = __riscv_vfmacc_vv_f32m2(real, c##k, a##k, vl);                                          \
    imaginary = __riscv_vfmacc_vv_f32m2(imaginary, c##k, b##k, vl);                                \
    real = __riscv_vfmacc_vv_f32m2(real, d##k, b##k, vl);                                          \
    imaginary = __riscv_vfnmsac_vv_f32m2(imaginary, d##k, a##k, vl);

#define COILS(name, ALL)                                                                           \
    static inline __attribute__((always_inline)) void name(                                        \
        const uint64_t *data, const uint64_t *maps, float *out, long n, long count, int first,     \
        int last, float floor) {                                                                   \
        for (long i = 0; i < count;) {                                                             \
            size_t vl = __riscv_vsetvl_e32m2(count - i);                                           \
            vfloat32m2_t real = __riscv_vfmv_v_f_f32m2(0, vl), imaginary = real, power = real;     \
            if (!first) {                                                                          \
                real = __riscv_vle32_v_f32m2(reals + i, vl);                                       \
                imaginary = __riscv_vle32_v_f32m2(imaginaries + i, vl);                            \
                power = __riscv_vle32_v_f32m2(powers + i, vl);                                     \
            }                                                                                      \
            ALL(COIL) ALL(PRODUCTS) if (last) {                                                    \
                power = inverse_m2(__riscv_vfmax_vf_f32m2(power, floor, vl), vl);                  \
                real = __riscv_vfmul_vv_f32m2(real, power, vl);                                    \
                imaginary = __riscv_vfmul_vv_f32m2(imaginary, power, vl);                          \
                __riscv_vsseg2e32_v_f32m2x2(out + 2 * i,                                           \
                                            __riscv_vcreate_v_f32m2x2(real, imaginary), vl);       \
            }                                                                                      \
            else {                                                                                 \
                __riscv_vse32_v_f32m2(reals + i, real, vl);                                        \
                __riscv_vse32_v_f32m2(imaginaries + i, imaginary, vl);                             \
                __riscv_vse32_v_f32m2(powers + i, power, vl);                                      \
            }                                                                                      \
            i += (long)vl;                                                                         \
        }                                                                                          \
    }
COILS(two_coils, TWO)
COILS(one_coil, ONE)

static inline void kspace_coil_combine(const uint64_t *args) {
    float *out = OUT(float, 2), floor = as_float(args[5]);
    long coils = INT(3), n = INT(4);
    for (long start = 0; start < n; start += PIXELS, out += 2 * PIXELS) {
        const uint64_t *data = IN(uint64_t, 0) + start, *maps = IN(uint64_t, 1) + start;
        long count = n - start < PIXELS ? n - start : PIXELS, coil = 0;
        if (coils % 2) {
            if (coils == 1)
                one_coil(data, maps, out, n, count, 1, 1, floor);
            else
                one_coil(data, maps, out, n, count, 1, 0, floor);
            coil = 1, data += n, maps += n;
        } else if (coils > 2) {
            two_coils(data, maps, out, n, count, 1, 0, floor);
            coil = 2, data += 2 * n, maps += 2 * n;
        } else {
            two_coils(data, maps, out, n, count, 1, 1, floor);
            coil = 2;
        }
        for (; coil + 2 < coils; coil += 2, data += 2 * n, maps += 2 * n)
            two_coils(data, maps, out, n, count, 0, 0, floor);
        if (coil < coils)
            two_coils(data, maps, out, n, count, 0, 1, floor);
    }
}

/* Chambolle: what is left of the image is computed once, for the row below the one at hand; of a
 * row's end and of the last row, p does not count. Rows of up to 4,096. */
#define READ(from) __riscv_vle32_v_f32m4(from, vl)
static float rests[2][4096 + 64];

/* The rest at vl pixels from column i on; of a row's end, px does not count. */
static inline vfloat32m4_t rest_at(const float *px, const float *py, const float *image, long i,
                                   long row, long height, long width, float inverse, size_t vl) {
    px += row * width + i, py += row * width + i, image += row * width + i;
    ahead(px + width, VLEN / 2), ahead(py + width, VLEN / 2), ahead(image + width, VLEN / 2);
    vfloat32m4_t x = READ(px), sum = READ(image);
    if (i + (long)vl == width)
        x = __riscv_vle32_v_f32m4_tu(__riscv_vfmv_v_f_f32m4(0, vl), px, vl - 1);
    vfloat32m4_t left = i ? READ(px - 1) : __riscv_vfslide1up_vf_f32m4(x, 0, vl);
    sum = __riscv_vfnmsac_vf_f32m4(x, inverse, sum, vl);
    if (row + 1 < height)
        sum = __riscv_vfadd_vv_f32m4(sum, READ(py), vl);
    if (row)
        sum = __riscv_vfsub_vv_f32m4(sum, READ(py - width), vl);
    return __riscv_vfsub_vv_f32m4(sum, left, vl);
}

static inline void total_variation_chambolle(const uint64_t *args) {
    const float *px = IN(float, 0), *py = IN(float, 1), *image = IN(float, 2);
    float *new_px = OUT(float, 3), *new_py = OUT(float, 4);
    long height = INT(5), width = INT(6);
    float inverse = as_float(args[7]), tau = as_float(args[8]);
    for (long i = 0; i < width;) {
        size_t vl = __riscv_vsetvl_e32m4(width - i);
        vfloat32m4_t rest = rest_at(px, py, image, i, 0, height, width, inverse, vl);
        __riscv_vse32_v_f32m4(rests[0] + i, rest, vl);
        i += (long)vl;
    }
    for (long row = 0; row < height; row++) {
        float *here = rests[row & 1], *below = rests[~row & 1];
        here[width] = here[width - 1]; /* so that the gradient there is 0 */
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            long at = row * width + i;
            vfloat32m4_t mine = READ(here + i);
            vfloat32m4_t gx = __riscv_vfsub_vv_f32m4(READ(here + i + 1), mine, vl);
            vfloat32m4_t x = READ(px + at), y = READ(py + at);
            vfloat32m4_t q = __riscv_vfmul_vv_f32m4(gx, gx, vl);
            x = __riscv_vfmacc_vf_f32m4(x, tau, gx, vl);
            if (row + 1 < height) {
                vfloat32m4_t rest = rest_at(px, py, image, i, row + 1, height, width, inverse, vl);
                vfloat32m4_t gy = __riscv_vfsub_vv_f32m4(rest, mine, vl);
                __riscv_vse32_v_f32m4(below + i, rest, vl);
                q = __riscv_vfmacc_vv_f32m4(q, gy, gy, vl);
                y = __riscv_vfmacc_vf_f32m4(y, tau, gy, vl);
            }
            q = __riscv_vfmax_vf_f32m4(q, 1e-30f, vl);
            /* The root, by a reciprocal of 7 bits and a step of third order. */
            vfloat32m4_t r = __riscv_vfrsqrt7_v_f32m4(q, vl);
            q = __riscv_vfmul_vv_f32m4(q, r, vl);
            vfloat32m4_t off = __riscv_vfrsub_vf_f32m4(__riscv_vfmul_vv_f32m4(q, r, vl), 1, vl);
            vfloat32m4_t p = __riscv_vfmul_vf_f32m4(off, 0.375f, vl);
            p = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), off, vl);
            q = __riscv_vfmacc_vv_f32m4(q, q, p, vl);
            q = __riscv_vfadd_vf_f32m4(__riscv_vfmul_vf_f32m4(q, tau, vl), 1, vl);
            r = __riscv_vfrec7_v_f32m4(q, vl);
            off = __riscv_vfrsub_vf_f32m4(__riscv_vfmul_vv_f32m4(q, r, vl), 1, vl);
            off = __riscv_vfmacc_vv_f32m4(off, off, off, vl);
            r = __riscv_vfmacc_vv_f32m4(r, r, off, vl);
            __riscv_vse32_v_f32m4(new_px + at, __riscv_vfmul_vv_f32m4(x, r, vl), vl);
            __riscv_vse32_v_f32m4(new_py + at, __riscv_vfmul_vv_f32m4(y, r, vl), vl);
            i += (long)vl;
        }
    }
}

/* Book numbers: each row becomes one sum, of digits times a weight that is 3 or 1 in its lowest
 * byte and 10 to 1 in the next one, and two masks: which are digits, and which of the last four are
 * what the short kind ends with. Then rows are judged together. Up to 65,536. */
#define PLACES 13
static uint32_t sums[65536];
static uint16_t digit_masks[65536], end_masks[65536];
static const uint16_t both_weights[PLACES] = {
    10 << 8 | 1, 9 << 8 | 3, 8 << 8 | 1, 7 << 8 | 3, 6 << 8 | 1, 5 << 8 | 3, 4 << 8 | 1,
    3 << 8 | 3,  2 << 8 | 1, 1 << 8 | 3, 1,          3,          1};
static const uint8_t ends[PLACES] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 'X', ' ', ' ', ' '};

#define TEXT(k) vuint8mf2_t t##k = __riscv_vle8_v_u8mf2(text + PLACES * (k), PLACES);
#define DIGIT(k) vuint8mf2_t d##k = __riscv_vsub_vx_u8mf2(t##k, '0', PLACES);
#define AT_END(k) vbool16_t e##k = __riscv_vmseq_vv_u8mf2_b16(t##k, end, PLACES);
#define IS_DIGIT(k) vbool16_t g##k = __riscv_vmsltu_vx_u8mf2_b16(d##k, 10, PLACES);
#define WIDE(k) vuint16m1_t w##k = __riscv_vwaddu_vx_u16m1(d##k, 0, PLACES);
#define WEIGH(k) w##k = __riscv_vmul_vv_u16m1(w##k, weights, PLACES);
#define TOTAL(k) vuint32m1_t s##k = __riscv_vwredsumu_vs_u16m1_u32m1(w##k, zero, PLACES);
#define KEEP_ENDS(k) __riscv_vsm_v_b16((uint8_t *)(end_masks + row + (k)), e##k, PLACES);
#define KEEP_DIGITS(k) __riscv_vsm_v_b16((uint8_t *)(digit_masks + row + (k)), g##k, PLACES);
#define KEEP_SUM(k)                                                                                \
    __riscv_vse32_v_u32mf2(sums + row + (k), __riscv_vlmul_trunc_v_u32m1_u32mf2(s##k), 1);
/* Keeps the compiler from computing what follows for one row before the others are so far. */
#define HOLD(name) __asm__("" : "+vr"(name##0), "+vr"(name##1), "+vr"(name##2), "+vr"(name##3));

/* Digits of three spaces are 240 each. */
#define SPACES (240 * (1 + 3 + 1))
/* An X is a digit of 40 by its byte; it counts 10, in the second byte alone. */
#define MORE_OF_X (40 * 259 - 10 * 256)

static inline void judge(uint8_t *kinds, long row, size_t vl) {
    vuint32m4_t sum = __riscv_vle32_v_u32m4(sums + row, vl);
    vuint16m2_t digits = __riscv_vle16_v_u16m2(digit_masks + row, vl);
    vuint16m2_t others = __riscv_vle16_v_u16m2(end_masks + row, vl);
    digits = __riscv_vand_vx_u16m2(digits, 0x1fff, vl);
    vuint16m2_t low = __riscv_vand_vx_u16m2(__riscv_vncvt_x_x_w_u16m2(sum, vl), 255, vl);
    vuint16m2_t tens = __riscv_vmulhu_vx_u16m2(low, 6554, vl);
    low = __riscv_vnmsac_vx_u16m2(low, 10, tens, vl);
    vbool8_t long_kind = __riscv_vmseq_vx_u16m2_b8(low, 0, vl);
    long_kind = __riscv_vmand_mm_b8(long_kind, __riscv_vmseq_vx_u16m2_b8(digits, 0x1fff, vl), vl);

    /* As if the X were a digit, and spaces too: bits 9 and 10 to 12. */
    vuint16m2_t x = __riscv_vand_vx_u16m2(others, 0x200, vl);
    vbool8_t has_x = __riscv_vmsne_vx_u16m2_b8(x, 0, vl);
    sum = __riscv_vsub_vx_u32m4(sum, SPACES, vl);
    sum = __riscv_vsub_vx_u32m4_mu(has_x, sum, sum, MORE_OF_X, vl);
    vuint16m2_t high = __riscv_vnsrl_wx_u16m2(sum, 8, vl);
    vuint16m2_t elevens = __riscv_vmulhu_vx_u16m2(high, 5958, vl);
    high = __riscv_vnmsac_vx_u16m2(high, 11, elevens, vl);
    vbool8_t short_kind = __riscv_vmseq_vx_u16m2_b8(high, 0, vl);
    others = __riscv_vor_vv_u16m2(others, __riscv_vand_vx_u16m2(digits, 0x3ff, vl), vl);
    others = __riscv_vand_vx_u16m2(others, 0x1fff, vl);
    short_kind = __riscv_vmand_mm_b8(short_kind, __riscv_vmseq_vx_u16m2_b8(others, 0x1fff, vl), vl);
    vuint8m1_t kind = __riscv_vmv_v_x_u8m1(0, vl);
    kind = __riscv_vmerge_vxm_u8m1(kind, 10, short_kind, vl);
    kind = __riscv_vmerge_vxm_u8m1(kind, 13, long_kind, vl);
    __riscv_vse8_v_u8m1(kinds + row, kind, vl);
}

static inline void isbn_checksum_rows(const uint64_t *args) {
    const uint8_t *text = IN(uint8_t, 0);
    uint8_t *kinds = OUT(uint8_t, 1);
    long n = INT(2), row = 0;
    vuint8mf2_t end = __riscv_vle8_v_u8mf2(ends, PLACES);
    vuint16m1_t weights = __riscv_vle16_v_u16m1(both_weights, PLACES);
    vuint32m1_t zero = __riscv_vmv_s_x_u32m1(0, 1);
    for (; row + 4 <= n; row += 4, text += 4 * PLACES) {
        ahead(text + 256, 4 * PLACES);
        FOUR(TEXT)
        HOLD(t) FOUR(DIGIT) HOLD(d) FOUR(WIDE) HOLD(w) FOUR(AT_END) HOLD(e) FOUR(WEIGH) HOLD(w)
            FOUR(IS_DIGIT) HOLD(g) FOUR(KEEP_ENDS) FOUR(TOTAL) HOLD(s) FOUR(KEEP_DIGITS)
                FOUR(KEEP_SUM)
    }
    for (; row < n; row++, text += PLACES) {
        ONE(TEXT)
        ONE(DIGIT) ONE(WIDE) ONE(AT_END) ONE(WEIGH) ONE(IS_DIGIT) ONE(TOTAL) ONE(KEEP_ENDS)
            ONE(KEEP_DIGITS) ONE(KEEP_SUM)
    }
    for (row = 0; row < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - row);
        judge(kinds, row, vl);
        row += (long)vl;
    }
}
