/* The kernels of sixteenth_held_out2.py in RVV intrinsics, for bench_hand.py: some minutes each, by
 * somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

static inline void stereo_mid_side(const uint64_t *args) {
    const int32_t *frames = IN(int32_t, 0);
    int16_t *mids = OUT(int16_t, 1);
    int32_t *sides = OUT(int32_t, 2);
    long n = INT(3);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m8(n - i);
        ahead(frames + i + 192, VLEN);
        vint32m8_t both = __riscv_vle32_v_i32m8(frames + i, vl);
        vint16m4_t left = __riscv_vnsra_wx_i16m4(both, 0, vl);
        vint16m4_t right = __riscv_vnsra_wx_i16m4(both, 16, vl);
        vint16m4_t mid = __riscv_vaadd_vv_i16m4(left, right, __RISCV_VXRM_RDN, vl);
        __riscv_vse32_v_i32m8(sides + i, __riscv_vwsub_vv_i32m8(left, right, vl), vl);
        __riscv_vse16_v_i16m4(mids + i, mid, vl);
        i += (long)vl;
    }
}

/* Two bits of the index from one bit of both places, of which only lower bits stay. Bits are 0 and
 * 1, and products take the place of choices: places swap where the upper bit is 0. */
#define HILBERT_STEP                                                                               \
    {                                                                                              \
        vuint16m4_t right = __riscv_vsrl_vx_u16m4(x, bit, vl);                                     \
        vuint16m4_t up = __riscv_vsrl_vx_u16m4(y, bit, vl);                                        \
        x = __riscv_vnmsac_vx_u16m4(x, (uint16_t)(1 << bit), right, vl);                           \
        y = __riscv_vnmsac_vx_u16m4(y, (uint16_t)(1 << bit), up, vl);                              \
        index = __riscv_vmadd_vx_u16m4(index, 4, up, vl);                                          \
        index = __riscv_vadd_vv_u16m4(index, right, vl);                                           \
        up = __riscv_vrsub_vx_u16m4(up, 1, vl);                                                    \
        right = __riscv_vmul_vv_u16m4(right, up, vl);                                              \
        index = __riscv_vmacc_vx_u16m4(index, 2, right, vl);                                       \
        right = __riscv_vmul_vx_u16m4(right, (uint16_t)((1 << bit) - 1), vl);                      \
        up = __riscv_vmul_vv_u16m4(up, __riscv_vsub_vv_u16m4(y, x, vl), vl);                       \
        x = __riscv_vxor_vv_u16m4(__riscv_vadd_vv_u16m4(x, up, vl), right, vl);                    \
        y = __riscv_vxor_vv_u16m4(__riscv_vsub_vv_u16m4(y, up, vl), right, vl);                    \
    }

static inline void hilbert_curve_index(const uint64_t *args) {
    const uint32_t *xs = IN(uint32_t, 0), *ys = IN(uint32_t, 1);
    uint32_t *out = OUT(uint32_t, 2);
    long n = INT(3), order = sizes[1];
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e16m4(n - i);
        ahead(xs + i + 192, VLEN), ahead(ys + i + 192, VLEN);
        vuint16m4_t x = __riscv_vnsrl_wx_u16m4(__riscv_vle32_v_u32m8(xs + i, vl), 0, vl);
        vuint16m4_t y = __riscv_vnsrl_wx_u16m4(__riscv_vle32_v_u32m8(ys + i, vl), 0, vl);
        vuint16m4_t index = __riscv_vmv_v_x_u16m4(0, vl);
        /* The lower 8 bits of places make the index's lower 16. */
        long bit = order - 1;
        for (; bit >= 8; bit--)
            HILBERT_STEP
        vuint16m4_t high = index;
        index = __riscv_vmv_v_x_u16m4(0, vl);
        for (; bit >= 0; bit--)
            HILBERT_STEP
        vuint32m8_t all = __riscv_vwmulu_vx_u32m8(high, 1 << 15, vl);
        all = __riscv_vadd_vv_u32m8(all, all, vl);
        __riscv_vse32_v_u32m8(out + i, __riscv_vwaddu_wv_u32m8(all, index, vl), vl);
        i += (long)vl;
    }
}

#if VLEN < 256
#error "the table of 32 letters fills a register of 256 bits"
#endif
/* What turns a letter, by its lower 5 bits, into its complement's. */
static const uint8_t turns[32] = {['A' & 31] = 0x15, ['T' & 31] = 0x15, ['C' & 31] = 4,
                                  ['G' & 31] = 4};

#define GATHER(from, at) __riscv_vrgather_vv_u8m1(from, at, one)
#define PART(of, k) __riscv_vget_v_u8m2_u8m1(of, k)
#define PAIR(a, b) __riscv_vcreate_v_u8m1_u8m2(a, b)

