/* The kernels of twelfth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)
#define PLUS(x, y) __riscv_vfadd_vv_f32m4(x, y, vl)
#define MINUS(x, y) __riscv_vfsub_vv_f32m4(x, y, vl)
#define TIMES(x, y) __riscv_vfmul_vv_f32m4(x, y, vl)

/* Neighbours in a row come by slides, those in other rows from L1. */
static inline void step_wave(const float *now, const float *up, const float *down,
                             const float *before, const float *speed, float *next, float left,
                             float right, float kept, size_t vl) {
    vfloat32m4_t value = READ(now), around = PLUS(READ(up), READ(down));
    vfloat32m4_t old = READ(before), by = READ(speed);
    ahead(down + 96, VLEN / 2), ahead(before + 96, VLEN / 2), ahead(speed + 96, VLEN / 2);
    around = PLUS(around, __riscv_vfslide1up_vf_f32m4(value, left, vl));
    around = PLUS(around, __riscv_vfslide1down_vf_f32m4(value, right, vl));
    old = MINUS(value, old);
    around = __riscv_vfmacc_vf_f32m4(around, -4, value, vl);
    value = __riscv_vfmacc_vf_f32m4(value, kept, old, vl);
    value = __riscv_vfmacc_vv_f32m4(value, by, around, vl);
    __riscv_vse32_v_f32m4(next, value, vl);
}

/* Up to 16,384 columns. */
static inline void wave_equation_2d(const uint64_t *args) {
    static const float zeros[16384];
    long h = INT(4), w = INT(5), all = (long)__riscv_vsetvlmax_e32m4();
    float kept = as_float(args[6]);
    for (long y = 0; y < h; y++) {
        const float *now = IN(float, 0) + y * w, *up = y ? now - w : zeros;
        const float *down = y < h - 1 ? now + w : zeros;
        const float *before = IN(float, 1) + y * w, *speed = IN(float, 2) + y * w;
        float *next = OUT(float, 3) + y * w, left = 0;
        long x = 0;
        for (; x + all < w; x += all) {
            step_wave(now + x, up + x, down + x, before + x, speed + x, next + x, left,
                      now[x + all], kept, (size_t)all);
            left = now[x + all - 1];
        }
        step_wave(now + x, up + x, down + x, before + x, speed + x, next + x, left, 0, kept,
                  __riscv_vsetvl_e32m4(w - x));
    }
}

/* 15 knots are compared with all numbers, while the strip before is gathered, and bisection goes
 * on from there. Offsets have 16 bits. Up to 8,192 knots, with infinity behind them. */
#define STEP_KNOTS(k)                                                                              \
    coarse = __riscv_vadc_vxm_u16m2(coarse, 0,                                                     \
                                    __riscv_vmfge_vf_f32m4_b8(later, knots[(k) * each], vl), vl);
/* Keeps clang from moving all gathers together, and from holding more than fits in registers. */
#define HERE(x) __asm__ volatile("" : "+vr"(x) : : "memory");
#define FOUND(offset) __riscv_vluxei16_v_f32m4(knots, offset, vl)

