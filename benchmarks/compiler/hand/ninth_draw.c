/* The kernels of ninth_draw.py in RVV intrinsics, for bench_hand.py: a quarter of an hour each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Adds a part, whose means and sums of squares are loaded, to those of a strip of channels. */
#define ADD_PART(part, delta, other)                                                               \
    {                                                                                              \
        delta = __riscv_vfsub_vv_f32m4(delta, mean, vl);                                           \
        m2 = __riscv_vfadd_vv_f32m4(m2, other, vl);                                                \
        mean = __riscv_vfmacc_vf_f32m4(mean, shares[part], delta, vl);                             \
        delta = __riscv_vfmul_vv_f32m4(delta, delta, vl);                                          \
        m2 = __riscv_vfmacc_vf_f32m4(m2, spreads[part], delta, vl);                                \
    }

/* What depends on counts alone comes first. Parts are read as they lie, two at a time, and the
 * results so far stay in L1: strips down all parts would jump from row to row. */
static inline void welford_merge(const uint64_t *args) {
    static float shares[4096], spreads[4096];
    long parts = INT(5), channels = INT(6);
    const float *counts = IN(float, 0), *means = IN(float, 1), *squares = IN(float, 2);
    float *out = OUT(float, 3), *out_m2 = OUT(float, 4), count = counts[0];
    for (long part = 1; part < parts; part++) {
        shares[part] = counts[part] / (count + counts[part]);
        spreads[part] = count * shares[part];
        count += counts[part];
    }
    for (long part = 1; part < parts; part += 2) {
        int is_last = part + 2 >= parts, are_two = part + 1 < parts;
        for (long i = 0; i < channels;) {
            size_t vl = __riscv_vsetvl_e32m4(channels - i);
            vfloat32m4_t mean = __riscv_vle32_v_f32m4((part == 1 ? means : out) + i, vl);
            vfloat32m4_t m2 = __riscv_vle32_v_f32m4((part == 1 ? squares : out_m2) + i, vl);
            for (long next = part + 2; next < part + 4; next++)
                ahead(means + next * channels + i, 4 * (long)vl),
                    ahead(squares + next * channels + i, 4 * (long)vl);
            vfloat32m4_t delta = __riscv_vle32_v_f32m4(means + part * channels + i, vl);
            vfloat32m4_t other = __riscv_vle32_v_f32m4(squares + part * channels + i, vl);
            long second = part + are_two;
            vfloat32m4_t delta2 = __riscv_vle32_v_f32m4(means + second * channels + i, vl);
            vfloat32m4_t other2 = __riscv_vle32_v_f32m4(squares + second * channels + i, vl);
            ADD_PART(part, delta, other)
            if (are_two)
                ADD_PART(second, delta2, other2)
            if (is_last)
                m2 = __riscv_vfmul_vf_f32m4(m2, 1 / count, vl);
            __riscv_vse32_v_f32m4(out + i, mean, vl), __riscv_vse32_v_f32m4(out_m2 + i, m2, vl);
            i += (long)vl;
        }
    }
}

/* The brightest of each byte and its neighbours; zeros come in at the sides. With a strip that starts
 * one column before its results, they are one lane early, and the last two lanes are not whole. */
static inline vuint8m4_t brightest(vuint8m4_t x, int is_first, size_t vl) {
    vuint8m4_t pairs = __riscv_vmaxu_vv_u8m4(x, __riscv_vslide1down_vx_u8m4(x, 0, vl), vl);
    if (is_first)
        return __riscv_vmaxu_vv_u8m4(pairs, __riscv_vslide1up_vx_u8m4(x, 0, vl), vl);
    return __riscv_vmaxu_vv_u8m4(pairs, __riscv_vslide1down_vx_u8m4(pairs, 0, vl), vl);
}

/* Two rows at a time, which share the larger of their own; columns first, then neighbours by slides.
 * Strips overlap by two columns. A row outside the picture is a copy of the one at its edge. */
