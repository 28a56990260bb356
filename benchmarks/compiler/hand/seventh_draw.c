/* The kernels of seventh_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions. One program does all the work. With -DAHEAD, the data of a
 * later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Two passes over a row, which stays in L1: the largest element, then the sum of exponentials. */
static inline void cross_entropy_online(const uint64_t *args) {
    long rows = sizes[0], n = INT(3);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        vfloat32m4_t top = __riscv_vfmv_v_f_f32m4(-__builtin_inff(), all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            ahead(x + n + i, 4 * (long)vl);
            top = __riscv_vfmax_vv_f32m4_tu(top, top, __riscv_vle32_v_f32m4(x + i, vl), vl);
            i += (long)vl;
        }
        float m = largest_m4(top, all);
        vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t e = __riscv_vfsub_vf_f32m4(__riscv_vle32_v_f32m4(x + i, vl), m, vl);
            total = __riscv_vfadd_vv_f32m4_tu(total, total, exponential(e, vl), vl);
            i += (long)vl;
        }
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(sum_m4(total, all), 1);
        float log = __riscv_vfmv_f_s_f32m4_f32(logarithm(sum, 1));
        OUT(float, 2)[row] = m + log - x[IN(int64_t, 1)[row]];
    }
}

#define ROUND                                                                                      \
    {                                                                                              \
        vuint32m2_t low0 = __riscv_vmul_vx_u32m2(c0, 0xD2511F53u, vl);                             \
        vuint32m2_t low1 = __riscv_vmul_vx_u32m2(c2, 0xCD9E8D57u, vl);                             \
        vuint32m2_t high0 = __riscv_vmulhu_vx_u32m2(c0, 0xD2511F53u, vl);                          \
        vuint32m2_t high1 = __riscv_vmulhu_vx_u32m2(c2, 0xCD9E8D57u, vl);                          \
        c0 = __riscv_vxor_vx_u32m2(__riscv_vxor_vv_u32m2(high1, c1, vl), k0, vl);                  \
        c2 = __riscv_vxor_vx_u32m2(__riscv_vxor_vv_u32m2(high0, c3, vl), k1, vl);                  \
        c1 = low1, c3 = low0;                                                                      \
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;                                                      \
    }

/* Philox in ten rounds; the bias lies in rows, so that each row is walked alone. */
static inline void dropout_residual(const uint64_t *args) {
    long n = INT(4), d = INT(5);
    float p = as_float(args[6]), scale = 1 / (1 - p);
    for (long row = 0; row < n; row += d) {
        const float *x = IN(float, 0) + row, *residual = IN(float, 2) + row;
        float *y = OUT(float, 3) + row;
        for (long i = 0; i < d;) {
            size_t vl = __riscv_vsetvl_e32m2(d - i);
            vuint32m2_t c0 =
                __riscv_vadd_vx_u32m2(__riscv_vid_v_u32m2(vl), (uint32_t)(row + i), vl);
            vuint32m2_t c1 = __riscv_vmv_v_x_u32m2(0, vl), c2 = c1, c3 = c1;
            uint32_t k0 = (uint32_t)args[7], k1 = 0;
            ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND
            vint32m2_t bits = __riscv_vreinterpret_v_u32m2_i32m2(c0);
            bits = __riscv_vxor_vv_i32m2(bits, __riscv_vsra_vx_i32m2(bits, 31, vl), vl);
            vfloat32m2_t uniform =
                __riscv_vfmul_vf_f32m2(__riscv_vfcvt_f_x_v_f32m2(bits, vl), 4.6566127342e-10f, vl);
            vbool16_t keep = __riscv_vmfgt_vf_f32m2_b16(uniform, p, vl);
            vfloat32m2_t sum = __riscv_vfadd_vv_f32m2(
                __riscv_vle32_v_f32m2(x + i, vl), __riscv_vle32_v_f32m2(IN(float, 1) + i, vl), vl);
            vfloat32m2_t old = __riscv_vle32_v_f32m2(residual + i, vl);
            ahead(x + i + 2 * vl, 4 * (long)vl), ahead(residual + i + 2 * vl, 4 * (long)vl);
            __riscv_vse32_v_f32m2(y + i, __riscv_vfmacc_vf_f32m2_mu(keep, old, scale, sum, vl), vl);
            i += (long)vl;
        }
    }
}

