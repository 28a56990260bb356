/* The kernels of seventeenth_held_out2.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Bits of a mask moved up or down by a place, with another's bit at the end. */
static inline vuint64m1_t bits_up(vuint64m1_t bits, int first, size_t all) {
    vuint64m1_t before = __riscv_vslide1up_vx_u64m1(bits, (uint64_t)first << 63, all);
    before = __riscv_vsrl_vx_u64m1(before, 63, all);
    return __riscv_vor_vv_u64m1(__riscv_vadd_vv_u64m1(bits, bits, all), before, all);
}

static inline vuint64m1_t bits_down(vuint64m1_t bits, int last, size_t all) {
    vuint64m1_t after = __riscv_vslide1down_vx_u64m1(bits, (uint64_t)last, all);
    after = __riscv_vsll_vx_u64m1(after, 63, all);
    return __riscv_vor_vv_u64m1(__riscv_vsrl_vx_u64m1(bits, 1, all), after, all);
}

static inline void title_case_ascii(const uint64_t *args) {
    const uint8_t *text = IN(uint8_t, 0);
    uint8_t *out = OUT(uint8_t, 1);
    long n = INT(2);
    size_t all = __riscv_vsetvlmax_e64m1();
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e8m8(n - i);
        ahead(text + i + 512, VLEN);
        uint8_t before = i ? (uint8_t)((text[i - 1] | 32) - 'a') : 255;
        vuint8m8_t byte = __riscv_vle8_v_u8m8(text + i, vl);
        vuint8m8_t lower = __riscv_vor_vx_u8m8(byte, 32, vl);
        vuint8m8_t place = __riscv_vsub_vx_u8m8(lower, 'a', vl);
        vbool1_t letter = __riscv_vmsltu_vx_u8m8_b1(place, 26, vl);
        vuint64m1_t bits = __riscv_vreinterpret_v_b1_u64m1(letter);
        vbool1_t within = __riscv_vreinterpret_v_u64m1_b1(bits_up(bits, before < 26, all));
        vbool1_t first = __riscv_vmandn_mm_b1(letter, within, vl);
        byte = __riscv_vmerge_vvm_u8m8(byte, lower, letter, vl);
        byte = __riscv_vxor_vx_u8m8_mu(first, byte, byte, 32, vl);
        __riscv_vse8_v_u8m8(out + i, byte, vl);
        i += (long)vl;
    }
}

#define AND(a, b) __riscv_vand_vv_u64m1(a, b, all)
#define OR(a, b) __riscv_vor_vv_u64m1(a, b, all)
/* What only the first has. */
#define BUT(a, b)                                                                                  \
    __riscv_vreinterpret_v_b1_u64m1(__riscv_vmandn_mm_b1(__riscv_vreinterpret_v_u64m1_b1(a),       \
                                                         __riscv_vreinterpret_v_u64m1_b1(b), most))

/* Pixels of a row from a column on as bits, with their neighbours'; others count as not set. */
#define ROW(name, row)                                                                             \
    {                                                                                              \
        name = name##_left = name##_right = __riscv_vmv_v_x_u64m1(0, all);                         \
        if ((row) < height) {                                                                      \
            const uint8_t *line = image + (row) * width + start;                                   \
            ahead(line + width, vl);                                                               \
            vuint8m8_t pixels = __riscv_vle8_v_u8m8_tu(none, line, vl);                            \
            name = __riscv_vreinterpret_v_b1_u64m1(__riscv_vmsne_vx_u8m8_b1(pixels, 0, most));     \
            name##_left = bits_up(name, start && line[-1], all);                                   \
            name##_right = bits_down(name, start + vl < width && line[vl], all);                   \
        }                                                                                          \
    }

