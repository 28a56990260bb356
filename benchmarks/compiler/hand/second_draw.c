/* The kernels of second_draw.py in RVV intrinsics, for bench_hand.py: a quarter of an hour each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

#define MOST_INPUT (1 << 16)

/* Into an image with a rim of zeros, so that no load needs a mask. */
static inline void with_rim(const float *x, float *padded, long height, long width) {
    memset(padded, 0, sizeof(float) * (size_t)((height + 2) * (width + 2)));
    for (long row = 0; row < height; row++)
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m8(width - i);
            vfloat32m8_t values = __riscv_vle32_v_f32m8(x + row * width + i, vl);
            __riscv_vse32_v_f32m8(padded + (row + 1) * (width + 2) + 1 + i, values, vl);
            i += (long)vl;
        }
}

/* Four channels of output at a time, so that pixels are loaded once for all of them, the next row of
 * three beside the arithmetic of this one. */
static inline void conv3x3_channels(const uint64_t *args) {
    static float padded[MOST_INPUT];
    long outputs = sizes[1], channels = INT(4), height = INT(5), width = INT(6), wide = width + 2;
    for (long c = 0; c < channels; c++)
        with_rim(IN(float, 0) + c * height * width, padded + c * (height + 2) * wide, height, width);
    for (long out = 0; out < outputs; out += 4)
        for (long row = 0; row < height; row++)
            for (long i = 0; i < width;) {
                size_t vl = __riscv_vsetvl_e32m4(width - i);
                const float *w = IN(float, 1) + out * channels * 9, *bias = IN(float, 2) + out;
                const float *x = padded + row * wide + i;
                long next = channels * 9, plane = height * width;
                vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(bias[0], vl);
                vfloat32m4_t s1 = __riscv_vfmv_v_f_f32m4(bias[1], vl);
                vfloat32m4_t s2 = __riscv_vfmv_v_f_f32m4(bias[2], vl);
                vfloat32m4_t s3 = __riscv_vfmv_v_f_f32m4(bias[3], vl);
                vfloat32m4_t a = __riscv_vle32_v_f32m4(x, vl);
                vfloat32m4_t b = __riscv_vle32_v_f32m4(x + 1, vl);
                vfloat32m4_t c = __riscv_vle32_v_f32m4(x + 2, vl);
#define TAP(pixels, at)                                                                            \
    s0 = __riscv_vfmacc_vf_f32m4(s0, w[at], pixels, vl);                                           \
    s1 = __riscv_vfmacc_vf_f32m4(s1, w[next + at], pixels, vl);                                    \
    s2 = __riscv_vfmacc_vf_f32m4(s2, w[2 * next + at], pixels, vl);                                \
    s3 = __riscv_vfmacc_vf_f32m4(s3, w[3 * next + at], pixels, vl);
                for (long channel = 0; channel < channels; channel++, w += 9) {
                    ahead(x + 3 * wide, 4 * (long)vl);
#pragma clang loop unroll(full)
                    for (int dy = 0; dy < 3; dy++) {
                        x += dy == 2 ? height * wide : wide;
                        TAP(a, 3 * dy)
                        a = __riscv_vle32_v_f32m4(x, vl);
                        TAP(b, 3 * dy + 1)
                        b = __riscv_vle32_v_f32m4(x + 1, vl);
                        TAP(c, 3 * dy + 2)
                        c = __riscv_vle32_v_f32m4(x + 2, vl);
                    }
                }
                float *y = OUT(float, 3) + out * plane + row * width + i;
                __riscv_vse32_v_f32m4(y, s0, vl), __riscv_vse32_v_f32m4(y + plane, s1, vl);
                __riscv_vse32_v_f32m4(y + 2 * plane, s2, vl);
                __riscv_vse32_v_f32m4(y + 3 * plane, s3, vl);
                i += (long)vl;
            }
}

/* Three neighbours of each pixel of a row, added in 16 bits. */
static inline vuint16m4_t three_of_row(const uint8_t *x, size_t vl) {
    vuint8m2_t first = __riscv_vle8_v_u8m2(x, vl), second = __riscv_vle8_v_u8m2(x + 1, vl);
    vuint16m4_t sum = __riscv_vwaddu_vv_u16m4(first, second, vl);
    return __riscv_vwaddu_wv_u16m4(sum, __riscv_vle8_v_u8m2(x + 2, vl), vl);
}

