/* The kernels of thirteenth_draw.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"

static inline vuint8m1_t apart(vuint8m1_t a, vuint8m1_t b, size_t vl) {
    return __riscv_vsub_vv_u8m1(__riscv_vmaxu_vv_u8m1(a, b, vl), __riscv_vminu_vv_u8m1(a, b, vl),
                                vl);
}

static inline vint16m2_t within(vint16m2_t x, vint16m2_t bound, size_t vl) {
    x = __riscv_vmin_vv_i16m2(x, bound, vl);
    return __riscv_vmax_vv_i16m2(x, __riscv_vneg_v_i16m2(bound, vl), vl);
}

static inline vuint16m2_t as_byte(vint16m2_t x, size_t vl) {
    x = __riscv_vmin_vx_i16m2(__riscv_vmax_vx_i16m2(x, 0, vl), 255, vl);
    return __riscv_vreinterpret_v_i16m2_u16m2(x);
}

/* The pixel behind the one at an edge, nearer to what lies on both of its sides. */
static inline vuint16m2_t second_pixel(vuint8m1_t own, vuint8m1_t outer, vuint8m1_t between,
                                       vint16m2_t limit, vbool8_t is_flat, size_t vl) {
    vuint16m2_t around = __riscv_vwaddu_vv_u16m2(outer, between, vl);
    around = __riscv_vwsubu_wv_u16m2(__riscv_vwsubu_wv_u16m2(around, own, vl), own, vl);
    vint16m2_t step = __riscv_vsra_vx_i16m2(__riscv_vreinterpret_v_u16m2_i16m2(around), 1, vl);
    step = within(step, limit, vl);
    step = __riscv_vmerge_vvm_i16m2(__riscv_vmv_v_x_i16m2(0, vl), step, is_flat, vl);
    return __riscv_vwaddu_wv_u16m2(__riscv_vreinterpret_v_i16m2_u16m2(step), own, vl);
}