static inline void reverse_complement_bytes(const uint64_t *args) {
    const uint8_t *read = IN(uint8_t, 0);
    const int32_t *lengths = IN(int32_t, 1);
    uint8_t *to = OUT(uint8_t, 2);
    long reads = INT(3), width = INT(4);
    size_t one = __riscv_vsetvlmax_e8m1(), two = __riscv_vsetvlmax_e8m2();
    vuint8m1_t table = __riscv_vle8_v_u8m1(turns, 32);
    vuint8m1_t back = __riscv_vrsub_vx_u8m1(__riscv_vid_v_u8m1(one), (uint8_t)(one - 1), one);
    for (long k = 0; k < reads; k++, read += width, to += width) {
        long length = lengths[k];
        long step = (long)two, i = 0;
        ahead(read + 2 * width, width);
        /* Steps of two registers; the last begins earlier, where others have been. */
        while (i < length && length >= step) {
            long at = i + step <= length ? i : length - step;
            vuint8m2_t base = __riscv_vle8_v_u8m2(read + length - step - at, two);
            vuint8m2_t low = __riscv_vand_vx_u8m2(base, 31, two);
            vbool4_t letter =
                __riscv_vmseq_vx_u8m2_b4(__riscv_vand_vx_u8m2(base, 0xC0, two), 0x40, two);
            vuint8m2_t turn = PAIR(GATHER(table, PART(low, 0)), GATHER(table, PART(low, 1)));
            base = __riscv_vxor_vv_u8m2_mu(letter, base, base, turn, two);
            base = PAIR(GATHER(PART(base, 1), back), GATHER(PART(base, 0), back));
            __riscv_vse8_v_u8m2(to + at, base, two);
            i += step;
        }
        while (i < length) { /* of shorter reads */
            size_t vl = __riscv_vsetvl_e8m1(length - i);
            vuint8m1_t base = __riscv_vle8_v_u8m1(read + length - i - (long)vl, vl);
            vuint8m1_t low = __riscv_vand_vx_u8m1(base, 31, vl);
            vbool8_t letter =
                __riscv_vmseq_vx_u8m1_b8(__riscv_vand_vx_u8m1(base, 0xC0, vl), 0x40, vl);
            base = __riscv_vxor_vv_u8m1_mu(letter, base, base, GATHER(table, low), vl);
            vuint8m1_t from = __riscv_vrsub_vx_u8m1(__riscv_vid_v_u8m1(vl), (uint8_t)(vl - 1), vl);
            __riscv_vse8_v_u8m1(to + i, __riscv_vrgather_vv_u8m1(base, from, vl), vl);
            i += (long)vl;
        }
        for (i = length; i < width;) {
            size_t vl = __riscv_vsetvl_e8m4(width - i);
            __riscv_vse8_v_u8m4(to + i, __riscv_vmv_v_x_u8m4(0, vl), vl);
            i += (long)vl;
        }
    }
}

enum { PRIME1 = 2654435761u, PRIME2 = 2246822519u, PRIME3 = 3266489917u, PRIME4 = 668265263u };

/* Bits turned to the left: a product and a sum cost less than a shift and an or. */
static inline vuint32m4_t turned(vuint32m4_t x, int bits, size_t vl) {
    return __riscv_vmacc_vx_u32m4(__riscv_vsrl_vx_u32m4(x, 32 - bits, vl), 1u << bits, x, vl);
}

#define WORD(name, k)                                                                              \
    vuint32m4_t name##_word = __riscv_vlse32_v_u32m4(words + at + (k), stride, vl);
#define SUM(name) name = __riscv_vmacc_vx_u32m4(name, PRIME2, name##_word, vl);
#define TURN(name) name = turned(name, 13, vl);
#define SPREAD(name) name = __riscv_vmul_vx_u32m4(name, PRIME1, vl);
#define LANE(name, k) WORD(name, k) SUM(name) TURN(name) SPREAD(name)
#define FOLD(bits) x = __riscv_vxor_vv_u32m4(x, __riscv_vsrl_vx_u32m4(x, bits, vl), vl);
#define SCATTER(prime) x = __riscv_vmul_vx_u32m4(x, prime, vl);

static inline void xxhash32_stripes(const uint64_t *args) {
    const uint32_t *words = IN(uint32_t, 0);
    uint32_t *out = OUT(uint32_t, 1), seed = (uint32_t)args[4];
    long n = INT(2), width = INT(3);
    ptrdiff_t stride = width * 4;
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        vuint32m4_t a = __riscv_vmv_v_x_u32m4(seed + PRIME1 + PRIME2, vl);
        vuint32m4_t b = __riscv_vmv_v_x_u32m4(seed + PRIME2, vl);
        vuint32m4_t c = __riscv_vmv_v_x_u32m4(seed, vl);
        vuint32m4_t d = __riscv_vmv_v_x_u32m4(seed - PRIME1, vl);
        long at = 0, later = (long)vl * width;
        for (; at + 4 <= width; at += 4) {
            ahead(words + later + at * (long)vl, 4 * 4 * (long)vl);
            LANE(a, 0) LANE(b, 1) LANE(c, 2) LANE(d, 3)
        }
        vuint32m4_t x = __riscv_vadd_vv_u32m4(turned(a, 1, vl), turned(b, 7, vl), vl);
        x = __riscv_vadd_vv_u32m4(x, turned(c, 12, vl), vl);
        x = __riscv_vadd_vv_u32m4(x, turned(d, 18, vl), vl);
        x = __riscv_vadd_vx_u32m4(x, (uint32_t)width * 4, vl);
        for (; at < width; at++) {
            WORD(x, 0)
            x = __riscv_vmacc_vx_u32m4(x, PRIME3, x_word, vl);
            x = turned(x, 17, vl);
            SCATTER(PRIME4)
        }
        FOLD(15) SCATTER(PRIME2) FOLD(13) SCATTER(PRIME3) FOLD(16)
        __riscv_vse32_v_u32m4(out + i, x, vl);
        words += later;
        i += (long)vl;
    }
}
