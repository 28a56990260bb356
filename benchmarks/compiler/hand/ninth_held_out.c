/* The kernels of ninth_held_out.py in RVV intrinsics, for bench_hand.py: a quarter of an hour
 * each, by somebody who knows the instructions and not what the compiler makes. One program does all
 * the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* 1 / sqrt(x), by an estimate of 7 bits and two steps of Newton. */
static inline vfloat32m4_t inverse_root(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t root = __riscv_vfrsqrt7_v_f32m4(x, vl), half = __riscv_vfmul_vf_f32m4(x, 0.5f, vl);
    for (int step = 0; step < 2; step++) {
        vfloat32m4_t error = __riscv_vfmul_vv_f32m4(half, root, vl);
        error = __riscv_vfnmsub_vv_f32m4(error, root, __riscv_vfmv_v_f_f32m4(1.5f, vl), vl);
        root = __riscv_vfmul_vv_f32m4(root, error, vl);
    }
    return root;
}

/* The distribution of a normal variable, to 7.5e-8: Abramowitz and Stegun, 26.2.17. */
static inline vfloat32m4_t normal_cdf(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t size = __riscv_vfabs_v_f32m4(x, vl);
    vfloat32m4_t density = __riscv_vfmul_vf_f32m4(__riscv_vfmul_vv_f32m4(x, x, vl), -0.5f, vl);
    density = __riscv_vfmul_vf_f32m4(exponential(density, vl), 0.3989422804f, vl);
    vfloat32m4_t k = __riscv_vfmv_v_f_f32m4(1, vl);
    k = reciprocal(__riscv_vfmacc_vf_f32m4(k, 0.2316419f, size, vl), vl);
#define CDF_STEP(c) p = __riscv_vfmadd_vv_f32m4(p, k, __riscv_vfmv_v_f_f32m4(c, vl), vl);
    vfloat32m4_t p = __riscv_vfmv_v_f_f32m4(1.330274429f, vl);
    CDF_STEP(-1.821255978f) CDF_STEP(1.781477937f) CDF_STEP(-0.356563782f) CDF_STEP(0.319381530f)
    p = __riscv_vfmul_vv_f32m4(__riscv_vfmul_vv_f32m4(p, k, vl), density, vl);
    vbool8_t is_above = __riscv_vmfgt_vf_f32m4_b8(x, 0, vl);
    return __riscv_vfrsub_vf_f32m4_mu(is_above, p, p, 1, vl);
}

/* A put is a call with what is certain taken off, so that two distributions serve both. The root
 * and its reciprocal are one estimate; options that end now count as a little later. */
static inline void black_scholes(const uint64_t *args) {
    long n = INT(5);
    float rate = as_float(args[6]), volatility = as_float(args[7]);
    float drift = (rate + 0.5f * volatility * volatility) / volatility;
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        for (long k = 0; k < 3; k++)
            ahead(IN(float, k) + i + 256, 4 * (long)vl);
        vfloat32m4_t strike = __riscv_vle32_v_f32m4(IN(float, 1) + i, vl);
        vfloat32m4_t d = reciprocal(strike, vl);
        d = __riscv_vfmul_vv_f32m4(d, __riscv_vle32_v_f32m4(IN(float, 0) + i, vl), vl);
        d = logarithm(d, vl);
        vfloat32m4_t years = __riscv_vle32_v_f32m4(IN(float, 2) + i, vl);
        vfloat32m4_t inverse = inverse_root(__riscv_vfmax_vf_f32m4(years, 1e-20f, vl), vl);
        vfloat32m4_t root = __riscv_vfmul_vv_f32m4(inverse, years, vl);
        d = __riscv_vfmul_vf_f32m4(__riscv_vfmul_vv_f32m4(d, inverse, vl), 1 / volatility, vl);
        d = __riscv_vfmacc_vf_f32m4(d, drift, root, vl);
        vfloat32m4_t d2 = __riscv_vfnmsac_vf_f32m4(d, volatility, root, vl);
        vfloat32m4_t discounted = exponential(__riscv_vfmul_vf_f32m4(years, -rate, vl), vl);
        discounted = __riscv_vfmul_vv_f32m4(discounted, strike, vl);
        vfloat32m4_t second = __riscv_vfmul_vv_f32m4(normal_cdf(d2, vl), discounted, vl);
        d = normal_cdf(d, vl);
        vfloat32m4_t price = __riscv_vle32_v_f32m4(IN(float, 0) + i, vl);
        vfloat32m4_t call = __riscv_vfmsub_vv_f32m4(d, price, second, vl);
        __riscv_vse32_v_f32m4(OUT(float, 3) + i, call, vl);
        call = __riscv_vfadd_vv_f32m4(call, __riscv_vfsub_vv_f32m4(discounted, price, vl), vl);
        __riscv_vse32_v_f32m4(OUT(float, 4) + i, call, vl);
        i += (long)vl;
    }
}