static inline void hit_or_miss_corners(const uint64_t *args) {
    const uint8_t *image = IN(uint8_t, 0);
    uint8_t *out = OUT(uint8_t, 1);
    long height = INT(2), width = INT(3);
    size_t all = __riscv_vsetvlmax_e64m1(), most = __riscv_vsetvlmax_e8m8();
    vuint8m8_t none = __riscv_vmv_v_x_u8m8(0, most);
    for (long start = 0, vl; start < width; start += vl) {
        vl = (long)__riscv_vsetvl_e8m8(width - start);
        vuint64m1_t up, up_left, up_right, here, left, right, here_left, here_right;
        vuint64m1_t down, down_left, down_right;
        up = up_left = up_right = __riscv_vmv_v_x_u64m1(0, all);
        ROW(here, 0)
        for (long row = 0; row < height; row++) {
            ROW(down, row + 1)
            left = BUT(here_left, here_right), right = BUT(here_right, here_left);
            vuint64m1_t rise = BUT(up, down), fall = BUT(down, up);
            rise = AND(rise, OR(BUT(right, down_left), BUT(left, down_right)));
            fall = AND(fall, OR(BUT(right, up_left), BUT(left, up_right)));
            vbool1_t corner = __riscv_vreinterpret_v_u64m1_b1(AND(here, OR(rise, fall)));
            vuint8m8_t pixels = __riscv_vmerge_vxm_u8m8(none, 255, corner, most);
            __riscv_vse8_v_u8m8(out + row * width + start, pixels, (size_t)vl);
            up = here, up_left = here_left, up_right = here_right;
            here = down, here_left = down_left, here_right = down_right;
        }
    }
}

/* Sines and cosines of three angles x from -90 to 90 degrees, by polynomials of x^2 whose powers
 * both share. */
#define THREE(EACH) EACH(0) EACH(1) EACH(2)
#define ANGLE(k) vfloat32m2_t z##k = __riscv_vfmul_vv_f32m2(x##k, x##k, vl);
#define SINE1(k) vfloat32m2_t s##k = __riscv_vfmul_vf_f32m2(z##k, -8.860951652422955e-07f, vl);
#define COSINE1(k) vfloat32m2_t c##k = __riscv_vfmul_vf_f32m2(z##k, -1.523087086e-04f, vl);
#define SECOND(k) vfloat32m2_t w##k = __riscv_vfmul_vv_f32m2(z##k, z##k, vl);
#define MORE_SINE(k, a) s##k = __riscv_vfmacc_vf_f32m2(s##k, a, w##k, vl);
#define MORE_COSINE(k, a) c##k = __riscv_vfmacc_vf_f32m2(c##k, a, w##k, vl);
#define POWER(k) w##k = __riscv_vfmul_vv_f32m2(w##k, z##k, vl);
#define SINE2(k) MORE_SINE(k, 1.3495314241107614e-11f)
#define SINE3(k) MORE_SINE(k, -9.768467682958813e-17f)
#define SINE4(k) MORE_SINE(k, 3.892942234328226e-22f)
#define COSINE2(k) MORE_COSINE(k, 3.866321445e-09f)
#define COSINE3(k) MORE_COSINE(k, -3.925694781e-14f)
#define COSINE4(k) MORE_COSINE(k, 2.132075914e-19f)
#define COSINE5(k) MORE_COSINE(k, -6.839636799e-25f)
#define SINE0(k) s##k = __riscv_vfadd_vf_f32m2(s##k, 1.745329238474369e-02f, vl);
#define COSINE0(k) c##k = __riscv_vfadd_vf_f32m2(c##k, 1, vl);
#define SINE(k) s##k = __riscv_vfmul_vv_f32m2(s##k, x##k, vl);
#define SINES_AND_COSINES(ALL)                                                                     \
    ALL(ANGLE) ALL(SINE1) ALL(COSINE1) ALL(SECOND) ALL(SINE2) ALL(COSINE2) ALL(POWER) ALL(SINE3)   \
    ALL(COSINE3) ALL(POWER) ALL(SINE4) ALL(COSINE4) ALL(POWER) ALL(SINE0) ALL(COSINE5) ALL(SINE)   \
    ALL(COSINE0)

