/* The kernels of eighteenth_held_out2.py in RVV intrinsics, for bench_hand.py: tuned on the
 * emulated X60, by somebody who knows the instructions and not what the compiler makes. One program
 * does all the work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#define FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#define ONE(EACH) EACH(0)

/* Perlin noise: what depends on the column alone is computed once, for up to 4,096 of them. */
static uint8_t left_hash[4096], right_hash[4096];
static float places[4096], fades[4096];

/* The eight directions. */
static const int8_t ways[2][8] = {{1, -1, 1, -1, 2, 2, -2, -2}, {2, 2, -2, -2, 1, -1, 1, -1}};

static inline void prepare_columns(const uint8_t *table, long width, float left, float step) {
    for (long i = 0; i < width;) {
        size_t vl = __riscv_vsetvl_e32m4(width - i);
        vuint32m4_t column = __riscv_vadd_vx_u32m4(__riscv_vid_v_u32m4(vl), (uint32_t)i, vl);
        vfloat32m4_t x = __riscv_vfmul_vf_f32m4(__riscv_vfcvt_f_xu_v_f32m4(column, vl), step, vl);
        x = __riscv_vfadd_vf_f32m4(x, left, vl);
        vint32m4_t cell = __riscv_vfcvt_x_f_v_i32m4_rm(x, __RISCV_FRM_RDN, vl);
        x = __riscv_vfsub_vv_f32m4(x, __riscv_vfcvt_f_x_v_f32m4(cell, vl), vl);
        vuint8m1_t at = __riscv_vreinterpret_v_i8m1_u8m1(
            __riscv_vncvt_x_x_w_i8m1(__riscv_vncvt_x_x_w_i16m2(cell, vl), vl));
        vuint8m1_t next = __riscv_vadd_vx_u8m1(at, 1, vl);
        __riscv_vse8_v_u8m1(left_hash + i, __riscv_vluxei8_v_u8m1(table, at, vl), vl);
        __riscv_vse8_v_u8m1(right_hash + i, __riscv_vluxei8_v_u8m1(table, next, vl), vl);
        vfloat32m4_t fade = __riscv_vfmul_vf_f32m4(x, 6, vl);
        fade = __riscv_vfmul_vv_f32m4(__riscv_vfsub_vf_f32m4(fade, 15, vl), x, vl);
        fade = __riscv_vfmul_vv_f32m4(__riscv_vfadd_vf_f32m4(fade, 10, vl), x, vl);
        fade = __riscv_vfmul_vv_f32m4(fade, __riscv_vfmul_vv_f32m4(x, x, vl), vl);
        __riscv_vse32_v_f32m4(places + i, x, vl), __riscv_vse32_v_f32m4(fades + i, fade, vl);
        i += (long)vl;
    }
}

static inline vfloat32m4_t chosen(vint8m1_t way, vuint8m1_t low, size_t vl) {
    vint16m2_t wide = __riscv_vwadd_vx_i16m2(__riscv_vrgather_vv_i8m1(way, low, vl), 0, vl);
    return __riscv_vfwcvt_f_x_v_f32m4(wide, vl);
}