static inline void dilate_bytes(const uint64_t *args) {
    long h = INT(2), w = INT(3);
    for (long row = 0; row < h; row += 2) {
        const uint8_t *x = IN(uint8_t, 0) + row * w;
        long before = row ? -w : 0, next = row + 1 < h ? w : 0, after = row + 2 < h ? 2 * w : next;
        uint8_t *y = OUT(uint8_t, 1) + row * w;
        for (long i = 0, stored; i < w; i += stored) {
            const uint8_t *from = x + i - (i > 0);
            long left = w - i + (i > 0);
            size_t vl = __riscv_vsetvl_e8m4(left);
            stored = (long)vl - (i > 0) - ((long)vl < left);
            vuint8m4_t a = __riscv_vle8_v_u8m4(from + before, vl);
            vuint8m4_t b = __riscv_vle8_v_u8m4(from, vl);
            vuint8m4_t c = __riscv_vle8_v_u8m4(from + next, vl);
            vuint8m4_t d = __riscv_vle8_v_u8m4(from + after, vl);
            ahead(from + 3 * w, (long)vl), ahead(from + 4 * w, (long)vl);
            b = __riscv_vmaxu_vv_u8m4(b, c, vl);
            a = brightest(__riscv_vmaxu_vv_u8m4(a, b, vl), i == 0, vl);
            b = brightest(__riscv_vmaxu_vv_u8m4(b, d, vl), i == 0, vl);
            __riscv_vse8_v_u8m4(y + i, a, (size_t)stored);
            __riscv_vse8_v_u8m4(y + next + i, b, (size_t)stored);
        }
    }
}

/* 1 / sqrt(x), by an estimate of 7 bits and two steps of Newton. */
static inline vfloat32m2_t inverse_root(vfloat32m2_t x, size_t vl) {
    vfloat32m2_t root = __riscv_vfrsqrt7_v_f32m2(x, vl);
    vfloat32m2_t half = __riscv_vfmul_vf_f32m2(x, 0.5f, vl);
#define ROOT_STEP                                                                                  \
    {                                                                                              \
        vfloat32m2_t error = __riscv_vfmul_vv_f32m2(half, root, vl);                               \
        error = __riscv_vfnmsub_vv_f32m2(error, root, __riscv_vfmv_v_f_f32m2(1.5f, vl), vl);       \
        root = __riscv_vfmul_vv_f32m2(root, error, vl);                                            \
    }
    ROOT_STEP ROOT_STEP
    return root;
}

/* A lane for each matrix: elements by strided loads, each column's beside the root of the one before;
 * rows by strided stores of four fields. Roots are reciprocal, and so there is nothing to divide. */
static inline void cholesky4(const uint64_t *args) {
    long n = INT(2);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        const float *a = IN(float, 0) + 16 * i;
        float *out = OUT(float, 1) + 16 * i;
        ahead(a + 16 * 16, 64 * (long)vl);
#define ELEMENT(row, column) __riscv_vlse32_v_f32m2(a + 4 * (row) + (column), 64, vl)
#define TIMES(x, y) __riscv_vfmul_vv_f32m2(x, y, vl)
#define LESS(total, x, y) __riscv_vfnmsac_vv_f32m2(total, x, y, vl)
#define ROW(row, x, y, z, w)                                                                       \
    __riscv_vssseg4e32_v_f32m2x4(out + 4 * (row), 64, __riscv_vcreate_v_f32m2x4(x, y, z, w), vl)
        vfloat32m2_t zero = __riscv_vfmv_v_f_f32m2(0, vl);
        vfloat32m2_t d = ELEMENT(0, 0), r = inverse_root(d, vl);
        vfloat32m2_t l10 = ELEMENT(1, 0), l20 = ELEMENT(2, 0), l30 = ELEMENT(3, 0);
        vfloat32m2_t l11 = ELEMENT(1, 1);
        ROW(0, TIMES(d, r), zero, zero, zero);
        l10 = TIMES(l10, r), l20 = TIMES(l20, r), l30 = TIMES(l30, r);
        d = LESS(l11, l10, l10), r = inverse_root(d, vl);
        vfloat32m2_t l21 = ELEMENT(2, 1), l31 = ELEMENT(3, 1), l22 = ELEMENT(2, 2);
        ROW(1, l10, TIMES(d, r), zero, zero);
        l21 = TIMES(LESS(l21, l20, l10), r), l31 = TIMES(LESS(l31, l30, l10), r);
        d = LESS(LESS(l22, l20, l20), l21, l21), r = inverse_root(d, vl);
        vfloat32m2_t l32 = ELEMENT(3, 2), l33 = ELEMENT(3, 3);
        ROW(2, l20, l21, TIMES(d, r), zero);
        l32 = TIMES(LESS(LESS(l32, l30, l20), l31, l21), r);
        d = LESS(LESS(LESS(l33, l30, l30), l31, l31), l32, l32);
        ROW(3, l30, l31, l32, TIMES(d, inverse_root(d, vl)));
        i += (long)vl;
    }
}

