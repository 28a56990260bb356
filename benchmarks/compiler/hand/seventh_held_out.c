/* The kernels of seventh_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions. One program does all the work. With -DAHEAD, the data of a
 * later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Each channel goes through all of time with its states in registers: 16 states are half of the
 * lanes of a group of four. */
static inline void selective_scan(const uint64_t *args) {
    long steps = INT(6), d = INT(7), states = sizes[2];
    size_t vl = __riscv_vsetvl_e32m4(states);
    for (long i = 0; i < d; i++) {
        vfloat32m4_t a = __riscv_vle32_v_f32m4(IN(float, 2) + i * states, vl);
        vfloat32m4_t h = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long t = 0; t < steps; t++) {
            float x = IN(float, 0)[t * d + i], delta = IN(float, 1)[t * d + i];
            vfloat32m4_t b = __riscv_vle32_v_f32m4(IN(float, 3) + t * states, vl);
            vfloat32m4_t c = __riscv_vle32_v_f32m4(IN(float, 4) + t * states, vl);
            vfloat32m4_t decay = exponential(__riscv_vfmul_vf_f32m4(a, delta, vl), vl);
            h = __riscv_vfmul_vv_f32m4(h, decay, vl);
            h = __riscv_vfmacc_vf_f32m4(h, delta * x, b, vl);
            OUT(float, 5)[t * d + i] = sum_m4(__riscv_vfmul_vv_f32m4(h, c, vl), vl);
        }
    }
}

/* A row of 64 lies in one group; its largest is found by a reduction, its place by a comparison. */
static inline void topk_gate(const uint64_t *args) {
    long rows = INT(3), n = sizes[1], count = sizes[2];
    size_t vl = __riscv_vsetvl_e32m8(n);
    for (long row = 0; row < rows; row++) {
        vfloat32m8_t x = __riscv_vle32_v_f32m8(IN(float, 0) + row * n, vl);
        ahead(IN(float, 0) + (row + 4) * n, 4 * n);
        vfloat32m1_t low = __riscv_vfmv_s_f_f32m1(-__builtin_inff(), 1);
        float values[8];
        for (long k = 0; k < count; k++) {
            float value =
                __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredmax_vs_f32m8_f32m1(x, low, vl));
            vbool4_t is_it = __riscv_vmfeq_vf_f32m8_b4(x, value, vl);
            long place = __riscv_vfirst_m_b4(is_it, vl);
            is_it = __riscv_vmsof_m_b4(is_it, vl);
            x = __riscv_vfmerge_vfm_f32m8(x, -__builtin_inff(), is_it, vl);
            values[k] = value, OUT(int32_t, 2)[row * count + k] = (int32_t)place;
        }
        vfloat32m4_t e = __riscv_vle32_v_f32m4(values, count);
        e = exponential(__riscv_vfsub_vf_f32m4(e, values[0], count), count);
        e = __riscv_vfmul_vf_f32m4(e, 1 / sum_m4(e, count), count);
        __riscv_vse32_v_f32m4(OUT(float, 1) + row * count, e, count);
    }
}

/* Pairs are words of 64 bits, taken apart by narrowing shifts and made by widening products; cosines
 * and sines serve all heads of a token. */
static inline void rope_interleaved_split(const uint64_t *args) {
    long tokens = sizes[0], heads = INT(4), d = sizes[2], half = d / 2;
    for (long token = 0; token < tokens; token++)
        for (long i = 0; i < half;) {
            size_t vl = __riscv_vsetvl_e32m2(half - i);
            vfloat32m2_t cos = __riscv_vle32_v_f32m2(IN(float, 1) + token * half + i, vl);
            vfloat32m2_t sin = __riscv_vle32_v_f32m2(IN(float, 2) + token * half + i, vl);
            for (long head = 0; head < heads; head++) {
                long at = (token * heads + head) * d + 2 * i;
                ahead(IN(float, 0) + at + heads * d, 8 * (long)vl);
                vuint64m4_t both = __riscv_vreinterpret_v_u32m4_u64m4(
                    __riscv_vle32_v_u32m4(IN(uint32_t, 0) + at, 2 * vl));
                vfloat32m2_t even =
                    __riscv_vreinterpret_v_u32m2_f32m2(__riscv_vnsrl_wx_u32m2(both, 0, vl));
                vfloat32m2_t odd =
                    __riscv_vreinterpret_v_u32m2_f32m2(__riscv_vnsrl_wx_u32m2(both, 32, vl));
                vfloat32m2_t first = __riscv_vfmul_vv_f32m2(even, cos, vl);
                first = __riscv_vfnmsac_vv_f32m2(first, odd, sin, vl);
                vfloat32m2_t second = __riscv_vfmul_vv_f32m2(odd, cos, vl);
                second = __riscv_vfmacc_vv_f32m2(second, even, sin, vl);
                vuint64m4_t pairs = __riscv_vwmaccu_vx_u64m4(
                    __riscv_vwaddu_vv_u64m4(__riscv_vreinterpret_v_f32m2_u32m2(first),
                                            __riscv_vreinterpret_v_f32m2_u32m2(second), vl),
                    0xFFFFFFFFu, __riscv_vreinterpret_v_f32m2_u32m2(second), vl);
                __riscv_vse32_v_u32m4(OUT(uint32_t, 3) + at,
                                      __riscv_vreinterpret_v_u64m4_u32m4(pairs), 2 * vl);
            }
            i += (long)vl;
        }
}

