/* The kernels of fourteenth_held_out2.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

/* How much each step of a row is above the one on its left; of the row before until it is used. Up
 * to 16,384 columns. */
static int32_t rises[16384];

/* Columns from i on, a vector of m registers, half of which is narrow. The step on the left of the
 * first is computed as a scalar. */
#define PREDICT(m, narrow, bits)                                                                   \
    {                                                                                              \
        ahead(x + i + 3 * VLEN / 8, VLEN / 2);                                                     \
        vfloat32##m##_t scaled = __riscv_vle32_v_f32##m(x + i, vl);                                \
        scaled = __riscv_vfmul_vf_f32##m(scaled, inverse, vl);                                     \
        vint32##m##_t own = __riscv_vfcvt_x_f_v_i32##m(scaled, vl);                                \
        int32_t before = i ? (int32_t)__builtin_lrintf(x[i - 1] * inverse) : 0;                    \
        vint32##m##_t rise = __riscv_vslide1up_vx_i32##m(own, before, vl);                         \
        rise = __riscv_vsub_vv_i32##m(own, rise, vl);                                              \
        vint32##m##_t residual = __riscv_vle32_v_i32##m(rises + i, vl);                            \
        residual = __riscv_vsub_vv_i32##m(rise, residual, vl);                                     \
        __riscv_vse32_v_i32##m(rises + i, rise, vl);                                               \
        vuint32##m##_t moved = __riscv_vreinterpret_v_i32##m##_u32##m(residual);                   \
        moved = __riscv_vadd_vx_u32##m(moved, (uint32_t)radius - 1, vl);                           \
        vbool##bits##_t is_large =                                                                 \
            __riscv_vmsgtu_vx_u32##m##_b##bits(moved, 2 * (uint32_t)radius - 2, vl);               \
        vuint16##narrow##_t code = __riscv_vncvt_x_x_w_u16##narrow(moved, vl);                     \
        code = __riscv_vadd_vx_u16##narrow(code, 1, vl);                                           \
        code = __riscv_vmerge_vxm_u16##narrow(code, 0, is_large, vl);                              \
        __riscv_vse16_v_u16##narrow(codes + i, code, vl);                                          \
        vint32##m##_t none = __riscv_vmv_v_x_i32##m(0, vl);                                        \
        residual = __riscv_vmerge_vvm_i32##m(none, residual, is_large, vl);                        \
        __riscv_vse32_v_i32##m(outliers + i, residual, vl);                                        \
    }

static inline void lorenzo_residuals(const uint64_t *args) {
    long h = INT(3), w = INT(4), radius = sizes[2];
    float inverse = as_float(args[5]);
    memset(rises, 0, (size_t)w * sizeof *rises);
    for (long y = 0; y < h; y++) {
        const float *x = IN(float, 0) + y * w;
        uint16_t *codes = OUT(uint16_t, 1) + y * w;
        int32_t *outliers = OUT(int32_t, 2) + y * w;
        long i = 0;
        for (size_t vl = __riscv_vsetvlmax_e32m4(); i + (long)vl <= w; i += (long)vl)
            PREDICT(m4, m2, 8)
        while (i < w) {
            size_t vl = __riscv_vsetvl_e32m1(w - i);
            PREDICT(m1, mf2, 32)
            i += (long)vl;
        }
    }
}

/* Penalties lie in lanes: two registers of them, of residuals and of coefficients. Four features
 * are one block, so that a residual is read and written once for four: that they change each other
 * is known from their products. Those that the last block lacks are zero. Up to 1,024 samples and
 * 256 features. */
#define LANES (VLEN / 16)
static float residuals[1024][LANES], coefficients[256][LANES], no_feature[1024];
static float inner[64][4][4];

typedef struct {
    const float *x[4];
} Block;

static Block block_of(const float *x, long first, long features, long samples) {
    Block block;
    for (long k = 0; k < 4; k++)
        block.x[k] = first + k < features ? x + (first + k) * samples : no_feature;
    return block;
}

static void find_products(Block block, long n, float (*products)[4]) {
    for (long j = 0; j < 4; j++) {
        for (long k = j + 1; k < 4; k++) {
            size_t all = __riscv_vsetvlmax_e32m4();
            vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
            for (long i = 0; i < n;) {
                size_t vl = __riscv_vsetvl_e32m4(n - i);
                vfloat32m4_t one = __riscv_vle32_v_f32m4(block.x[j] + i, vl);
                vfloat32m4_t other = __riscv_vle32_v_f32m4(block.x[k] + i, vl);
                sum = __riscv_vfmacc_vv_f32m4_tu(sum, one, other, vl);
                i += (long)vl;
            }
            vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
            zero = __riscv_vfredusum_vs_f32m4_f32m1(sum, zero, all);
            products[j][k] = __riscv_vfmv_f_s_f32m1_f32(zero);
        }
    }
}

#define FOUR(EACH, same) EACH(0, same) EACH(1, same) EACH(2, same) EACH(3, same)

/* A block's changes times its features go to the residuals, whose products with the next block's
 * features are summed up. Four samples in turn hide each other's latency. */
