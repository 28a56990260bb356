/* The kernels of thirteenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes
 * each, by somebody who knows the instructions and not what the compiler makes. One program does
 * all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Gains between the nodes of a row of the mesh, times a cell's size, for the two colours that a row
 * of pixels has in turn. Cells are an even number of pixels wide. */
static inline void spread_nodes(const int16_t *even, const int16_t *odd, long w, long shift,
                                int32_t *gains) {
    for (long start = 0; start < w; start += 1L << shift, even++, odd++) {
        const int16_t *nodes[2] = {even, odd};
        for (long k = 0; k < 2; k++) {
            long slope = nodes[k][1] - nodes[k][0], value = (long)nodes[k][0] << shift;
            long size = w - start < 1L << shift ? w - start : 1L << shift;
            for (long x = k; x < size;) {
                size_t vl = __riscv_vsetvl_e32m2((size - x + 1) / 2);
                vint32m2_t gain = __riscv_vreinterpret_v_u32m2_i32m2(__riscv_vid_v_u32m2(vl));
                gain = __riscv_vmul_vx_i32m2(gain, (int32_t)(2 * slope), vl);
                gain = __riscv_vadd_vx_i32m2(gain, (int32_t)(value + x * slope), vl);
                __riscv_vsse32_v_i32m2(gains + start + x, 8, gain, vl);
                x += 2 * (long)vl;
            }
        }
    }
}

static inline void shade_row(const int16_t *raw, const int32_t *top, const int32_t *bottom,
                             int16_t *out, long w, long ahead_pixels, int32_t above, int32_t below,
                             int32_t shift, int16_t black, int16_t white) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    long all = (long)vl;
#pragma clang loop unroll_count(2)
    for (long x = 0; x < w; x += all) {
        if (x + all > w)
            vl = __riscv_vsetvl_e32m4(w - x);
        vint32m4_t gain = __riscv_vmul_vx_i32m4(__riscv_vle32_v_i32m4(top + x, vl), above, vl);
        vint32m4_t low = __riscv_vle32_v_i32m4(bottom + x, vl);
        vint16m2_t light = __riscv_vle16_v_i16m2(raw + x, vl);
        ahead(raw + x + ahead_pixels, VLEN / 4);
        gain = __riscv_vmacc_vx_i32m4(gain, below, low, vl);
        gain = __riscv_vsra_vx_i32m4(gain, (size_t)shift, vl);
        gain = __riscv_vmul_vv_i32m4(gain, __riscv_vwsub_vx_i32m4(light, black, vl), vl);
        light = __riscv_vnclip_wx_i16m2(gain, 10, __RISCV_VXRM_RNU, vl);
        light = __riscv_vsadd_vx_i16m2(light, black, vl);
        light = __riscv_vmin_vx_i16m2(__riscv_vmax_vx_i16m2(light, 0, vl), white, vl);
        __riscv_vse16_v_i16m2(out + x, light, vl);
    }
}

/* Rows of the mesh are spread over all columns once for each of its rows, and pixels mix two of
 * them. Up to 8,192 columns, and black and white of 15 bits. */
static inline void lens_shading_raw16(const uint64_t *args) {
    static int32_t gains[2][2][8192];
    long h = INT(3), w = INT(4), mesh_h = INT(5), mesh_w = INT(6), shift = sizes[2];
    long size = 1L << shift;
    const int16_t *mesh = IN(int16_t, 1);
#define SPREAD(row)                                                                                \
    for (long k = 0; k < 2; k++)                                                                   \
        spread_nodes(mesh + (2 * k * mesh_h + (row)) * mesh_w,                                     \
                     mesh + ((2 * k + 1) * mesh_h + (row)) * mesh_w, w, shift,                     \
                     gains[(row) & 1][k]);
    SPREAD(0)
    for (long y = 0; y < h; y++) {
        long row = y >> shift, below = y & (size - 1);
        if (below == 0) {
            SPREAD(row + 1)
        }
        shade_row(IN(int16_t, 0) + y * w, gains[row & 1][y & 1], gains[(row + 1) & 1][y & 1],
                  OUT(int16_t, 2) + y * w, w, w, (int32_t)(size - below), (int32_t)below,
                  (int32_t)(2 * shift), (int16_t)INT(7), (int16_t)INT(8));
    }
}

/* 1 / sqrt(x), by a reciprocal of 7 bits and a step of third order. */
static inline vfloat32m4_t inverse_root(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t y = __riscv_vfrsqrt7_v_f32m4(x, vl);
    x = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(x, y, vl), y, vl);
    x = __riscv_vfrsub_vf_f32m4(x, 1, vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(x, 0.375f, vl);
    p = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), x, vl);
    return __riscv_vfmacc_vv_f32m4(y, y, p, vl);
}

typedef struct {
    float beta1, beta2, step_size, root_scale, eps;
    const float *maps[2], *bounds[2];
} Adam;

/* A block's moments before they are bytes again: up to 4,096. */
static float means[4096], squares[4096];

