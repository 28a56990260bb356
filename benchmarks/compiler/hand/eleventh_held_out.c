/* The kernels of eleventh_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* A segment store puts three groups between each other; other numbers of groups take strides. */
static inline void shuffle3(const float *x, float *y, long run, size_t vl) {
    vfloat32m2x3_t three = __riscv_vcreate_v_f32m2x3(__riscv_vle32_v_f32m2(x, vl),
                                                     __riscv_vle32_v_f32m2(x + run, vl),
                                                     __riscv_vle32_v_f32m2(x + 2 * run, vl));
    __riscv_vsseg3e32_v_f32m2x3(y, three, vl);
}

static inline void channel_shuffle(const uint64_t *args) {
    long n = INT(2), channels = INT(3), groups = sizes[2], run = channels / groups;
    long all = (long)__riscv_vsetvlmax_e32m2();
    for (long first = 0; first < n; first += channels) {
        const float *x = IN(float, 0) + first;
        float *y = OUT(float, 1) + first;
        long i = 0;
        for (; groups == 3 && i + all <= run; i += all) {
            ahead(x + channels + 3 * i, 3 * VLEN / 4);
            shuffle3(x + i, y + 3 * i, run, (size_t)all);
        }
        if (groups == 3 && i < run) {
            ahead(x + channels + 3 * i, 3 * VLEN / 4);
            shuffle3(x + i, y + 3 * i, run, __riscv_vsetvl_e32m2(run - i));
            continue;
        }
        for (long group = 0; groups != 3 && group < groups; group++) {
            for (i = 0; i < run;) {
                size_t vl = __riscv_vsetvl_e32m4(run - i);
                vfloat32m4_t part = READ(x + group * run + i);
                __riscv_vsse32_v_f32m4(y + groups * i + group, 4 * groups, part, vl);
                i += (long)vl;
            }
        }
    }
}

/* Outputs a stride apart have the same taps. Four channels of such outputs are summed in registers,
 * from inputs with rims of zeros: up to 65,536 numbers with these. */
static float rimmed[1 << 16];

__attribute__((always_inline)) static inline void sum_phase(const uint64_t *args, long out,
                                                            long count, long phase) {
    long inputs = INT(4), outputs = INT(5), length = INT(6), out_length = INT(7);
    long taps = sizes[3], stride = sizes[4], pad = sizes[5];
    const float *weights = IN(float, 1), *bias = IN(float, 2) + out;
    float *y = OUT(float, 3) + out * out_length + phase;
    for (long i = 0; stride * i + phase < out_length;) {
        size_t vl = __riscv_vsetvl_e32m4((out_length - phase + stride - 1) / stride - i);
        vfloat32m4_t sum0 = __riscv_vfmv_v_f_f32m4(bias[0], vl), sum1 = sum0, sum2, sum3;
        if (count > 1)
            sum1 = __riscv_vfmv_v_f_f32m4(bias[1], vl);
        sum2 = count > 1 ? __riscv_vfmv_v_f_f32m4(bias[2], vl) : sum0;
        sum3 = count > 1 ? __riscv_vfmv_v_f_f32m4(bias[3], vl) : sum0;
        for (long channel = 0; channel < inputs; channel++) {
            const float *x = rimmed + channel * (length + 2 * taps) + taps + i;
            const float *weight = weights + (channel * outputs + out) * taps;
            ahead(weight + outputs * taps, 4 * count * taps);
#pragma clang loop unroll(full)
            for (long tap = (phase + pad) % stride; tap < taps; tap += stride) {
                vfloat32m4_t value = READ(x + (phase + pad - tap) / stride);
                sum0 = __riscv_vfmacc_vf_f32m4(sum0, weight[tap], value, vl);
                if (count == 1)
                    continue;
                sum1 = __riscv_vfmacc_vf_f32m4(sum1, weight[taps + tap], value, vl);
                sum2 = __riscv_vfmacc_vf_f32m4(sum2, weight[2 * taps + tap], value, vl);
                sum3 = __riscv_vfmacc_vf_f32m4(sum3, weight[3 * taps + tap], value, vl);
            }
        }
        float *to = y + stride * i;
        __riscv_vsse32_v_f32m4(to, 4 * stride, sum0, vl);
        if (count > 1) {
            __riscv_vsse32_v_f32m4(to + out_length, 4 * stride, sum1, vl);
            __riscv_vsse32_v_f32m4(to + 2 * out_length, 4 * stride, sum2, vl);
            __riscv_vsse32_v_f32m4(to + 3 * out_length, 4 * stride, sum3, vl);
        }
        i += (long)vl;
    }
}