/* Edges 8 bytes apart, in lanes. Four pixels come with one load where they are a word in memory. */
__attribute__((always_inline)) static inline void filter_edges(uint8_t *image,
                                                               const int8_t *strength, long count,
                                                               uint8_t most, uint8_t most_flat,
                                                               int is_aligned) {
    vuint32m4_t next_p, next_q;
#define READ_WORDS(at, vl)                                                                         \
    next_p = __riscv_vlse32_v_u32m4((const uint32_t *)(at) - 1, 8, vl);                            \
    next_q = __riscv_vlse32_v_u32m4((const uint32_t *)(at), 8, vl)
    if (is_aligned) {
        READ_WORDS(image, __riscv_vsetvl_e32m4(count));
    }
    for (long i = 0; i < count;) {
        size_t vl = __riscv_vsetvl_e8m1(count - i);
        uint8_t *at = image + 8 * i;
        vuint8m1_t p0, p1, p2, q0, q1, q2;
        vint8m1_t low = __riscv_vle8_v_i8m1(strength + i, vl);
        if (is_aligned) {
            vuint32m4_t p = next_p, q = next_q;
            size_t left = __riscv_vsetvl_e32m4(count - i - (long)vl);
            READ_WORDS(at + 8 * vl, left);
            vuint16m2_t near = __riscv_vnsrl_wx_u16m2(p, 16, vl);
            p0 = __riscv_vnsrl_wx_u8m1(near, 8, vl), p1 = __riscv_vncvt_x_x_w_u8m1(near, vl);
            p2 = __riscv_vnsrl_wx_u8m1(__riscv_vncvt_x_x_w_u16m2(p, vl), 8, vl);
            near = __riscv_vncvt_x_x_w_u16m2(q, vl);
            q0 = __riscv_vncvt_x_x_w_u8m1(near, vl), q1 = __riscv_vnsrl_wx_u8m1(near, 8, vl);
            q2 = __riscv_vncvt_x_x_w_u8m1(__riscv_vnsrl_wx_u16m2(q, 16, vl), vl);
        } else {
            p0 = __riscv_vlse8_v_u8m1(at - 1, 8, vl), q0 = __riscv_vlse8_v_u8m1(at, 8, vl);
            p1 = __riscv_vlse8_v_u8m1(at - 2, 8, vl), q1 = __riscv_vlse8_v_u8m1(at + 1, 8, vl);
            p2 = __riscv_vlse8_v_u8m1(at - 3, 8, vl), q2 = __riscv_vlse8_v_u8m1(at + 2, 8, vl);
        }
        i += (long)vl;
#define IS_FLAT(a, b) __riscv_vmsleu_vx_u8m1_b8(apart(a, b, vl), most_flat, vl)
        vbool8_t filtered = __riscv_vmsge_vx_i8m1_b8(low, 0, vl);
        vbool8_t is_close = __riscv_vmsleu_vx_u8m1_b8(apart(p0, q0, vl), most, vl);
        vbool8_t both = __riscv_vmand_mm_b8(IS_FLAT(p1, p0), IS_FLAT(q1, q0), vl);
        filtered = __riscv_vmand_mm_b8(__riscv_vmand_mm_b8(filtered, is_close, vl), both, vl);
        vbool8_t p_is_flat = IS_FLAT(p2, p0), q_is_flat = IS_FLAT(q2, q0);
        vint16m2_t limit = __riscv_vsext_vf2_i16m2(low, vl);
        vint16m2_t bound = __riscv_vadc_vxm_i16m2(limit, 0, p_is_flat, vl);
        bound = __riscv_vadc_vxm_i16m2(bound, 0, q_is_flat, vl);
        vint16m2_t step = __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vwsubu_vv_u16m2(p1, q1, vl));
        vuint16m2_t rise = __riscv_vwsubu_vv_u16m2(q0, p0, vl);
        step = __riscv_vmacc_vx_i16m2(step, 4, __riscv_vreinterpret_v_u16m2_i16m2(rise), vl);
        step = within(__riscv_vssra_vx_i16m2(step, 3, __RISCV_VXRM_RNU, vl), bound, vl);
        vuint16m2_t unsigned_step = __riscv_vreinterpret_v_i16m2_u16m2(step);
        vuint16m2_t new_p = __riscv_vwaddu_wv_u16m2(unsigned_step, p0, vl);
        vint16m2_t new_q = __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vzext_vf2_u16m2(q0, vl));
        new_p = as_byte(__riscv_vreinterpret_v_u16m2_i16m2(new_p), vl);
        vuint16m2_t first_q = as_byte(__riscv_vsub_vv_i16m2(new_q, step, vl), vl);
        vuint8m1_t between = __riscv_vaaddu_vv_u8m1(p0, q0, __RISCV_VXRM_RNU, vl);
        vuint16m2_t second_p = second_pixel(p1, p2, between, limit, p_is_flat, vl);
        vuint16m2_t second_q = second_pixel(q1, q2, between, limit, q_is_flat, vl);
        if (is_aligned) {
            second_p = __riscv_vmacc_vx_u16m2(second_p, 256, new_p, vl);
            first_q = __riscv_vmacc_vx_u16m2(first_q, 256, second_q, vl);
            __riscv_vsse16_v_u16m2_m(filtered, (uint16_t *)(at - 2), 8, second_p, vl);
            __riscv_vsse16_v_u16m2_m(filtered, (uint16_t *)at, 8, first_q, vl);
        } else {
#define STORE(to, x) __riscv_vsse8_v_u8m1_m(filtered, to, 8, __riscv_vncvt_x_x_w_u8m1(x, vl), vl)
            STORE(at - 2, second_p), STORE(at - 1, new_p), STORE(at, first_q);
            STORE(at + 1, second_q);
        }
    }
}

/* Where each block of a row has all of its 8 pixels, the edges of four rows are equally far apart:
 * those between the end of one and the start of the next are not filtered. Up to 1,023 edges. */
