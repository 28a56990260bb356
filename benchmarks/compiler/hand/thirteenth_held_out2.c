/* The kernels of thirteenth_held_out2.py in RVV intrinsics, for bench_hand.py: some minutes
 * each, by somebody who knows the instructions and not what the compiler makes. One program does
 * all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

/* Each pair's place needs the one before it, and a chain of scalars is shorter than 16 of vectors:
 * two keys come with one load. Tiles of an even number. */
static inline void radix_digit_scatter(const uint64_t *args) {
    long n = INT(5), shift = sizes[1], tile = sizes[2];
    const uint32_t *keys = IN(uint32_t, 0), *values = IN(uint32_t, 1);
    uint32_t *new_keys = OUT(uint32_t, 3), *new_values = OUT(uint32_t, 4);
    for (long first = 0; first < n; first += tile) {
        uint32_t places[16];
        memcpy(places, IN(uint32_t, 2) + first / tile * 16, sizeof places);
        long i = first, end = first + tile < n ? first + tile : n;
#define PLACE(key, value)                                                                          \
    {                                                                                              \
        uint32_t *slot = places + ((key) >> shift & 15), place = *slot;                            \
        *slot = place + 1;                                                                         \
        new_keys[place] = (key), new_values[place] = (value);                                      \
    }
        for (; i + 4 <= end; i += 4) {
            uint64_t pairs[2], payloads[2];
            memcpy(pairs, __builtin_assume_aligned(keys + i, 8), 16);
            memcpy(payloads, __builtin_assume_aligned(values + i, 8), 16);
            ahead(keys + i + 32, 16), ahead(values + i + 32, 16);
            for (long k = 0; k < 2; k++) {
                PLACE((uint32_t)pairs[k], (uint32_t)payloads[k])
                PLACE((uint32_t)(pairs[k] >> 32), (uint32_t)(payloads[k] >> 32))
            }
        }
        for (; i < end; i++)
            PLACE(keys[i], values[i])
    }
}

/* Where a byte of the check sum leads in its table: 4 times its value. */
#define PLACE_OF(crc, byte)                                                                        \
    __riscv_vand_vx_u16m2(__riscv_vnsrl_wx_u16m2(crc, 8 * (byte) - 2, vl), 1020, vl)
#define LOOK(byte, place) __riscv_vluxei16_v_u32m4(tables + 256 * (3 - (byte)), place, vl)

static inline vuint32m4_t next_crc(vuint32m4_t crc, vuint32m4_t word, const uint32_t *tables,
                                   size_t vl) {
    crc = __riscv_vxor_vv_u32m4(crc, word, vl);
    vuint16m2_t low = __riscv_vncvt_x_x_w_u16m2(crc, vl);
    low = __riscv_vand_vx_u16m2(__riscv_vmul_vx_u16m2(low, 4, vl), 1020, vl);
    vuint32m4_t first = LOOK(0, low), second = LOOK(1, PLACE_OF(crc, 1));
    vuint32m4_t third = LOOK(2, PLACE_OF(crc, 2)), fourth = LOOK(3, PLACE_OF(crc, 3));
    first = __riscv_vxor_vv_u32m4(first, second, vl);
    return __riscv_vxor_vv_u32m4(first, __riscv_vxor_vv_u32m4(third, fourth, vl), vl);
}

/* Records lie in lanes. Where they have an even number of words, two come with each element. */
static inline void crc32_slices(const uint64_t *args) {
    long n = INT(3), words = INT(4);
    const uint32_t *tables = IN(uint32_t, 1);
    for (long first = 0; first < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - first);
        const uint32_t *from = IN(uint32_t, 0) + first * words;
        vuint32m4_t crc = __riscv_vmv_v_x_u32m4(0xFFFFFFFF, vl);
        long i = 0;
        for (; words % 2 == 0 && i < words; i += 2) {
            vuint64m8_t two = __riscv_vlse64_v_u64m8((const uint64_t *)(from + i), 4 * words, vl);
            ahead(from + (long)vl * words + i * (long)vl, 8 * (long)vl);
            crc = next_crc(crc, __riscv_vncvt_x_x_w_u32m4(two, vl), tables, vl);
            crc = next_crc(crc, __riscv_vnsrl_wx_u32m4(two, 32, vl), tables, vl);
        }
        for (; i < words; i++)
            crc = next_crc(crc, __riscv_vlse32_v_u32m4(from + i, 4 * words, vl), tables, vl);
        __riscv_vse32_v_u32m4(OUT(uint32_t, 2) + first, __riscv_vnot_v_u32m4(crc, vl), vl);
        first += (long)vl;
    }
}

