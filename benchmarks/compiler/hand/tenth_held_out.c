/* The kernels of tenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Offsets in 16 bits cost half of those in 32: samples of up to 16,384 numbers. */
static inline void bootstrap_means(const uint64_t *args) {
    long samples = sizes[0], n = INT(3);
    const float *x = IN(float, 0);
    ahead(x, 4 * n);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long sample = 0; sample < samples; sample++) {
        const uint32_t *drawn = IN(uint32_t, 1) + sample * n;
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vuint32m4_t at = __riscv_vle32_v_u32m4(drawn + i, vl);
            ahead(drawn + i + 256, 4 * (long)vl);
            vuint16m2_t offset = __riscv_vncvt_x_x_w_u16m2(at, vl);
            offset = __riscv_vmul_vx_u16m2(offset, 4, vl); /* half the cost of a shift */
            sum = __riscv_vfadd_vv_f32m4_tu(sum, sum, __riscv_vluxei16_v_f32m4(x, offset, vl), vl);
            i += (long)vl;
        }
        OUT(float, 2)[sample] = sum_m4(sum, all) / (float)n;
    }
}

/* All four bytes of a pixel are blended, and the opacity is put back. A difference from 255 costs
 * half of an inversion; the high half of a product by 257 is a quotient by 255. */
static inline void screen_blend_argb(const uint64_t *args) {
    long n = 4 * INT(3);
    const uint8_t *front = IN(uint8_t, 0), *back = IN(uint8_t, 1);
    vuint8m1_t fourth = __riscv_vmv_v_x_u8m1(0x88, __riscv_vsetvlmax_e8m1());
    vbool4_t is_opacity = __riscv_vreinterpret_v_u8m1_b4(fourth);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e8m2(n - i);
        vuint8m2_t a = __riscv_vle8_v_u8m2(front + i, vl), b = __riscv_vle8_v_u8m2(back + i, vl);
        ahead(front + i + 1024, (long)vl), ahead(back + i + 1024, (long)vl);
        a = __riscv_vrsub_vx_u8m2(a, 255, vl);
        vuint16m4_t dark = __riscv_vwmulu_vv_u16m4(a, __riscv_vrsub_vx_u8m2(b, 255, vl), vl);
        dark = __riscv_vadd_vx_u16m4(dark, 128, vl);
        dark = __riscv_vmulhu_vx_u16m4(dark, 257, vl);
        a = __riscv_vrsub_vx_u8m2(__riscv_vncvt_x_x_w_u8m2(dark, vl), 255, vl);
        __riscv_vse8_v_u8m2(OUT(uint8_t, 2) + i, __riscv_vmerge_vvm_u8m2(a, b, is_opacity, vl), vl);
        i += (long)vl;
    }
}

/* Sines and cosines of three halves of angles at a time, which hide each other's latency, by
 * polynomials from -pi / 2 to pi / 2 that fit to 1e-7. An odd number of half turns changes the sign
 * of all: the three numbers are added up, and one angle's pair takes the sign. */