static inline void deblock_vertical_edges(const uint64_t *args) {
    static int8_t strengths[4096];
    long h = INT(2), w = INT(3), edges = INT(4), alpha = INT(5), beta = INT(6);
    uint8_t most = (uint8_t)((alpha < 256 ? alpha : 256) - 1);
    uint8_t most_flat = (uint8_t)((beta < 256 ? beta : 256) - 1);
    if (alpha <= 0 || beta <= 0)
        return;
    for (long y = 0; y < h; y += 4) {
        long rows = h - y < 4 ? h - y : 4;
        const int8_t *strength = IN(int8_t, 1) + y / 4 * edges;
        uint8_t *image = OUT(uint8_t, 0) + y * w + 8;
        ahead(image + 4 * w, 4 * w);
        if (w == 8 * (edges + 1)) {
            for (long k = 0; k < rows; k++) {
                memcpy(strengths + k * (edges + 1), strength, (size_t)edges);
                strengths[k * (edges + 1) + edges] = -1;
            }
            filter_edges(image, strengths, rows * (edges + 1) - 1, most, most_flat, 1);
            continue;
        }
        for (long k = 0; k < rows; k++) {
            if (w % 4 == 0)
                filter_edges(image + k * w, strength, edges, most, most_flat, 1);
            else
                filter_edges(image + k * w, strength, edges, most, most_flat, 0);
        }
    }
}

#define READ(from) __riscv_vle32_v_f32m4(from, vl)

/* Sound as floats, with as many zeros before and behind each channel as delays reach. Up to 4,096
 * pairs of a channel and a direction, and 2^19 samples and zeros in all. */
static float sound[1 << 19], near_gains[4096], far_gains[4096];
static int32_t delays[4096];
static const float *places[4097];

/* Two groups of samples of each direction. What the next step needs is read during this one. */
static inline void sum_two(float *out, long t, long channels, long samples, long pairs) {
    size_t vl = __riscv_vsetvlmax_e32m4();
    const float *x = places[0] + t;
    vfloat32m4_t near0 = READ(x), far0 = READ(x - 1);
    vfloat32m4_t near1 = READ(x + vl), far1 = READ(x + vl - 1);
    for (long i = 0; i < pairs; out += samples) {
        vfloat32m4_t sum0 = __riscv_vfmv_v_f_f32m4(0, vl), sum1 = sum0;
        for (long end = i + channels; i < end; i++) {
            x = places[i + 1] + t;
            if (i < channels)
                ahead(x + 2 * vl, VLEN);
            sum0 = __riscv_vfmacc_vf_f32m4(sum0, near_gains[i], near0, vl);
            near0 = READ(x);
            sum0 = __riscv_vfmacc_vf_f32m4(sum0, far_gains[i], far0, vl);
            far0 = READ(x - 1);
            sum1 = __riscv_vfmacc_vf_f32m4(sum1, near_gains[i], near1, vl);
            near1 = READ(x + vl);
            sum1 = __riscv_vfmacc_vf_f32m4(sum1, far_gains[i], far1, vl);
            far1 = READ(x + vl - 1);
        }
        __riscv_vse32_v_f32m4(out, sum0, vl);
        __riscv_vse32_v_f32m4(out + vl, sum1, vl);
    }
}

