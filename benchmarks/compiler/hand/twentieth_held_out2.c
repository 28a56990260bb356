/* The kernels of twentieth_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the emulated
 * X60, by somebody who knows the instructions and not what the compiler makes. One program does all
 * the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Malvar's green: numbers of up to 12 bits, whose sums fit into 16; less than zero is zero at once.
 * Rows lie in a buffer, mirrored at either end. Rows of up to 4,096. */
static uint16_t line[4096 + 4];

#define READ16(from) __riscv_vle16_v_u16m4(from, vl)
#define ADD16(a, b) __riscv_vadd_vv_u16m4(a, b, vl)
static inline void bayer_malvar_green(const uint64_t *args) {
    const uint16_t *raw = IN(uint16_t, 0);
    uint16_t *out = OUT(uint16_t, 1);
    long height = INT(2), width = INT(3);
    uint16_t white = (uint16_t)INT(4);
    size_t all = __riscv_vsetvlmax_e16m4();
    vuint16m4_t lane = __riscv_vand_vx_u16m4(__riscv_vid_v_u16m4(all), 1, all);
    vbool4_t odd = __riscv_vmsne_vx_u16m4_b4(lane, 0, all);
    vbool4_t even = __riscv_vmnot_m_b4(odd, all);
    for (long row = 0; row < height; row++, out += width) {
        const uint16_t *here = raw + row * width;
        const uint16_t *up = row > 0 ? here - width : here + width;
        const uint16_t *down = row + 1 < height ? here + width : here - width;
        const uint16_t *up2 = row > 1 ? here - 2 * width : raw + (2 - row) * width;
        const uint16_t *down2 =
            row + 2 < height ? here + 2 * width : raw + (2 * height - 4 - row) * width;
        vbool4_t is_green = row % 2 ? even : odd;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e16m4(width - i);
            __riscv_vse16_v_u16m4(line + 2 + i, READ16(here + i), vl);
            ahead(here + 3 * width + i, VLEN / 2);
            i += (long)vl;
        }
        line[0] = here[2], line[1] = here[1];
        line[width + 2] = here[width - 2], line[width + 3] = here[width - 3];
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e16m4(width - i);
            vuint16m4_t near = ADD16(READ16(up + i), READ16(down + i));
            vuint16m4_t far = ADD16(READ16(up2 + i), READ16(down2 + i));
            vuint16m4_t x = READ16(here + i);
            near = ADD16(near, READ16(line + i + 1));
            far = ADD16(far, READ16(line + i));
            near = ADD16(near, READ16(line + i + 3));
            far = ADD16(far, READ16(line + i + 4));
            near = ADD16(near, ADD16(x, x));
            near = ADD16(near, near);
            near = __riscv_vssubu_vv_u16m4(near, far, vl);
            near = __riscv_vssrl_vx_u16m4(near, 3, __RISCV_VXRM_RNU, vl);
            near = __riscv_vminu_vx_u16m4(near, white, vl);
            near = __riscv_vmerge_vvm_u16m4(near, x, is_green, vl);
            __riscv_vse16_v_u16m4(out + i, near, vl);
            i += (long)vl;
        }
    }
}

/* The ocean: a level has one pressure, so its coefficients are added up once. With powers of the
 * temperature, each term is one instruction. While sums of some points grow, the last ones are
 * divided. */
#define HOLD(x) __asm__ volatile("" : "+vr"(x)); /* in the order that is written here */
#define HOLD2(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b));
#define HOLD3(a, b, c) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c));
#define HOLD4(a, b, c, d) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d));
#define SET(x, value) x = value;
#define MUL(x, a, b) SET(x, __riscv_vfmul_vv_f32m2(a, b, vl))
#define FIRST(x, c, a) SET(x, __riscv_vfmul_vf_f32m2(a, c, vl))
#define PLUS(x, c, a) SET(x, __riscv_vfmacc_vf_f32m2(x, c, a, vl))
#define CONSTANT(x, c) SET(x, __riscv_vfadd_vf_f32m2(x, c, vl))
#define ONE_LESS(x) SET(x, __riscv_vfrsub_vf_f32m2(x, 1, vl))
#define PRODUCT(x, a, b) SET(x, __riscv_vfmacc_vv_f32m2(x, a, b, vl))
#define DIVIDE(...) if (divide) { __VA_ARGS__ }