/* The last two rows' sums stay in registers while a strip goes down; 9 divides by a product. */
static inline void box_blur_bytes(const uint64_t *args) {
    long height = INT(2) - 2, width = INT(3), columns = width - 2;
    for (long i = 0; i < columns;) {
        size_t vl = __riscv_vsetvl_e8m2(columns - i);
        const uint8_t *x = IN(uint8_t, 0) + i;
        uint8_t *y = OUT(uint8_t, 1) + i;
        vuint16m4_t upper = three_of_row(x, vl), middle = three_of_row(x + width, vl);
        for (long row = 0; row < height; row++) {
            ahead(x + (row + 6) * width, (long)vl);
            vuint16m4_t lower = three_of_row(x + (row + 2) * width, vl);
            vuint16m4_t sum = __riscv_vadd_vv_u16m4(upper, middle, vl);
            sum = __riscv_vadd_vx_u16m4(__riscv_vadd_vv_u16m4(sum, lower, vl), 4, vl);
            sum = __riscv_vmulhu_vx_u16m4(sum, 7282, vl);
            __riscv_vse8_v_u8m2(y + row * columns, __riscv_vnsrl_wx_u8m2(sum, 0, vl), vl);
            upper = middle, middle = lower;
        }
        i += (long)vl;
    }
}

static inline void store_colour(vuint8m1_t bytes, float scale, float shift, float *out, size_t vl) {
    vfloat32m4_t floats = __riscv_vfwcvt_f_xu_v_f32m4(__riscv_vzext_vf2_u16m2(bytes, vl), vl);
    vfloat32m4_t shifts = __riscv_vfmv_v_f_f32m4(shift, vl);
    __riscv_vse32_v_f32m4(out, __riscv_vfmadd_vf_f32m4(floats, scale, shifts, vl), vl);
}

/* The three bytes are told apart by one segment load; the rest is one product and sum. */
static inline void colours_to_planes(const uint64_t *args) {
    long pixels = INT(2);
    float scales[3], shifts[3];
    for (int colour = 0; colour < 3; colour++) {
        scales[colour] = as_float(args[6 + colour]) / 255;
        shifts[colour] = -as_float(args[3 + colour]) * as_float(args[6 + colour]);
    }
    for (long i = 0; i < pixels;) {
        size_t vl = __riscv_vsetvl_e8m1(pixels - i);
        const uint8_t *x = IN(uint8_t, 0) + 3 * i;
        float *y = OUT(float, 1) + i;
        vuint8m1x3_t colours = __riscv_vlseg3e8_v_u8m1x3(x, vl);
        ahead(x + 6 * vl, 3 * (long)vl);
        store_colour(__riscv_vget_v_u8m1x3_u8m1(colours, 0), scales[0], shifts[0], y, vl);
        store_colour(__riscv_vget_v_u8m1x3_u8m1(colours, 1), scales[1], shifts[1], y + pixels, vl);
        store_colour(__riscv_vget_v_u8m1x3_u8m1(colours, 2), scales[2], shifts[2], y + 2 * pixels,
                     vl);
        i += (long)vl;
    }
}

static inline float sum_m8(vfloat32m8_t values, size_t vl) {
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0, 1);
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m8_f32m1(values, zero, vl));
}

/* Three passes over a row, of which the second and the third read it from L1. */
static inline void add_layer_norm(const uint64_t *args) {
    long rows = sizes[0], n = INT(6);
    size_t all = __riscv_vsetvlmax_e32m8();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n, *residual = IN(float, 1) + row * n;
        float *kept = OUT(float, 4) + row * n, *y = OUT(float, 5) + row * n;
        vfloat32m8_t total = __riscv_vfmv_v_f_f32m8(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t value = __riscv_vfadd_vv_f32m8(__riscv_vle32_v_f32m8(x + i, vl),
                                                        __riscv_vle32_v_f32m8(residual + i, vl), vl);
            __riscv_vse32_v_f32m8(kept + i, value, vl);
            total = __riscv_vfadd_vv_f32m8_tu(total, total, value, vl);
            i += (long)vl;
        }
        float mean = sum_m8(total, all) / (float)n;
        total = __riscv_vfmv_v_f_f32m8(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t value = __riscv_vfsub_vf_f32m8(__riscv_vle32_v_f32m8(kept + i, vl), mean, vl);
            ahead(x + n + i, 4 * (long)vl), ahead(residual + n + i, 4 * (long)vl);
            total = __riscv_vfmacc_vv_f32m8_tu(total, value, value, vl);
            i += (long)vl;
        }
        float variance = sum_m8(total, all) / (float)n;
        float inverse = 1 / __builtin_sqrtf(variance + as_float(args[7]));
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t value = __riscv_vfsub_vf_f32m8(__riscv_vle32_v_f32m8(kept + i, vl), mean, vl);
            vfloat32m8_t weight = __riscv_vle32_v_f32m8(IN(float, 2) + i, vl);
            weight = __riscv_vfmul_vf_f32m8(weight, inverse, vl);
            value = __riscv_vfmadd_vv_f32m8(value, weight, __riscv_vle32_v_f32m8(IN(float, 3) + i, vl),
                                            vl);
            __riscv_vse32_v_f32m8(y + i, value, vl);
            i += (long)vl;
        }
    }
}