static inline void euler_to_quaternion(const uint64_t *args) {
    long n = INT(2);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        const float *angles = IN(float, 0) + 3 * i;
        ahead(angles + 128, 12 * (long)vl);
        vfloat32m2x3_t three = __riscv_vlseg3e32_v_f32m2x3(angles, vl);
#define TIMES(x, y) __riscv_vfmul_vv_f32m2(x, y, vl)
#define SCALED(x, by) __riscv_vfmul_vf_f32m2(x, by, vl)
#define PLUS(x, y) __riscv_vfadd_vf_f32m2(x, y, vl)
#define EACH(do) do(0) do(1) do(2)
#define HALF(k) vfloat32m2_t x##k = SCALED(__riscv_vget_v_f32m2x3_f32m2(three, k), 0.5f);
#define TURNS(k) vfloat32m2_t whole##k = SCALED(x##k, 0.318309886f);
#define MOVED(k) whole##k = PLUS(whole##k, 0x1.8p23f); /* rounds */
        EACH(HALF) EACH(TURNS) EACH(MOVED)
#define BITS(k) __riscv_vreinterpret_v_f32m2_i32m2(whole##k)
        vint32m2_t turns = __riscv_vadd_vv_i32m2(BITS(0), BITS(1), vl);
        turns = __riscv_vsll_vx_i32m2(__riscv_vadd_vv_i32m2(turns, BITS(2), vl), 31, vl);
        /* three times the bits of 1.5 * 2^23 are even */
#define BACK(k) whole##k = PLUS(whole##k, -0x1.8p23f);
#define LESS(k) x##k = __riscv_vfnmsac_vf_f32m2(x##k, 3.140625f, whole##k, vl);
#define LESS_REST(k) x##k = __riscv_vfnmsac_vf_f32m2(x##k, 9.67653589793e-4f, whole##k, vl);
#define SQUARE(k) vfloat32m2_t square##k = TIMES(x##k, x##k);
        EACH(BACK) EACH(LESS) EACH(LESS_REST) EACH(SQUARE)
#define BEGIN(k)                                                                                   \
    vfloat32m2_t s##k = SCALED(square##k, 2.608454067e-6f);                                        \
    vfloat32m2_t c##k = SCALED(square##k, 2.318905332e-5f);
#define ADD(k, of_sine, of_cosine) s##k = PLUS(s##k, of_sine), c##k = PLUS(c##k, of_cosine);
#define MULTIPLY(k) s##k = TIMES(s##k, square##k), c##k = TIMES(c##k, square##k);
#define TERMS(of_sine, of_cosine)                                                                  \
    ADD(0, of_sine, of_cosine) ADD(1, of_sine, of_cosine) ADD(2, of_sine, of_cosine) EACH(MULTIPLY)
        EACH(BEGIN)
        TERMS(-1.981087162e-4f, -1.385565882e-3f)
        TERMS(8.333084395e-3f, 4.166394754e-2f)
        TERMS(-1.666666028e-1f, -4.999993033e-1f)
#define END(k) s##k = __riscv_vfmadd_vv_f32m2(s##k, x##k, x##k, vl), c##k = PLUS(c##k, 1);
        EACH(END)
#define SIGNED(x)                                                                                  \
    __riscv_vreinterpret_v_i32m2_f32m2(                                                            \
        __riscv_vxor_vv_i32m2(__riscv_vreinterpret_v_f32m2_i32m2(x), turns, vl))
        s0 = SIGNED(s0), c0 = SIGNED(c0);
        vfloat32m2_t cc = TIMES(c1, c2), ss = TIMES(s1, s2), sc = TIMES(s1, c2), cs = TIMES(c1, s2);
        vfloat32m2x4_t out = __riscv_vcreate_v_f32m2x4(
            __riscv_vfmacc_vv_f32m2(TIMES(c0, cc), s0, ss, vl),
            __riscv_vfnmsac_vv_f32m2(TIMES(s0, cc), c0, ss, vl),
            __riscv_vfmacc_vv_f32m2(TIMES(c0, sc), s0, cs, vl),
            __riscv_vfnmsac_vv_f32m2(TIMES(c0, cs), s0, sc, vl));
        __riscv_vsseg4e32_v_f32m2x4(OUT(float, 1) + 4 * i, out, vl);
        i += (long)vl;
    }
}

/* A bit for each sample of a row; then 64 bits at a time differ from what they are one later. */
static inline void zero_crossings(const uint64_t *args) {
    static uint64_t words[1024];
    long frames = sizes[0], n = INT(2);
    for (long frame = 0; frame < frames; frame++) {
        const float *x = IN(float, 0) + frame * n;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i < 64 ? n - i : 64);
            vfloat32m8_t value = __riscv_vle32_v_f32m8(x + i, vl);
            ahead(x + i + 256, 4 * (long)vl);
            vbool4_t is_negative = __riscv_vmflt_vf_f32m8_b4(value, 0, vl);
            __riscv_vsm_v_b4((uint8_t *)words + i / 8, is_negative, vl);
            i += (long)vl;
        }
        uint64_t before = words[0] & 1;
        long count = 0;
        for (long i = 0; i < n; i += 64) {
            uint64_t word = words[i / 64], changes = word ^ (word << 1 | before);
            if (n - i < 64)
                changes &= (1ull << (n - i)) - 1;
            count += __builtin_popcountll(changes);
            before = word >> 63;
        }
        OUT(float, 1)[frame] = (float)count / (float)(n - 1);
    }
}

/* One of both products is right for all signs, by the penalty: the smaller, or the larger. */
static inline void penalize(const float *logits, const uint8_t *seen, float *out, long n,
                            float penalty, int is_smaller) {
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vbool8_t is_seen = __riscv_vlm_v_b8(seen + i / 8, vl);
        vfloat32m4_t x = __riscv_vle32_v_f32m4(logits + i, vl);
        ahead(logits + i + 256, 4 * (long)vl);
        vfloat32m4_t more = __riscv_vfmul_vf_f32m4(x, penalty, vl);
        vfloat32m4_t less = __riscv_vfmul_vf_f32m4(x, 1 / penalty, vl);
        x = is_smaller ? __riscv_vfmin_vv_f32m4_mu(is_seen, x, more, less, vl)
                       : __riscv_vfmax_vv_f32m4_mu(is_seen, x, more, less, vl);
        __riscv_vse32_v_f32m4(out + i, x, vl);
        i += (long)vl;
    }
}

