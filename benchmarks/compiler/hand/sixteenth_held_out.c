/* The kernels of sixteenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

static inline void adabelief_step(const uint64_t *args) {
    long n = INT(4);
    float *params = OUT(float, 0), *means = OUT(float, 1), *beliefs = OUT(float, 2);
    const float *grads = IN(float, 3);
    float rate = as_float(args[5]), beta1 = as_float(args[6]), beta2 = as_float(args[7]);
    float eps = as_float(args[8]), decay = as_float(args[9]);
    float step = rate / as_float(args[10]), root_scale = sqrtf(1 / as_float(args[11]));
    float keep = 1 - rate * decay;
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        ahead(grads + i + 96, VLEN / 2), ahead(means + i + 96, VLEN / 2);
        ahead(beliefs + i + 96, VLEN / 2), ahead(params + i + 96, VLEN / 2);
        vfloat32m4_t grad = __riscv_vle32_v_f32m4(grads + i, vl);
        vfloat32m4_t mean = __riscv_vle32_v_f32m4(means + i, vl);
        vfloat32m4_t belief = __riscv_vle32_v_f32m4(beliefs + i, vl);
        vfloat32m4_t param = __riscv_vle32_v_f32m4(params + i, vl);
        mean = __riscv_vfmul_vf_f32m4(mean, beta1, vl);
        mean = __riscv_vfmacc_vf_f32m4(mean, 1 - beta1, grad, vl);
        belief = __riscv_vfmul_vf_f32m4(belief, beta2, vl);
        __riscv_vse32_v_f32m4(means + i, mean, vl);
        vfloat32m4_t surprise = __riscv_vfsub_vv_f32m4(grad, mean, vl);
        belief = __riscv_vfadd_vf_f32m4(belief, eps, vl);
        vfloat32m4_t part = __riscv_vfmul_vf_f32m4(surprise, 1 - beta2, vl);
        belief = __riscv_vfmacc_vv_f32m4(belief, part, surprise, vl);
        vfloat32m4_t bottom = __riscv_vfsqrt_v_f32m4(belief, vl);
        __riscv_vse32_v_f32m4(beliefs + i, belief, vl);
        param = __riscv_vfmul_vf_f32m4(param, keep, vl);
        mean = __riscv_vfmul_vf_f32m4(mean, step, vl);
        bottom = __riscv_vfmul_vf_f32m4(bottom, root_scale, vl);
        bottom = __riscv_vfadd_vf_f32m4(bottom, eps, vl);
        param = __riscv_vfnmsac_vv_f32m4(param, mean, reciprocal(bottom, vl), vl);
        __riscv_vse32_v_f32m4(params + i, param, vl);
        i += (long)vl;
    }
}

/* What channels multiply and add, for up to 4,096. */
static float factors[4096], terms[4096];

