/* The kernels of nineteenth_held_out.py in RVV intrinsics, for bench_hand.py: tuned on the emulated
 * X60, by somebody who knows the instructions and not what the compiler makes. One program does all
 * the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define ONE(EACH) EACH(0)

/* Farthest points: the next points are on their way while those at hand are compared; each lane
 * keeps its largest distance and where it began to be so. */
#define TRIPLES(i) __riscv_vlseg3e32_v_f32m2x3(points + 3 * (i), vl)
/* Points from i on, while those that next reads are on their way. */
#define NEARER(triples, i, next)                                                                   \
    {                                                                                              \
        vfloat32m2_t dx = __riscv_vget_v_f32m2x3_f32m2(triples, 0);                                \
        vfloat32m2_t dy = __riscv_vget_v_f32m2x3_f32m2(triples, 1);                                \
        vfloat32m2_t dz = __riscv_vget_v_f32m2x3_f32m2(triples, 2);                                \
        vfloat32m2_t d = __riscv_vle32_v_f32m2(distances + (i), vl);                               \
        ahead(points + 3 * ((i) + 64), 192), ahead(distances + (i) + 64, 64);                      \
        next;                                                                                      \
        __asm__ volatile("" : "+vr"(dx), "+vr"(dy), "+vr"(dz), "+vr"(d) : : "memory");             \
        dx = __riscv_vfsub_vf_f32m2(dx, x, vl);                                                    \
        dy = __riscv_vfsub_vf_f32m2(dy, y, vl);                                                    \
        dz = __riscv_vfsub_vf_f32m2(dz, z, vl);                                                    \
        dx = __riscv_vfmul_vv_f32m2(dx, dx, vl);                                                   \
        dx = __riscv_vfmacc_vv_f32m2(dx, dy, dy, vl);                                              \
        dx = __riscv_vfmacc_vv_f32m2(dx, dz, dz, vl);                                              \
        d = __riscv_vfmin_vv_f32m2(d, dx, vl);                                                     \
        __riscv_vse32_v_f32m2(distances + (i), d, vl);                                             \
        vbool16_t more = __riscv_vmfgt_vv_f32m2_b16(d, most, vl);                                  \
        most = __riscv_vfmax_vv_f32m2_tu(most, most, d, vl);                                       \
        starts = __riscv_vmerge_vxm_u32m2_tu(starts, starts, (uint32_t)(i), more, vl);             \
    }

static inline void farthest_point_update_distances(const uint64_t *args) {
    const float *points = IN(float, 0);
    const int32_t *last = IN(int32_t, 1);
    float *distances = OUT(float, 2);
    int32_t *next = OUT(int32_t, 3);
    long clouds = sizes[0], n = INT(4);
    size_t all = __riscv_vsetvlmax_e32m2();
    for (long cloud = 0; cloud < clouds; cloud++, points += 3 * n, distances += n) {
        const float *chosen = points + 3 * last[cloud];
        float x = chosen[0], y = chosen[1], z = chosen[2];
        vfloat32m2_t most = __riscv_vfmv_v_f_f32m2(-1, all);
        vuint32m2_t starts = __riscv_vmv_v_x_u32m2(0, all);
        long i = 0, lanes = (long)all;
        if (n >= 3 * lanes) {
            size_t vl = all;
            vfloat32m2x3_t one = TRIPLES(0), other;
            for (; i + 3 * lanes <= n; i += 2 * lanes) {
                NEARER(one, i, other = TRIPLES(i + lanes))
                NEARER(other, i + lanes, one = TRIPLES(i + 2 * lanes))
            }
        }
        while (i < n) {
            size_t vl = __riscv_vsetvl_e32m2(n - i);
            vfloat32m2x3_t one = TRIPLES(i);
            NEARER(one, i, (void)0)
            i += (long)vl;
        }
        vfloat32m1_t low = __riscv_vfmv_s_f_f32m1(-1, 1);
        low = __riscv_vfredmax_vs_f32m2_f32m1(most, low, all);
        float largest = __riscv_vfmv_f_s_f32m1_f32(low);
        vbool16_t is_largest = __riscv_vmfeq_vf_f32m2_b16(most, largest, all);
        starts = __riscv_vadd_vv_u32m2(starts, __riscv_vid_v_u32m2(all), all);
        vuint32m1_t end = __riscv_vmv_s_x_u32m1(UINT32_MAX, 1);
        end = __riscv_vredminu_vs_u32m2_u32m1_m(is_largest, starts, end, all);
        next[cloud] = (int32_t)__riscv_vmv_x_s_u32m1_u32(end);
    }
}