/* Up to 64 features of a node are one group; two edges at a time, whose rows are loaded first. */
static inline void edge_max(const uint64_t *args) {
    long nodes = sizes[0], d = INT(5);
    const int32_t *starts = IN(int32_t, 1), *sources = IN(int32_t, 2);
    const float *weights = IN(float, 3);
    long edges = starts[nodes];
    for (long i = 0; i < d;) {
        size_t vl = __riscv_vsetvl_e32m8(d - i);
        const float *x = IN(float, 0) + i;
        for (long node = 0; node < nodes; node++) {
            long edge = starts[node], end = starts[node + 1];
            vfloat32m8_t most = __riscv_vfmv_v_f_f32m8(edge < end ? -__builtin_inff() : 0, vl);
            for (; edge + 1 < end; edge += 2) {
                if (edge + 5 < edges)
                    ahead(x + sources[edge + 4] * d, 4 * (long)vl),
                        ahead(x + sources[edge + 5] * d, 4 * (long)vl);
                vfloat32m8_t a = __riscv_vle32_v_f32m8(x + sources[edge] * d, vl);
                vfloat32m8_t b = __riscv_vle32_v_f32m8(x + sources[edge + 1] * d, vl);
                a = __riscv_vfmul_vf_f32m8(a, weights[edge], vl);
                most = __riscv_vfmax_vv_f32m8(most, a, vl);
                b = __riscv_vfmul_vf_f32m8(b, weights[edge + 1], vl);
                most = __riscv_vfmax_vv_f32m8(most, b, vl);
            }
            if (edge < end) {
                vfloat32m8_t a = __riscv_vle32_v_f32m8(x + sources[edge] * d, vl);
                a = __riscv_vfmul_vf_f32m8(a, weights[edge], vl);
                most = __riscv_vfmax_vv_f32m8(most, a, vl);
            }
            __riscv_vse32_v_f32m8(OUT(float, 4) + node * d + i, most, vl);
        }
        i += (long)vl;
    }
}

/* What fills up a row has the value 0, so that any element may be read for it: no mask. */
static inline void ell_spmv(const uint64_t *args) {
    long rows = INT(4), width = INT(5);
    for (long i = 0; i < rows;) {
        size_t vl = __riscv_vsetvl_e32m4(rows - i);
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
        for (long k = 0; k < width; k++) {
            const int32_t *columns = IN(int32_t, 1) + k * rows + i;
            const float *values = IN(float, 0) + k * rows + i;
            ahead(columns + 2 * vl, 4 * (long)vl), ahead(values + 2 * vl, 4 * (long)vl);
            vint32m4_t at = __riscv_vmax_vx_i32m4(__riscv_vle32_v_i32m4(columns, vl), 0, vl);
            vuint32m4_t offset = __riscv_vreinterpret_v_i32m4_u32m4(
                __riscv_vmul_vx_i32m4(at, 4, vl)); /* a product costs half of a shift */
            vfloat32m4_t x = __riscv_vluxei32_v_f32m4(IN(float, 2), offset, vl);
            sum = __riscv_vfmacc_vv_f32m4(sum, __riscv_vle32_v_f32m4(values, vl), x, vl);
        }
        __riscv_vse32_v_f32m4(OUT(float, 3) + i, sum, vl);
        i += (long)vl;
    }
}

/* A row's products stay in L1 for two more passes, scales and conversions: these round down, and
 * another rounding mode waits for all vector work, so that it changes once for a row. */
static inline void row_absmax_int8(const uint64_t *args) {
    static float kept[8192];
    long rows = INT(4), n = INT(5);
    size_t all = __riscv_vsetvlmax_e32m4();
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * n;
        vfloat32m4_t most = __riscv_vfmv_v_f_f32m4(1e-8f, all);
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m4(n - i);
            vfloat32m4_t value = __riscv_vle32_v_f32m4(x + i, vl);
            ahead(x + n + i, 4 * (long)vl);
            value = __riscv_vfmul_vv_f32m4(value, __riscv_vle32_v_f32m4(IN(float, 1) + i, vl), vl);
            __riscv_vse32_v_f32m4(kept + i, value, vl);
            most = __riscv_vfmax_vv_f32m4_tu(most, most, __riscv_vfabs_v_f32m4(value, vl), vl);
            i += (long)vl;
        }
        float largest = largest_m4(most, all), scale = 127.0f / largest;
        OUT(float, 3)[row] = largest / 127.0f;
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vfloat32m8_t value = __riscv_vle32_v_f32m8(kept + i, vl);
            value = __riscv_vfadd_vf_f32m8(__riscv_vfmul_vf_f32m8(value, scale, vl), 0.5f, vl);
            __riscv_vse32_v_f32m8(kept + i, value, vl);
            i += (long)vl;
        }
        __asm__ volatile("fsrmi 2" ::: "memory"); /* down */
        for (long i = 0; i < n;) {
            size_t vl = __riscv_vsetvl_e32m8(n - i);
            vint16m4_t whole =
                __riscv_vfncvt_x_f_w_i16m4(__riscv_vle32_v_f32m8(kept + i, vl), vl);
            __riscv_vse8_v_i8m2(OUT(int8_t, 2) + row * n + i,
                                __riscv_vnsra_wx_i8m2(whole, 0, vl), vl);
            i += (long)vl;
        }
        __asm__ volatile("fsrmi 0" ::: "memory"); /* to the nearest */
    }
}