__attribute__((always_inline)) static inline void
change_residuals(Block block, Block next, const float (*changes)[LANES], float (*sums)[LANES],
                 long n, int is_summed, size_t vl) {
#define CHANGE(k, _) vfloat32m2_t change##k = __riscv_vle32_v_f32m2(changes[k], vl);
#define SUM(k, _) vfloat32m2_t sum##k = __riscv_vfmv_v_f_f32m2(0, vl);
#define READ(s, _) vfloat32m2_t r##s = __riscv_vle32_v_f32m2(residuals[i + s], vl);
#define APPLY(s, k) r##s = __riscv_vfmacc_vf_f32m2(r##s, block.x[k][i + s], change##k, vl);
#define __asm__ volatile("" : "+vr"(r0), "+vr"(r1), "+vr"(r2), "+vr"(r3)); /* stays so */
#define WRITE(s, _) __riscv_vse32_v_f32m2(residuals[i + s], r##s, vl);
#define DOT(k, s) sum##k = __riscv_vfmacc_vf_f32m2(sum##k, next.x[k][i + s], r##s, vl);
#define STORE(k, _) __riscv_vse32_v_f32m2(sums[k], sum##k, vl);
    FOUR(CHANGE, 0) FOUR(SUM, 0)
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        FOUR(READ, 0)
        FOUR(APPLY, 0) FOUR(APPLY, 1) FOUR(APPLY, 2) FOUR(APPLY, 3)
        if (is_summed) {
            FOUR(DOT, 0) FOUR(DOT, 1) FOUR(DOT, 2) FOUR(DOT, 3)
        }
        FOUR(WRITE, 0)
    }
    for (; i < n; i++) {
        READ(0, 0) APPLY(0, 0) APPLY(0, 1) APPLY(0, 2) APPLY(0, 3) WRITE(0, 0)
        if (is_summed) {
            FOUR(DOT, 0)
        }
    }
    if (is_summed) {
        FOUR(STORE, 0)
    }
}

/* New coefficients of a block, one after another, and the changes that residuals need. */
static void find_coefficients(long first, long features, const float *norms, vfloat32m2_t penalty,
                              float (*sums)[LANES], float (*changes)[LANES], size_t vl) {
    for (long j = 0; j < 4; j++) {
        float norm = first + j < features ? norms[first + j] : 1;
        vfloat32m2_t old = __riscv_vle32_v_f32m2(coefficients[first + j], vl);
        vfloat32m2_t rho = __riscv_vle32_v_f32m2(sums[j], vl);
        rho = __riscv_vfmacc_vf_f32m2(rho, norm, old, vl);
        vfloat32m2_t size = __riscv_vfsub_vv_f32m2(__riscv_vfabs_v_f32m2(rho, vl), penalty, vl);
        size = __riscv_vfmul_vf_f32m2(__riscv_vfmax_vf_f32m2(size, 0, vl), 1 / norm, vl);
        size = __riscv_vfsgnj_vv_f32m2(size, rho, vl);
        __riscv_vse32_v_f32m2(coefficients[first + j], size, vl);
        vfloat32m2_t change = __riscv_vfsub_vv_f32m2(old, size, vl);
        __riscv_vse32_v_f32m2(changes[j], change, vl);
        for (long k = j + 1; k < 4; k++) {
            vfloat32m2_t sum = __riscv_vle32_v_f32m2(sums[k], vl);
            sum = __riscv_vfmacc_vf_f32m2(sum, inner[first / 4][j][k], change, vl);
            __riscv_vse32_v_f32m2(sums[k], sum, vl);
        }
    }
}

static inline void lasso_coordinate_step(const uint64_t *args) {
    long penalties = INT(5), n = INT(6), p = INT(7), sweeps = INT(8);
    const float *x = IN(float, 0), *y = IN(float, 1);
    float sums[4][LANES], changes[4][LANES];
    for (long first = 0; first < p; first += 4)
        find_products(block_of(x, first, p, n), n, inner[first / 4]);
    for (long lane = 0; lane < penalties;) {
        size_t vl = __riscv_vsetvl_e32m2(penalties - lane);
        vfloat32m2_t penalty = __riscv_vle32_v_f32m2(IN(float, 3) + lane, vl);
        float *w = OUT(float, 4) + lane * p;
        for (long i = 0; i < n; i++)
            __riscv_vse32_v_f32m2(residuals[i], __riscv_vfmv_v_f_f32m2(y[i], vl), vl);
        for (long first = 0; first < p; first += 4) {
            for (long k = 0; k < 4; k++) {
                vfloat32m2_t old = __riscv_vfmv_v_f_f32m2(0, vl);
                if (first + k < p)
                    old = __riscv_vlse32_v_f32m2(w + first + k, 4 * p, vl);
                __riscv_vse32_v_f32m2(coefficients[first + k], old, vl);
                __riscv_vse32_v_f32m2(changes[k], __riscv_vfneg_v_f32m2(old, vl), vl);
            }
            Block block = block_of(x, first, p, n), next = block_of(x, 0, p, n);
            if (first + 4 < p)
                change_residuals(block, block, changes, sums, n, 0, vl);
            else
                change_residuals(block, next, changes, sums, n, 1, vl);
        }
        for (long sweep = 0; sweep < sweeps; sweep++) {
            for (long first = 0; first < p; first += 4) {
                Block next = block_of(x, first + 4 < p ? first + 4 : 0, p, n);
                find_coefficients(first, p, IN(float, 2), penalty, sums, changes, vl);
                change_residuals(block_of(x, first, p, n), next, changes, sums, n, 1, vl);
            }
        }
        for (long j = 0; j < p; j++)
            __riscv_vsse32_v_f32m2(w + j, 4 * p, __riscv_vle32_v_f32m2(coefficients[j], vl), vl);
        lane += (long)vl;
    }
}