static inline void batch_norm_fold_relu(const uint64_t *args) {
    const float *xs = IN(float, 0), *means = IN(float, 1), *vars = IN(float, 2);
    const float *weights = IN(float, 3), *biases = IN(float, 4);
    float *out = OUT(float, 5), eps = as_float(args[8]);
    long images = sizes[0], channels = INT(6), size = INT(7);
    for (long i = 0; i < channels;) {
        size_t vl = __riscv_vsetvl_e32m4(channels - i);
        vfloat32m4_t root = __riscv_vfadd_vf_f32m4(__riscv_vle32_v_f32m4(vars + i, vl), eps, vl);
        root = __riscv_vfsqrt_v_f32m4(root, vl);
        vfloat32m4_t factor = __riscv_vle32_v_f32m4(weights + i, vl);
        factor = __riscv_vfdiv_vv_f32m4(factor, root, vl);
        vfloat32m4_t term = __riscv_vle32_v_f32m4(biases + i, vl);
        term = __riscv_vfnmsac_vv_f32m4(term, __riscv_vle32_v_f32m4(means + i, vl), factor, vl);
        __riscv_vse32_v_f32m4(factors + i, factor, vl);
        __riscv_vse32_v_f32m4(terms + i, term, vl);
        i += (long)vl;
    }
    for (long plane = 0; plane < images * channels; plane++, xs += size, out += size) {
        float factor = factors[plane % channels];
        size_t all = __riscv_vsetvlmax_e32m8();
        vfloat32m8_t term = __riscv_vfmv_v_f_f32m8(terms[plane % channels], all);
        for (long i = 0; i < size;) {
            size_t vl = __riscv_vsetvl_e32m8(size - i);
            ahead(xs + i + 192, VLEN);
            vfloat32m8_t x = __riscv_vle32_v_f32m8(xs + i, vl);
            x = __riscv_vfmadd_vf_f32m8(x, factor, term, vl);
            __riscv_vse32_v_f32m8(out + i, __riscv_vfmax_vf_f32m8(x, 0, vl), vl);
            i += (long)vl;
        }
    }
}

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define NONE(k) vfloat32m4_t total##k = __riscv_vfmv_v_f_f32m4(0, all);
#define TOKEN(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + (k) * width + i, vl);
#define ADD(k) total##k = __riscv_vfadd_vv_f32m4_tu(total##k, total##k, x##k, vl);
#define CENTRE(k) x##k = __riscv_vfsub_vf_f32m4(x##k, mean[k], vl);
#define SQUARE(k) total##k = __riscv_vfmacc_vv_f32m4_tu(total##k, x##k, x##k, vl);
#define KEEP(k) store_sum(sums + k, total##k);
#define SCALE(k) x##k = __riscv_vfmul_vf_f32m4(x##k, inverse[k], vl);
#define SHIFT(k) x##k = __riscv_vfmadd_vv_f32m4(x##k, factor, term, vl);
#define STORE(k) __riscv_vse32_v_f32m4(to + (k) * width + i, x##k, vl);

/* Four tokens, or ALL that is ONE of them. */
#define MODULATE(ALL, count)                                                                       \
    {                                                                                              \
        float sums[4], mean[4], inverse[4];                                                        \
        size_t all = __riscv_vsetvlmax_e32m4(), vl;                                                \
        {                                                                                          \
            ALL(NONE)                                                                              \
            for (long i = 0; i < width; i += (long)vl) {                                           \
                vl = __riscv_vsetvl_e32m4(width - i);                                              \
                ahead(x + (count) * width + (count) * i, (count) * VLEN / 2);                      \
                ALL(TOKEN) ALL(ADD)                                                                \
            }                                                                                      \
            ALL(KEEP)                                                                              \
        }                                                                                          \
        for (long k = 0; k < (count); k++)                                                         \
            mean[k] = sums[k] * each;                                                              \
        {                                                                                          \
            ALL(NONE)                                                                              \
            for (long i = 0; i < width; i += (long)vl) {                                           \
                vl = __riscv_vsetvl_e32m4(width - i);                                              \
                ALL(TOKEN) ALL(CENTRE) ALL(SQUARE)                                                 \
            }                                                                                      \
            ALL(KEEP)                                                                              \
        }                                                                                          \
        for (long k = 0; k < (count); k++)                                                         \
            inverse[k] = 1 / sqrtf(sums[k] * each + eps);                                          \
        for (long i = 0; i < width; i += (long)vl) {                                               \
            vl = __riscv_vsetvl_e32m4(width - i);                                                  \
            vfloat32m4_t factor = __riscv_vle32_v_f32m4(scales + i, vl);                           \
            vfloat32m4_t term = __riscv_vle32_v_f32m4(shifts + i, vl);                             \
            factor = __riscv_vfadd_vf_f32m4(factor, 1, vl);                                        \
            ALL(TOKEN) ALL(CENTRE) ALL(SCALE) ALL(SHIFT) ALL(STORE)                                \
        }                                                                                          \
    }
#define ONE(EACH) EACH(0)