/* A capital's distance from A is below 26 in bytes that wrap around. */
static inline void lowercase_ascii(const uint64_t *args) {
    long n = INT(2);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e8m8(n - i);
        vuint8m8_t c = __riscv_vle8_v_u8m8(IN(uint8_t, 0) + i, vl);
        ahead(IN(uint8_t, 0) + i + 1024, (long)vl);
        vbool1_t is_capital =
            __riscv_vmsltu_vx_u8m8_b1(__riscv_vsub_vx_u8m8(c, 'A', vl), 26, vl);
        c = __riscv_vadd_vx_u8m8_mu(is_capital, c, c, 32, vl);
        __riscv_vse8_v_u8m8(OUT(uint8_t, 1) + i, c, vl);
        i += (long)vl;
    }
}

/* Lag 8 a + b needs samples b later, which eight loads give for all lags, and a blocks earlier, which
 * stay in registers: 17 sums of one register each. Registers of eight numbers; up to 17 lags. */
static inline void autocorrelation_lags(const uint64_t *args) {
    static float padded[4096 + 32];
    long frames = sizes[0], n = INT(2), lags = INT(3), whole = (n + 7) / 8 * 8;
    size_t vl = __riscv_vsetvl_e32m1(8);
    for (long frame = 0; frame < frames; frame++) {
        const float *samples = IN(float, 0) + frame * n;
        for (long i = 0; i < n;) {
            size_t some = __riscv_vsetvl_e32m8(n - i);
            __riscv_vse32_v_f32m8(padded + i, __riscv_vle32_v_f32m8(samples + i, some), some);
            ahead(samples + n + i, 4 * (long)some);
            i += (long)some;
        }
        memset(padded + n, 0, (size_t)(whole + 32 - n) * sizeof *padded);
        vfloat32m1_t zero = __riscv_vfmv_v_f_f32m1(0, vl), x1 = zero, x2 = zero;
#define EACH_OF_8(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)
#define BEGIN(b) vfloat32m1_t low##b = zero, high##b = zero;
        EACH_OF_8(BEGIN)
        vfloat32m1_t last = zero;
        for (long i = 0; i < whole + 16; i += 8) { /* two more blocks, of zeros, for longer lags */
            const float *x = padded + i;
#define LATER(b) __riscv_vle32_v_f32m1(x + (b), vl)
#define ADD(b, later)                                                                              \
    low##b = __riscv_vfmacc_vv_f32m1(low##b, x0, later, vl);                                       \
    high##b = __riscv_vfmacc_vv_f32m1(high##b, x1, later, vl);
            vfloat32m1_t x0 = LATER(0), from1 = LATER(1), from2 = LATER(2);
            ADD(0, x0) /* loads stay two ahead of what they are for */
            vfloat32m1_t from3 = LATER(3);
            ADD(1, from1)
            vfloat32m1_t from4 = LATER(4);
            ADD(2, from2)
            vfloat32m1_t from5 = LATER(5);
            ADD(3, from3)
            vfloat32m1_t from6 = LATER(6);
            ADD(4, from4)
            vfloat32m1_t from7 = LATER(7);
            ADD(5, from5) ADD(6, from6) ADD(7, from7)
            last = __riscv_vfmacc_vv_f32m1(last, x2, x0, vl);
            x2 = x1, x1 = x0;
        }
        float sums[17];
#define SUM(values) __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m1_f32m1(values, zero, vl))
#define END(b) sums[b] = SUM(low##b), sums[8 + (b)] = SUM(high##b);
        EACH_OF_8(END)
        sums[16] = SUM(last);
        memcpy(OUT(float, 1) + frame * lags, sums, (size_t)lags * sizeof *sums);
    }
}