static inline void cubic_spline_eval(const uint64_t *args) {
    static float knots[8192 + 64];
    long n = INT(4), pieces = INT(5) - 1, each = 1;
    const float *x = IN(float, 0), *a = IN(float, 2);
    const float *b = a + pieces, *c = b + pieces, *d = c + pieces;
    float *y = OUT(float, 3);
    while (16 * each < pieces)
        each *= 2;
    for (long i = 0; i < 16 * each; i++)
        knots[i] = i < pieces ? IN(float, 1)[i] : __builtin_huge_valf();
    size_t vl = __riscv_vsetvl_e32m4(n);
    vfloat32m4_t later = READ(x);
    vuint16m2_t coarse = __riscv_vmv_v_x_u16m2(0, vl);
    for (long k = 1; k < 16; k++) {
        STEP_KNOTS(k)
    }
    for (long i = 0; i < n;) {
        vfloat32m4_t value = later;
        vuint16m2_t offset = __riscv_vmul_vx_u16m2(coarse, (uint16_t)(4 * each), vl);
        size_t now = vl;
        long next = i + (long)vl < n ? i + (long)vl : i;
        later = __riscv_vle32_v_f32m4(x + next, __riscv_vsetvl_e32m4(n - next));
        ahead(x + i + 96, VLEN / 2);
        coarse = __riscv_vmv_v_x_u16m2(0, vl);
        for (long half = each / 2; half; half /= 2) {
            vuint16m2_t middle = __riscv_vadd_vx_u16m2(offset, (uint16_t)(4 * half), vl);
            vbool8_t is_right = __riscv_vmfge_vv_f32m4_b8(value, FOUND(middle), vl);
            offset = __riscv_vmerge_vvm_u16m2(offset, middle, is_right, vl);
        }
        offset = __riscv_vminu_vx_u16m2(offset, (uint16_t)(4 * (pieces - 1)), vl);
        vfloat32m4_t knot = FOUND(offset);
        STEP_KNOTS(1) STEP_KNOTS(2) STEP_KNOTS(3) HERE(coarse)
        vfloat32m4_t result = __riscv_vluxei16_v_f32m4(a, offset, vl);
        value = MINUS(value, knot);
        HERE(value) STEP_KNOTS(4) STEP_KNOTS(5) STEP_KNOTS(6) HERE(coarse)
        vfloat32m4_t term = __riscv_vluxei16_v_f32m4(b, offset, vl);
        STEP_KNOTS(7) STEP_KNOTS(8) STEP_KNOTS(9) HERE(coarse)
        result = __riscv_vfmadd_vv_f32m4(result, value, term, vl);
        HERE(result)
        term = __riscv_vluxei16_v_f32m4(c, offset, vl);
        STEP_KNOTS(10) STEP_KNOTS(11) STEP_KNOTS(12) HERE(coarse)
        result = __riscv_vfmadd_vv_f32m4(result, value, term, vl);
        HERE(result)
        term = __riscv_vluxei16_v_f32m4(d, offset, vl);
        STEP_KNOTS(13) STEP_KNOTS(14) STEP_KNOTS(15) HERE(coarse)
        result = __riscv_vfmadd_vv_f32m4(result, value, term, vl);
        __riscv_vse32_v_f32m4(y + i, result, now);
        i += (long)now;
        vl = __riscv_vsetvl_e32m4(n - i);
    }
}

/* Angles lie in lanes, so that no two lanes vote for one bin; few rows of bins stay in L1. Bins of
 * a point are computed while votes of the point before are gathered. Up to 1,023 bins. */