/* The angle of numbers from 0 to 1, in degrees, by its tangent. */
static inline vfloat32m2_t degrees_of(vfloat32m2_t a, size_t vl) {
    vfloat32m2_t square = __riscv_vfmul_vv_f32m2(a, a, vl);
    vfloat32m2_t fourth = __riscv_vfmul_vv_f32m2(square, square, vl);
#define PAIR_OF(name, low, high)                                                                   \
    vfloat32m2_t name = __riscv_vfmul_vf_f32m2(square, high, vl);                                  \
    name = __riscv_vfadd_vf_f32m2(name, low, vl);
    PAIR_OF(p, 5.729574144e+01f, -1.909660354e+01f)
    PAIR_OF(q, 1.142854020e+01f, -7.969057330e+00f)
    PAIR_OF(r, 5.524571086e+00f, -3.203538888e+00f)
    PAIR_OF(s, 1.252654173e+00f, -2.323092933e-01f)
    p = __riscv_vfmacc_vv_f32m2(p, q, fourth, vl);
    r = __riscv_vfmacc_vv_f32m2(r, s, fourth, vl);
    fourth = __riscv_vfmul_vv_f32m2(fourth, fourth, vl);
    p = __riscv_vfmacc_vv_f32m2(p, r, fourth, vl);
    return __riscv_vfmul_vv_f32m2(p, a, vl);
}

/* a / b, by a reciprocal of 7 bits and two steps of Newton. */
static inline vfloat32m2_t ratio(vfloat32m2_t a, vfloat32m2_t b, size_t vl) {
    vfloat32m2_t inverse = __riscv_vfrec7_v_f32m2(b, vl), one = __riscv_vfmv_v_f_f32m2(1, vl);
    vfloat32m2_t off = __riscv_vfnmsac_vv_f32m2(one, b, inverse, vl);
    inverse = __riscv_vfmacc_vv_f32m2(inverse, inverse, off, vl);
    off = __riscv_vfnmsac_vv_f32m2(one, b, inverse, vl);
    inverse = __riscv_vfmacc_vv_f32m2(inverse, inverse, off, vl);
    return __riscv_vfmul_vv_f32m2(a, inverse, vl);
}

