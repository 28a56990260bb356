/* The kernels of fourteenth_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

#define READ(from) __riscv_vle32_v_f32m4(from, vl)
#define WRITE(to, x) __riscv_vse32_v_f32m4(to, x, vl)
#define TIMES(x, y) __riscv_vfmul_vv_f32m4(x, y, vl)

/* What an AdamW step is made of, for all elements. */
typedef struct {
    float beta2, rest, root_scale, eps, decay, share, y_rate, z_rate;
} Rates;

/* Root and quotient by approximations of 7 bits and one step of third order each. */
static inline vfloat32m4_t scaled_step(vfloat32m4_t grad, vfloat32m4_t square, Rates by,
                                       size_t vl) {
    square = __riscv_vfmax_vf_f32m4(square, 1e-37f, vl);
    vfloat32m4_t root = __riscv_vfrsqrt7_v_f32m4(square, vl);
    vfloat32m4_t s = TIMES(square, root);
    vfloat32m4_t e = __riscv_vfrsub_vf_f32m4(TIMES(s, root), 1, vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(e, 0.375f, vl);
    p = TIMES(__riscv_vfadd_vf_f32m4(p, 0.5f, vl), e);
    s = __riscv_vfmacc_vv_f32m4(s, s, p, vl);
    s = __riscv_vfmul_vf_f32m4(s, by.root_scale, vl);
    s = __riscv_vfadd_vf_f32m4(s, by.eps, vl);
    vfloat32m4_t inverse = __riscv_vfrec7_v_f32m4(s, vl);
    e = __riscv_vfrsub_vf_f32m4(TIMES(s, inverse), 1, vl);
    e = __riscv_vfmacc_vv_f32m4(e, e, e, vl);
    inverse = __riscv_vfmacc_vv_f32m4(inverse, inverse, e, vl);
    return TIMES(grad, inverse);
}

static inline void schedule_free_adamw(const uint64_t *args) {
    long n = INT(4);
    float lr = as_float(args[5]), share = as_float(args[6]), beta1 = as_float(args[7]);
    float beta2 = as_float(args[8]);
    Rates by = {.beta2 = beta2,
                .rest = 1 - beta2,
                .root_scale = 1 / sqrtf(as_float(args[9])),
                .eps = as_float(args[10]),
                .decay = as_float(args[11]),
                .share = share,
                .y_rate = lr * (beta1 * (1 - share) - 1),
                .z_rate = lr};
    float *ys = OUT(float, 0), *zs = OUT(float, 1), *squares = OUT(float, 2);
    const float *grads = IN(float, 3);
    size_t vl = __riscv_vsetvl_e32m4(n);
    vfloat32m4_t grad = READ(grads), square = READ(squares);
    for (long i = 0; i < n;) {
        long next = i + (long)vl;
        ahead(grads + i + 96, VLEN / 2), ahead(squares + i + 96, VLEN / 2);
        ahead(ys + i + 96, VLEN / 2), ahead(zs + i + 96, VLEN / 2);
        square = __riscv_vfmul_vf_f32m4(square, by.beta2, vl);
        vfloat32m4_t part = __riscv_vfmul_vf_f32m4(grad, by.rest, vl);
        square = __riscv_vfmacc_vv_f32m4(square, part, grad, vl);
        WRITE(squares + i, square);
        vfloat32m4_t y = READ(ys + i);
        vfloat32m4_t step = scaled_step(grad, square, by, vl);
        vfloat32m4_t z = READ(zs + i);
        float *y_to = ys + i, *z_to = zs + i;
        size_t used = vl;
        i = next;
        vl = __riscv_vsetvl_e32m4(n - i);
        grad = READ(grads + i), square = READ(squares + i);
        step = __riscv_vfmacc_vf_f32m4(step, by.decay, y, used);
        vfloat32m4_t way = __riscv_vfsub_vv_f32m4(z, y, used);
        y = __riscv_vfmacc_vf_f32m4(y, by.share, way, used);
        y = __riscv_vfmacc_vf_f32m4(y, by.y_rate, step, used);
        __riscv_vse32_v_f32m4(y_to, y, used);
        z = __riscv_vfnmsac_vf_f32m4(z, by.z_rate, step, used);
        __riscv_vse32_v_f32m4(z_to, z, used);
    }
}

/* bf16 is the upper half of a float. A product that widens, and its sum with itself, take half the
 * time of an extension and a shift. Eight registers hide each step's latency. */
static inline vfloat32m8_t widened(vuint16m4_t halves, size_t vl) {
    vuint32m8_t half = __riscv_vwmulu_vx_u32m8(halves, 1 << 15, vl);
    return __riscv_vreinterpret_v_u32m8_f32m8(__riscv_vadd_vv_u32m8(half, half, vl));
}

/* A gate below zero is a negative integer too. Narrowing with a clip rounds to nearest even. */
static inline void relu_squared_gate(const uint64_t *args) {
    long m = sizes[0], d = INT(2);
    for (long row = 0; row < m; row++) {
        const uint16_t *x = IN(uint16_t, 0) + row * 2 * d;
        uint16_t *out = OUT(uint16_t, 1) + row * d;
        for (long i = 0; i < d;) {
            size_t vl = __riscv_vsetvl_e16m4(d - i);
            ahead(x + i + 256, VLEN / 2), ahead(x + d + i + 256, VLEN / 2);
            vint16m4_t gate = __riscv_vle16_v_i16m4((const int16_t *)x + i, vl);
            gate = __riscv_vmax_vx_i16m4(gate, 0, vl);
            vuint16m4_t up = __riscv_vle16_v_u16m4(x + d + i, vl);
            vfloat32m8_t wide = widened(__riscv_vreinterpret_v_i16m4_u16m4(gate), vl);
            wide = __riscv_vfmul_vv_f32m8(wide, wide, vl);
            wide = __riscv_vfmul_vv_f32m8(wide, widened(up, vl), vl);
            vuint32m8_t bits = __riscv_vreinterpret_v_f32m8_u32m8(wide);
            vuint16m4_t narrow = __riscv_vnclipu_wx_u16m4(bits, 16, __RISCV_VXRM_RNE, vl);
            __riscv_vse16_v_u16m4(out + i, narrow, vl);
            i += (long)vl;
        }
    }
}

/* The largest of a row, and how many are at least as large as one. */
static inline long count_at_least(const float *x, long n, float target, float *largest) {
    size_t all = __riscv_vsetvlmax_e32m8(), vl = all;
    vfloat32m8_t top = __riscv_vfmv_v_f_f32m8(-__builtin_inff(), all);
    long i = 0, count = 0;
#define COUNT                                                                                      \
    vfloat32m8_t part = __riscv_vle32_v_f32m8(x + i, vl);                                          \
    ahead(x + i + 128, VLEN);                                                                      \
    top = __riscv_vfmax_vv_f32m8_tu(top, top, part, vl);                                           \
    count += (long)__riscv_vcpop_m_b4(__riscv_vmfge_vf_f32m8_b4(part, target, vl), vl)
    for (; i + (long)all <= n; i += (long)all) {
        COUNT;
    }
    if (i < n) {
        vl = __riscv_vsetvl_e32m8(n - i);
        COUNT;
    }
    size_t half = __riscv_vsetvlmax_e32m4();
    *largest = largest_m4(__riscv_vfmax_vv_f32m4(__riscv_vget_v_f32m8_f32m4(top, 0),
                                                 __riscv_vget_v_f32m8_f32m4(top, 1), half),
                          half);
    return count;
}

/* Sum of 2^(x * scale - most): the steps of two groups in turn hide each other's latency. */
static inline float sum_of_powers(const float *x, long n, float scale, float most) {
    size_t all = __riscv_vsetvlmax_e32m4(), vl = all;
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, all);
    long i = 0;
#define LOAD(k) vfloat32m4_t x##k = READ(x + i + (k) * (long)all);
#define SCALE(k) x##k = __riscv_vfmul_vf_f32m4(x##k, scale, vl);
#define LESS(k) x##k = __riscv_vfsub_vf_f32m4(x##k, most, vl);
#define CLAMP(k) x##k = __riscv_vfmax_vf_f32m4(x##k, -126, vl);
#define MOVE(k) vfloat32m4_t n##k = __riscv_vfadd_vf_f32m4(x##k, 0x1.8p23f, vl);
#define BACK(k) vfloat32m4_t p##k = __riscv_vfsub_vf_f32m4(n##k, 0x1.8p23f, vl);
#define REST(k) x##k = __riscv_vfsub_vv_f32m4(x##k, p##k, vl);
#define FIRST(k) p##k = __riscv_vfmul_vf_f32m4(x##k, 1.326697039e-3f, vl);
#define PLUS(c, k) p##k = __riscv_vfadd_vf_f32m4(p##k, c, vl);
#define STEP(k) p##k = TIMES(p##k, x##k);
#define POWER(k)                                                                                   \
    vint32m4_t bits##k = __riscv_vmacc_vx_i32m4(__riscv_vreinterpret_v_f32m4_i32m4(p##k), 1 << 23, \
                                                __riscv_vreinterpret_v_f32m4_i32m4(n##k), vl);
#define ADD(k)                                                                                     \
    sum = __riscv_vfadd_vv_f32m4_tu(sum, sum, __riscv_vreinterpret_v_i32m4_f32m4(bits##k), vl);
#define ONE(EACH, ...) EACH(__VA_ARGS__ 0)
#define TWO(EACH, ...) EACH(__VA_ARGS__ 0) EACH(__VA_ARGS__ 1)
#define COMMA ,
#define TERM_OF(GROUPS, c) GROUPS(STEP) GROUPS(PLUS, c COMMA)
#define SUM_UP(GROUPS)                                                                             \
    GROUPS(LOAD) GROUPS(SCALE) GROUPS(LESS) GROUPS(CLAMP) GROUPS(MOVE) GROUPS(BACK) GROUPS(REST)   \
    GROUPS(FIRST) GROUPS(PLUS, 9.675459746e-3f COMMA) TERM_OF(GROUPS, 5.550742616e-2f)             \
    TERM_OF(GROUPS, 2.402212175e-1f) TERM_OF(GROUPS, 6.931469492e-1f) TERM_OF(GROUPS, 1)           \
    GROUPS(POWER) GROUPS(ADD)
    for (; i + 2 * (long)all <= n; i += 2 * (long)all) {
        SUM_UP(TWO)
        ahead(x + n + i, VLEN);
    }
    while (i < n) {
        vl = __riscv_vsetvl_e32m4(n - i);
        SUM_UP(ONE)
        i += (long)vl;
    }
    return sum_m4(sum, all);
}

static inline void target_logprobs(const uint64_t *args) {
    long m = sizes[0], n = INT(5);
    for (long row = 0; row < m; row++) {
        const float *x = IN(float, 0) + row * n;
        float target = x[IN(int64_t, 1)[row]], largest;
        float inverse = 1 / IN(float, 2)[row], scale = 1.44269504f * inverse;
        OUT(int32_t, 4)[row] = (int32_t)count_at_least(x, n, target, &largest);
        float total = sum_of_powers(x, n, scale, scale * largest);
        OUT(float, 3)[row] = (target - largest) * inverse - logf(total);
    }
}