/* Coordinates: the three planes are computed for the first image, and copied to the others. */
static inline void copy(const float *from, float *to, long n) {
    size_t vl = __riscv_vsetvlmax_e32m8();
    long lanes = (long)vl, i = 0;
    for (; i + 3 * lanes <= n; i += 3 * lanes) {
        ahead(from + i + 5 * lanes, 3 * VLEN);
        vfloat32m8_t a = __riscv_vle32_v_f32m8(from + i, vl);
        vfloat32m8_t b = __riscv_vle32_v_f32m8(from + i + lanes, vl);
        vfloat32m8_t c = __riscv_vle32_v_f32m8(from + i + 2 * lanes, vl);
        __riscv_vse32_v_f32m8(to + i, a, vl);
        __riscv_vse32_v_f32m8(to + i + lanes, b, vl);
        __riscv_vse32_v_f32m8(to + i + 2 * lanes, c, vl);
    }
    for (; i < n; i += (long)vl) {
        vl = __riscv_vsetvl_e32m8(n - i);
        __riscv_vse32_v_f32m8(to + i, __riscv_vle32_v_f32m8(from + i, vl), vl);
    }
}

/* sqrt(x), by a reciprocal of 7 bits and a step of third order. */
static inline vfloat32m4_t root(vfloat32m4_t x, size_t vl) {
    x = __riscv_vfmax_vf_f32m4(x, 1e-30f, vl);
    vfloat32m4_t y = __riscv_vfrsqrt7_v_f32m4(x, vl);
    x = __riscv_vfmul_vv_f32m4(x, y, vl);
    vfloat32m4_t off = __riscv_vfrsub_vf_f32m4(__riscv_vfmul_vv_f32m4(x, y, vl), 1, vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(off, 0.375f, vl);
    p = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), off, vl);
    return __riscv_vfmacc_vv_f32m4(x, x, p, vl);
}

static inline void coord_conv_append(const uint64_t *args) {
    const float *x = IN(float, 0);
    float *out = OUT(float, 1);
    long images = sizes[0], channels = INT(2), height = INT(3), width = INT(4);
    long plane = height * width;
    float *first = out + channels * plane;
    for (long row = 0; row < height; row++) {
        float down = 2 * (float)row / (float)(height - 1) - 1, below = down - 0.5f;
        float *to = first + row * width;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            vfloat32m4_t across;
            if (row) {
                across = __riscv_vle32_v_f32m4(first + i, vl);
            } else {
                vuint32m4_t column =
                    __riscv_vadd_vx_u32m4(__riscv_vid_v_u32m4(vl), (uint32_t)i, vl);
                across = __riscv_vfcvt_f_xu_v_f32m4(column, vl);
                across = __riscv_vfmul_vf_f32m4(across, 2 / (float)(width - 1), vl);
                across = __riscv_vfsub_vf_f32m4(across, 1, vl);
            }
            __riscv_vse32_v_f32m4(to + i, across, vl);
            __riscv_vse32_v_f32m4(to + plane + i, __riscv_vfmv_v_f_f32m4(down, vl), vl);
            across = __riscv_vfsub_vf_f32m4(across, 0.5f, vl);
            across = __riscv_vfmul_vv_f32m4(across, across, vl);
            across = __riscv_vfadd_vf_f32m4(across, below * below, vl);
            __riscv_vse32_v_f32m4(to + 2 * plane + i, root(across, vl), vl);
            i += (long)vl;
        }
    }
    for (long image = 0; image < images; image++, x += channels * plane) {
        if (image)
            copy(first, out + channels * plane, 3 * plane);
        copy(x, out, channels * plane);
        out += (channels + 3) * plane;
    }
}

/* EdgeConv: what follows u grows or falls with it, as the sign of scale says, so each point needs
 * the largest and the smallest u of its neighbours alone. 64 channels stay in registers; parts of
 * the next rows are on their way while those at hand are compared. Up to 65,536 edges. */