static inline void great_circle_bearings(const uint64_t *args) {
    const float *lat1s = IN(float, 0), *lon1s = IN(float, 1);
    const float *lat2s = IN(float, 2), *lon2s = IN(float, 3);
    float *out = OUT(float, 4);
    long n = INT(5);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        ahead(lat1s + i + 64, VLEN / 4), ahead(lon1s + i + 64, VLEN / 4);
        ahead(lat2s + i + 64, VLEN / 4), ahead(lon2s + i + 64, VLEN / 4);
        vfloat32m2_t x2 = __riscv_vle32_v_f32m2(lon2s + i, vl);
        x2 = __riscv_vfsub_vv_f32m2(x2, __riscv_vle32_v_f32m2(lon1s + i, vl), vl);
        /* The nearest half turn goes, and both signs turn if it was odd. */
        vfloat32m2_t half = __riscv_vfmul_vf_f32m2(x2, 1 / 180.0f, vl);
        half = __riscv_vfadd_vf_f32m2(half, 0x1.8p23f, vl);
        vint32m2_t sign = __riscv_vreinterpret_v_f32m2_i32m2(half);
        sign = __riscv_vsll_vx_i32m2(sign, 31, vl);
        half = __riscv_vfsub_vf_f32m2(half, 0x1.8p23f, vl);
        x2 = __riscv_vfnmsac_vf_f32m2(x2, 180, half, vl);
        vfloat32m2_t x0 = __riscv_vle32_v_f32m2(lat1s + i, vl);
        vfloat32m2_t x1 = __riscv_vle32_v_f32m2(lat2s + i, vl);
        SINES_AND_COSINES(THREE)
        /* The second's cosine takes the sign that both products have. */
        vint32m2_t signed1 = __riscv_vreinterpret_v_f32m2_i32m2(c1);
        signed1 = __riscv_vxor_vv_i32m2(signed1, sign, vl);
        c1 = __riscv_vreinterpret_v_i32m2_f32m2(signed1);
        vfloat32m2_t y = __riscv_vfmul_vv_f32m2(s2, c1, vl);
        vfloat32m2_t x = __riscv_vfmul_vv_f32m2(c0, s1, vl);
        c1 = __riscv_vfmul_vv_f32m2(c1, c2, vl);
        x = __riscv_vfnmsac_vv_f32m2(x, s0, c1, vl);
        vfloat32m2_t wide = __riscv_vfabs_v_f32m2(x, vl), high = __riscv_vfabs_v_f32m2(y, vl);
        vfloat32m2_t top = __riscv_vfmin_vv_f32m2(wide, high, vl);
        vfloat32m2_t bottom = __riscv_vfmax_vv_f32m2(wide, high, vl);
        bottom = __riscv_vfmax_vf_f32m2(bottom, 0x1p-100f, vl);
        vfloat32m2_t bearing = degrees_of(ratio(top, bottom, vl), vl);
        vbool16_t steep = __riscv_vmflt_vv_f32m2_b16(wide, high, vl);
        bearing = __riscv_vfrsub_vf_f32m2_mu(steep, bearing, bearing, 90, vl);
        vbool16_t back = __riscv_vmflt_vf_f32m2_b16(x, 0, vl);
        bearing = __riscv_vfrsub_vf_f32m2_mu(back, bearing, bearing, 180, vl);
        vbool16_t west = __riscv_vmflt_vf_f32m2_b16(y, 0, vl);
        bearing = __riscv_vfrsub_vf_f32m2_mu(west, bearing, bearing, 360, vl);
        __riscv_vse32_v_f32m2(out + i, bearing, vl);
        i += (long)vl;
    }
}

/* The gray of rows of up to 4,094 pixels, between repeats of their ends. A row is where its number
 * modulo 4 says, so that it stays while the next two come. */
static float grays[16][4][4096];

static inline void gray_row(float *gray, const float *reds, long width, long plane) {
    for (long i = 0; i < width;) {
        size_t vl = __riscv_vsetvl_e32m8(width - i);
        ahead(reds + i + width, VLEN), ahead(reds + i + width + plane, VLEN);
        ahead(reds + i + width + 2 * plane, VLEN);
        vfloat32m8_t x = __riscv_vle32_v_f32m8(reds + i, vl);
        x = __riscv_vfmul_vf_f32m8(x, 0.299f, vl);
        vfloat32m8_t green = __riscv_vle32_v_f32m8(reds + i + plane, vl);
        x = __riscv_vfmacc_vf_f32m8(x, 0.587f, green, vl);
        vfloat32m8_t blue = __riscv_vle32_v_f32m8(reds + i + 2 * plane, vl);
        x = __riscv_vfmacc_vf_f32m8(x, 0.114f, blue, vl);
        __riscv_vse32_v_f32m8(gray + 1 + i, x, vl);
        i += (long)vl;
    }
    gray[0] = gray[1], gray[width + 1] = gray[width];
}

