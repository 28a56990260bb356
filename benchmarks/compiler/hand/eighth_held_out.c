/* The kernels of eighth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions. One program does all the work. With -DAHEAD, the data of a
 * later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* A strip of 64 channels keeps its peaks in registers; a group of eight hides the latency of a step. */
static inline void peak_envelope(const uint64_t *args) {
    long steps = INT(2), d = INT(3);
    float decay = as_float(args[4]);
    for (long i = 0; i < d;) {
        size_t vl = __riscv_vsetvl_e32m8(d - i);
        vfloat32m8_t peak = __riscv_vfmv_v_f_f32m8(0, vl);
        for (long t = 0; t < steps; t++) {
            vfloat32m8_t x = __riscv_vle32_v_f32m8(IN(float, 0) + t * d + i, vl);
            ahead(IN(float, 0) + (t + 8) * d + i, 4 * (long)vl);
            peak = __riscv_vfmul_vf_f32m8(peak, decay, vl);
            peak = __riscv_vfmax_vv_f32m8(peak, __riscv_vfabs_v_f32m8(x, vl), vl);
            __riscv_vse32_v_f32m8(OUT(float, 1) + t * d + i, peak, vl);
        }
        i += (long)vl;
    }
}

/* A row up to the diagonal, whose bias lies in one piece, and what is behind it. */
static inline void relative_bias_scores(const uint64_t *args) {
    long heads = sizes[0], n = INT(3);
    float scale = as_float(args[4]);
    for (long head = 0; head < heads; head++)
        for (long query = 0; query < n; query++) {
            const float *scores = IN(float, 0) + (head * n + query) * n;
            const float *bias = IN(float, 1) + head * (2 * n - 1) + n - 1 - query;
            float *out = OUT(float, 2) + (head * n + query) * n;
            ahead(scores + 4 * n, 4 * (query + 1));
            for (long i = 0; i <= query;) {
                size_t vl = __riscv_vsetvl_e32m4(query + 1 - i);
                vfloat32m4_t sum = __riscv_vle32_v_f32m4(bias + i, vl);
                sum = __riscv_vfmacc_vf_f32m4(sum, scale, __riscv_vle32_v_f32m4(scores + i, vl), vl);
                __riscv_vse32_v_f32m4(out + i, sum, vl);
                i += (long)vl;
            }
            for (long i = query + 1; i < n;) {
                size_t vl = __riscv_vsetvl_e32m8(n - i);
                __riscv_vse32_v_f32m8(out + i, __riscv_vfmv_v_f_f32m8(-1e9f, vl), vl);
                i += (long)vl;
            }
        }
}

/* The key is repeated in a buffer that any group of bytes finds its part of in one piece. */
static inline void xor_key(const uint64_t *args) {
    long n = INT(3), length = INT(4), at = 0;
    size_t all = __riscv_vsetvlmax_e8m8();
    uint8_t keys[1024]; /* keys of up to 768 bytes */
    for (long i = 0; i < length + (long)all; i++)
        keys[i] = i < length ? IN(uint8_t, 1)[i] : keys[i - length];
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e8m8(n - i);
        vuint8m8_t data = __riscv_vle8_v_u8m8(IN(uint8_t, 0) + i, vl);
        ahead(IN(uint8_t, 0) + i + 1024, (long)vl);
        data = __riscv_vxor_vv_u8m8(data, __riscv_vle8_v_u8m8(keys + at, vl), vl);
        __riscv_vse8_v_u8m8(OUT(uint8_t, 2) + i, data, vl);
        i += (long)vl;
        at = (at + (long)vl) % length;
    }
}

/* Exponentials of a whole row; the label's element is corrected behind it. */
static inline void cross_entropy_backward(const uint64_t *args) {
    long rows = sizes[0], n = INT(5);
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        float *out = OUT(float, 4) + row * n;
        float lse = IN(float, 2)[row], dloss = IN(float, 3)[row];
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t e = __riscv_vfsub_vf_f32m4(__riscv_vle32_v_f32m4(x + i, vl), lse, vl);
            ahead(x + i + n, 4 * (long)vl);
            e = __riscv_vfmul_vf_f32m4(exponential(e, vl), dloss, vl);
            __riscv_vse32_v_f32m4(out + i, e, vl);
            i += (long)vl;
        }
        out[IN(int64_t, 1)[row]] -= dloss;
    }
}