static inline void beamform_delay_sum(const uint64_t *args) {
    long channels = INT(5), samples = INT(6), beams = sizes[0], pairs = beams * channels;
    long before = 1, behind = 0;
    for (long i = 0; i < pairs;) {
        size_t vl = __riscv_vsetvl_e32m4(pairs - i);
        vfloat32m4_t weight = READ(IN(float, 3) + i);
        vfloat32m4_t far = __riscv_vfmul_vv_f32m4(weight, READ(IN(float, 2) + i), vl);
        __riscv_vse32_v_f32m4(far_gains + i, far, vl);
        __riscv_vse32_v_f32m4(near_gains + i, __riscv_vfsub_vv_f32m4(weight, far, vl), vl);
        vint32m4_t delay = __riscv_vle32_v_i32m4(IN(int32_t, 1) + i, vl);
        delay = __riscv_vmin_vx_i32m4(delay, (int32_t)samples, vl);
        delay = __riscv_vmax_vx_i32m4(delay, (int32_t)(-samples - 1), vl);
        __riscv_vse32_v_i32m4(delays + i, delay, vl);
        i += (long)vl;
    }
    for (long i = 0; i < pairs; i++) {
        before = delays[i] + 1 > before ? delays[i] + 1 : before;
        behind = -delays[i] > behind ? -delays[i] : behind;
    }
    /* An odd number of 512 bytes keeps channels out of each other's lines of L1. */
    long pitch = ((before + samples + behind + 127) / 128 | 1) * 128;
    for (long c = 0; c < channels; c++) {
        const int16_t *x = IN(int16_t, 0) + c * samples;
        float *to = sound + c * pitch;
        memset(to, 0, (size_t)before * sizeof *to);
        to += before;
        memset(to + samples, 0, (size_t)behind * sizeof *to);
        for (long i = 0; i < samples;) {
            size_t vl = __riscv_vsetvl_e16m4(samples - i);
            ahead(x + i + 128, VLEN / 2);
            vint16m4_t part = __riscv_vle16_v_i16m4(x + i, vl);
            __riscv_vse32_v_f32m8(to + i, __riscv_vfwcvt_f_x_v_f32m8(part, vl), vl);
            i += (long)vl;
        }
    }
    for (long i = 0; i < pairs; i++)
        places[i] = sound + i % channels * pitch + before - delays[i];
    places[pairs] = sound + 1;
    /* All directions take what they need of some samples while L1 has it. */
    for (long t = 0; t < samples;) {
        size_t vl = __riscv_vsetvlmax_e32m4();
        long all = (long)vl;
        float *out = OUT(float, 4) + t;
        if (t + 2 * all <= samples) {
            sum_two(out, t, channels, samples, pairs);
            t += 2 * all;
            continue;
        }
        vl = __riscv_vsetvl_e32m4(samples - t);
        for (long i = 0; i < pairs; out += samples) {
            vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
            for (long end = i + channels; i < end; i++) {
                vfloat32m4_t near = READ(places[i] + t), far = READ(places[i] + t - 1);
                sum = __riscv_vfmacc_vf_f32m4(sum, near_gains[i], near, vl);
                sum = __riscv_vfmacc_vf_f32m4(sum, far_gains[i], far, vl);
            }
            __riscv_vse32_v_f32m4(out, sum, vl);
        }
        t += (long)vl;
    }
}

/* bf16 is the upper half of a float. A product that widens, and its sum with itself, take half the
 * time of an extension and a shift. Narrowing with a clip rounds to nearest even, as bf16 has to
 * be. */
static inline vfloat32m2_t widened(const uint16_t *from, size_t vl) {
    vuint32m2_t half = __riscv_vwmulu_vx_u32m2(__riscv_vle16_v_u16m1(from, vl), 1 << 15, vl);
    return __riscv_vreinterpret_v_u32m2_f32m2(__riscv_vadd_vv_u32m2(half, half, vl));
}

static inline void write_narrow(uint16_t *to, vfloat32m2_t x, size_t vl) {
    vuint32m2_t bits = __riscv_vreinterpret_v_f32m2_u32m2(x);
    __riscv_vse16_v_u16m1(to, __riscv_vnclipu_wx_u16m1(bits, 16, __RISCV_VXRM_RNE, vl), vl);
}

/* Sines and cosines of a patch's row and column. */
typedef struct {
    const float *y_cos, *y_sin, *x_cos, *x_sin;
} Angles;

#define TURN                                                                                       \
    vfloat32m2_t new_a = __riscv_vfmul_vv_f32m2(b, y_sin, vl);                                     \
    vfloat32m2_t new_b = __riscv_vfmul_vv_f32m2(a, y_sin, vl);                                     \
    vfloat32m2_t new_c = __riscv_vfmul_vv_f32m2(d, x_sin, vl);                                     \
    vfloat32m2_t new_d = __riscv_vfmul_vv_f32m2(c, x_sin, vl);                                     \
    new_a = __riscv_vfmsac_vv_f32m2(new_a, a, y_cos, vl);                                          \
    new_b = __riscv_vfmacc_vv_f32m2(new_b, b, y_cos, vl);                                          \
    new_c = __riscv_vfmsac_vv_f32m2(new_c, c, x_cos, vl);                                          \
    new_d = __riscv_vfmacc_vv_f32m2(new_d, d, x_cos, vl);