static inline void hough_votes(const uint64_t *args) {
    long points = INT(5), bins = INT(6), angles = sizes[1], shift = sizes[4];
    int32_t centre = (int32_t)((1L << (shift - 1)) + (bins / 2 << shift));
    const int16_t *xs = IN(int16_t, 0), *ys = IN(int16_t, 1);
    ahead(xs, 2 * points), ahead(ys, 2 * points);
    for (long first = 0; first < angles;) {
        size_t vl = __riscv_vsetvl_e32m2(angles - first);
        vint32m2_t cosine = __riscv_vle32_v_i32m2(IN(int32_t, 2) + first, vl);
        vint32m2_t sine = __riscv_vle32_v_i32m2(IN(int32_t, 3) + first, vl);
        uint32_t *votes = OUT(uint32_t, 4) + first * bins;
        ahead(votes, 4 * bins * (long)vl);
        vuint32m2_t row = __riscv_vmul_vx_u32m2(__riscv_vid_v_u32m2(vl), (uint32_t)(4 * bins), vl);
#define DISTANCE(i)                                                                                \
    vint32m2_t distance = __riscv_vmul_vx_i32m2(cosine, xs[i], vl);                                \
    distance = __riscv_vmacc_vx_i32m2(distance, ys[i], sine, vl);                                  \
    distance = __riscv_vadd_vx_i32m2(distance, centre, vl);
#define BIN                                                                                        \
    vuint32m2_t bin =                                                                              \
        __riscv_vreinterpret_v_i32m2_u32m2(__riscv_vsra_vx_i32m2(distance, (size_t)shift, vl));    \
    inside = __riscv_vmsltu_vx_u32m2_b16(bin, (uint32_t)bins, vl);                                 \
    bin = __riscv_vmadd_vx_u32m2(bin, 4, row, vl);                                                 \
    offset = __riscv_vncvt_x_x_w_u16m1(bin, vl);
        vbool16_t inside;
        vuint16m1_t offset;
        {
            DISTANCE(0) BIN
        }
        for (long i = 0; i < points; i++) {
            long next = i + 1 < points ? i + 1 : i;
            vbool16_t votes_here = inside;
            vuint16m1_t place = offset;
            vuint32m2_t count = __riscv_vluxei16_v_u32m2_m(votes_here, votes, place, vl);
            DISTANCE(next)
            count = __riscv_vadd_vx_u32m2(count, 1, vl);
            __riscv_vsuxei16_v_u32m2_m(votes_here, votes, place, count, vl);
            BIN
        }
        first += (long)vl;
    }
}

/* Spins of a row, as bytes. A spin times those around it is one of five numbers: it turns if that
 * is not positive, or if the random number is below the chance of 2 or of 4. */
static inline void turn_spins(const int8_t *row, const int8_t *up, const int8_t *down,
                              vint8m1_t left, vint8m1_t right, const float *random, int8_t *out,
                              vbool8_t square, float of2, float of4, size_t vl) {
    vint8m1_t spin = __riscv_vle8_v_i8m1(row, vl);
    vfloat32m4_t number = READ(random);
    ahead(random + 96, VLEN / 2), ahead(down + 96, VLEN / 8);
    vint8m1_t sum = __riscv_vadd_vv_i8m1(__riscv_vle8_v_i8m1(up, vl),
                                         __riscv_vle8_v_i8m1(down, vl), vl);
    vbool8_t is_rare = __riscv_vmflt_vf_f32m4_b8(number, of4, vl);
    sum = __riscv_vadd_vv_i8m1(sum, __riscv_vadd_vv_i8m1(left, right, vl), vl);
    vbool8_t turns = __riscv_vmflt_vf_f32m4_b8(number, of2, vl);
    sum = __riscv_vmul_vv_i8m1(sum, spin, vl);
    vbool8_t is_low = __riscv_vmsle_vx_i8m1_b8(sum, 2, vl);
    vbool8_t is_lower = __riscv_vmsle_vx_i8m1_b8(sum, 0, vl);
    turns = __riscv_vmor_mm_b8(__riscv_vmand_mm_b8(turns, is_low, vl), is_rare, vl);
    turns = __riscv_vmand_mm_b8(__riscv_vmor_mm_b8(turns, is_lower, vl), square, vl);
    __riscv_vse8_v_i8m1(out, __riscv_vrsub_vx_i8m1_mu(turns, spin, spin, 0, vl), vl);
}