static inline void conv_transpose1d(const uint64_t *args) {
    long inputs = INT(4), outputs = INT(5), length = INT(6), taps = sizes[3], out = 0;
    for (long channel = 0; channel < inputs; channel++) {
        for (long i = 0; i < length;) {
            size_t vl = __riscv_vsetvl_e32m4(length - i);
            vfloat32m4_t x = READ(IN(float, 0) + channel * length + i);
            ahead(IN(float, 0) + channel * length + i + 128, VLEN / 2);
            __riscv_vse32_v_f32m4(rimmed + channel * (length + 2 * taps) + taps + i, x, vl);
            i += (long)vl;
        }
    }
    for (; out + 4 <= outputs; out += 4)
#pragma clang loop unroll(full)
        for (long phase = 0; phase < sizes[4]; phase++)
            sum_phase(args, out, 4, phase);
    for (; out < outputs; out++)
#pragma clang loop unroll(full)
        for (long phase = 0; phase < sizes[4]; phase++)
            sum_phase(args, out, 1, phase);
}

/* Particles of a strip stay in registers, and all others pass by as scalars. */
static inline void sph_density(const uint64_t *args) {
    long n = INT(5);
    float radius = as_float(args[6]), scale = as_float(args[7]), square = radius * radius;
    const float *xs = IN(float, 0), *ys = IN(float, 1), *zs = IN(float, 2), *masses = IN(float, 3);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vfloat32m4_t x = READ(xs + i), y = READ(ys + i), z = READ(zs + i);
        vfloat32m4_t density = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long other = 0; other < n; other++) {
            vfloat32m4_t dx = __riscv_vfsub_vf_f32m4(x, xs[other], vl);
            vfloat32m4_t dy = __riscv_vfsub_vf_f32m4(y, ys[other], vl);
            vfloat32m4_t dz = __riscv_vfsub_vf_f32m4(z, zs[other], vl);
            dx = __riscv_vfmul_vv_f32m4(dx, dx, vl);
            dx = __riscv_vfmacc_vv_f32m4(dx, dy, dy, vl);
            dx = __riscv_vfmacc_vv_f32m4(dx, dz, dz, vl);
            dx = __riscv_vfrsub_vf_f32m4(dx, square, vl);
            dx = __riscv_vfmax_vf_f32m4(dx, 0, vl);
            dy = __riscv_vfmul_vv_f32m4(dx, dx, vl);
            dx = __riscv_vfmul_vf_f32m4(dx, masses[other], vl);
            density = __riscv_vfmacc_vv_f32m4(density, dx, dy, vl);
        }
        density = __riscv_vfmul_vf_f32m4(density, scale, vl);
        __riscv_vse32_v_f32m4(OUT(float, 4) + i, density, vl);
        i += (long)vl;
    }
}

#define ADD(x, c) __riscv_vfadd_vf_f32m4(x, c, vl)
#define SCALED(x, c) __riscv_vfmul_vf_f32m4(x, c, vl)
#define TIMES(x, y) __riscv_vfmul_vv_f32m4(x, y, vl)