static const float fixed[] = {6.793952e-2f,  -9.095290e-3f, 1.001685e-4f, -1.120083e-6f,
                              6.536332e-9f,  -0.157406f,    -4.0899e-3f,  7.6438e-5f,
                              -8.2467e-7f,   5.3875e-9f,    4.8314e-4f,   8.24493e-1f,
                              1.0227e-4f,    -1.6546e-6f,   -5.72466e-3f, 1.6483e-2f,
                              -5.3009e-4f,   -5.155288e-5f, -6.1670e-5f};
typedef struct {
    float p, k0, k1, k2, k3, s0, s1, s2, r0;
} level_t;

/* Sums of vl points, as `fresh` and `k`; those that came in are divided, and stored at `out`. */
static inline __attribute__((always_inline)) void ocean(
    const float *ts, const float *ss, const float *c, const level_t *l, vfloat32m2_t *fresh_,
    vfloat32m2_t *k_, float *out, int divide, size_t vl) {
    vfloat32m2_t last = *fresh_, z = *k_, w, e; /* of those that are divided */
    vfloat32m2_t x, y, q, off, t2, t3, t4, t5, fresh, a, b, k, ks, kr;
    vfloat32m2_t s = __riscv_vle32_v_f32m2(ss, vl);
    vfloat32m2_t t = __riscv_vle32_v_f32m2(ts, vl);
    HOLD2(s, t)
    ahead(ts + 64, VLEN / 4), ahead(ss + 64, VLEN / 4);
    DIVIDE(SET(w, __riscv_vfrec7_v_f32m2(z, vl)))
    SET(x, __riscv_vfmax_vf_f32m2(s, 1e-30f, vl))
    DIVIDE(MUL(e, z, w))
    SET(y, __riscv_vfrsqrt7_v_f32m2(x, vl))
    MUL(t2, t, t)
    HOLD3(x, y, t2)
    DIVIDE(HOLD2(w, e))
    DIVIDE(ONE_LESS(e))
    MUL(x, x, y)
    FIRST(fresh, c[0], t)
    DIVIDE(FIRST(z, l->p, last))
    HOLD2(x, fresh)
    DIVIDE(HOLD2(z, e))
    MUL(off, x, y)
    DIVIDE(PRODUCT(e, e, e))
    MUL(x, x, s)
    HOLD2(x, off)
    DIVIDE(HOLD(e))
    ONE_LESS(off)
    DIVIDE(CONSTANT(z, 1000 * l->p))
    MUL(t3, t2, t)
    HOLD2(off, t3)
    DIVIDE(HOLD(z))
    DIVIDE(PRODUCT(w, w, e))
    FIRST(q, 0.375f, off)
    PLUS(fresh, c[1], t2)
    MUL(t4, t2, t2)
    HOLD3(q, fresh, t4)
    DIVIDE(HOLD(w))
    DIVIDE(PRODUCT(last, z, w))
    CONSTANT(q, 0.5f)
    FIRST(a, c[6], t)
    PLUS(fresh, c[2], t3)
    MUL(t5, t2, t3)
    HOLD4(q, a, fresh, t5)
    MUL(q, q, off)
    DIVIDE(__riscv_vse32_v_f32m2(out, last, vl);)
    PLUS(a, c[7], t2)
    PLUS(fresh, c[3], t4)
    HOLD3(q, a, fresh)
    FIRST(b, c[12], t)
    PRODUCT(x, x, q)
    PLUS(a, c[8], t3)
    HOLD3(b, x, a)
    PLUS(fresh, c[4], t5)
    PLUS(b, c[13], t2)
    FIRST(k, l->k1, t)
    HOLD4(fresh, b, k, a)
    PLUS(a, c[9], t4)
    CONSTANT(fresh, c[5])
    CONSTANT(b, c[14])
    HOLD3(a, fresh, b)
    PLUS(k, l->k2, t2)
    PLUS(a, c[10], s)
    FIRST(ks, l->s1, t)
    HOLD3(k, a, ks)
    PRODUCT(fresh, x, b)
    PLUS(k, l->k3, t3)
    CONSTANT(a, c[11])
    HOLD3(fresh, k, a)
    PLUS(ks, l->s2, t2)
    FIRST(kr, c[15], t)
    PLUS(k, c[17], t4)
    HOLD3(ks, kr, k)
    PLUS(ks, c[18], t3)
    PLUS(kr, c[16], t2)
    PRODUCT(fresh, s, a)
    HOLD3(ks, kr, fresh)
    CONSTANT(k, l->k0)
    CONSTANT(ks, l->s0)
    CONSTANT(kr, l->r0)
    HOLD3(k, ks, kr)
    PRODUCT(k, s, ks)
    PRODUCT(k, x, kr)
    *fresh_ = fresh, *k_ = k;
}