/* Columns are summed over three rows into a line with a zero at both ends; then three neighbours. */
static inline void avg_pool_overlapped(const uint64_t *args) {
    long planes = sizes[0], height = INT(2), width = INT(3);
    float line[1024 + 2], inverse3[1024], inverse2[1024];
    for (long i = 0; i < width; i++) {
        float across = i == 0 || i == width - 1 ? 2 : 3;
        inverse3[i] = 1 / (3 * across), inverse2[i] = 1 / (2 * across);
    }
    line[0] = 0, line[width + 1] = 0;
    for (long row = 0; row < planes * height; row++) {
        const float *x = IN(float, 0) + row * width;
        long y = row % height;
        const float *inverse = y == 0 || y == height - 1 ? inverse2 : inverse3;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            vfloat32m4_t sum = __riscv_vle32_v_f32m4(x + i, vl);
            ahead(x + 2 * width + i, 4 * (long)vl);
            if (y > 0)
                sum = __riscv_vfadd_vv_f32m4(sum, __riscv_vle32_v_f32m4(x - width + i, vl), vl);
            if (y < height - 1)
                sum = __riscv_vfadd_vv_f32m4(sum, __riscv_vle32_v_f32m4(x + width + i, vl), vl);
            __riscv_vse32_v_f32m4(line + 1 + i, sum, vl);
            i += (long)vl;
        }
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            vfloat32m4_t left = __riscv_vle32_v_f32m4(line + i, vl);
            vfloat32m4_t mid = __riscv_vle32_v_f32m4(line + i + 1, vl);
            vfloat32m4_t right = __riscv_vle32_v_f32m4(line + i + 2, vl);
            vfloat32m4_t sum = __riscv_vfadd_vv_f32m4(__riscv_vfadd_vv_f32m4(left, mid, vl), right, vl);
            sum = __riscv_vfmul_vv_f32m4(sum, __riscv_vle32_v_f32m4(inverse + i, vl), vl);
            __riscv_vse32_v_f32m4(OUT(float, 1) + row * width + i, sum, vl);
            i += (long)vl;
        }
    }
}

/* A strip of channels goes through time. */
static inline void linear_recurrence(const uint64_t *args) {
    long steps = INT(3), d = INT(4);
    for (long i = 0; i < d;) {
        size_t vl = __riscv_vsetvl_e32m4(d - i);
        vfloat32m4_t h = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long t = 0; t < steps; t++) {
            vfloat32m4_t a = __riscv_vle32_v_f32m4(IN(float, 0) + t * d + i, vl);
            vfloat32m4_t x = __riscv_vle32_v_f32m4(IN(float, 1) + t * d + i, vl);
            ahead(IN(float, 0) + (t + 4) * d + i, 4 * (long)vl);
            ahead(IN(float, 1) + (t + 4) * d + i, 4 * (long)vl);
            h = __riscv_vfmadd_vv_f32m4(h, a, x, vl);
            __riscv_vse32_v_f32m4(OUT(float, 2) + t * d + i, h, vl);
        }
        i += (long)vl;
    }
}

/* Points are turned once for each strip of them, so that lanes are points and a centre's numbers
 * scalars. */
static inline void kmeans_assign(const uint64_t *args) {
    long n = INT(4), centres = INT(5), d = sizes[2];
    float turned[64 * 32];
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        const float *x = IN(float, 0) + i * d;
        ahead(x + (long)vl * d, 4 * (long)vl * d);
        for (long j = 0; j < d; j++)
            __riscv_vse32_v_f32m4(turned + j * (long)vl, __riscv_vlse32_v_f32m4(x + j, 4 * d, vl),
                                  vl);
        vfloat32m4_t best = __riscv_vfmv_v_f_f32m4(__builtin_inff(), vl);
        vint32m4_t nearest = __riscv_vmv_v_x_i32m4(0, vl);
        for (long k = 0; k < centres; k++) {
            const float *centre = IN(float, 1) + k * d;
            vfloat32m4_t even = __riscv_vfmv_v_f_f32m4(0, vl), odd = even;
            for (long j = 0; j < d; j += 2) {
                vfloat32m4_t a = __riscv_vle32_v_f32m4(turned + j * (long)vl, vl);
                vfloat32m4_t b = __riscv_vle32_v_f32m4(turned + (j + 1) * (long)vl, vl);
                a = __riscv_vfsub_vf_f32m4(a, centre[j], vl);
                b = __riscv_vfsub_vf_f32m4(b, centre[j + 1], vl);
                even = __riscv_vfmacc_vv_f32m4(even, a, a, vl);
                odd = __riscv_vfmacc_vv_f32m4(odd, b, b, vl);
            }
            even = __riscv_vfadd_vv_f32m4(even, odd, vl);
            vbool8_t closer = __riscv_vmflt_vv_f32m4_b8(even, best, vl);
            best = __riscv_vfmin_vv_f32m4(best, even, vl);
            nearest = __riscv_vmerge_vxm_i32m4(nearest, (int32_t)k, closer, vl);
        }
        __riscv_vse32_v_i32m4(OUT(int32_t, 2) + i, nearest, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + i, best, vl);
        i += (long)vl;
    }
}

/* A row's numbers by as many lanes as it has. */
static inline void csr_matvec(const uint64_t *args) {
    long rows = sizes[0];
    const int32_t *starts = IN(int32_t, 0);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        vfloat32m4_t total = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = starts[row], end = starts[row + 1]; i < end;) {
            size_t vl = __riscv_vsetvl_e32m4(end - i);
            ahead(IN(int32_t, 1) + i + 2 * vl, 4 * (long)vl);
            ahead(IN(float, 2) + i + 2 * vl, 4 * (long)vl);
            vuint32m4_t at = __riscv_vreinterpret_v_i32m4_u32m4(
                __riscv_vle32_v_i32m4(IN(int32_t, 1) + i, vl));
            at = __riscv_vsll_vx_u32m4(at, 2, vl);
            vfloat32m4_t x = __riscv_vluxei32_v_f32m4(IN(float, 3), at, vl);
            vfloat32m4_t value = __riscv_vle32_v_f32m4(IN(float, 2) + i, vl);
            total = __riscv_vfmacc_vv_f32m4_tu(total, value, x, vl);
            i += (long)vl;
        }
        OUT(float, 4)[row] = sum_m4(total, all);
    }
}