/* Hashes at a corner, and its gradient times where pixels lie from it. */
#define HASH(name, from) vuint8m1_t name##_low = __riscv_vluxei8_v_u8m1(table, from, vl);
#define CORNER(name, from_x, from_y)                                                               \
    name##_low = __riscv_vand_vx_u8m1(name##_low, 7, vl);                                          \
    vfloat32m4_t name = __riscv_vfmul_vf_f32m4(chosen(way_y, name##_low, vl), from_y, vl);         \
    name = __riscv_vfmacc_vv_f32m4(name, chosen(way_x, name##_low, vl), from_x, vl);

static inline void perlin_noise_2d(const uint64_t *args) {
    const uint8_t *table = IN(uint8_t, 0);
    float *out = OUT(float, 1), step = as_float(args[4]), top = as_float(args[6]);
    long height = INT(2), width = INT(3);
    prepare_columns(table, width, as_float(args[5]), step);
    vint8m1_t way_x = __riscv_vle8_v_i8m1(ways[0], 8), way_y = __riscv_vle8_v_i8m1(ways[1], 8);
    for (long row = 0; row < height; row++, out += width) {
        float y = top + step * (float)row, whole = __builtin_floorf(y);
        uint8_t cell = (uint8_t)(int32_t)whole, below = (uint8_t)(cell + 1);
        y -= whole;
        float v = y * y * y * (y * (y * 6 - 15) + 10);
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            vuint8m1_t a = __riscv_vle8_v_u8m1(left_hash + i, vl);
            vuint8m1_t b = __riscv_vle8_v_u8m1(right_hash + i, vl);
            HASH(g00, __riscv_vadd_vx_u8m1(a, cell, vl))
            HASH(g10, __riscv_vadd_vx_u8m1(b, cell, vl))
            vfloat32m4_t x = __riscv_vle32_v_f32m4(places + i, vl);
            CORNER(g00, x, y)
            HASH(g01, __riscv_vadd_vx_u8m1(a, below, vl))
            vfloat32m4_t from_right = __riscv_vfsub_vf_f32m4(x, 1, vl);
            CORNER(g10, from_right, y)
            HASH(g11, __riscv_vadd_vx_u8m1(b, below, vl))
            vfloat32m4_t u = __riscv_vle32_v_f32m4(fades + i, vl);
            g10 = __riscv_vfsub_vv_f32m4(g10, g00, vl);
            vfloat32m4_t upper = __riscv_vfmacc_vv_f32m4(g00, u, g10, vl);
            CORNER(g01, x, y - 1)
            CORNER(g11, from_right, y - 1)
            g11 = __riscv_vfsub_vv_f32m4(g11, g01, vl);
            vfloat32m4_t lower = __riscv_vfmacc_vv_f32m4(g01, u, g11, vl);
            lower = __riscv_vfsub_vv_f32m4(lower, upper, vl);
            __riscv_vse32_v_f32m4(out + i, __riscv_vfmacc_vf_f32m4(upper, v, lower, vl), vl);
            i += (long)vl;
        }
    }
}

/* Horn and Schunck: sums of columns first, whose neighbours come by slides. */
#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Twelve times the mean of the neighbours of vl pixels from column i on. */
static inline vfloat32m4_t around(const float *up, const float *row, const float *down, long i,
                                  long width, size_t vl) {
    long before = i ? i - 1 : 0, after = i + (long)vl < width ? i + (long)vl : width - 1;
    vfloat32m4_t ends = __riscv_vfadd_vv_f32m4(READ(up + i), READ(down + i), vl);
    vfloat32m4_t all = __riscv_vfmacc_vf_f32m4(ends, 2, READ(row + i), vl);
    float left = up[before] + down[before] + 2 * row[before];
    float right = up[after] + down[after] + 2 * row[after];
    vfloat32m4_t sides = __riscv_vfadd_vv_f32m4(__riscv_vfslide1up_vf_f32m4(all, left, vl),
                                                __riscv_vfslide1down_vf_f32m4(all, right, vl), vl);
    return __riscv_vfmacc_vf_f32m4(sides, 2, ends, vl);
}

static inline void horn_schunck_iterate(const uint64_t *args) {
    const float *ix = IN(float, 0), *iy = IN(float, 1), *it = IN(float, 2);
    const float *us = IN(float, 3), *vs = IN(float, 4);
    float *new_u = OUT(float, 5), *new_v = OUT(float, 6), alpha = as_float(args[9]);
    long height = INT(7), width = INT(8);
    for (long y = 0; y < height; y++) {
        long here = y * width, up = y ? here - width : here;
        long down = y + 1 < height ? here + width : here;
        for (long i = 0; i < width;) {
            size_t vl = __riscv_vsetvl_e32m4(width - i);
            ahead(us + down + i + width, VLEN / 2), ahead(vs + down + i + width, VLEN / 2);
            ahead(ix + here + i + 96, VLEN / 2), ahead(iy + here + i + 96, VLEN / 2);
            ahead(it + here + i + 96, VLEN / 2);
            vfloat32m4_t u = around(us + up, us + here, us + down, i, width, vl);
            vfloat32m4_t v = around(vs + up, vs + here, vs + down, i, width, vl);
            u = __riscv_vfmul_vf_f32m4(u, 1.0f / 12, vl);
            v = __riscv_vfmul_vf_f32m4(v, 1.0f / 12, vl);
            vfloat32m4_t dx = READ(ix + here + i), dy = READ(iy + here + i);
            vfloat32m4_t top = __riscv_vfmacc_vv_f32m4(READ(it + here + i), dx, u, vl);
            top = __riscv_vfmacc_vv_f32m4(top, dy, v, vl);
            vfloat32m4_t bottom = __riscv_vfmul_vv_f32m4(dx, dx, vl);
            bottom = __riscv_vfmacc_vv_f32m4(bottom, dy, dy, vl);
            bottom = __riscv_vfadd_vf_f32m4(bottom, alpha * alpha, vl);
            top = __riscv_vfmul_vv_f32m4(top, reciprocal(bottom, vl), vl);
            u = __riscv_vfnmsac_vv_f32m4(u, dx, top, vl);
            v = __riscv_vfnmsac_vv_f32m4(v, dy, top, vl);
            __riscv_vse32_v_f32m4(new_u + here + i, u, vl);
            __riscv_vse32_v_f32m4(new_v + here + i, v, vl);
            i += (long)vl;
        }
    }
}

/* Frames: four of them at a time take each register of the window; those that reach over an end
 * are gathered first. Windows of up to 4,096. */
static float gathered[4096];

/* A frame that may lie over either end, in order. */
static inline const float *mirrored(const float *x, long samples, long start, long size) {
    for (long i = 0; i < size;) {
        long at = start + i, run;
        const float *from;
        ptrdiff_t stride = 4;
        if (at < 0) {
            from = x - at, stride = -4, run = -at;
        } else if (at < samples) {
            from = x + at, run = samples - at;
        } else {
            from = x + 2 * samples - 2 - at, stride = -4, run = size;
        }
        size_t vl = __riscv_vsetvl_e32m4(run < size - i ? run : size - i);
        vfloat32m4_t some =
            stride > 0 ? __riscv_vle32_v_f32m4(from, vl) : __riscv_vlse32_v_f32m4(from, stride, vl);
        __riscv_vse32_v_f32m4(gathered + i, some, vl);
        i += (long)vl;
    }
    return gathered;
}

#define FRAME(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + (k) * hop + i, vl);
#define TIMES(k) x##k = __riscv_vfmul_vv_f32m4(x##k, w, vl);
#define PUT(k) __riscv_vse32_v_f32m4(out + (k) * size + i, x##k, vl);
#define FRAMES(name, ALL)                                                                          \
    static inline void name(const float *x, const float *window, float *out, long size,            \
                            long hop) {                                                            \
        for (long i = 0; i < size;) {                                                              \
            size_t vl = __riscv_vsetvl_e32m4(size - i);                                            \
            vfloat32m4_t w = __riscv_vle32_v_f32m4(window + i, vl);                                \
            ahead(x + 3 * hop + size + i, VLEN / 2);                                               \
            ALL(FRAME) ALL(TIMES) ALL(PUT)                                                         \
            i += (long)vl;                                                                         \
        }                                                                                          \
    }
FRAMES(four_frames, FOUR)
FRAMES(one_frame, ONE)

static inline void stft_window_frames(const uint64_t *args) {
    const float *x = IN(float, 0), *window = IN(float, 1);
    float *out = OUT(float, 2);
    long signals = sizes[0], samples = INT(3), count = INT(4), size = INT(5), hop = INT(6);
    for (long signal = 0; signal < signals; signal++, x += samples)
        for (long frame = 0; frame < count;) {
            long start = frame * hop - size / 2;
            if (start >= 0 && frame + 4 <= count && start + 3 * hop + size <= samples) {
                four_frames(x + start, window, out, size, hop);
                frame += 4, out += 4 * size;
            } else {
                int inside = start >= 0 && start + size <= samples;
                one_frame(inside ? x + start : mirrored(x, samples, start, size), window, out, size,
                          hop);
                frame++, out += size;
            }
        }
}

/* Jukes and Cantor: sites are counted from masks, a query with four references at a time, and the
 * logarithms of all distances come at the end. Up to 65,536 distances. */
static int32_t both[65536], differing[65536];

#define NONE(k) long known##k = 0, differ##k = 0;
#define LOAD(k) vuint8m8_t b##k = __riscv_vle8_v_u8m8(other + (k) * sites + i, vl);
#define KNOWN(k) vbool1_t kn##k = __riscv_vmsltu_vx_u8m8_b1(b##k, 4, vl);
#define DIFFER(k) vbool1_t d##k = __riscv_vmsne_vv_u8m8_b1(a, b##k, vl);
#define BOTH(k) kn##k = __riscv_vmand_mm_b1(kn##k, a_known, vl);
#define THERE(k) d##k = __riscv_vmand_mm_b1(d##k, kn##k, vl);
#define COUNTS(k) long c##k = (long)__riscv_vcpop_m_b1(kn##k, vl);
#define OTHERS(k) long e##k = (long)__riscv_vcpop_m_b1(d##k, vl);
#define ADD(k) known##k += c##k, differ##k += e##k;
#define STEPS(SOME)                                                                                \
    SOME(LOAD) SOME(KNOWN) SOME(DIFFER) SOME(BOTH) SOME(THERE) SOME(COUNTS) SOME(OTHERS) SOME(ADD)
#define FIRST_TWO(EACH) EACH(0) EACH(1)
#define LAST_TWO(EACH) EACH(2) EACH(3)
#define COUNT_FOUR STEPS(FIRST_TWO) STEPS(LAST_TWO)
#define COUNT_ONE STEPS(ONE)
#define KEEP(k) both[at + (k)] = (int32_t)known##k, differing[at + (k)] = (int32_t)differ##k;
#define PAIRS(ALL, COUNT)                                                                          \
    for (long query = 0; query < queries; query++) {                                               \
        const uint8_t *mine = IN(uint8_t, 0) + query * sites;                                      \
        const uint8_t *other = IN(uint8_t, 1) + reference * sites;                                 \
        long at = query * references + reference;                                                  \
        ALL(NONE)                                                                                  \
        for (long i = 0; i < sites;) {                                                             \
            size_t vl = __riscv_vsetvl_e8m8(sites - i);                                            \
            vuint8m8_t a = __riscv_vle8_v_u8m8(mine + i, vl);                                      \
            vbool1_t a_known = __riscv_vmsltu_vx_u8m8_b1(a, 4, vl);                                \
            COUNT                                                                                  \
            i += (long)vl;                                                                         \
        }                                                                                          \
        ALL(KEEP)                                                                                  \
    }

static inline void jukes_cantor_distances(const uint64_t *args) {
    float *out = OUT(float, 2), most = as_float(args[5]);
    long queries = sizes[0], references = INT(3), sites = INT(4), reference = 0;
    for (; reference + 4 <= references; reference += 4) {
        ahead(IN(uint8_t, 1) + (reference + 4) * sites, 4 * sites);
        PAIRS(FOUR, COUNT_FOUR)
    }
    for (; reference < references; reference++) {
        PAIRS(ONE, COUNT_ONE)
    }
    for (long i = 0; i < queries * references;) {
        size_t vl = __riscv_vsetvl_e32m4(queries * references - i);
        vint32m4_t known = __riscv_vmax_vx_i32m4(__riscv_vle32_v_i32m4(both + i, vl), 1, vl);
        vint32m4_t differ = __riscv_vle32_v_i32m4(differing + i, vl);
        vfloat32m4_t p =
            __riscv_vfmul_vv_f32m4(__riscv_vfcvt_f_x_v_f32m4(differ, vl),
                                   reciprocal(__riscv_vfcvt_f_x_v_f32m4(known, vl), vl), vl);
        p = __riscv_vfmul_vf_f32m4(p, -4.0f / 3, vl);
        p = __riscv_vfmax_vf_f32m4(__riscv_vfadd_vf_f32m4(p, 1, vl), 1e-6f, vl);
        p = __riscv_vfmul_vf_f32m4(logarithm(p, vl), -0.75f, vl);
        __riscv_vse32_v_f32m4(out + i, __riscv_vfmin_vf_f32m4(p, most, vl), vl);
        i += (long)vl;
    }
}