static inline void exposure_fusion_weights(const uint64_t *args) {
    const float *image = IN(float, 0);
    float *out = OUT(float, 1), sigma = as_float(args[5]);
    long count = INT(2), height = INT(3), width = INT(4), plane = height * width;
    float slope = -0.72134752f / (sigma * sigma); /* of a power of two */
    for (long k = 0; k < count; k++)
        gray_row(grays[k][0], image + 3 * k * plane, width, plane);
    for (long row = 0; row < height; row++, image += width, out += width) {
        for (long k = 0; row + 1 < height && k < count; k++)
            gray_row(grays[k][(row + 1) % 4], image + 3 * k * plane + width, width, plane);
        long above = (row ? row - 1 : 0) % 4, below = (row + 1 < height ? row + 1 : row) % 4;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, vl);
            for (long k = 0; k < count; k++) {
                const float *reds = image + 3 * k * plane + i, *gray = grays[k][row % 4] + i;
                vfloat32m4_t contrast = __riscv_vle32_v_f32m4(grays[k][above] + 1 + i, vl);
                vfloat32m4_t more = __riscv_vle32_v_f32m4(grays[k][below] + 1 + i, vl);
                vfloat32m4_t left = __riscv_vle32_v_f32m4(gray, vl);
                vfloat32m4_t right = __riscv_vle32_v_f32m4(gray + 2, vl);
                contrast = __riscv_vfadd_vv_f32m4(contrast, more, vl);
                left = __riscv_vfadd_vv_f32m4(left, right, vl);
                vfloat32m4_t here = __riscv_vle32_v_f32m4(gray + 1, vl);
                contrast = __riscv_vfadd_vv_f32m4(contrast, left, vl);
                contrast = __riscv_vfnmsac_vf_f32m4(contrast, 4, here, vl);
                vfloat32m4_t red = __riscv_vle32_v_f32m4(reds, vl);
                vfloat32m4_t green = __riscv_vle32_v_f32m4(reds + plane, vl);
                vfloat32m4_t blue = __riscv_vle32_v_f32m4(reds + 2 * plane, vl);
                /* The variance is a ninth of the differences' squares. */
                vfloat32m4_t gap = __riscv_vfsub_vv_f32m4(red, green, vl);
                vfloat32m4_t spread = __riscv_vfmul_vv_f32m4(gap, gap, vl);
                gap = __riscv_vfsub_vv_f32m4(green, blue, vl);
                spread = __riscv_vfmacc_vv_f32m4(spread, gap, gap, vl);
                gap = __riscv_vfsub_vv_f32m4(blue, red, vl);
                spread = __riscv_vfmacc_vv_f32m4(spread, gap, gap, vl);
                spread = __riscv_vfsqrt_v_f32m4(spread, vl);
                red = __riscv_vfsub_vf_f32m4(red, 0.5f, vl);
                green = __riscv_vfsub_vf_f32m4(green, 0.5f, vl);
                blue = __riscv_vfsub_vf_f32m4(blue, 0.5f, vl);
                red = __riscv_vfmul_vv_f32m4(red, red, vl);
                red = __riscv_vfmacc_vv_f32m4(red, green, green, vl);
                red = __riscv_vfmacc_vv_f32m4(red, blue, blue, vl);
                red = __riscv_vfmul_vf_f32m4(red, slope, vl);
                vfloat32m4_t weight = power_of_two(red, vl);
                contrast = __riscv_vfabs_v_f32m4(contrast, vl);
                contrast = __riscv_vfmul_vf_f32m4(contrast, 1 / 3.0f, vl);
                weight = __riscv_vfmul_vv_f32m4(weight, contrast, vl);
                weight = __riscv_vfmul_vv_f32m4(weight, spread, vl);
                weight = __riscv_vfadd_vf_f32m4(weight, 1e-12f, vl);
                total = __riscv_vfadd_vv_f32m4(total, weight, vl);
                __riscv_vse32_v_f32m4(out + k * plane + i, weight, vl);
            }
            total = reciprocal(total, vl);
            for (long k = 0; k < count; k++) {
                vfloat32m4_t weight = __riscv_vle32_v_f32m4(out + k * plane + i, vl);
                weight = __riscv_vfmul_vv_f32m4(weight, total, vl);
                __riscv_vse32_v_f32m4(out + k * plane + i, weight, vl);
            }
            i += (long)vl;
        }
    }
}