static inline void sgd_momentum(const uint64_t *args) {
    long n = INT(5);
    float rate = as_float(args[6]), momentum = as_float(args[7]), decay = as_float(args[8]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t p = __riscv_vle32_v_f32m4(IN(float, 0) + i, vl);
        vfloat32m4_t g = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        vfloat32m4_t m = __riscv_vle32_v_f32m4(IN(float, 2) + i, vl);
        for (long k = 0; k < 3; k++)
            ahead(IN(float, k) + i + 512, 4 * (long)vl);
        g = __riscv_vfmacc_vf_f32m4(g, decay, p, vl);
        m = __riscv_vfmadd_vf_f32m4(m, momentum, g, vl);
        g = __riscv_vfmacc_vf_f32m4(g, momentum, m, vl);
        __riscv_vse32_v_f32m4(OUT(float, 4) + i, m, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + i, __riscv_vfnmsac_vf_f32m4(p, rate, g, vl), vl);
        i += (long)vl;
    }
}

/* Sums down the columns of 16 bits first, in a row with its edges repeated; then across. The product
 * with the amount and its shift are one fractional product that rounds down. */
static inline void unsharp_mask(const uint64_t *args) {
    long h = INT(2), w = INT(3);
    int16_t amount = (int16_t)(INT(4) << 7); /* up to 255 */
    uint16_t row[1026], *sums = row + 1;     /* rows of up to 1024 */
    for (long y = 0; y < h; y++) {
        const uint8_t *x = IN(uint8_t, 0) + y * w;
        const uint8_t *above = y ? x - w : x, *below = y + 1 < h ? x + w : x;
        ahead(below + w, w);
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e8m4(w - i);
            vuint16m8_t sum = __riscv_vwaddu_vv_u16m8(__riscv_vle8_v_u8m4(above + i, vl),
                                                      __riscv_vle8_v_u8m4(below + i, vl), vl);
            sum = __riscv_vwmaccu_vx_u16m8(sum, 2, __riscv_vle8_v_u8m4(x + i, vl), vl);
            __riscv_vse16_v_u16m8(sums + i, sum, vl);
            i += (long)vl;
        }
        sums[-1] = sums[0], sums[w] = sums[w - 1];
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e8m2(w - i);
            vuint8m2_t pixel = __riscv_vle8_v_u8m2(x + i, vl);
            vuint16m4_t blurred = __riscv_vadd_vv_u16m4(__riscv_vle16_v_u16m4(sums + i - 1, vl),
                                                        __riscv_vle16_v_u16m4(sums + i + 1, vl), vl);
            vuint16m4_t mid = __riscv_vle16_v_u16m4(sums + i, vl);
            blurred = __riscv_vadd_vv_u16m4(blurred, __riscv_vadd_vv_u16m4(mid, mid, vl), vl);
            vuint16m4_t d = __riscv_vsub_vv_u16m4(__riscv_vwmulu_vx_u16m4(pixel, 16, vl), blurred, vl);
            vint16m4_t sharp = __riscv_vsmul_vx_i16m4(__riscv_vreinterpret_v_u16m4_i16m4(d), amount,
                                                      __RISCV_VXRM_RDN, vl);
            sharp = __riscv_vreinterpret_v_u16m4_i16m4(
                __riscv_vwaddu_wv_u16m4(__riscv_vreinterpret_v_i16m4_u16m4(sharp), pixel, vl));
            sharp = __riscv_vmax_vx_i16m4(sharp, 0, vl);
            vuint8m2_t out = __riscv_vnclipu_wx_u8m2(__riscv_vreinterpret_v_i16m4_u16m4(sharp), 0,
                                                     __RISCV_VXRM_RDN, vl);
            __riscv_vse8_v_u8m2(OUT(uint8_t, 1) + y * w + i, out, vl);
            i += (long)vl;
        }
    }
}