static inline vfloat32m4_t decoded(const uint8_t *codes, const float *map, size_t vl) {
    vuint16m2_t place = __riscv_vwmulu_vx_u16m2(__riscv_vle8_v_u8m1(codes, vl), 4, vl);
    return __riscv_vluxei16_v_f32m4(map, place, vl);
}

/* New weights and moments of a block; the scales are its largest moments, before and behind. */
static inline void step_block(float *weight, const uint16_t *grads, const uint8_t *mean_codes,
                              const uint8_t *square_codes, long n, Adam adam, float *scales) {
    size_t all = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t high = __riscv_vfmv_v_f_f32m4(0, all), highest = high;
    float mean_scale = scales[0] * adam.beta1, square_scale = scales[1] * adam.beta2;
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t mean = decoded(mean_codes + i, adam.maps[0], vl);
        vfloat32m4_t square = decoded(square_codes + i, adam.maps[1], vl);
        vuint32m4_t bits = /* bf16 is the upper half */
            __riscv_vwmulu_vx_u32m4(__riscv_vle16_v_u16m2(grads + i, vl), 1 << 15, vl);
        bits = __riscv_vadd_vv_u32m4(bits, bits, vl);
        vfloat32m4_t grad = __riscv_vreinterpret_v_u32m4_f32m4(bits);
        ahead(grads + i + 128, VLEN / 4), ahead(weight + i + 128, VLEN / 2);
        mean = __riscv_vfmul_vf_f32m4(mean, mean_scale, vl);
        mean = __riscv_vfmacc_vf_f32m4(mean, 1 - adam.beta1, grad, vl);
        square = __riscv_vfmul_vf_f32m4(square, square_scale, vl);
        grad = __riscv_vfmul_vv_f32m4(grad, grad, vl);
        square = __riscv_vfmacc_vf_f32m4(square, 1 - adam.beta2, grad, vl);
        __riscv_vse32_v_f32m4(means + i, mean, vl), __riscv_vse32_v_f32m4(squares + i, square, vl);
        high = __riscv_vfmax_vv_f32m4_tu(high, high, __riscv_vfabs_v_f32m4(mean, vl), vl);
        highest = __riscv_vfmax_vv_f32m4_tu(highest, highest, square, vl);
        vfloat32m4_t root = inverse_root(__riscv_vfmax_vf_f32m4(square, 1e-36f, vl), vl);
        root = __riscv_vfmul_vv_f32m4(root, square, vl);
        root = __riscv_vfmul_vf_f32m4(root, adam.root_scale, vl);
        root = reciprocal(__riscv_vfadd_vf_f32m4(root, adam.eps, vl), vl);
        mean = __riscv_vfmul_vf_f32m4(mean, adam.step_size, vl);
        vfloat32m4_t new = READ(weight + i);
        new = __riscv_vfnmsac_vv_f32m4(new, mean, root, vl);
        __riscv_vse32_v_f32m4(weight + i, new, vl);
        i += (long)vl;
    }
    scales[0] = largest_m4(high, all);
    scales[1] = largest_m4(highest, all);
}

/* Bytes by bisection: where each number lies between the bounds, as 4 times a code. The first two
 * steps need no gathers, and the searches of both moments hide each other's latency. */
static inline void encode_block(uint8_t *mean_codes, uint8_t *square_codes, long n, Adam adam,
                                const float *scales) {
    float inverse0 = 1 / (scales[0] > 1e-30f ? scales[0] : 1e-30f);
    float inverse1 = 1 / (scales[1] > 1e-30f ? scales[1] : 1e-30f);
    const float *bounds0 = adam.bounds[0], *bounds1 = adam.bounds[1];
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t x0 = __riscv_vfmul_vf_f32m4(READ(means + i), inverse0, vl);
        vfloat32m4_t x1 = __riscv_vfmul_vf_f32m4(READ(squares + i), inverse1, vl);
        vuint16m2_t zero = __riscv_vmv_v_x_u16m2(0, vl);
#define START(k)                                                                                   \
    vbool8_t above##k = __riscv_vmfgt_vf_f32m4_b8(x##k, bounds##k[127], vl);                       \
    vuint16m2_t place##k = __riscv_vmerge_vxm_u16m2(zero, 512, above##k, vl);                      \
    vfloat32m4_t bound##k = __riscv_vfmv_v_f_f32m4(bounds##k[63], vl);                             \
    bound##k = __riscv_vfmerge_vfm_f32m4(bound##k, bounds##k[191], above##k, vl);
#define MOVE(k, step)                                                                              \
    above##k = __riscv_vmfgt_vv_f32m4_b8(x##k, bound##k, vl);                                      \
    place##k = __riscv_vadd_vx_u16m2_mu(above##k, place##k, place##k, 4 * (step), vl);
#define LOOK(k, step) bound##k = __riscv_vluxei16_v_f32m4(bounds##k + (step) - 1, place##k, vl);
#define LEVEL(step) LOOK(0, step) LOOK(1, step) MOVE(0, step) MOVE(1, step)
        START(0)
        START(1)
        MOVE(0, 64)
        MOVE(1, 64)
        LEVEL(32) LEVEL(16) LEVEL(8) LEVEL(4) LEVEL(2) LEVEL(1)
            __riscv_vse8_v_u8m1(mean_codes + i, __riscv_vnsrl_wx_u8m1(place0, 2, vl), vl);
        __riscv_vse8_v_u8m1(square_codes + i, __riscv_vnsrl_wx_u8m1(place1, 2, vl), vl);
        i += (long)vl;
    }
}