/* Sums of a row first, over data that is then in L1; the columns' gradients are kept in memory. */
static inline void layernorm_backward_rows(const uint64_t *args) {
    long rows = INT(8), n = INT(9);
    float *dw = OUT(float, 6), *db = OUT(float, 7);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        const float *dy = IN(float, 0) + row * n, *x = IN(float, 1) + row * n, *w = IN(float, 2);
        float mean = IN(float, 3)[row], rstd = IN(float, 4)[row];
        vfloat32m4_t sum1 = __riscv_vfmv_v_f_f32m4(0, all), sum2 = sum1;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t hat = __riscv_vfsub_vf_f32m4(__riscv_vle32_v_f32m4(x + i, vl), mean, vl);
            vfloat32m4_t wdy = __riscv_vfmul_vv_f32m4(__riscv_vle32_v_f32m4(dy + i, vl),
                                                      __riscv_vle32_v_f32m4(w + i, vl), vl);
            ahead(x + n + i, 4 * (long)vl), ahead(dy + n + i, 4 * (long)vl);
            sum1 = __riscv_vfmacc_vv_f32m4_tu(sum1, hat, wdy, vl);
            sum2 = __riscv_vfadd_vv_f32m4_tu(sum2, sum2, wdy, vl);
            i += (long)vl;
        }
        float c1 = sum_m4(sum1, all) * rstd / (float)n, c2 = sum_m4(sum2, all) / (float)n;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t hat = __riscv_vfsub_vf_f32m4(__riscv_vle32_v_f32m4(x + i, vl), mean, vl);
            hat = __riscv_vfmul_vf_f32m4(hat, rstd, vl);
            vfloat32m4_t d = __riscv_vle32_v_f32m4(dy + i, vl);
            vfloat32m4_t out = __riscv_vfmul_vv_f32m4(d, __riscv_vle32_v_f32m4(w + i, vl), vl);
            out = __riscv_vfsub_vf_f32m4(__riscv_vfnmsac_vf_f32m4(out, c1, hat, vl), c2, vl);
            __riscv_vse32_v_f32m4(OUT(float, 5) + row * n + i,
                                  __riscv_vfmul_vf_f32m4(out, rstd, vl), vl);
            vfloat32m4_t old = __riscv_vle32_v_f32m4(dw + i, vl);
            __riscv_vse32_v_f32m4(dw + i, __riscv_vfmacc_vv_f32m4(old, d, hat, vl), vl);
            old = __riscv_vle32_v_f32m4(db + i, vl);
            __riscv_vse32_v_f32m4(db + i, __riscv_vfadd_vv_f32m4(old, d, vl), vl);
            i += (long)vl;
        }
    }
}