/* Points of the other cloud, which are taken four at a time: the last is repeated. Up to 8,192. */
static float targets[8196][3];

static inline vfloat32m2_t square_of(vfloat32m2_t dx, vfloat32m2_t dy, vfloat32m2_t dz, size_t vl) {
    vfloat32m2_t square = __riscv_vfmul_vv_f32m2(dx, dx, vl);
    square = __riscv_vfmacc_vv_f32m2(square, dy, dy, vl);
    return __riscv_vfmacc_vv_f32m2(square, dz, dz, vl);
}

/* The search keeps which four points are nearest; which of them it is is found behind it, where the
 * distances are computed again. Of equal ones, the first counts. */
static inline void chamfer_nearest(const uint64_t *args) {
    long n = INT(4), m = INT(5);
    const float *from = IN(float, 0);
    memcpy(targets, IN(float, 1), (size_t)m * sizeof *targets);
    for (long i = m; i < m + 3; i++)
        memcpy(targets[i], targets[m - 1], sizeof *targets);
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m2(n - i);
        vfloat32m2_t x = __riscv_vlse32_v_f32m2(from + 3 * i, 12, vl);
        vfloat32m2_t y = __riscv_vlse32_v_f32m2(from + 3 * i + 1, 12, vl);
        vfloat32m2_t z = __riscv_vlse32_v_f32m2(from + 3 * i + 2, 12, vl);
        vfloat32m2_t nearest = __riscv_vfmv_v_f_f32m2(3.402823466e38f, vl);
        vuint16m1_t group = __riscv_vmv_v_x_u16m1(0, vl);
#define LESS(a, b) __riscv_vfsub_vf_f32m2(a, b, vl)
#define SQUARE(k)                                                                                  \
    square_of(LESS(x, targets[j + k][0]), LESS(y, targets[j + k][1]), LESS(z, targets[j + k][2]),  \
              vl)
        for (long j = 0; j < m; j += 4) {
            vfloat32m2_t lowest = SQUARE(0);
            lowest = __riscv_vfmin_vv_f32m2(lowest, SQUARE(1), vl);
            lowest = __riscv_vfmin_vv_f32m2(lowest, SQUARE(2), vl);
            lowest = __riscv_vfmin_vv_f32m2(lowest, SQUARE(3), vl);
            vbool16_t is_nearer = __riscv_vmflt_vv_f32m2_b16(lowest, nearest, vl);
            nearest = __riscv_vfmin_vv_f32m2(nearest, lowest, vl);
            group = __riscv_vmerge_vxm_u16m1(group, (uint16_t)j, is_nearer, vl);
        }
        __riscv_vse32_v_f32m2(OUT(float, 2) + i, nearest, vl);
        vuint32m2_t place = __riscv_vwmulu_vx_u32m2(group, sizeof *targets, vl);
        vuint32m2_t index = __riscv_vwaddu_vx_u32m2(group, 3, vl);
        for (long k = 2; k >= 0; k--) {
#define AXIS(a, c)                                                                                 \
    __riscv_vfsub_vv_f32m2(a, __riscv_vluxei32_v_f32m2(&targets[k][c], place, vl), vl)
            vfloat32m2_t square = square_of(AXIS(x, 0), AXIS(y, 1), AXIS(z, 2), vl);
            vbool16_t is_it = __riscv_vmfle_vv_f32m2_b16(square, nearest, vl);
            vuint32m2_t own = __riscv_vwaddu_vx_u32m2(group, (uint16_t)k, vl);
            index = __riscv_vmerge_vvm_u32m2(index, own, is_it, vl);
        }
        __riscv_vse32_v_u32m2(OUT(uint32_t, 3) + i, index, vl);
        i += (long)vl;
    }
}