/* fresh + p (fresh + 1000) / k, for the points that came last. */
static inline void divided(vfloat32m2_t fresh, vfloat32m2_t k, float p, float *out, size_t vl) {
    vfloat32m2_t y = __riscv_vfrec7_v_f32m2(k, vl);
    vfloat32m2_t off = __riscv_vfrsub_vf_f32m2(__riscv_vfmul_vv_f32m2(k, y, vl), 1, vl);
    vfloat32m2_t q = __riscv_vfadd_vf_f32m2(__riscv_vfmul_vf_f32m2(fresh, p, vl), 1000 * p, vl);
    off = __riscv_vfmacc_vv_f32m2(off, off, off, vl);
    y = __riscv_vfmacc_vv_f32m2(y, y, off, vl);
    __riscv_vse32_v_f32m2(out, __riscv_vfmacc_vv_f32m2(fresh, q, y, vl), vl);
}

static inline void ocean_density_unesco(const uint64_t *args) {
    const float *temperature = IN(float, 0), *salinity = IN(float, 1);
    float *out = OUT(float, 3);
    long levels = sizes[0], n = INT(4), lanes = VLEN / 16;
    float c[sizeof fixed / sizeof *fixed];
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) {
        c[k] = fixed[k];
        __asm__("" : "+f"(c[k])); /* in a register, not made of bits each time */
    }
    for (long level = 0; level < levels; level++) {
        float p = IN(float, 2)[level], p2 = p * p;
        /* The modulus less p. */
        level_t l = {.p = p,
                     .k0 = 19652.21f - p + 3.239908f * p + 8.50935e-5f * p2,
                     .k1 = 148.4206f + 1.43713e-3f * p - 6.12293e-6f * p2,
                     .k2 = -2.327105f + 1.16092e-4f * p + 5.2787e-8f * p2,
                     .k3 = 1.360477e-2f - 5.77905e-7f * p,
                     .s0 = 54.6746f + 2.2838e-3f * p - 9.9348e-7f * p2,
                     .s1 = -0.603459f - 1.0981e-5f * p + 2.0816e-8f * p2,
                     .s2 = 1.09987e-2f - 1.6078e-6f * p + 9.1697e-10f * p2,
                     .r0 = 7.944e-2f + 1.91075e-4f * p};
        size_t vl = __riscv_vsetvl_e32m2(n);
        vfloat32m2_t fresh = __riscv_vfmv_v_f_f32m2(0, vl), k = fresh;
        ocean(temperature, salinity, c, &l, &fresh, &k, out, 0, vl);
        long i = (long)vl;
        for (; i + lanes <= n; i += lanes)
            ocean(temperature + i, salinity + i, c, &l, &fresh, &k, out + i - lanes, 1, VLEN / 16);
        divided(fresh, k, p, out + i - (long)vl, vl);
        if (i < n) {
            vl = __riscv_vsetvl_e32m2(n - i);
            ocean(temperature + i, salinity + i, c, &l, &fresh, &k, out, 0, vl);
            divided(fresh, k, p, out + i, vl);
        }
        temperature += n, salinity += n, out += n;
    }
}