/* The image as floats with zeros around it, and taps of eight filters side by side: the even and
 * odd ones of four directions. Up to 2^16 pixels with their edges, and 32 by 32 taps. */
static float padded[(1 << 16) + VLEN], taps[1024][8];

#define EIGHT(EACH) EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)

static inline vfloat32m2_t length_of(vfloat32m2_t even, vfloat32m2_t odd, size_t vl) {
    vfloat32m2_t square = __riscv_vfmul_vv_f32m2(even, even, vl);
    square = __riscv_vfmacc_vv_f32m2(square, odd, odd, vl);
    vfloat32m2_t root = __riscv_vfrsqrt7_v_f32m2(__riscv_vfmax_vf_f32m2(square, 1e-37f, vl), vl);
    vfloat32m2_t length = __riscv_vfmul_vv_f32m2(square, root, vl);
    vfloat32m2_t error = __riscv_vfmul_vv_f32m2(length, root, vl);
    error = __riscv_vfrsub_vf_f32m2(error, 1, vl);
    vfloat32m2_t p = __riscv_vfmul_vf_f32m2(error, 0.375f, vl);
    p = __riscv_vfmul_vv_f32m2(__riscv_vfadd_vf_f32m2(p, 0.5f, vl), error, vl);
    return __riscv_vfmacc_vv_f32m2(length, length, p, vl);
}

/* Some pixels of up to four directions: each pixel that is read counts for all eight filters. */
static inline void filter_pixels(const float *from, long pitch, long size, float *out, long plane,
                                 long directions, size_t vl) {
#define ZERO(k) vfloat32m2_t sum##k = __riscv_vfmv_v_f_f32m2(0, vl);
#define TAP(k) sum##k = __riscv_vfmacc_vf_f32m2(sum##k, tap[k], pixels, vl);
    EIGHT(ZERO)
    const float *tap = taps[0];
    for (long i = 0; i < size; i++) {
        vfloat32m2_t next = __riscv_vle32_v_f32m2(from + i * pitch, vl);
        for (long k = 0; k < size; k++, tap += 8) {
            vfloat32m2_t pixels = next;
            next = __riscv_vle32_v_f32m2(from + i * pitch + k + 1, vl);
            EIGHT(TAP)
        }
    }
#define LENGTH(k, even, odd)                                                                       \
    if (k < directions)                                                                            \
        __riscv_vse32_v_f32m2(out + k * plane, length_of(even, odd, vl), vl);
    LENGTH(0, sum0, sum1) LENGTH(1, sum2, sum3) LENGTH(2, sum4, sum5) LENGTH(3, sum6, sum7)
}

static inline void gabor_energy(const uint64_t *args) {
    long h = INT(4), w = INT(5), directions = sizes[2], size = sizes[3], edge = size / 2;
    long pitch = w + size - 1, count = size * size;
    memset(padded, 0, (size_t)((h + size) * pitch) * sizeof *padded);
    for (long y = 0; y < h; y++) {
        const uint8_t *image = IN(uint8_t, 0) + y * w;
        float *to = padded + (y + edge) * pitch + edge;
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e8m2(w - i);
            ahead(image + i + 128, 64);
            vuint16m4_t wide = __riscv_vzext_vf2_u16m4(__riscv_vle8_v_u8m2(image + i, vl), vl);
            __riscv_vse32_v_f32m8(to + i, __riscv_vfwcvt_f_xu_v_f32m8(wide, vl), vl);
            i += (long)vl;
        }
    }
    for (long first = 0; first < directions; first += 4) {
        long some = directions - first < 4 ? directions - first : 4;
        for (long i = 0; i < count; i++) {
            for (long k = 0; k < some; k++) {
                taps[i][2 * k] = IN(float, 1)[(first + k) * count + i];
                taps[i][2 * k + 1] = IN(float, 2)[(first + k) * count + i];
            }
        }
        for (long y = 0; y < h; y++) {
            for (long x = 0; x < w;) {
                size_t vl = __riscv_vsetvl_e32m2(w - x);
                float *out = OUT(float, 3) + (first * h + y) * w + x;
                filter_pixels(padded + y * pitch + x, pitch, size, out, h * w, some, vl);
                x += (long)vl;
            }
        }
    }
}
