/* The kernels of tenth_draw.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

/* Two of the three steps of the hash. */
static inline vuint32m4_t mixed(vuint32m4_t x, long step, size_t vl) {
    if (step > 1)
        return x;
    x = __riscv_vxor_vv_u32m4(x, __riscv_vsrl_vx_u32m4(x, step ? 13 : 16, vl), vl);
    return __riscv_vmul_vx_u32m4(x, step ? 0xc2b2ae35 : 0x85ebca6b, vl);
}

/* Filters have up to 2^16 bits, and so probes are computed in 16 bits. While words are gathered,
 * the next keys are hashed and words before are tested. All strips are of one length: the last two
 * overlap. A shift takes the low five bits of a place. At least two probes. */
static inline void bloom_filter_test(const uint64_t *args) {
    long n = INT(3), bits = INT(4), hashes = sizes[2];
    const uint32_t *keys = IN(uint32_t, 0), *words = IN(uint32_t, 1);
    uint16_t last = (uint16_t)((bits / 8 - 1) & ~3);
    size_t vl = __riscv_vsetvl_e32m4(n);
    ahead(words, bits / 8);
    vuint32m4_t next = mixed(mixed(__riscv_vle32_v_u32m4(keys, vl), 0, vl), 1, vl);
    for (long i = 0, following;; i = following) {
        following = i + 2 * (long)vl <= n ? i + (long)vl : n - (long)vl;
        vuint16m2_t high = __riscv_vnsrl_wx_u16m2(next, 16, vl), found = high;
        vuint16m2_t bit = __riscv_vxor_vv_u16m2(__riscv_vncvt_x_x_w_u16m2(next, vl), high, vl);
        next = __riscv_vle32_v_u32m4(keys + following, vl);
        ahead(keys + following + 64, 4 * (long)vl);
#define PLACES __riscv_vand_vx_u16m2(__riscv_vsrl_vx_u16m2(bit, 3, vl), last, vl)
        vuint16m2_t place = PLACES, delta = __riscv_vsll_vx_u16m2(bit, 15, vl);
        delta = __riscv_vor_vv_u16m2(delta, __riscv_vsrl_vx_u16m2(high, 1, vl), vl);
        vuint32m4_t word = __riscv_vluxei16_v_u32m4(words, place, vl);
        for (long probe = 0; probe < hashes; probe++) {
            vuint16m2_t before = bit;
            vuint32m4_t later = word;
            bit = __riscv_vadd_vv_u16m2(bit, delta, vl);
            place = PLACES;
            if (probe + 1 < hashes)
                later = __riscv_vluxei16_v_u32m4(words, place, vl);
            next = mixed(next, probe, vl);
            vuint16m2_t is_set = __riscv_vnsrl_wv_u16m2(word, before, vl);
            found = probe ? __riscv_vand_vv_u16m2(found, is_set, vl) : is_set;
            word = later;
        }
        vuint8m1_t out = __riscv_vand_vx_u8m1(__riscv_vncvt_x_x_w_u8m1(found, vl), 1, vl);
        __riscv_vse8_v_u8m1(OUT(uint8_t, 2) + i, out, vl);
        if (following == i)
            return;
    }
}

/* Both products widen, and the rounding is the narrowing shift's. Frames count on in Q30 from strip
 * to strip; two strips at a time hide each other's latency. */