/* Homogeneity: differences from the row below stay in a buffer for the next row. Loads of one
 * difference are on their way while another one is computed. Differences of Lab fit into 16 bits.
 * Rows of up to 4,096; buffers do not begin in the same set of the cache. */
#define WIDEST (4096 + 160)
static int16_t below[2][WIDEST]; /* of candidates */
static int32_t below_colour[2][WIDEST];

/* How far n colours from lab on are from those that are `step` further. */
static inline void differences(const int16_t *lab, long plane, long step, long n,
                               int16_t *lightness, int32_t *colour) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e16m2(n - i);
#define LESS(k)                                                                                    \
    vint16m2_t x##k = __riscv_vsub_vv_i16m2(                                                       \
        __riscv_vle16_v_i16m2(lab + (k) * plane + i, vl),                                          \
        __riscv_vle16_v_i16m2(lab + (k) * plane + step + i, vl), vl);
        LESS(0) LESS(1) LESS(2)
        vint32m4_t square = __riscv_vwmul_vv_i32m4(x1, x1, vl);
        vint16m2_t negative = __riscv_vneg_v_i16m2(x0, vl);
        square = __riscv_vwmacc_vv_i32m4(square, x2, x2, vl);
        __riscv_vse16_v_i16m2(lightness + i, __riscv_vmax_vv_i16m2(x0, negative, vl), vl);
        __riscv_vse32_v_i32m4(colour + i, square, vl);
        i += (long)vl;
    }
}

/* The three planes at some pixels of a candidate. */
#define LAB(x, candidate, off)                                                                     \
    vint16m1_t x##0 = __riscv_vle16_v_i16m1(lab + 3 * (candidate) * plane + i + (off), vl);        \
    vint16m1_t x##1 = __riscv_vle16_v_i16m1(lab + (3 * (candidate) + 1) * plane + i + (off), vl);  \
    vint16m1_t x##2 = __riscv_vle16_v_i16m1(lab + (3 * (candidate) + 2) * plane + i + (off), vl);