static inline void ising_sweep(const uint64_t *args) {
    long h = INT(3), w = INT(4), colour = INT(5), all = (long)__riscv_vsetvlmax_e8m1();
    float beta = as_float(args[6]);
    const int8_t *spins = IN(int8_t, 0);
    vfloat32m4_t exponents = __riscv_vfmv_v_f_f32m4(-4 * beta, 2);
    exponents = __riscv_vfslide1down_vf_f32m4(exponents, -8 * beta, 2);
    float chances[2];
    __riscv_vse32_v_f32m4(chances, exponential(exponents, 2), 2);
    for (long y = 0; y < h; y++) {
        const int8_t *row = spins + y * w, *up = spins + (y + h - 1) % h * w;
        const int8_t *down = spins + (y + 1) % h * w;
        const float *random = IN(float, 1) + y * w;
        int8_t *out = OUT(int8_t, 2) + y * w;
        uint8_t bits = (y + colour) % 2 ? 0xaa : 0x55;
        bits = colour == 0 || colour == 1 ? bits : 0;
        vbool8_t square = __riscv_vreinterpret_v_u8m1_b8(__riscv_vmv_v_x_u8m1(bits, (size_t)all));
        for (long x = 0; x < w; x += all) {
            size_t vl = __riscv_vsetvl_e8m1(w - x);
            vint8m1_t left, right;
            if (x)
                left = __riscv_vle8_v_i8m1(row + x - 1, vl);
            else
                left = __riscv_vslide1up_vx_i8m1(__riscv_vle8_v_i8m1(row, vl), row[w - 1], vl);
            if (x + (long)vl < w)
                right = __riscv_vle8_v_i8m1(row + x + 1, vl);
            else
                right = __riscv_vslide1down_vx_i8m1(__riscv_vle8_v_i8m1(row + x, vl), row[0], vl);
            turn_spins(row + x, up + x, down + x, left, right, random + x, out + x, square,
                       chances[0], chances[1], vl);
        }
    }
}

/* Four samples come with each index. Places that reach over an end of a row take one sample at a
 * time. Two strips: while one is gathered, the other is computed. Up to 16,383 samples. */
#define SUM(x, y) __riscv_vfadd_vv_f32m2(x, y, vl)
#define DIFFERENCE(x, y) __riscv_vfsub_vv_f32m2(x, y, vl)
#define SAMPLE(k) __riscv_vget_v_f32m2x4_f32m2(four, k)

static inline vfloat32m2x4_t four_samples(const float *x, vuint32m2_t place, long length,
                                          int is_inside, size_t vl) {
    if (is_inside) {
        vuint16m1_t offset = __riscv_vnsrl_wx_u16m1(place, 16, vl);
        offset = __riscv_vmul_vx_u16m1(offset, 4, vl);
        return __riscv_vluxseg4ei16_v_f32m2x4(x - 1, offset, vl);
    }
    vint32m2_t i = __riscv_vreinterpret_v_u32m2_i32m2(place);
    i = __riscv_vsra_vx_i32m2(i, 16, vl);
#define CLAMPED(k)                                                                                 \
    __riscv_vluxei32_v_f32m2(                                                                      \
        x,                                                                                         \
        __riscv_vmul_vx_u32m2(                                                                     \
            __riscv_vreinterpret_v_i32m2_u32m2(__riscv_vmin_vx_i32m2(                              \
                __riscv_vmax_vx_i32m2(__riscv_vadd_vx_i32m2(i, k, vl), 0, vl),                     \
                (int32_t)length - 1, vl)),                                                         \
            4, vl),                                                                                \
        vl)
    return __riscv_vcreate_v_f32m2x4(CLAMPED(-1), CLAMPED(0), CLAMPED(1), CLAMPED(2));
}

static inline void write_cubic(vfloat32m2x4_t four, vuint32m2_t place, float *y, size_t vl) {
    vfloat32m2_t a = SAMPLE(0), b = SAMPLE(1), c = SAMPLE(2), d = SAMPLE(3);
    vuint16m1_t rest = __riscv_vncvt_x_x_w_u16m1(place, vl);
    vfloat32m2_t t = __riscv_vfwcvt_f_xu_v_f32m2(rest, vl);
    t = __riscv_vfmul_vf_f32m2(t, 0x1p-16f, vl);
    vfloat32m2_t cube = DIFFERENCE(d, a);
    cube = __riscv_vfmacc_vf_f32m2(cube, 3, DIFFERENCE(b, c), vl);
    vfloat32m2_t square = __riscv_vfmacc_vf_f32m2(SUM(a, c), -2, b, vl);
    square = DIFFERENCE(square, cube); /* 2a - 5b + 4c - d */
    vfloat32m2_t slope = DIFFERENCE(c, a);
    cube = __riscv_vfmadd_vv_f32m2(cube, t, square, vl);
    cube = __riscv_vfmadd_vv_f32m2(cube, t, slope, vl);
    t = __riscv_vfmul_vf_f32m2(t, 0.5f, vl);
    __riscv_vse32_v_f32m2(y, __riscv_vfmacc_vv_f32m2(b, t, cube, vl), vl);
}

