/* The kernels of twentyfirst_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

/* Keep what is written here in this order. */
#define HOLD1(a) __asm__ volatile("" : "+vr"(a));
#define HOLD2(a, b) __asm__ volatile("" : "+vr"(a), "+vr"(b));
#define HOLD4(a, b, c, d) __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d));
#define IN_MEMORY __asm__ volatile("" : : : "memory");

/* DES: what bits of b lack to be a's, as a number, is added to b and taken from a: sums and
 * products cost half of what logic does, and a shift to the right is the upper half of a product.
 * Shifts of 4, 8 and 16 are of elements as wide as two of them, where no bits of a need a mask. */
#define E8(x) __riscv_vreinterpret_v_u32m2_u8m2(x)
#define E16(x) __riscv_vreinterpret_v_u32m2_u16m2(x)
#define E32(x) x
#define FROM8(x) __riscv_vreinterpret_v_u8m2_u32m2(x)
#define FROM16(x) __riscv_vreinterpret_v_u16m2_u32m2(x)
#define FROM32(x) x

#define HIGH(k, a, b, bits, shift)                                                                 \
    d##k = FROM##bits(                                                                             \
        __riscv_vmulhu_vx_u##bits##m2(E##bits(a##k), 1u << (bits - shift), VLEN / bits * 2));
#define LOW(k, a, b, bits, mask)                                                                   \
    e##k = FROM##bits(__riscv_vand_vx_u##bits##m2(E##bits(b##k), mask, VLEN / bits * 2));
#define MASKED(k, a, b, bits, mask)                                                                \
    d##k = FROM##bits(__riscv_vand_vx_u##bits##m2(E##bits(d##k), mask, VLEN / bits * 2));
#define LACK(k, a, b, bits, shift)                                                                 \
    d##k = FROM##bits(__riscv_vsub_vv_u##bits##m2(E##bits(d##k), E##bits(e##k), VLEN / bits * 2));
#define GIVE(k, a, b, bits, shift)                                                                 \
    b##k = FROM##bits(__riscv_vadd_vv_u##bits##m2(E##bits(b##k), E##bits(d##k), VLEN / bits * 2));
#define TAKE(k, a, b, bits, shift)                                                                 \
    a##k = FROM##bits(__riscv_vnmsac_vx_u##bits##m2(E##bits(a##k), 1u << shift, E##bits(d##k),     \
                                                    VLEN / bits * 2));