/* log of positive numbers as in vector_math.h, without copies of constants. */
static inline vfloat32m4_t log_of(vfloat32m4_t x, size_t vl) {
    vint32m4_t bits = __riscv_vreinterpret_v_f32m4_i32m4(x);
    vint32m4_t exponent = __riscv_vsub_vx_i32m4(bits, 0x3f3504f3, vl); /* sqrt(1/2) */
    exponent = __riscv_vsra_vx_i32m4(exponent, 23, vl);
    bits = __riscv_vnmsac_vx_i32m4(bits, 1 << 23, exponent, vl);
    vfloat32m4_t m = ADD(__riscv_vreinterpret_v_i32m4_f32m4(bits), -1);
    vfloat32m4_t square = TIMES(m, m), p = ADD(SCALED(m, 7.0376836292e-2f), -1.1514610310e-1f);
#define TERM(x, c) p = ADD(TIMES(p, x), c);
    TERM(m, 1.1676998740e-1f) TERM(m, -1.2420140846e-1f) TERM(m, 1.4249322787e-1f)
    TERM(m, -1.6668057665e-1f) TERM(m, 2.0000714765e-1f) TERM(m, -2.4999993993e-1f)
    TERM(m, 3.3333331174e-1f)
    p = TIMES(TIMES(p, m), square);
    p = __riscv_vfmacc_vf_f32m4(p, -0.5f, square, vl);
    p = __riscv_vfadd_vv_f32m4(p, m, vl);
    vfloat32m4_t whole = __riscv_vfcvt_f_x_v_f32m4(exponent, vl);
    return __riscv_vfmacc_vf_f32m4(p, 0.69314718056f, whole, vl);
}

/* 2^24 e^x for x up to 0, so that no power is too small for a float before all are divided by their
 * sum. Adding 1.5 * 2^23 and 24 rounds, and the bits times 2^23 are the exponent's. */
static inline vfloat32m4_t exp_of(vfloat32m4_t x, size_t vl) {
    const float magic = 0x1.8p23f + 24;
    x = __riscv_vfmax_vf_f32m4(x, -104, vl);
    vfloat32m4_t moved = ADD(SCALED(x, 1.44269504f), magic), whole = ADD(moved, -magic);
    x = __riscv_vfmacc_vf_f32m4(x, -0.693359375f, whole, vl);
    x = __riscv_vfmacc_vf_f32m4(x, 2.12194440e-4f, whole, vl);
    vfloat32m4_t p = ADD(SCALED(x, 8.291716687e-3f), 4.191502854e-2f);
    TERM(x, 1.666766284e-1f) TERM(x, 4.999889907e-1f) TERM(x, 9.999996662e-1f) TERM(x, 1)
    vint32m4_t bits = __riscv_vreinterpret_v_f32m4_i32m4(p);
    bits = __riscv_vmacc_vx_i32m4(bits, 1 << 23, __riscv_vreinterpret_v_f32m4_i32m4(moved), vl);
    return __riscv_vreinterpret_v_i32m4_f32m4(bits);
}

/* Three passes over a row, which lies in the output between them. */
static inline void gumbel_softmax(const uint64_t *args) {
    long m = INT(3), n = INT(4);
    float sharpness = 1 / as_float(args[5]);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < m; row++) {
        const float *logits = IN(float, 0) + row * n, *noise = IN(float, 1) + row * n;
        float *y = OUT(float, 2) + row * n;
        vfloat32m4_t high = __riscv_vfmv_v_f_f32m4(-__builtin_huge_valf(), all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t x = log_of(ADD(READ(noise + i), 1e-20f), vl);
            ahead(noise + i + 64, VLEN / 2), ahead(logits + i + 64, VLEN / 2);
            x = log_of(__riscv_vfrsub_vf_f32m4(x, 1e-20f, vl), vl);
            x = SCALED(__riscv_vfsub_vv_f32m4(READ(logits + i), x, vl), sharpness);
            __riscv_vse32_v_f32m4(y + i, x, vl);
            high = __riscv_vfmax_vv_f32m4_tu(high, high, x, vl);
            i += (long)vl;
        }
        float largest = largest_m4(high, all);
        vfloat32m4_t sums = __riscv_vfmv_v_f_f32m4(0, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t x = exp_of(ADD(READ(y + i), -largest), vl);
            __riscv_vse32_v_f32m4(y + i, x, vl);
            sums = __riscv_vfadd_vv_f32m4_tu(sums, sums, x, vl);
            i += (long)vl;
        }
        float share = 1 / sum_m4(sums, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            __riscv_vse32_v_f32m4(y + i, SCALED(READ(y + i), share), vl);
            i += (long)vl;
        }
    }
}