static inline void resample_cubic(const uint64_t *args) {
    long channels = sizes[0], length = INT(2), out_length = INT(3);
    uint32_t step = (uint32_t)INT(4);
    size_t vl = __riscv_vsetvlmax_e32m2();
    long all = (long)vl;
    for (long channel = 0; channel < channels; channel++) {
        const float *x = IN(float, 0) + channel * length;
        float *y = OUT(float, 1) + channel * out_length;
        long i = 0;
        vuint32m2_t place =
            __riscv_vmul_vx_u32m2(__riscv_vid_v_u32m2((size_t)all), step, (size_t)all);
#define NEXT(at) __riscv_vadd_vx_u32m2(at, step * (uint32_t)all, (size_t)all)
#define INSIDE(i, count)                                                                           \
    ((((i)*step) >> 16) >= 1 && (((i) + (count)-1) * step >> 16) + 2 < (uint64_t)length)
        for (; i + 2 * all <= out_length; i += 2 * all) {
            int inside = INSIDE((uint64_t)i, (uint64_t)(2 * all));
            vuint32m2_t second = NEXT(place);
            ahead(x + ((uint64_t)(i + 3 * all) * step >> 16), VLEN / 2);
            vfloat32m2x4_t four = four_samples(x, place, length, inside, (size_t)all);
            vfloat32m2x4_t other = four_samples(x, second, length, inside, (size_t)all);
            write_cubic(four, place, y + i, (size_t)all);
            write_cubic(other, second, y + i + all, (size_t)all);
            place = NEXT(second);
        }
        for (; i < out_length; i += (long)vl) {
            vl = __riscv_vsetvl_e32m2(out_length - i);
            write_cubic(four_samples(x, place, length, 0, vl), place, y + i, vl);
            place = NEXT(place);
        }
    }
}

/* Two rows share the scales of channels. */
#define ROW(k)                                                                                     \
    vfloat32m4_t x##k = READ(x + k * n + i), branch##k = READ(branch + k * n + i);                 \
    ahead(x + k * n + i + 96, VLEN / 2), ahead(branch + k * n + i + 96, VLEN / 2);                 \
    branch##k = TIMES(branch##k, __riscv_vfmul_vf_f32m4(scale, keep[k], vl));                      \
    __riscv_vse32_v_f32m4(y + k * n + i, PLUS(x##k, branch##k), vl);

__attribute__((always_inline)) static inline void add_branches(const float *x, const float *branch,
                                                               const float *gamma,
                                                               const float *keep, float *y, long n,
                                                               long count) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    for (long i = 0, all = (long)vl; i < n; i += all) {
        if (i + all > n)
            vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t scale = READ(gamma + i);
        ROW(0)
        if (count > 1) {
            ROW(1)
        }
    }
}

static inline void layer_scale_residual(const uint64_t *args) {
    long m = INT(5), n = INT(6), row = 0;
    const float *x = IN(float, 0), *branch = IN(float, 1), *gamma = IN(float, 2);
    const float *keep = IN(float, 3);
    float *y = OUT(float, 4);
    for (; row + 2 <= m; row += 2)
        add_branches(x + row * n, branch + row * n, gamma, keep + row, y + row * n, n, 2);
    if (row < m)
        add_branches(x + row * n, branch + row * n, gamma, keep + row, y + row * n, n, 1);
}