#define BOTH(STEP, ...) STEP(0, __VA_ARGS__) STEP(1, __VA_ARGS__)
#define EXCHANGE(a, b, bits, shift, mask)                                                          \
    BOTH(HIGH, a, b, bits, shift)                                                                  \
    BOTH(LOW, a, b, bits, mask)                                                                    \
    BOTH(LACK, a, b, bits, shift) BOTH(GIVE, a, b, bits, shift) BOTH(TAKE, a, b, bits, shift)      \
        HOLD4(a##0, a##1, b##0, b##1)
#define EXCHANGE_MASKED(a, b, bits, shift, mask)                                                   \
    BOTH(HIGH, a, b, bits, shift)                                                                  \
    BOTH(LOW, a, b, bits, mask)                                                                    \
    HOLD4(d0, d1, e0, e1) BOTH(MASKED, a, b, bits, mask) HOLD2(d0, d1)                             \
        BOTH(LACK, a, b, bits, shift) HOLD2(d0, d1) BOTH(GIVE, a, b, bits, shift)                  \
            BOTH(TAKE, a, b, bits, shift) HOLD4(a##0, a##1, b##0, b##1)
#define DES_PAIR(k)                                                                                \
    vuint32m2_t l##k = __riscv_vget_v_u32m2x2_u32m2(pair##k, 0);                                   \
    vuint32m2_t r##k = __riscv_vget_v_u32m2x2_u32m2(pair##k, 1);
#define DES_LOAD(k, at)                                                                            \
    pair##k = __riscv_vlseg2e32_v_u32m2x2(in + 2 * (at), VLEN / 16);                               \
    IN_MEMORY
#define DES_STORE(k, at)                                                                           \
    __riscv_vsseg2e32_v_u32m2x2(out + 2 * (at), __riscv_vcreate_v_u32m2x2(l##k, r##k), VLEN / 16); \
    IN_MEMORY

static inline uint64_t permuted(uint32_t l, uint32_t r) {
    uint32_t d;
#define SCALAR_EXCHANGE(a, b, shift, mask) d = (a >> shift ^ b) & mask, b ^= d, a ^= d << shift;
    SCALAR_EXCHANGE(l, r, 4, 0x0f0f0f0fu)
    SCALAR_EXCHANGE(l, r, 16, 0xffffu)
    SCALAR_EXCHANGE(r, l, 2, 0x33333333u)
    SCALAR_EXCHANGE(r, l, 8, 0x00ff00ffu)
    SCALAR_EXCHANGE(l, r, 1, 0x55555555u)
    return (uint64_t)r << 32 | l;
}

static inline void des_permute_words(const uint64_t *args) {
    const uint32_t *in = IN(uint32_t, 0);
    uint32_t *out = OUT(uint32_t, 1);
    long n = INT(2), i = 0, lanes = VLEN / 16;
    vuint32m2x2_t pair0, pair1;
    if (n >= 2 * lanes) {
        DES_LOAD(0, 0) DES_LOAD(1, lanes)
    }
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        vuint32m2_t d0, d1, e0, e1;
        DES_PAIR(0)
        DES_PAIR(1)
        HOLD4(l0, r0, l1, r1)
            /* Behind the last ones, these again. */
            long next = i + 4 * lanes <= n ? i + 2 * lanes : i;
        DES_LOAD(0, next)
        ahead(in + 2 * i + 192, VLEN / 2);
        EXCHANGE(l, r, 8, 4, 0x0f)
        EXCHANGE(l, r, 32, 16, 0xffff)
        DES_LOAD(1, next + lanes)
        EXCHANGE_MASKED(r, l, 32, 2, 0x33333333)
        EXCHANGE(r, l, 16, 8, 0xff)
        EXCHANGE_MASKED(l, r, 32, 1, 0x55555555)
        DES_STORE(0, i)
        DES_STORE(1, i + lanes)
    }
    for (; i < n; i++) {
        uint64_t both = permuted(in[2 * i], in[2 * i + 1]);
        memcpy(out + 2 * i, &both, 8);
    }
}

/* Clouds: tests are masks of 32 pixels, which add a bit to bytes, and 64 to other ones, that end at
 * 255. Quotients are compared by products, and the square of what warmth is, so that a test costs
 * little but its comparison. So that no more than three planes of floats are read at a time, which
 * may begin in the same set of the cache, some pixels first have the tests of reflectances; whether
 * it is day is in the lowest bit meanwhile. */
#define FLOATS(from) __riscv_vle32_v_f32m4(from, vl)
#define FOUND(test, bit)                                                                           \
    {                                                                                              \
        vbool8_t is_so = test;                                                                     \
        flags = __riscv_vadd_vx_u8m1_mu(is_so, flags, flags, 1 << (bit), vl);                      \
        count = __riscv_vsaddu_vx_u8m1_mu(is_so, count, count, 64, vl);                            \
    }

/* Numbers of the next pixels are loaded as soon as these ones' are not needed any more. */
#define LOAD_NEXT(x, from) x = FLOATS(from);

static inline void reflectances(const float *reds, const float *infrareds, const float *suns,
                                const uint8_t *lands, uint8_t *out, long n) {
    size_t vl = __riscv_vsetvl_e32m4(n);
    vfloat32m4_t sun = FLOATS(suns), red = FLOATS(reds), infrared = FLOATS(infrareds);
    const vfloat32m4_t sea_limit = __riscv_vfmv_v_f_f32m4(0.21f, __riscv_vsetvlmax_e32m4());
    for (long i = 0; i < n;) {
        vbool8_t land = __riscv_vmsne_vx_u8m1_b8(__riscv_vle8_v_u8m1(lands + i, vl), 0, vl);
        vfloat32m4_t limit = __riscv_vfmerge_vfm_f32m4(sea_limit, 0.42f, land, vl);
        vbool8_t day = __riscv_vmfgt_vf_f32m4_b8(sun, 0.1f, vl);
        limit = __riscv_vfmul_vv_f32m4(limit, sun, vl);
        long next = i + (long)vl < n ? i + (long)vl : i;
        ahead(suns + i + 96, VLEN / 2), ahead(reds + i + 96, VLEN / 2);
        ahead(infrareds + i + 96, VLEN / 2), ahead(lands + i + 256, VLEN / 8);
        LOAD_NEXT(sun, suns + next)
        vuint8m1_t flags = __riscv_vmv_v_x_u8m1(0, vl);
        infrared = __riscv_vfsub_vv_f32m4(infrared, red, vl);
        vbool8_t bright = __riscv_vmand_mm_b8(__riscv_vmflt_vv_f32m4_b8(limit, red, vl), day, vl);
        red = __riscv_vfmul_vf_f32m4(red, 0.12f, vl);
        infrared = __riscv_vfmul_vv_f32m4(infrared, infrared, vl);
        red = __riscv_vfmul_vv_f32m4(red, red, vl);
        flags = __riscv_vadd_vx_u8m1_mu(bright, flags, flags, 64 + 16, vl);
        vbool8_t grey = __riscv_vmand_mm_b8(__riscv_vmflt_vv_f32m4_b8(infrared, red, vl), day, vl);
        LOAD_NEXT(red, reds + next)
        flags = __riscv_vadd_vx_u8m1_mu(day, flags, flags, 1, vl);
        LOAD_NEXT(infrared, infrareds + next)
        flags = __riscv_vadd_vx_u8m1_mu(grey, flags, flags, 64 + 32, vl);
        __riscv_vse8_v_u8m1(out + i, flags, vl);
        i += (long)vl;
        vl = n - i < (long)vl ? (size_t)(n - i) : vl;
    }
}

static inline void temperatures(const float *bt37s, const float *bt11s, const float *bt12s,
                                const uint8_t *lands, uint8_t *out, long n) {
    size_t vl = __riscv_vsetvl_e32m4(n);
    vfloat32m4_t bt11 = FLOATS(bt11s), bt12 = FLOATS(bt12s), bt37 = FLOATS(bt37s);
    for (long i = 0; i < n;) {
        vbool8_t land = __riscv_vmsne_vx_u8m1_b8(__riscv_vle8_v_u8m1(lands + i, vl), 0, vl);
        vuint8m1_t flags = __riscv_vle8_v_u8m1(out + i, vl);
        vbool8_t cold = __riscv_vmandn_mm_b8(__riscv_vmflt_vf_f32m4_b8(bt11, 269, vl), land, vl);
        bt37 = __riscv_vfsub_vv_f32m4(bt37, bt11, vl);
        cold = __riscv_vmor_mm_b8(cold, __riscv_vmflt_vf_f32m4_b8(bt11, 258, vl), vl);
        bt12 = __riscv_vfsub_vv_f32m4(bt11, bt12, vl);
        /* 0.42 w^2 + 0.35 w is (u w + v)^2 - v^2. */
        const float u = 0.6480740698f, v = 0.35f / (2 * 0.6480740698f);
        vfloat32m4_t warmth = __riscv_vfmul_vf_f32m4(bt11, 0.05f * u, vl);
        long next = i + (long)vl < n ? i + (long)vl : i;
        ahead(bt11s + i + 96, VLEN / 2), ahead(bt12s + i + 96, VLEN / 2);
        ahead(bt37s + i + 96, VLEN / 2);
        LOAD_NEXT(bt11, bt11s + next)
        vuint8m1_t count = __riscv_vand_vx_u8m1(flags, 0xc0, vl);
        vbool8_t day = __riscv_vmsne_vx_u8m1_b8(__riscv_vand_vx_u8m1(flags, 1, vl), 0, vl);
        flags = __riscv_vand_vx_u8m1(flags, 0x30, vl);
        warmth = __riscv_vfadd_vf_f32m4(warmth, v - 13 * u, vl);
        FOUND(__riscv_vmandn_mm_b8(__riscv_vmflt_vf_f32m4_b8(bt37, -1.1f, vl), day, vl), 2)
        warmth = __riscv_vfmax_vf_f32m4(warmth, v, vl);
        FOUND(cold, 0)
        FOUND(__riscv_vmand_mm_b8(__riscv_vmfgt_vf_f32m4_b8(bt37, 12.5f, vl), day, vl), 3)
        LOAD_NEXT(bt37, bt37s + next)
        bt12 = __riscv_vfnmsac_vv_f32m4(bt12, warmth, warmth, vl);
        FOUND(__riscv_vmfgt_vf_f32m4_b8(bt12, 0.7f - v * v, vl), 1)
        LOAD_NEXT(bt12, bt12s + next)
        count = __riscv_vand_vx_u8m1(count, 0xc0, vl);
        __riscv_vse8_v_u8m1(out + i, __riscv_vadd_vv_u8m1(flags, count, vl), vl);
        i += (long)vl;
        vl = n - i < (long)vl ? (size_t)(n - i) : vl;
    }
}

#define PIXELS 1024
static inline void cloud_mask_brightness_tests(const uint64_t *args) {
    const float *bt37 = IN(float, 0), *bt11 = IN(float, 1), *bt12 = IN(float, 2);
    const float *red = IN(float, 3), *infrared = IN(float, 4), *sun = IN(float, 5);
    const uint8_t *land = IN(uint8_t, 6);
    uint8_t *out = OUT(uint8_t, 7);
    long n = INT(8);
    for (long i = 0; i < n; i += PIXELS) {
        long some = n - i < PIXELS ? n - i : PIXELS;
        reflectances(red + i, infrared + i, sun + i, land + i, out + i, some);
        temperatures(bt37 + i, bt11 + i, bt12 + i, land + i, out + i, some);
    }
}

/* wyhash: eight keys are in vector registers, and meanwhile two more in scalar ones. */
#define SECRET0 0x2d358dccaa6c78a5u
#define SECRET1 0x8bb84b93962eacc9u

static inline uint64_t mixed(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_of(uint64_t key, uint64_t seed) {
    unsigned __int128 product =
        (unsigned __int128)((key << 32 | key >> 32) ^ SECRET1) * (key ^ seed);
    return mixed((uint64_t)product ^ (SECRET0 ^ 8), (uint64_t)(product >> 64) ^ SECRET1);
}

#define SCALAR_KEYS(STEP) STEP(0) STEP(1)
#define KEY(k) uint64_t x##k = keys[i + 8 + k], y##k;
#define FIRST(k) y##k = x##k ^ seed, x##k = (x##k << 32 | x##k >> 32) ^ SECRET1;
/* A product of 128 bits, between steps of vectors. */
#define PRODUCT(k)                                                                                 \
    {                                                                                              \
        unsigned __int128 product = (unsigned __int128)x##k * y##k;                                \
        x##k = (uint64_t)product, y##k = (uint64_t)(product >> 64);                                \
    }
#define SECOND(k) x##k ^= SECRET0 ^ 8, y##k ^= SECRET1;
#define KEEP_HASH(k) out[i + 8 + k] = x##k ^ y##k;
#define TOGETHER(u, v)                                                                             \
    __asm__ volatile("" : "+vr"(u), "+vr"(v), "+r"(x0), "+r"(y0), "+r"(x1), "+r"(y1));

static inline void wyhash_u64_keys(const uint64_t *args) {
    const uint64_t *keys = IN(uint64_t, 0);
    uint64_t *out = OUT(uint64_t, 1), seed = (uint64_t)INT(3);
    long n = INT(2), i = 0;
    seed ^= mixed(seed ^ SECRET0, SECRET1);
    size_t vl = VLEN / 32;
    vuint64m2_t next = __riscv_vmv_v_x_u64m2(0, vl);
    if (n >= 10)
        next = __riscv_vle64_v_u64m2(keys, vl);
    vuint64m2_t last = next, other = next; /* halves of products, that are stored a turn later */
    uint64_t *to = out;
    for (; i + 10 <= n; i += 10) {
        vuint64m2_t key = next, low, high;
        SCALAR_KEYS(KEY)
        ahead(keys + i + 40, 80);
        vuint64m2_t a = __riscv_vsll_vx_u64m2(key, 32, vl);
        SCALAR_KEYS(FIRST)
        TOGETHER(a, key)
        vuint64m2_t b = __riscv_vsrl_vx_u64m2(key, 32, vl);
        PRODUCT(0)
        TOGETHER(a, b)
        last = __riscv_vxor_vv_u64m2(last, other, vl);
        HOLD1(last)
        key = __riscv_vxor_vx_u64m2(key, seed, vl);
        a = __riscv_vadd_vv_u64m2(a, b, vl);
        a = __riscv_vxor_vx_u64m2(a, SECRET1, vl);
        TOGETHER(a, key)
        low = __riscv_vmul_vv_u64m2(a, key, vl);
        __riscv_vse64_v_u64m2(to, last, vl);
        PRODUCT(1)
        TOGETHER(low, a)
        high = __riscv_vmulhu_vv_u64m2(a, key, vl);
        SCALAR_KEYS(SECOND)
        TOGETHER(low, high)
        long later = i + 20 <= n ? i + 10 : i; /* behind the last ones, these again */
        next = __riscv_vle64_v_u64m2(keys + later, vl);
        low = __riscv_vxor_vx_u64m2(low, SECRET0 ^ 8, vl);
        high = __riscv_vxor_vx_u64m2(high, SECRET1, vl);
        PRODUCT(0)
        TOGETHER(low, high)
        last = __riscv_vmul_vv_u64m2(low, high, vl);
        PRODUCT(1)
        TOGETHER(last, low)
        other = __riscv_vmulhu_vv_u64m2(low, high, vl);
        SCALAR_KEYS(KEEP_HASH)
        to = out + i;
    }
    if (i > 0)
        __riscv_vse64_v_u64m2(to, __riscv_vxor_vv_u64m2(last, other, vl), vl);
    for (; i < n; i++)
        out[i] = hash_of(keys[i], seed);
}

/* Products of long numbers: without Karatsuba, as every limb of b, in its place, meets every one of
 * a in 160 cycles. A copy of b between zeros is read at each of eight shifts, and limbs of a that
 * are eight apart share what was read. Those at an even multiple of eight have sums of their own,
 * even ones from limb 0 and odd ones from limb 8 on, so that two registers are added at once. */
static uint32_t between_zeros[2][8 + 32 + 8];

#define TWO(sum, x, part) sum = __riscv_vmacc_vx_u32m2(sum, x, part, 2 * vl);
#define FIRST_TWO(sum, x, part) sum = __riscv_vmul_vx_u32m2(part, x, 2 * vl);
#define ONE(sum, x, part) sum = __riscv_vmacc_vx_u32m1(sum, x, part, vl);
/* The first register of two. */
#define HALF(sum, x, part)                                                                         \
    sum = __riscv_vset_v_u32m1_u32m2(                                                              \
        sum, 0, __riscv_vmacc_vx_u32m1(__riscv_vget_v_u32m2_u32m1(sum, 0), x, part, vl));
#define HELD                                                                                       \
    __asm__ volatile(""                                                                            \
                     : "+vr"(even01), "+vr"(even23), "+vr"(even45), "+vr"(even6), "+vr"(odd01),    \
                       "+vr"(odd23), "+vr"(odd45), "+vr"(odd6)                                     \
                     :                                                                             \
                     : "memory");
/* b, i limbs later; limbs i of a, and those eight apart. */
#define LOAD_01(x, i) x##01 = __riscv_vle32_v_u32m2(b + 8 - (i), 2 * vl);
#define LOAD_23(x, i) x##23 = __riscv_vle32_v_u32m2(b + 24 - (i), 2 * vl);
#define LOAD_4(x, i) x##4 = __riscv_vle32_v_u32m1(b + 40 - (i), vl);
#define LIMB(s, q, i) s##q = a[8 * (q) + (i)];
#define TIMES(x, s, y, t, i, FIRST, other0, other1)                                                \
    FIRST(even01, s##0, x##01)                                                                     \
    FIRST(odd01, s##1, x##01)                                                                      \
    LIMB(t, 0, i)                                                                                  \
    LIMB(t, 1, i)                                                                                  \
    HELD LOAD_01(y, i) FIRST(even23, s##0, x##23) FIRST(odd23, s##1, x##23) HELD LOAD_23(y, i)     \
        FIRST(even45, s##2, x##23) FIRST(odd45, s##3, x##23) LIMB(t, 2, i) LIMB(t, 3, i)           \
            HELD other0 TWO(even23, s##2, x##01) TWO(odd23, s##3, x##01) HELD LOAD_4(y, i)         \
                HALF(even45, s##0, x##4) HALF(odd45, s##1, x##4) ONE(even6, s##2, x##4)            \
                    ONE(odd6, s##3, x##4) HELD other1
#define PART(x, k) __riscv_vget_v_u32m2_u32m1(x, k)
#define KEEP(k, x) __riscv_vse32_v_u32m1(out + 8 * (k), x, vl);
#define KEEP_BOTH(k, x, y) KEEP(k, __riscv_vadd_vv_u32m1(x, y, vl))

static inline void karatsuba_limb_rows(const uint64_t *args) {
    const uint32_t *a = IN(uint32_t, 0), *from = IN(uint32_t, 1), *b = between_zeros[0];
    uint32_t *out = OUT(uint32_t, 2), s0, s1, s2, s3, t0, t1, t2, t3;
    long n = INT(3);
    size_t vl = VLEN / 32;
    vuint32m2_t even01, even23, even45, odd01, odd23, odd45, x01, x23, y01, y23, copy;
    vuint32m1_t even6, odd6, x4, y4;
    if (n <= 0)
        return;
    __riscv_vse32_v_u32m4(between_zeros[0] + 8, __riscv_vle32_v_u32m4(from, 4 * vl), 4 * vl);
    LIMB(s, 0, 0)
    LIMB(s, 1, 0)
    LIMB(s, 2, 0) LIMB(s, 3, 0) LOAD_01(x, 0) LOAD_23(x, 0)
        LOAD_4(x, 0) for (long row = 0; row < n; row++, out += 64) {
        uint32_t *to = between_zeros[(row + 1) % 2] + 8;
        long next = row + 1 < n ? 32 : 0; /* behind the last row, that again */
        from += next;
        ahead(a + 64, 128), ahead(from + 64, 128);
        even6 = odd6 = __riscv_vmv_v_x_u32m1(0, vl);
        TIMES(x, s, y, t, 1, FIRST_TWO, , )
        TIMES(y, t, x, s, 2, TWO, copy = __riscv_vle32_v_u32m2(from, 2 * vl);, )
        TIMES(x, s, y, t, 3, TWO, __riscv_vse32_v_u32m2(to, copy, 2 * vl);, )
        TIMES(y, t, x, s, 4, TWO, copy = __riscv_vle32_v_u32m2(from + 16, 2 * vl);, )
        TIMES(x, s, y, t, 5, TWO, __riscv_vse32_v_u32m2(to + 16, copy, 2 * vl);, )
        TIMES(y, t, x, s, 6, TWO, , )
        TIMES(x, s, y, t, 7, TWO, , )
        a += next, b = to - 8;
        TIMES(y, t, x, s, 0, TWO, , )
        KEEP(0, PART(even01, 0))
        KEEP_BOTH(1, PART(even01, 1), PART(odd01, 0))
        KEEP_BOTH(2, PART(even23, 0), PART(odd01, 1))
        KEEP_BOTH(3, PART(even23, 1), PART(odd23, 0))
        KEEP_BOTH(4, PART(even45, 0), PART(odd23, 1))
        KEEP_BOTH(5, PART(even45, 1), PART(odd45, 0))
        KEEP_BOTH(6, even6, PART(odd45, 1))
        KEEP(7, odd6)
    }
}