/* Weights of up to 32 parts for 32 heads at a time, a lane for each head; then each head's rows are
 * added up, 80 columns in registers. */
static inline void merge_attention_parts(const uint64_t *args) {
    long heads = sizes[0], parts = INT(4), d = INT(5);
    float weights[32][32];
    for (long first = 0; first < heads;) {
        size_t vl = __riscv_vsetvl_e32m4(heads - first);
        const float *lse = IN(float, 1) + first * parts;
        vfloat32m4_t most = __riscv_vlse32_v_f32m4(lse, 4 * parts, vl);
        for (long part = 1; part < parts; part++)
            most = __riscv_vfmax_vv_f32m4(most, __riscv_vlse32_v_f32m4(lse + part, 4 * parts, vl), vl);
        vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long part = 0; part < parts; part++) {
            vfloat32m4_t e = __riscv_vlse32_v_f32m4(lse + part, 4 * parts, vl);
            e = exponential(__riscv_vfsub_vv_f32m4(e, most, vl), vl);
            total = __riscv_vfadd_vv_f32m4(total, e, vl);
            __riscv_vse32_v_f32m4(weights[part], e, vl);
        }
        most = __riscv_vfadd_vv_f32m4(most, logarithm(total, vl), vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + first, most, vl);
        total = reciprocal(total, vl);
        for (long part = 0; part < parts; part++) {
            vfloat32m4_t e = __riscv_vle32_v_f32m4(weights[part], vl);
            __riscv_vse32_v_f32m4(weights[part], __riscv_vfmul_vv_f32m4(e, total, vl), vl);
        }
        for (long lane = 0; lane < (long)vl; lane++) {
            const float *x = IN(float, 0) + (first + lane) * parts * d;
            float *out = OUT(float, 2) + (first + lane) * d;
            long i = 0;
            for (; i + 80 <= d; i += 80) {
                vfloat32m2_t s0 = __riscv_vfmv_v_f_f32m2(0, 16), s1 = s0, s2 = s0, s3 = s0, s4 = s0;
#define COLUMNS(sum, at)                                                                           \
    sum = __riscv_vfmacc_vf_f32m2(sum, w, __riscv_vle32_v_f32m2(row + (at), 16), 16)
                for (long part = 0; part < parts; part++) {
                    const float *row = x + part * d + i;
                    float w = weights[part][lane];
                    ahead(row + 4 * d, 320);
                    COLUMNS(s0, 0);
                    COLUMNS(s1, 16);
                    COLUMNS(s2, 32);
                    COLUMNS(s3, 48);
                    COLUMNS(s4, 64);
                }
                __riscv_vse32_v_f32m2(out + i, s0, 16), __riscv_vse32_v_f32m2(out + i + 16, s1, 16);
                __riscv_vse32_v_f32m2(out + i + 32, s2, 16);
                __riscv_vse32_v_f32m2(out + i + 48, s3, 16);
                __riscv_vse32_v_f32m2(out + i + 64, s4, 16);
            }
            while (i < d) {
                size_t some = __riscv_vsetvl_e32m4(d - i);
                vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, some);
                for (long part = 0; part < parts; part++)
                    sum = __riscv_vfmacc_vf_f32m4(
                        sum, weights[part][lane], __riscv_vle32_v_f32m4(x + part * d + i, some), some);
                __riscv_vse32_v_f32m4(out + i, sum, some);
                i += (long)some;
            }
        }
        first += (long)vl;
    }
}

/* A quarter of four bytes' sum, rounded. */
static inline vuint8m2_t quarter(vuint8m2_t a, vuint8m2_t b, vuint8m2_t c, vuint8m2_t d, size_t vl) {
    vuint16m4_t sum = __riscv_vwaddu_vv_u16m4(a, b, vl);
    sum = __riscv_vwaddu_wv_u16m4(__riscv_vwaddu_wv_u16m4(sum, c, vl), d, vl);
    return __riscv_vnclipu_wx_u8m2(sum, 2, __RISCV_VXRM_RNU, vl);
}

/* Means of two stay in bytes, by averaging additions. All of a row's pixels are of two kinds in turn:
 * green is by one mask, and red and blue change places with the row. */