static inline void crossfade_pcm16(const uint64_t *args) {
    long n = INT(3), all = (long)__riscv_vsetvlmax_e16m2();
    uint32_t step = (uint32_t)INT(4), strip = (uint32_t)(all / 2) * step;
    vuint32m4_t frame = __riscv_vsrl_vx_u32m4(__riscv_vid_v_u32m4((size_t)all), 1, (size_t)all);
    frame = __riscv_vmul_vx_u32m4(frame, step, (size_t)all);
    for (long i = 0; i < n; i += 2 * all) {
        const int16_t *a = IN(int16_t, 0) + i, *b = IN(int16_t, 1) + i;
        int16_t *out = OUT(int16_t, 2) + i;
        long left = n - i;
        ahead(a + 512, 4 * all), ahead(b + 512, 4 * all);
        size_t vl = (size_t)(left < all ? left : all);
        size_t vl2 = (size_t)(left < all ? 0 : left < 2 * all ? left - all : all);
        vint16m2_t a1 = __riscv_vle16_v_i16m2(a, vl), b1 = __riscv_vle16_v_i16m2(b, vl);
        vuint16m2_t gain1 = __riscv_vnsrl_wx_u16m2(frame, 15, vl);
        vint16m2_t a2 = __riscv_vle16_v_i16m2(a + all, vl2);
        vint16m2_t b2 = __riscv_vle16_v_i16m2(b + all, vl2);
        frame = __riscv_vadd_vx_u32m4(frame, strip, (size_t)all);
        vuint16m2_t gain2 = __riscv_vnsrl_wx_u16m2(frame, 15, vl2);
        vuint16m2_t rest1 = __riscv_vrsub_vx_u16m2(gain1, 32768, vl);
        frame = __riscv_vadd_vx_u32m4(frame, strip, (size_t)all);
        vuint16m2_t rest2 = __riscv_vrsub_vx_u16m2(gain2, 32768, vl2);
        vint32m4_t sum1 = __riscv_vwmulsu_vv_i32m4(a1, rest1, vl);
        vint32m4_t sum2 = __riscv_vwmulsu_vv_i32m4(a2, rest2, vl2);
        sum1 = __riscv_vwmaccsu_vv_i32m4(sum1, b1, gain1, vl);
        sum2 = __riscv_vwmaccsu_vv_i32m4(sum2, b2, gain2, vl2);
        a1 = __riscv_vnclip_wx_i16m2(sum1, 15, __RISCV_VXRM_RNU, vl);
        a2 = __riscv_vnclip_wx_i16m2(sum2, 15, __RISCV_VXRM_RNU, vl2);
        __riscv_vse16_v_i16m2(out, a1, vl), __riscv_vse16_v_i16m2(out + all, a2, vl2);
    }
}

static inline vbool2_t is_gc(const uint8_t *text, size_t vl) {
    vuint8m4_t x = __riscv_vle8_v_u8m4(text, vl);
    ahead(text + 1024, (long)vl);
    vbool2_t is_g = __riscv_vmseq_vx_u8m4_b2(x, 'G', vl);
    return __riscv_vmor_mm_b2(is_g, __riscv_vmseq_vx_u8m4_b2(x, 'C', vl), vl);
}

static inline int32_t bases(const uint8_t *text, long length) {
    int32_t count = 0;
    for (long i = 0; i < length;) {
        size_t vl = __riscv_vsetvl_e8m4(length - i);
        count += (int32_t)__riscv_vcpop_m_b2(is_gc(text + i, vl), vl);
        i += (long)vl;
    }
    return count;
}

/* Each base is looked at once: pieces as long as the greatest common divisor of step and length are
 * counted, those of one group of registers two at a time, and a window is the difference of two
 * running totals. Up to 65,535 pieces. */
static inline void gc_content_windows(const uint64_t *args) {
    static int32_t totals[1 << 16];
    long count = INT(2), step = INT(3), length = INT(4), piece = length, i = 0;
    for (long rest = step, remainder; rest; rest = remainder)
        remainder = piece % rest, piece = rest;
    const uint8_t *text = IN(uint8_t, 0);
    long pieces = ((count - 1) * step + length) / piece;
    int32_t total = 0;
    size_t vl = __riscv_vsetvl_e8m4(piece);
    for (; (long)vl == piece && i + 2 <= pieces; i += 2) {
        vbool2_t first = is_gc(text + i * piece, vl), second = is_gc(text + (i + 1) * piece, vl);
        int32_t more = (int32_t)__riscv_vcpop_m_b2(first, vl);
        int32_t most = (int32_t)__riscv_vcpop_m_b2(second, vl);
        totals[i + 1] = total + more;
        totals[i + 2] = total += more + most;
    }
    for (; i < pieces; i++)
        totals[i + 1] = total += bases(text + i * piece, piece);
    for (long k = 0; k < count;) {
        vl = __riscv_vsetvl_e32m4(count - k);
        const int32_t *from = totals + k * step / piece;
        vint32m4_t low = __riscv_vlse32_v_i32m4(from, 4 * step / piece, vl);
        vint32m4_t high = __riscv_vlse32_v_i32m4(from + length / piece, 4 * step / piece, vl);
        vfloat32m4_t share = __riscv_vfcvt_f_x_v_f32m4(__riscv_vsub_vv_i32m4(high, low, vl), vl);
        share = __riscv_vfmul_vf_f32m4(share, 1.0f / (float)length, vl);
        __riscv_vse32_v_f32m4(OUT(float, 1) + k, share, vl);
        k += (long)vl;
    }
}