static inline void adam8bit_blockwise(const uint64_t *args) {
    long n = INT(10), size = sizes[1];
    Adam adam = {as_float(args[11]),          as_float(args[12]), as_float(args[13]),
                 as_float(args[14]),          as_float(args[15]), {IN(float, 6), IN(float, 7)},
                 {IN(float, 8), IN(float, 9)}};
    for (long first = 0, block = 0; first < n; first += size, block++) {
        long count = n - first < size ? n - first : size;
        uint8_t *mean_codes = OUT(uint8_t, 2) + first, *square_codes = OUT(uint8_t, 3) + first;
        float scales[2] = {OUT(float, 4)[block], OUT(float, 5)[block]};
        step_block(OUT(float, 0) + first, IN(uint16_t, 1) + first, mean_codes, square_codes, count,
                   adam, scales);
        OUT(float, 4)[block] = scales[0], OUT(float, 5)[block] = scales[1];
        encode_block(mean_codes, square_codes, count, adam, scales);
    }
}

/* Both answers of a pair, token by token. */
static inline void sum_answers(const float *const *shares, const uint8_t *const *masks, long first,
                               long tokens, float *chosen, float *rejected) {
    size_t all = __riscv_vsetvlmax_e32m4();
    vfloat32m4_t sum0 = __riscv_vfmv_v_f_f32m4(0, all), sum1 = sum0;
    for (long i = first; i < first + tokens;) {
        size_t vl = __riscv_vsetvl_e32m4(first + tokens - i);
#define READ_ANSWER(k)                                                                             \
    vuint8m1_t mask##k = __riscv_vle8_v_u8m1(masks[k] + i, vl);                                    \
    vfloat32m4_t x##k = READ(shares[k] + i), before##k = READ(shares[k + 2] + i);                  \
    ahead(shares[k] + i + 128, VLEN / 2), ahead(shares[k + 2] + i + 128, VLEN / 2);
#define ADD_ANSWER(k)                                                                              \
    vbool8_t counts##k = __riscv_vmsne_vx_u8m1_b8(mask##k, 0, vl);                                 \
    x##k = __riscv_vfsub_vv_f32m4(x##k, before##k, vl);                                            \
    sum##k = __riscv_vfadd_vv_f32m4_tumu(counts##k, sum##k, sum##k, x##k, vl);
        READ_ANSWER(0) READ_ANSWER(1) ADD_ANSWER(0) ADD_ANSWER(1) i += (long)vl;
    }
    store_sum(chosen, sum0), store_sum(rejected, sum1);
}

/* Sums of all pairs come first, so that the loss is of many at once. */
static inline void dpo_pair_loss(const uint64_t *args) {
    long pairs = sizes[0], tokens = INT(9);
    float beta = as_float(args[10]), smoothing = as_float(args[11]);
    const float *shares[4] = {IN(float, 0), IN(float, 1), IN(float, 2), IN(float, 3)};
    const uint8_t *masks[2] = {IN(uint8_t, 4), IN(uint8_t, 5)};
    float *chosen = OUT(float, 7), *rejected = OUT(float, 8);
    for (long pair = 0; pair < pairs; pair++)
        sum_answers(shares, masks, pair * tokens, tokens, chosen + pair, rejected + pair);
    for (long i = 0; i < pairs;) {
        size_t vl = __riscv_vsetvl_e32m4(pairs - i);
        vfloat32m4_t better = __riscv_vfmul_vf_f32m4(READ(chosen + i), beta, vl);
        vfloat32m4_t worse = __riscv_vfmul_vf_f32m4(READ(rejected + i), beta, vl);
        __riscv_vse32_v_f32m4(chosen + i, better, vl);
        __riscv_vse32_v_f32m4(rejected + i, worse, vl);
        vfloat32m4_t margin = __riscv_vfsub_vv_f32m4(better, worse, vl);
        vfloat32m4_t rest = __riscv_vfneg_v_f32m4(__riscv_vfabs_v_f32m4(margin, vl), vl);
        rest = exponential(rest, vl);
        rest = logarithm(__riscv_vfadd_vf_f32m4(rest, 1, vl), vl);
        vfloat32m4_t flipped = __riscv_vfmax_vf_f32m4(margin, 0, vl);
        rest = __riscv_vfmacc_vf_f32m4(rest, smoothing, flipped, vl);
        vfloat32m4_t preferred = __riscv_vfsub_vv_f32m4(flipped, margin, vl);
        rest = __riscv_vfmacc_vf_f32m4(rest, 1 - smoothing, preferred, vl);
        __riscv_vse32_v_f32m4(OUT(float, 6) + i, rest, vl);
        i += (long)vl;
    }
}