/* A strip of channels goes through time with its last three inputs. */
static inline void causal_conv1d_silu(const uint64_t *args) {
    long steps = INT(4), d = INT(5);
    for (long i = 0; i < d;) {
        size_t vl = __riscv_vsetvl_e32m4(d - i);
        const float *x = IN(float, 0) + i, *w = IN(float, 1) + 4 * i;
        float taps[4][32];
        for (long k = 0; k < 4; k++)
            __riscv_vse32_v_f32m4(taps[k], __riscv_vlse32_v_f32m4(w + k, 16, vl), vl);
        vfloat32m4_t x0 = __riscv_vfmv_v_f_f32m4(0, vl), x1 = x0, x2 = x0;
        for (long t = 0; t < steps; t++) {
            vfloat32m4_t x3 = __riscv_vle32_v_f32m4(x + t * d, vl);
            ahead(x + (t + 4) * d, 4 * (long)vl);
            vfloat32m4_t total = __riscv_vle32_v_f32m4(IN(float, 2) + i, vl);
            total = __riscv_vfmacc_vv_f32m4(total, x0, __riscv_vle32_v_f32m4(taps[0], vl), vl);
            total = __riscv_vfmacc_vv_f32m4(total, x1, __riscv_vle32_v_f32m4(taps[1], vl), vl);
            total = __riscv_vfmacc_vv_f32m4(total, x2, __riscv_vle32_v_f32m4(taps[2], vl), vl);
            total = __riscv_vfmacc_vv_f32m4(total, x3, __riscv_vle32_v_f32m4(taps[3], vl), vl);
            vfloat32m4_t e = exponential(__riscv_vfneg_v_f32m4(total, vl), vl);
            total = __riscv_vfmul_vv_f32m4(total, reciprocal(__riscv_vfadd_vf_f32m4(e, 1, vl), vl), vl);
            __riscv_vse32_v_f32m4(OUT(float, 3) + t * d + i, total, vl);
            x0 = x1, x1 = x2, x2 = x3;
        }
        i += (long)vl;
    }
}

/* All scores of a head, key by key; then their softmax; then the values' weighted sum. */
static inline void attention_decode(const uint64_t *args) {
    long heads = sizes[0], s = INT(5), d = sizes[2];
    float scale = as_float(args[6]), scores[256];
    size_t lanes = __riscv_vsetvl_e32m4(d / 2);
    for (long head = 0; head < heads; head++) {
        const float *q = IN(float, 0) + head * d, *k = IN(float, 1) + head * s * d;
        const float *v = IN(float, 2) + head * s * d;
        long length = IN(int32_t, 3)[head];
        vfloat32m4_t q0 = __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(q, lanes), scale, lanes);
        vfloat32m4_t q1 =
            __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(q + d / 2, lanes), scale, lanes);
        for (long i = 0; i < length; i++) {
            const float *key = k + i * d;
            ahead(key + 4 * d, 4 * d);
            vfloat32m4_t sum =
                __riscv_vfmul_vv_f32m4(__riscv_vle32_v_f32m4(key, lanes), q0, lanes);
            sum = __riscv_vfmacc_vv_f32m4(sum, __riscv_vle32_v_f32m4(key + d / 2, lanes), q1, lanes);
            scores[i] = sum_m4(sum, lanes);
        }
        float m = -__builtin_inff(), total = 0;
        for (long i = 0; i < length;) {
            size_t vl = __riscv_vsetvl_e32m4(length - i);
            m = __builtin_fmaxf(m, largest_m4(__riscv_vle32_v_f32m4(scores + i, vl), vl));
            i += (long)vl;
        }
        for (long i = 0; i < length;) {
            size_t vl = __riscv_vsetvl_e32m4(length - i);
            vfloat32m4_t e = __riscv_vle32_v_f32m4(scores + i, vl);
            e = exponential(__riscv_vfsub_vf_f32m4(e, m, vl), vl);
            __riscv_vse32_v_f32m4(scores + i, e, vl);
            total += sum_m4(e, vl);
            i += (long)vl;
        }
        vfloat32m4_t out0 = __riscv_vfmv_v_f_f32m4(0, lanes), out1 = out0;
        for (long i = 0; i < length; i++) {
            const float *value = v + i * d;
            ahead(value + 4 * d, 4 * d);
            out0 = __riscv_vfmacc_vf_f32m4(out0, scores[i], __riscv_vle32_v_f32m4(value, lanes),
                                           lanes);
            out1 = __riscv_vfmacc_vf_f32m4(out1, scores[i],
                                           __riscv_vle32_v_f32m4(value + d / 2, lanes), lanes);
        }
        float *out = OUT(float, 4) + head * d;
        __riscv_vse32_v_f32m4(out, __riscv_vfmul_vf_f32m4(out0, 1 / total, lanes), lanes);
        __riscv_vse32_v_f32m4(out + d / 2, __riscv_vfmul_vf_f32m4(out1, 1 / total, lanes), lanes);
    }
}