#define LOADED(x) __asm__ volatile("" : "+vr"(x##0), "+vr"(x##1), "+vr"(x##2) : : "memory");
/* How far x is from y, as y and yc. */
#define APART(x, y)                                                                                \
    y##1 = __riscv_vsub_vv_i16m1(x##1, y##1, vl);                                                  \
    y##0 = __riscv_vsub_vv_i16m1(x##0, y##0, vl);                                                  \
    y##2 = __riscv_vsub_vv_i16m1(x##2, y##2, vl);                                                  \
    vint32m2_t y##c = __riscv_vwmul_vv_i32m2(y##1, y##1, vl);                                      \
    vint16m1_t y = __riscv_vneg_v_i16m1(y##0, vl);                                                 \
    y##c = __riscv_vwmacc_vv_i32m2(y##c, y##2, y##2, vl);                                          \
    y = __riscv_vmax_vv_i16m1(y, y##0, vl);                                                        \
    DONE(y)
#define DONE(y) __asm__ volatile("" : "+vr"(y), "+vr"(y##c) : : "memory");
#define FROM_ABOVE(y, candidate)                                                                   \
    vint16m1_t y = __riscv_vle16_v_i16m1(below[candidate] + i, vl);                                \
    vint32m2_t y##c = __riscv_vle32_v_i32m2(below_colour[candidate] + i, vl);                      \
    DONE(y)
#define TO_NEXT(y, candidate)                                                                      \
    __riscv_vse16_v_i16m1(below[candidate] + i, y, vl);                                            \
    __riscv_vse32_v_i32m2(below_colour[candidate] + i, y##c, vl);
#define LARGER16(a, b) __riscv_vmax_vv_i16m1(a, b, vl)
#define LARGER32(a, b) __riscv_vmax_vv_i32m2(a, b, vl)
#define COUNT(sum, y)                                                                              \
    {                                                                                              \
        vbool16_t one = __riscv_vmsle_vv_i16m1_b16(y, most, vl);                                   \
        vbool16_t two = __riscv_vmsle_vv_i32m2_b16(y##c, most_colour, vl);                         \
        sum = __riscv_vadd_vx_u8mf2_mu(__riscv_vmand_mm_b16(one, two, vl), sum, sum, 1, vl);       \
        __asm__ volatile("" : "+vr"(sum));                                                         \
    }

static inline __attribute__((always_inline)) void count_alike(const int16_t *lab, uint8_t *out,
                                                              long i, long width, long plane,
                                                              size_t vl) {
    LAB(x, 0, 0)
    LAB(left, 0, -1)
    LOADED(x) LOADED(left)
    LAB(right, 0, 1)
    LOADED(right)
    APART(x, left)
    LAB(z, 1, 0)
    LOADED(z)
    APART(x, right)
    LAB(down, 1, width)
    LOADED(down)
    FROM_ABOVE(up, 1)
    APART(z, down)
    LAB(lower, 0, width)
    LOADED(lower)
    vint16m1_t most = __riscv_vmin_vv_i16m1(LARGER16(left, right), LARGER16(up, down), vl);
    vint32m2_t most_colour =
        __riscv_vmin_vv_i32m2(LARGER32(leftc, rightc), LARGER32(upc, downc), vl);
    vuint8mf2_t first = __riscv_vmv_v_x_u8mf2(0, vl), second = first;
    TO_NEXT(down, 1)
    COUNT(first, left) COUNT(second, up) COUNT(first, right) COUNT(second, down)
    APART(x, lower)
    FROM_ABOVE(upper, 0)
    LAB(before, 1, -1)
    LOADED(before)
    TO_NEXT(lower, 0)
    COUNT(first, lower) COUNT(first, upper)
    LAB(after, 1, 1)
    LOADED(after)
    APART(z, before)
    COUNT(second, before)
    __riscv_vse8_v_u8mf2(out + i, first, vl);
    APART(z, after)
    COUNT(second, after)
    __riscv_vse8_v_u8mf2(out + plane + i, second, vl);
}

static inline void demosaic_ahd_homogeneity(const uint64_t *args) {
    const int16_t *lab = IN(int16_t, 0);
    uint8_t *out = OUT(uint8_t, 1);
    long height = INT(2), width = INT(3), plane = height * width;
    for (int candidate = 0; candidate < 2; candidate++) {
        memset(out + candidate * plane, 0, (size_t)width);
        memset(out + candidate * plane + plane - width, 0, (size_t)width);
        differences(lab + 3 * candidate * plane, plane, width, width, below[candidate],
                    below_colour[candidate]);
    }
    for (long row = 1; row < height - 1; row++) {
        lab += width, out += width;
        out[0] = out[width - 1] = out[plane] = out[plane + width - 1] = 0;
        long i = 1, lanes = VLEN / 16;
        for (; i + lanes < width; i += lanes)
            count_alike(lab, out, i, width, plane, VLEN / 16);
        if (i < width - 1)
            count_alike(lab, out, i, width, plane, (size_t)(width - 1 - i));
    }
}

/* Gold codes: the sums of some lags stay in registers, of 16 bits for as many chips as cannot
 * overflow them, for up to three satellites at a time. */
#define CHIPS 255
static int32_t long_sums[6][VLEN / 4]; /* by satellite and part */

#define TWO_SUMS(k, i, q) vint16m4_t real##k = __riscv_vmv_v_x_i16m4(0, vl), other##k = real##k;
#define CHIP(k, i, q)                                                                              \
    real##k = __riscv_vwmacc_vx_i16m4(real##k, code[(k) * n + chip], i, vl);                       \
    other##k = __riscv_vwmacc_vx_i16m4(other##k, code[(k) * n + chip], q, vl);
#define SIGNAL(i, q, chip)                                                                         \
    i = __riscv_vle8_v_i8m2(real + (chip), vl), q = __riscv_vle8_v_i8m2(imaginary + (chip), vl);
/* Loads of the next chip are on their way before this one's products. */
#define STEP(ALL, i, q, i_next, q_next)                                                            \
    SIGNAL(i_next, q_next, chip + 1)                                                               \
    ALL(CHIP, i, q)                                                                                \
    chip++;
#define ADD_TO(sums, part)                                                                         \
    {                                                                                              \
        vint32m8_t sum = __riscv_vle32_v_i32m8(sums, vl);                                          \
        __riscv_vse32_v_i32m8(sums, __riscv_vwadd_wv_i32m8(sum, part, vl), vl);                    \
    }
#define KEEP_SUMS(k, i, q)                                                                         \
    ADD_TO(long_sums[2 * (k)], real##k) ADD_TO(long_sums[2 * (k) + 1], other##k)

#define SATELLITES(name, ALL)                                                                      \
    static inline __attribute__((always_inline)) void name(                                        \
        const int8_t *real, const int8_t *imaginary, const int8_t *code, long n, size_t vl) {      \
        for (long start = 0; start < n; start += CHIPS) {                                          \
            long end = start + CHIPS < n ? start + CHIPS : n;                                      \
            ALL(TWO_SUMS, i, q)                                                                    \
            vint8m2_t x, y, next_x, next_y;                                                        \
            long chip = start;                                                                     \
            SIGNAL(x, y, chip)                                                                     \
            while (chip + 2 < end) {                                                               \
                STEP(ALL, x, y, next_x, next_y)                                                    \
                STEP(ALL, next_x, next_y, x, y)                                                    \
            }                                                                                      \
            for (; chip < end; chip++) {                                                           \
                SIGNAL(x, y, chip)                                                                 \
                ALL(CHIP, x, y)                                                                    \
            }                                                                                      \
            ALL(KEEP_SUMS, i, q)                                                                   \
        }                                                                                          \
    }
#define THREE(EACH, i, q) EACH(0, i, q) EACH(1, i, q) EACH(2, i, q)
#define ONE(EACH, i, q) EACH(0, i, q)
SATELLITES(three_satellites, THREE)
SATELLITES(one_satellite, ONE)

static inline void gold_code_correlator(const uint64_t *args) {
    const int8_t *real = IN(int8_t, 0), *imaginary = IN(int8_t, 1), *codes = IN(int8_t, 2);
    float *out = OUT(float, 3);
    long satellites = sizes[0], n = INT(4), most = INT(5);
    for (long satellite = 0; satellite < satellites;) {
        long count = satellite + 3 <= satellites ? 3 : 1;
        for (long lag = 0; lag < most;) {
            size_t vl = __riscv_vsetvl_e8m2(most - lag);
            memset(long_sums, 0, sizeof long_sums);
            if (count == 3)
                three_satellites(real + lag, imaginary + lag, codes + satellite * n, n, vl);
            else
                one_satellite(real + lag, imaginary + lag, codes + satellite * n, n, vl);
            for (long k = 0; k < count; k++) {
                vfloat32m8_t i = __riscv_vfcvt_f_x_v_f32m8(
                    __riscv_vle32_v_i32m8(long_sums[2 * k], vl), vl);
                vfloat32m8_t q = __riscv_vfcvt_f_x_v_f32m8(
                    __riscv_vle32_v_i32m8(long_sums[2 * k + 1], vl), vl);
                i = __riscv_vfmul_vv_f32m8(i, i, vl);
                i = __riscv_vfmacc_vv_f32m8(i, q, q, vl);
                __riscv_vse32_v_f32m8(out + (satellite + k) * most + lag, i, vl);
            }
            lag += (long)vl;
        }
        satellite += count;
    }
}