static inline void ada_layer_norm_modulate(const uint64_t *args) {
    const float *x = IN(float, 0), *shifts = IN(float, 1), *scales = IN(float, 2);
    float *to = OUT(float, 3), eps = as_float(args[6]);
    long images = sizes[0], tokens = INT(4), width = INT(5);
    float each = 1.0f / (float)width;
    for (long image = 0; image < images; image++, shifts += width, scales += width) {
        long token = 0;
        for (; token + 4 <= tokens; token += 4, x += 4 * width, to += 4 * width)
            MODULATE(FOUR, 4)
        for (; token < tokens; token++, x += width, to += width)
            MODULATE(ONE, 1)
    }
}

/* e^x of two groups in turn, by 2^x: adding 1.5 * 2^23 rounds, and its bits are the exponent's. */
#define TWO(EACH) EACH(0) EACH(1)
#define LOAD(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(xs + i + (k) * (long)vl, vl);
#define TURNS(k) x##k = __riscv_vfmul_vf_f32m4(x##k, 1.44269504f, vl);
#define LEAST(k) x##k = __riscv_vfmax_vf_f32m4(x##k, -126, vl);
#define MOST(k) x##k = __riscv_vfmin_vf_f32m4(x##k, 127, vl);
#define ROUND(k) vfloat32m4_t n##k = __riscv_vfadd_vf_f32m4(x##k, 0x1.8p23f, vl);
#define WHOLE(k) vfloat32m4_t p##k = __riscv_vfsub_vf_f32m4(n##k, 0x1.8p23f, vl);
#define REST(k) x##k = __riscv_vfsub_vv_f32m4(x##k, p##k, vl);
#define FIFTH(k) p##k = __riscv_vfmul_vf_f32m4(x##k, 1.326697039e-3f, vl);
#define PLUS(k, c) p##k = __riscv_vfadd_vf_f32m4(p##k, c, vl);
#define FOURTH(k) PLUS(k, 9.675459746e-3f)
#define THIRD(k) PLUS(k, 5.550742616e-2f)
#define SECOND(k) PLUS(k, 2.402212175e-1f)
#define FIRST(k) PLUS(k, 6.931469492e-1f)
#define UNIT(k) PLUS(k, 1)
#define STEP(k) p##k = __riscv_vfmul_vv_f32m4(p##k, x##k, vl);
#define POWER(k)                                                                                   \
    p##k = __riscv_vreinterpret_v_i32m4_f32m4(__riscv_vmacc_vx_i32m4(                              \
        __riscv_vreinterpret_v_f32m4_i32m4(p##k), 1 << 23,                                         \
        __riscv_vreinterpret_v_f32m4_i32m4(n##k), vl));
#define TARGET(k) x##k = __riscv_vle32_v_f32m4(targets + i + (k) * (long)vl, vl);
#define LESS(k) p##k = __riscv_vfsub_vv_f32m4(p##k, x##k, vl);
#define TIMES(k) p##k = __riscv_vfmul_vf_f32m4(p##k, grad, vl);
#define PUT(k) __riscv_vse32_v_f32m4(out + i + (k) * (long)vl, p##k, vl);
#define POISSON(ALL)                                                                               \
    ALL(LOAD) ALL(TURNS) ALL(LEAST) ALL(MOST) ALL(ROUND) ALL(WHOLE) ALL(REST) ALL(FIFTH)           \
    ALL(FOURTH) ALL(STEP) ALL(THIRD) ALL(STEP) ALL(SECOND) ALL(STEP) ALL(FIRST) ALL(STEP)          \
    ALL(UNIT) ALL(TARGET) ALL(POWER) ALL(LESS) ALL(TIMES) ALL(PUT)

static inline void poisson_nll_backward(const uint64_t *args) {
    const float *xs = IN(float, 1), *targets = IN(float, 2);
    float *out = OUT(float, 3);
    long n = INT(4), i = 0;
    float grad = *IN(float, 0) / (float)n;
    size_t vl = __riscv_vsetvlmax_e32m4();
    for (; i + 2 * (long)vl <= n; i += 2 * (long)vl) {
        ahead(xs + i + 192, VLEN), ahead(targets + i + 192, VLEN);
        POISSON(TWO)
    }
    for (; i < n; i += (long)vl) {
        vl = __riscv_vsetvl_e32m4(n - i);
        POISSON(ONE)
    }
}