/* A row's thresholds stay in registers, since strips are of whole periods. */
static inline void ordered_dither(const uint64_t *args) {
    static uint8_t periods[8][128];
    long h = INT(3), w = INT(4);
    const uint8_t *thresholds = IN(uint8_t, 1);
    size_t all = __riscv_vsetvl_e8m4(128);
    vuint8m4_t black = __riscv_vmv_v_x_u8m4(0, all);
    for (long row = 0; row < 8; row++)
        for (long i = 0; i < 128; i += 8)
            memcpy(periods[row] + i, thresholds + 8 * row, 8);
    for (long row = 0; row < h; row++) {
        vuint8m4_t threshold = __riscv_vle8_v_u8m4(periods[row % 8], all);
        const uint8_t *x = IN(uint8_t, 0) + row * w;
        for (long i = 0; i < w;) {
            size_t vl = __riscv_vsetvl_e8m4(w - i < 128 ? w - i : 128);
            vuint8m4_t grey = __riscv_vle8_v_u8m4(x + i, vl);
            ahead(x + i + 1024, (long)vl);
            vbool2_t is_white = __riscv_vmsgtu_vv_u8m4_b2(grey, threshold, vl);
            grey = __riscv_vmerge_vxm_u8m4(black, 255, is_white, vl);
            __riscv_vse8_v_u8m4(OUT(uint8_t, 2) + row * w + i, grey, vl);
            i += (long)vl;
        }
    }
}

/* 1 / x, whose steps of Newton need no copies of constants. */
static inline vfloat32m4_t inverse(vfloat32m4_t x, size_t vl) {
    vfloat32m4_t y = __riscv_vfrec7_v_f32m4(x, vl);
    for (int step = 0; step < 2; step++) {
        vfloat32m4_t product = __riscv_vfmul_vv_f32m4(x, y, vl);
        y = __riscv_vfmul_vv_f32m4(y, __riscv_vfrsub_vf_f32m4(product, 2, vl), vl);
    }
    return y;
}

/* Four days at a time, with means and variances in registers; between these, means are in an array
 * and variances in what was stored last. Up to 8,192 assets. */
static inline void ewma_variance(const uint64_t *args) {
    static float means[8192];
    long days = INT(2), assets = INT(3);
    float alpha = as_float(args[4]), kept = 1 - alpha, *out = OUT(float, 1);
    for (long first = 1; first < days; first += 4) {
        long end = first + 4 < days ? first + 4 : days;
        for (long i = 0; i < assets;) {
            size_t vl = __riscv_vsetvl_e32m4(assets - i);
            const float *prices = IN(float, 0) + i;
            vfloat32m4_t before = __riscv_vle32_v_f32m4(prices + (first - 1) * assets, vl);
            vfloat32m4_t mean = __riscv_vfmv_v_f_f32m4(0, vl), variance = mean;
            if (first > 1) {
                mean = __riscv_vle32_v_f32m4(means + i, vl);
                variance = __riscv_vle32_v_f32m4(out + (first - 2) * assets + i, vl);
            }
            for (long day = first; day < end; day++) {
                vfloat32m4_t price = __riscv_vle32_v_f32m4(prices + day * assets, vl);
                ahead(prices + (day + 4) * assets, 4 * (long)vl);
                vfloat32m4_t surprise = inverse(before, vl);
                before = __riscv_vfsub_vv_f32m4(price, before, vl);
                surprise = __riscv_vfmul_vv_f32m4(surprise, before, vl);
                surprise = __riscv_vfsub_vv_f32m4(surprise, mean, vl);
                before = price;
                variance = __riscv_vfmul_vf_f32m4(variance, kept, vl);
                mean = __riscv_vfmacc_vf_f32m4(mean, alpha, surprise, vl);
                surprise = __riscv_vfmul_vv_f32m4(surprise, surprise, vl);
                variance = __riscv_vfmacc_vf_f32m4(variance, alpha * kept, surprise, vl);
                __riscv_vse32_v_f32m4(out + (day - 1) * assets + i, variance, vl);
            }
            __riscv_vse32_v_f32m4(means + i, mean, vl);
            i += (long)vl;
        }
    }
}

/* Reads what registers have no room for; without the barrier it is kept, and spilled. */
static inline vfloat32m4_t read_again(const float *from, size_t vl) {
    __asm__ volatile("" ::: "memory");
    return __riscv_vle32_v_f32m4(from, vl);
}

/* Half of a price or strike with the sign of d, less what is beyond |d| (Abramowitz and Stegun,
 * 26.2.17, to 7.5e-8): price * cdf(d) - price / 2. */