#define READ(from) __riscv_vle32_v_f32m2(from, vl)
#define FARTHER 3 /* neighbours whose rows are prefetched before they are needed */

/* Where rows of neighbours begin, for all edges and some more. */
static int32_t places[65536 + FARTHER + 1];

#define FIRST(k) vfloat32m2_t most##k = READ(row + (k) * lanes), least##k = most##k;
/* Part k of a row is on its way when part of one before it is compared. */
#define PART(k, from, before)                                                                      \
    x##k = READ((from) + (k) * lanes);                                                             \
    __asm__ volatile("" : "+vr"(x##k), "+vr"(least##before));                                      \
    most##before = __riscv_vfmax_vv_f32m2(most##before, x##before, vl);                            \
    least##before = __riscv_vfmin_vv_f32m2(least##before, x##before, vl);
#define CHOOSE(k)                                                                                  \
    vfloat32m2_t scale##k = READ(scales + (k) * lanes);                                            \
    vbool16_t falls##k = __riscv_vmflt_vf_f32m2_b16(scale##k, 0, vl);                              \
    most##k = __riscv_vmerge_vvm_f32m2(most##k, least##k, falls##k, vl);
#define EDGE(k) most##k = __riscv_vfadd_vv_f32m2(most##k, READ(v + (k) * lanes), vl);
#define NORM(k)                                                                                    \
    most##k = __riscv_vfmadd_vv_f32m2(most##k, scale##k, READ(shifts + (k) * lanes), vl);
#define OVER(k) vfloat32m2_t over##k = __riscv_vfmax_vf_f32m2(most##k, 0, vl);
#define UNDER(k) most##k = __riscv_vfmin_vf_f32m2(most##k, 0, vl);
#define LEAK(k) over##k = __riscv_vfmacc_vf_f32m2(over##k, slope, most##k, vl);
#define KEEP(k) __riscv_vse32_v_f32m2(out + (k) * lanes, over##k, vl);
#define RESULT(ALL) ALL(CHOOSE) ALL(EDGE) ALL(NORM) ALL(OVER) ALL(UNDER) ALL(LEAK) ALL(KEEP)

static inline void four_parts(const float *u, const int32_t *at, const float *v,
                              const float *scales, const float *shifts, float *out, long count,
                              float slope, long lanes, size_t vl) {
    const float *row = u + at[0], *next = u + at[1];
    FOUR(FIRST)
    if (count > 1) {
        vfloat32m2_t x0 = READ(next), x1 = READ(next + lanes), x2, x3;
        long later = at[2];
        for (long k = 1; k < count; k++) {
            row = next, next = u + later, later = at[k + 2];
            ahead(u + at[k + FARTHER], VLEN);
            PART(2, row, 0) PART(3, row, 1) PART(0, next, 2) PART(1, next, 3)
        }
    }
    RESULT(FOUR)
}

static inline void one_part(const float *u, const int32_t *at, const float *v, const float *scales,
                            const float *shifts, float *out, long count, float slope, size_t vl) {
    const float *row = u + at[0];
    long lanes = 0;
    ONE(FIRST)
    for (long k = 1; k < count; k++) {
        vfloat32m2_t x0 = READ(u + at[k]);
        most0 = __riscv_vfmax_vv_f32m2(most0, x0, vl);
        least0 = __riscv_vfmin_vv_f32m2(least0, x0, vl);
    }
    RESULT(ONE)
}

static inline void edgeconv_max_neighbours(const uint64_t *args) {
    const float *u = IN(float, 0), *v = IN(float, 1), *scales = IN(float, 3);
    const float *shifts = IN(float, 4);
    const int32_t *at = places;
    float *out = OUT(float, 5), slope = as_float(args[9]);
    long n = INT(6), channels = INT(7), count = INT(8), lanes = VLEN / 16;
    for (long i = 0; i < n * count;) {
        size_t vl = __riscv_vsetvl_e32m8(n * count - i);
        vint32m8_t neighbour = __riscv_vle32_v_i32m8(IN(int32_t, 2) + i, vl);
        neighbour = __riscv_vmul_vx_i32m8(neighbour, (int32_t)channels, vl);
        __riscv_vse32_v_i32m8(places + i, neighbour, vl);
        i += (long)vl;
    }
    for (long i = 0; i < n; i++, at += count) {
        for (long c = 0; c < channels;) {
            if (c + 4 * lanes <= channels) {
                four_parts(u + c, at, v, scales + c, shifts + c, out, count, slope, lanes,
                           (size_t)lanes);
                c += 4 * lanes, v += 4 * lanes, out += 4 * lanes;
            } else {
                size_t vl = __riscv_vsetvl_e32m2(channels - c);
                one_part(u + c, at, v, scales + c, shifts + c, out, count, slope, vl);
                c += (long)vl, v += vl, out += vl;
            }
        }
    }
}

/* Consistency models: bits of bf16, times 2^15 twice, are those of a float. While a step is
 * computed, the result of the one before is stored and the next one is loaded. */
#define LOAD(k, i)                                                                                 \
    x##k = __riscv_vle32_v_f32m4(x + (i), vl);                                                     \
    h##k = __riscv_vle16_v_u16m2(model + (i), vl);
#define PUT(i) __riscv_vse32_v_f32m4(out + (i), result, vl);
/* Keeps what stands above and below apart. */
#define HOLD(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b) : : "memory");
#define STEP(k, next, i, put)                                                                      \
    {                                                                                              \
        put;                                                                                       \
        ahead(x + (i) + 5 * lanes, VLEN / 2), ahead(model + (i) + 5 * lanes, VLEN / 4);            \
        HOLD(x##k, h##k)                                                                           \
        vuint32m4_t wide = __riscv_vwmulu_vx_u32m4(h##k, 0x8000, vl);                              \
        vfloat32m4_t sum = __riscv_vfmul_vf_f32m4(x##k, skip, vl);                                 \
        HOLD(wide, sum)                                                                            \
        x##next = __riscv_vle32_v_f32m4(x + (i) + lanes, vl);                                      \
        HOLD(wide, sum)                                                                            \
        wide = __riscv_vadd_vv_u32m4(wide, wide, vl);                                              \
        sum = __riscv_vfmacc_vf_f32m4(sum, scale, __riscv_vreinterpret_v_u32m4_f32m4(wide), vl);   \
        HOLD(wide, sum)                                                                            \
        h##next = __riscv_vle16_v_u16m2(model + (i) + lanes, vl);                                  \
        HOLD(wide, sum)                                                                            \
        sum = __riscv_vfmax_vf_f32m4(sum, -most, vl);                                              \
        result = __riscv_vfmin_vf_f32m4(sum, most, vl);                                            \
        HOLD(result, h##next)                                                                      \
    }

static inline void consistency_boundary_scale(const uint64_t *args) {
    const float *x = IN(float, 0), *sigmas = IN(float, 2);
    const uint16_t *model = IN(uint16_t, 1);
    float *out = OUT(float, 3), data = as_float(args[5]), least = as_float(args[6]);
    float most = as_float(args[7]);
    long samples = sizes[0], n = INT(4), lanes = VLEN / 8;
    for (long sample = 0; sample < samples; sample++, x += n, model += n, out += n) {
        float sigma = sigmas[sample], above = sigma - least;
        float skip = data * data / (above * above + data * data);
        float scale = data * above / sqrtf(sigma * sigma + data * data);
        vfloat32m4_t x0, x1, result;
        vuint16m2_t h0, h1;
        long i = 0;
        if (n >= 4 * lanes) {
            size_t vl = (size_t)lanes;
            LOAD(0, 0)
            STEP(0, 1, 0, (void)0)
            for (i = lanes; i + 3 * lanes <= n; i += 2 * lanes) {
                STEP(1, 0, i, PUT(i - lanes))
                STEP(0, 1, i + lanes, PUT(i))
            }
            PUT(i - lanes)
        }
        while (i < n) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            LOAD(0, i)
            vuint32m4_t wide = __riscv_vwmulu_vx_u32m4(h0, 0x8000, vl);
            wide = __riscv_vadd_vv_u32m4(wide, wide, vl);
            x0 = __riscv_vfmul_vf_f32m4(x0, skip, vl);
            x0 = __riscv_vfmacc_vf_f32m4(x0, scale, __riscv_vreinterpret_v_u32m4_f32m4(wide), vl);
            x0 = __riscv_vfmax_vf_f32m4(x0, -most, vl);
            result = __riscv_vfmin_vf_f32m4(x0, most, vl);
            PUT(i)
            i += (long)vl;
        }
    }
}