static inline void repetition_penalty(const uint64_t *args) {
    long rows = sizes[0], n = INT(4), words = INT(5);
    for (long row = 0; row < rows; row++) {
        const float *logits = IN(float, 0) + row * n;
        const uint8_t *seen = IN(uint8_t, 1) + 4 * row * words;
        float penalty = IN(float, 2)[row];
        if (penalty >= 1 / penalty)
            penalize(logits, seen, OUT(float, 3) + row * n, n, penalty, 1);
        else
            penalize(logits, seen, OUT(float, 3) + row * n, n, penalty, 0);
    }
}

/* Two pixels weigh each other alike: half of the weights are powers, of the pixels to the right and
 * below, and the others come from arrays. Around the picture are pixels so bright that they weigh
 * nothing. Pictures of up to 4,094 columns. */
static inline void bilateral_filter3(const uint64_t *args) {
    static float pixels[3][4096], right[4096], down[2][3][4096];
    long h = INT(2), w = INT(3);
    float range = 1.44269504f * as_float(args[4]), space = 1.44269504f * as_float(args[5]);
    for (long i = 0; i < w + 2; i++)
        pixels[0][i] = pixels[1][i] = pixels[2][i] = 1e10f;
    memcpy(pixels[1] + 1, IN(float, 0), (size_t)w * sizeof(float));
    for (long row = 0; row < h; row++) {
        const float *above = pixels[row % 3] + 1, *here = pixels[(row + 1) % 3] + 1;
        float *below = pixels[(row + 2) % 3] + 1;
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e32m4(w - i);
            vfloat32m4_t next = __riscv_vfmv_v_f_f32m4(1e10f, vl);
            if (row + 1 < h)
                next = __riscv_vle32_v_f32m4(IN(float, 0) + (row + 1) * w + i, vl);
            __riscv_vse32_v_f32m4(below + i, next, vl);
            i += (long)vl;
        }
        float(*new)[4096] = down[row % 2], (*old)[4096] = down[1 - row % 2];
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e32m4(w - i);
#define READ(from) __riscv_vle32_v_f32m4(from, vl)
#define ADD_PIXEL(weight, pixel)                                                                   \
    {                                                                                              \
        vfloat32m4_t w_ = weight;                                                                  \
        weights = __riscv_vfadd_vv_f32m4(weights, w_, vl);                                         \
        sum = __riscv_vfmacc_vv_f32m4(sum, w_, pixel, vl);                                         \
    }
#define ADD_LATER(kept, distance, from)                                                            \
    {                                                                                              \
        vfloat32m4_t pixel = READ(from), e = __riscv_vfsub_vv_f32m4(pixel, x, vl);                 \
        e = __riscv_vfmul_vf_f32m4(__riscv_vfmul_vv_f32m4(e, e, vl), range, vl);                   \
        e = power_of_two(__riscv_vfadd_vf_f32m4(e, (distance) * space, vl), vl);                   \
        __riscv_vse32_v_f32m4((kept) + 1 + i, e, vl);                                              \
        ADD_PIXEL(e, pixel)                                                                        \
    }
            vfloat32m4_t x = READ(here + i), sum = x, weights = __riscv_vfmv_v_f_f32m4(1, vl);
            ahead(IN(float, 0) + (row + 2) * w + i, 4 * (long)vl);
            ADD_LATER(right, 1, here + i + 1)
            ADD_LATER(new[0], 2, below + i - 1)
            ADD_LATER(new[1], 1, below + i)
            ADD_LATER(new[2], 2, below + i + 1)
            ADD_PIXEL(READ(right + i), READ(here + i - 1)) /* the left one's weight, to its right */
            if (row) {
                ADD_PIXEL(READ(old[0] + i + 2), READ(above + i + 1))
                ADD_PIXEL(READ(old[1] + i + 1), READ(above + i))
                ADD_PIXEL(READ(old[2] + i), READ(above + i - 1))
            }
            sum = __riscv_vfmul_vv_f32m4(sum, reciprocal(weights, vl), vl);
            __riscv_vse32_v_f32m4(OUT(float, 1) + row * w + i, sum, vl);
            i += (long)vl;
        }
    }
}