/* Steps of one comb, whose outputs a delay before are at before; the first steps have none. */
static inline vfloat32m4_t ring(const float *x, const float *before, float *y, float gain,
                                vfloat32m4_t energy, size_t vl) {
    vfloat32m4_t now = SCALED(READ(x), 1 - gain);
    if (before)
        now = __riscv_vfmacc_vf_f32m4(now, gain, READ(before), vl);
    __riscv_vse32_v_f32m4(y, now, vl);
    return __riscv_vfmacc_vv_f32m4_tu(energy, now, now, vl);
}

/* Strips are no longer than the delay. */
static inline void comb_filter_bank(const uint64_t *args) {
    long combs = sizes[0], steps = INT(5), all = (long)__riscv_vsetvlmax_e32m4();
    const float *x = IN(float, 0);
    ahead(x, 4 * steps);
    for (long comb = 0; comb < combs; comb++) {
        long delay = IN(int32_t, 1)[comb], silent = delay < steps ? delay : steps, i = 0;
        float gain = IN(float, 2)[comb], *y = OUT(float, 3) + comb * steps;
        vfloat32m4_t energy = __riscv_vfmv_v_f_f32m4(0, (size_t)all);
        for (; i + all <= silent; i += all)
            energy = ring(x + i, NULL, y + i, gain, energy, (size_t)all);
        if (i < silent)
            energy = ring(x + i, NULL, y + i, gain, energy, __riscv_vsetvl_e32m4(silent - i));
        for (i = silent; delay >= all && i + all <= steps; i += all)
            energy = ring(x + i, y + i - delay, y + i, gain, energy, (size_t)all);
        for (size_t vl; i < steps; i += (long)vl) {
            vl = __riscv_vsetvl_e32m4(steps - i < delay ? steps - i : delay);
            energy = ring(x + i, y + i - delay, y + i, gain, energy, vl);
        }
        OUT(float, 4)[comb] = sum_m4(energy, (size_t)all) / (float)steps;
    }
}

/* Lines of sums over rows are kept for as many windows as a group of registers has elements; then
 * windows of one column of outputs are summed at once. Lines of up to 1,024 numbers, which do not
 * begin in the same sets of a cache, and as many rows of windows. */
static inline void adaptive_avg_pool(const uint64_t *args) {
    static float lines[VLEN / 8][1024 + 16], shares[VLEN / 8];
    static long tops[1024], bottoms[1024];
    long c = INT(2), h = INT(3), w = INT(4), out_h = INT(5), out_w = INT(6), y = 0;
    const float *plane = IN(float, 0);
    for (long k = 0; k < out_h; k++)
        tops[k] = k * h / out_h, bottoms[k] = ((k + 1) * h + out_h - 1) / out_h;
    for (long first = 0; first < c * out_h;) {
        size_t count = __riscv_vsetvl_e32m4(c * out_h - first);
        for (size_t k = 0; k < count; k++) {
            long rows = bottoms[y] - tops[y];
            shares[k] = 1 / (float)rows;
            for (long i = 0; i < w;) {
                size_t vl = __riscv_vsetvl_e32m4(w - i);
                const float *x = plane + tops[y] * w + i;
                vfloat32m4_t sum = READ(x);
                ahead(x + rows * w, VLEN / 2);
                for (long row = 1; row < rows; row++) {
                    sum = __riscv_vfadd_vv_f32m4(sum, READ(x + row * w), vl);
                    ahead(x + (rows + row) * w, VLEN / 2);
                }
                __riscv_vse32_v_f32m4(lines[k] + i, sum, vl);
                i += (long)vl;
            }
            if (++y == out_h)
                y = 0, plane += h * w;
        }
        size_t vl = count;
        for (long x = 0; x < out_w; x++) {
            long left = x * w / out_w, right = ((x + 1) * w + out_w - 1) / out_w;
            vfloat32m4_t sum = __riscv_vlse32_v_f32m4(lines[0] + left, sizeof lines[0], vl);
            for (long i = left + 1; i < right; i++) {
                vfloat32m4_t next = __riscv_vlse32_v_f32m4(lines[0] + i, sizeof lines[0], vl);
                sum = __riscv_vfadd_vv_f32m4(sum, next, vl);
            }
            sum = TIMES(SCALED(sum, 1 / (float)(right - left)), READ(shares));
            __riscv_vsse32_v_f32m4(OUT(float, 1) + first * out_w + x, 4 * out_w, sum, vl);
        }
        first += (long)count;
    }
}