#define READ_ANGLES(i)                                                                             \
    vfloat32m2_t y_cos = __riscv_vle32_v_f32m2(angles.y_cos + i, vl);                              \
    vfloat32m2_t y_sin = __riscv_vle32_v_f32m2(angles.y_sin + i, vl);                              \
    vfloat32m2_t x_cos = __riscv_vle32_v_f32m2(angles.x_cos + i, vl);                              \
    vfloat32m2_t x_sin = __riscv_vle32_v_f32m2(angles.x_sin + i, vl);

static inline void turn_heads(const uint16_t *q, uint16_t *out, long heads, long quarter,
                              Angles angles) {
    for (long i = 0; i < quarter;) {
        size_t vl = __riscv_vsetvl_e32m2(quarter - i);
        READ_ANGLES(i)
        for (long head = 0; head < heads; head++) {
            const uint16_t *from = q + head * 4 * quarter + i;
            uint16_t *to = out + head * 4 * quarter + i;
            ahead(from + 8 * quarter, 8 * quarter);
            vfloat32m2_t a = widened(from, vl), b = widened(from + quarter, vl);
            vfloat32m2_t c = widened(from + 2 * quarter, vl);
            vfloat32m2_t d = widened(from + 3 * quarter, vl);
            TURN write_narrow(to, new_a, vl), write_narrow(to + quarter, new_b, vl);
            write_narrow(to + 2 * quarter, new_c, vl), write_narrow(to + 3 * quarter, new_d, vl);
        }
        i += (long)vl;
    }
}

/* A head whose quarters fill two registers each is widened and narrowed as a whole. */
static inline void turn_whole_heads(const uint16_t *q, uint16_t *out, long heads, Angles angles) {
    size_t vl = __riscv_vsetvlmax_e32m2(), all = __riscv_vsetvlmax_e32m8();
    READ_ANGLES(0)
    vuint16m4_t halves = __riscv_vle16_v_u16m4(q, all);
    for (long head = 0; head < heads; head++, out += all) {
        vuint32m8_t wide = __riscv_vwmulu_vx_u32m8(halves, 1 << 15, all);
        q += head + 1 < heads ? all : 0;
        ahead(q + 2 * all, 2 * (long)all);
        halves = __riscv_vle16_v_u16m4(q, all);
        wide = __riscv_vadd_vv_u32m8(wide, wide, all);
        vfloat32m8_t x = __riscv_vreinterpret_v_u32m8_f32m8(wide);
        vfloat32m2_t a = __riscv_vget_v_f32m8_f32m2(x, 0), b = __riscv_vget_v_f32m8_f32m2(x, 1);
        vfloat32m2_t c = __riscv_vget_v_f32m8_f32m2(x, 2), d = __riscv_vget_v_f32m8_f32m2(x, 3);
        TURN x = __riscv_vcreate_v_f32m2_f32m8(new_a, new_b, new_c, new_d);
        wide = __riscv_vreinterpret_v_f32m8_u32m8(x);
        vuint16m4_t narrow = __riscv_vnclipu_wx_u16m4(wide, 16, __RISCV_VXRM_RNE, all);
        __riscv_vse16_v_u16m4(out, narrow, all);
    }
}

static inline void rotary_2d_patches(const uint64_t *args) {
    long patches = INT(4), width = INT(5), heads = INT(6), quarter = sizes[3];
    for (long patch = 0; patch < patches; patch++) {
        const float *cosines = IN(float, 1), *sines = IN(float, 2);
        long y = patch / width * quarter, x = patch % width * quarter;
        Angles angles = {cosines + y, sines + y, cosines + x, sines + x};
        const uint16_t *q = IN(uint16_t, 0) + patch * heads * 4 * quarter;
        uint16_t *out = OUT(uint16_t, 3) + patch * heads * 4 * quarter;
        if (quarter == (long)__riscv_vsetvlmax_e32m2())
            turn_whole_heads(q, out, heads, angles);
        else
            turn_heads(q, out, heads, quarter, angles);
    }
}