static inline void bayer_to_rgb(const uint64_t *args) {
    long h = INT(2), w = INT(3), columns = w - 2;
    size_t all = __riscv_vsetvlmax_e8m1();
    vuint8m1_t turns = __riscv_vmv_v_x_u8m1(0x55, all); /* lanes 0, 2, 4: odd columns of the picture */
    vbool4_t is_odd = __riscv_vreinterpret_v_u8m1_b4(turns);
    vbool4_t is_even = __riscv_vmnot_m_b4(is_odd, 8 * all);
    for (long row = 0; row < h - 2; row++) {
        int is_odd_row = row % 2 == 0; /* the first row of pixels is the second of the picture */
        vbool4_t has_green = is_odd_row ? is_even : is_odd;
        for (long i = 0; i < columns;) {
            size_t vl = __riscv_vsetvl_e8m2(columns - i);
            const uint8_t *up = IN(uint8_t, 0) + row * w + i, *at = up + w, *down = at + w;
            uint8_t *out = OUT(uint8_t, 1) + 3 * (row * columns + i);
            ahead(down + w, (long)vl);
            vuint8m2_t l = __riscv_vle8_v_u8m2(at, vl), r = __riscv_vle8_v_u8m2(at + 2, vl);
            vuint8m2_t u = __riscv_vle8_v_u8m2(up + 1, vl), d = __riscv_vle8_v_u8m2(down + 1, vl);
            vuint8m2_t green = quarter(l, r, u, d, vl);
            vuint8m2_t beside = __riscv_vaaddu_vv_u8m2(l, r, __RISCV_VXRM_RNU, vl);
            vuint8m2_t above = __riscv_vaaddu_vv_u8m2(u, d, __RISCV_VXRM_RNU, vl);
            vuint8m2_t other = quarter(
                __riscv_vle8_v_u8m2(up, vl), __riscv_vle8_v_u8m2(up + 2, vl),
                __riscv_vle8_v_u8m2(down, vl), __riscv_vle8_v_u8m2(down + 2, vl), vl);
            vuint8m2_t centre = __riscv_vle8_v_u8m2(at + 1, vl);
            green = __riscv_vmerge_vvm_u8m2(green, centre, has_green, vl);
            /* the colour of this row's pixels, and of its neighbours' */
            vuint8m2_t own = __riscv_vmerge_vvm_u8m2(centre, beside, has_green, vl);
            vuint8m2_t far = __riscv_vmerge_vvm_u8m2(other, above, has_green, vl);
            vuint8m2x3_t colours = is_odd_row ? __riscv_vcreate_v_u8m2x3(far, green, own)
                                              : __riscv_vcreate_v_u8m2x3(own, green, far);
            __riscv_vsseg3e8_v_u8m2x3(out, colours, vl);
            i += (long)vl;
        }
    }
}

/* Two frames at a time, whose steps hide each other's latency; states change places in each step. */
static inline void goertzel_bank(const uint64_t *args) {
    long frames = sizes[0], samples = INT(3), tones = INT(4);
    for (long i = 0; i < tones;) {
        size_t vl = __riscv_vsetvl_e32m4(tones - i);
        vfloat32m4_t c = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        for (long frame = 0; frame < frames; frame += 2) {
            long second = frame + 1 < frames ? frame + 1 : frame; /* the last one twice, if odd */
            const float *x = IN(float, 0) + frame * samples, *y = IN(float, 0) + second * samples;
            vfloat32m4_t a1 = __riscv_vfmv_v_f_f32m4(0, vl), a2 = a1, b1 = a1, b2 = a1;
#define STEP(newer, older, sample)                                                                 \
    older = __riscv_vfmacc_vv_f32m4(__riscv_vfrsub_vf_f32m4(older, sample, vl), c, newer, vl)
            long n = 0;
            for (; n + 2 <= samples; n += 2) {
                STEP(a1, a2, x[n]);
                STEP(b1, b2, y[n]);
                STEP(a2, a1, x[n + 1]);
                STEP(b2, b1, y[n + 1]);
            }
            if (n < samples) {
                STEP(a1, a2, x[n]);
                STEP(b1, b2, y[n]);
            } /* the power does not depend on which of both is the newer */
#define POWER(s1, s2)                                                                              \
    __riscv_vfmacc_vv_f32m4(                                                                       \
        __riscv_vfmul_vv_f32m4(s2, __riscv_vfnmsac_vv_f32m4(s2, c, s1, vl), vl), s1, s1, vl)
            __riscv_vse32_v_f32m4(OUT(float, 2) + frame * tones + i, POWER(a1, a2), vl);
            __riscv_vse32_v_f32m4(OUT(float, 2) + second * tones + i, POWER(b1, b2), vl);
        }
        i += (long)vl;
    }
}