/* The lane of the least of some distances. */
static inline int32_t least(vfloat32m4_t distances, size_t vl) {
    vfloat32m1_t most = __riscv_vfmv_s_f_f32m1(__builtin_inff(), 1);
    vfloat32m1_t least = __riscv_vfredmin_vs_f32m4_f32m1(distances, most, vl);
    float value = __riscv_vfmv_f_s_f32m1_f32(least);
    return (int32_t)__riscv_vfirst_m_b8(__riscv_vmfeq_vf_f32m4_b8(distances, value, vl), vl);
}

/* A lane for each of up to 32 centroids, four points at a time; centroids are transposed first. */
static inline void nearest_centroid(const uint64_t *args) {
    static float turned[64 * 32];
    long points = sizes[0], centroids = sizes[1], depth = sizes[2];
    size_t vl = __riscv_vsetvl_e32m4(centroids);
    for (long d = 0; d < depth; d++) {
        vfloat32m4_t column = __riscv_vlse32_v_f32m4(IN(float, 1) + d, 4 * depth, vl);
        __riscv_vse32_v_f32m4(turned + d * centroids, column, vl);
    }
    for (long point = 0; point < points; point += 4) {
        const float *x = IN(float, 0) + point * depth;
        vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0, vl), s1 = s0, s2 = s0, s3 = s0;
        ahead(x + 4 * depth, 16 * depth);
        for (long d = 0; d < depth; d++) {
            vfloat32m4_t centroid = __riscv_vle32_v_f32m4(turned + d * centroids, vl);
            vfloat32m4_t d0 = __riscv_vfsub_vf_f32m4(centroid, x[d], vl);
            vfloat32m4_t d1 = __riscv_vfsub_vf_f32m4(centroid, x[depth + d], vl);
            s0 = __riscv_vfmacc_vv_f32m4(s0, d0, d0, vl);
            d0 = __riscv_vfsub_vf_f32m4(centroid, x[2 * depth + d], vl);
            s1 = __riscv_vfmacc_vv_f32m4(s1, d1, d1, vl);
            d1 = __riscv_vfsub_vf_f32m4(centroid, x[3 * depth + d], vl);
            s2 = __riscv_vfmacc_vv_f32m4(s2, d0, d0, vl);
            s3 = __riscv_vfmacc_vv_f32m4(s3, d1, d1, vl);
        }
        int32_t *nearest = OUT(int32_t, 2) + point;
        nearest[0] = least(s0, vl), nearest[1] = least(s1, vl);
        nearest[2] = least(s2, vl), nearest[3] = least(s3, vl);
    }
}

/* Where a position of the output lies in the input, and how far behind that pixel. */
static inline long source_of(long position, float step, long size, float *rest) {
    float at = ((float)position + 0.5f) * step - 0.5f;
    at = at < 0 ? 0 : at;
    long pixel = (long)at < size - 1 ? (long)at : size - 1;
    *rest = at - (float)pixel;
    return pixel;
}

/* Two rows are mixed as they lie; neighbours of the result are gathered from L1 by a list. */
static inline void bilinear_upsample(const uint64_t *args) {
    static uint32_t offsets[4096];
    static float rests[4096], mixed[4096];
    long planes = sizes[0], height = INT(2), width = INT(3), out_height = INT(4), out_width = INT(5);
    for (long i = 0; i < out_width; i++)
        offsets[i] = 4 * (uint32_t)source_of(i, as_float(args[7]), width, rests + i);
    for (long row = 0, y_row = 0, plane = 0; row < planes * out_height; row++, y_row++) {
        float down;
        if (y_row == out_height)
            y_row = 0, plane++;
        long above = source_of(y_row, as_float(args[6]), height, &down);
        const float *x = IN(float, 0) + (plane * height + above) * width;
        const float *below = above + 1 < height ? x + width : x;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m8(width - i);
            vfloat32m8_t upper = __riscv_vle32_v_f32m8(x + i, vl);
            vfloat32m8_t change =
                __riscv_vfsub_vv_f32m8(__riscv_vle32_v_f32m8(below + i, vl), upper, vl);
            ahead(below + width + i, 4 * (long)vl);
            __riscv_vse32_v_f32m8(mixed + i, __riscv_vfmacc_vf_f32m8(upper, down, change, vl), vl);
            i += (long)vl;
        }
        mixed[width] = mixed[width - 1];
        float *y = OUT(float, 1) + row * out_width;
        for (long i = 0; i < out_width;) {
            size_t vl = __riscv_vsetvl_e32m4(out_width - i);
            vuint32m4_t at = __riscv_vle32_v_u32m4(offsets + i, vl);
            vfloat32m4_t left = __riscv_vluxei32_v_f32m4(mixed, at, vl);
            vfloat32m4_t right = __riscv_vluxei32_v_f32m4(mixed + 1, at, vl);
            right = __riscv_vfsub_vv_f32m4(right, left, vl);
            left = __riscv_vfmacc_vv_f32m4(left, __riscv_vle32_v_f32m4(rests + i, vl), right, vl);
            __riscv_vse32_v_f32m4(y + i, left, vl);
            i += (long)vl;
        }
    }
}