static inline vfloat32m4_t above_half(vfloat32m4_t d, vfloat32m4_t density, const float *half,
                                      size_t vl) {
    vfloat32m4_t x = __riscv_vfmul_vf_f32m4(__riscv_vfabs_v_f32m4(d, vl), 0.2316419f, vl);
    x = inverse(__riscv_vfadd_vf_f32m4(x, 1, vl), vl);
    vfloat32m4_t p = __riscv_vfmul_vf_f32m4(x, 1.330274429f, vl);
    p = __riscv_vfadd_vf_f32m4(p, -1.821255978f, vl);
    TERM(1.781477937f) TERM(-0.356563782f) TERM(0.319381530f)
    p = __riscv_vfmul_vv_f32m4(p, x, vl);
    p = __riscv_vfnmsub_vv_f32m4(p, density, read_again(half, vl), vl);
    return __riscv_vfsgnj_vv_f32m4(p, d, vl);
}

/* price * density(d1) is discounted * density(d2), and so a step has one power. What stays the same
 * is in arrays: seven groups of registers are in use without it. */
static inline void implied_volatility(const uint64_t *args) {
    static float half_price[512], half_discounted[512], wanted[512], roots[512], drifts[512];
    long n = INT(5), steps = INT(7);
    float rate = as_float(args[6]);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        for (long k = 0; k < 4; k++)
            ahead(IN(float, k) + i + vl, 4 * (long)vl);
#define READ(from) __riscv_vle32_v_f32m4(from, vl)
#define AGAIN(from) read_again(from, vl)
#define WRITE(to, value) __riscv_vse32_v_f32m4(to, value, vl)
        vfloat32m4_t price = READ(IN(float, 0) + i), discounted = READ(IN(float, 1) + i);
        vfloat32m4_t years = READ(IN(float, 2) + i);
        WRITE(roots, __riscv_vfsqrt_v_f32m4(__riscv_vfmax_vf_f32m4(years, 1e-20f, vl), vl));
        years = __riscv_vfmul_vf_f32m4(years, -1.44269504f * rate, vl);
        discounted = __riscv_vfmul_vv_f32m4(discounted, power_of_two(years, vl), vl);
        WRITE(drifts, logarithm(__riscv_vfmul_vv_f32m4(price, inverse(discounted, vl), vl), vl));
        price = __riscv_vfmul_vf_f32m4(price, 0.5f, vl);
        discounted = __riscv_vfmul_vf_f32m4(discounted, 0.5f, vl);
        WRITE(half_price, price), WRITE(half_discounted, discounted);
        vfloat32m4_t certain = __riscv_vfsub_vv_f32m4(price, discounted, vl);
        WRITE(wanted, __riscv_vfsub_vv_f32m4(READ(IN(float, 3) + i), certain, vl));
        vfloat32m4_t volatility = __riscv_vfmv_v_f_f32m4(0.3f, vl);
        for (long step = 0; step < steps; step++) {
            vfloat32m4_t spread = __riscv_vfmul_vv_f32m4(volatility, AGAIN(roots), vl);
            vfloat32m4_t d1 = __riscv_vfmul_vv_f32m4(inverse(spread, vl), AGAIN(drifts), vl);
            d1 = __riscv_vfmacc_vf_f32m4(d1, 0.5f, spread, vl);
            vfloat32m4_t d2 = __riscv_vfsub_vv_f32m4(d1, spread, vl);
            vfloat32m4_t density = __riscv_vfmul_vv_f32m4(d1, d1, vl);
            density = power_of_two(__riscv_vfmul_vf_f32m4(density, -0.72134752f, vl), vl);
            density = __riscv_vfmul_vv_f32m4(density, AGAIN(half_price), vl);
            density = __riscv_vfmul_vf_f32m4(density, 0.7978845608f, vl);
            vfloat32m4_t value = above_half(d1, density, half_price, vl);
            d2 = above_half(d2, density, half_discounted, vl);
            value = __riscv_vfsub_vv_f32m4(value, d2, vl);
            value = __riscv_vfsub_vv_f32m4(value, AGAIN(wanted), vl);
            density = __riscv_vfmul_vv_f32m4(density, AGAIN(roots), vl);
            density = inverse(__riscv_vfmax_vf_f32m4(density, 1e-6f, vl), vl);
            volatility = __riscv_vfnmsac_vv_f32m4(volatility, value, density, vl);
            volatility = __riscv_vfmax_vf_f32m4(volatility, 0.01f, vl);
            volatility = __riscv_vfmin_vf_f32m4(volatility, 3, vl);
        }
        WRITE(OUT(float, 4) + i, volatility);
        i += (long)vl;
    }
}
