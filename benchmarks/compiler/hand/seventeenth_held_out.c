/* The kernels of seventeenth_held_out.py in RVV intrinsics, for bench_hand.py: some minutes each,
 * by somebody who knows the instructions and not what the compiler makes. One program does all the
 * work. With -DAHEAD, the data of a later step is prefetched. */
#include "entry.h"
#include "vector_math.h"

#include <math.h>

#if VLEN < 256
#error "a block of 32 numbers fills four registers of 256 bits"
#endif

#define ONE(EACH) EACH(0)
#define TWO(EACH) EACH(0) EACH(1)

/* The largest of a block, as bits of a magnitude, which is stored and not waited for. */
#define BITS(k) vuint32m4_t x##k = __riscv_vle32_v_u32m4(bits + 32 * (k), 32);
#define SIZE(k) x##k = __riscv_vand_vx_u32m4(x##k, 0x7fffffff, 32);
#define HALF(k)                                                                                    \
    vuint32m2_t h##k = __riscv_vmaxu_vv_u32m2(__riscv_vget_v_u32m4_u32m2(x##k, 0),                 \
                                              __riscv_vget_v_u32m4_u32m2(x##k, 1), 16);
#define QUARTER(k)                                                                                 \
    vuint32m1_t r##k = __riscv_vmaxu_vv_u32m1(__riscv_vget_v_u32m2_u32m1(h##k, 0),                 \
                                              __riscv_vget_v_u32m2_u32m1(h##k, 1), 8);
#define LARGEST(k) r##k = __riscv_vredmaxu_vs_u32m1_u32m1(r##k, r##k, 8);
#define KEEP(k) __riscv_vse32_v_u32m1(tops + block + (k), r##k, 1);
#define TOPS(ALL) ALL(BITS) ALL(SIZE) ALL(HALF) ALL(QUARTER) ALL(LARGEST) ALL(KEEP)

/* Bytes of a block: conversions round to even, as the mode is. */
#define LOAD(k) vfloat32m4_t x##k = __riscv_vle32_v_f32m4(x + 32 * (k), 32);
#define TINY(k)                                                                                    \
    if (tops[block + (k)] < 6u << 23)                                                              \
        x##k = __riscv_vfmul_vf_f32m4(x##k, 64, 32);
#define SCALE(k) x##k = __riscv_vfmul_vf_f32m4(x##k, factors[block + (k)], 32);
#define ROUND(k) vint16m2_t w##k = __riscv_vfncvt_x_f_w_i16m2(x##k, 32);
#define CLIP(k) vint8m1_t b##k = __riscv_vnclip_wx_i8m1(w##k, 0, __RISCV_VXRM_RDN, 32);
#define LEAST(k) b##k = __riscv_vmax_vx_i8m1(b##k, -127, 32);
#define PUT(k) __riscv_vse8_v_i8m1(q + 32 * (k), b##k, 32);
#define BYTES(ALL) ALL(LOAD) ALL(TINY) ALL(SCALE) ALL(ROUND) ALL(CLIP) ALL(LEAST) ALL(PUT)

static inline void mxint8_block_encode(const uint64_t *args) {
    const float *x = IN(float, 0);
    const uint32_t *bits = IN(uint32_t, 0);
    int8_t *q = OUT(int8_t, 1);
    uint8_t *scales = OUT(uint8_t, 2);
    uint32_t tops[16];
    float factors[16];
    for (long left = INT(3) / 32, count; left; left -= count, scales += count) {
        count = left < 16 ? left : 16;
        long block = 0;
        for (; block + 2 <= count; block += 2, bits += 64) {
            ahead(bits + 32 * 16, 256);
            TOPS(TWO)
        }
        for (; block < count; block++, bits += 32) {
            TOPS(ONE)
        }
        size_t vl = (size_t)count;
        vuint32m2_t exponent = __riscv_vsrl_vx_u32m2(__riscv_vle32_v_u32m2(tops, vl), 23, vl);
        vuint8mf2_t byte = __riscv_vncvt_x_x_w_u8mf2(__riscv_vncvt_x_x_w_u16m1(exponent, vl), vl);
        __riscv_vse8_v_u8mf2(scales, byte, vl);
        /* 64 times the scale's inverse, if there is such a number, otherwise the inverse. */
        vbool16_t tiny = __riscv_vmsltu_vx_u32m2_b16(exponent, 6, vl);
        vuint32m2_t inverse = __riscv_vrsub_vx_u32m2(exponent, 254, vl);
        vuint32m2_t more = __riscv_vrsub_vx_u32m2(exponent, 260, vl);
        inverse = __riscv_vmerge_vvm_u32m2(more, inverse, tiny, vl);
        inverse = __riscv_vsll_vx_u32m2(inverse, 23, vl);
        __riscv_vse32_v_f32m2(factors, __riscv_vreinterpret_v_u32m2_f32m2(inverse), vl);
        for (block = 0; block + 2 <= count; block += 2, x += 64, q += 64) {
            BYTES(TWO)
        }
        for (; block < count; block++, x += 32, q += 32) {
            BYTES(ONE)
        }
    }
}

/* bfloat16 is the upper half of a float; to narrow with a shift rounds to even. */
static inline vfloat32m4_t widened(vuint16m2_t half, size_t vl) {
    vuint32m4_t bits = __riscv_vsll_vx_u32m4(__riscv_vzext_vf2_u32m4(half, vl), 16, vl);
    return __riscv_vreinterpret_v_u32m4_f32m4(bits);
}

static inline vuint16m2_t narrowed(vfloat32m4_t x, size_t vl) {
    vuint32m4_t bits = __riscv_vreinterpret_v_f32m4_u32m4(x);
    return __riscv_vnclipu_wx_u16m2(bits, 16, __RISCV_VXRM_RNE, vl);
}

static inline void adamw_bf16_kahan(const uint64_t *args) {
    uint16_t *params = OUT(uint16_t, 0), *losses = OUT(uint16_t, 1);
    float *means = OUT(float, 2), *squares = OUT(float, 3);
    const uint16_t *grads = IN(uint16_t, 4);
    long n = INT(5);
    float rate = as_float(args[6]), beta1 = as_float(args[7]), beta2 = as_float(args[8]);
    float eps = as_float(args[9]), decay = as_float(args[10]);
    float step = rate / as_float(args[11]), root_scale = sqrtf(1 / as_float(args[12]));
    for (long i = 0; i < n;) {
        size_t vl = __riscv_vsetvl_e32m4(n - i);
        ahead(means + i + 96, VLEN / 2), ahead(squares + i + 96, VLEN / 2);
        ahead(grads + i + 128, VLEN / 4), ahead(params + i + 128, VLEN / 4);
        ahead(losses + i + 128, VLEN / 4);
        vfloat32m4_t grad = widened(__riscv_vle16_v_u16m2(grads + i, vl), vl);
        vfloat32m4_t mean = __riscv_vle32_v_f32m4(means + i, vl);
        vfloat32m4_t square = __riscv_vle32_v_f32m4(squares + i, vl);
        mean = __riscv_vfmul_vf_f32m4(mean, beta1, vl);
        square = __riscv_vfmul_vf_f32m4(square, beta2, vl);
        mean = __riscv_vfmacc_vf_f32m4(mean, 1 - beta1, grad, vl);
        vfloat32m4_t part = __riscv_vfmul_vf_f32m4(grad, 1 - beta2, vl);
        square = __riscv_vfmacc_vv_f32m4(square, part, grad, vl);
        __riscv_vse32_v_f32m4(means + i, mean, vl);
        vfloat32m4_t bottom = __riscv_vfsqrt_v_f32m4(square, vl);
        __riscv_vse32_v_f32m4(squares + i, square, vl);
        vfloat32m4_t param = widened(__riscv_vle16_v_u16m2(params + i, vl), vl);
        vfloat32m4_t change = widened(__riscv_vle16_v_u16m2(losses + i, vl), vl);
        change = __riscv_vfnmsac_vf_f32m4(change, rate * decay, param, vl);
        mean = __riscv_vfmul_vf_f32m4(mean, step, vl);
        bottom = __riscv_vfmul_vf_f32m4(bottom, root_scale, vl);
        bottom = __riscv_vfadd_vf_f32m4(bottom, eps, vl);
        change = __riscv_vfnmsac_vv_f32m4(change, mean, reciprocal(bottom, vl), vl);
        vuint16m2_t rounded = narrowed(__riscv_vfadd_vv_f32m4(param, change, vl), vl);
        __riscv_vse16_v_u16m2(params + i, rounded, vl);
        vfloat32m4_t moved = __riscv_vfsub_vv_f32m4(widened(rounded, vl), param, vl);
        change = __riscv_vfsub_vv_f32m4(change, moved, vl);
        __riscv_vse16_v_u16m2(losses + i, narrowed(change, vl), vl);
        i += (long)vl;
    }
}

static inline void window_unpartition_shift(const uint64_t *args) {
    const float *windows = IN(float, 0);
    float *to = OUT(float, 1);
    long height = INT(3), width = INT(4), channels = INT(5), shift = INT(6), side = sizes[4];
    long images = INT(2) / (height * width);
    for (long image = 0; image < images; image++, windows += height * width * channels)
        for (long row = 0; row < height; row++) {
            long from_row = row < shift ? row - shift + height : row - shift;
            const float *line =
                windows + (from_row / side * width + from_row % side) * side * channels;
            /* Runs of tokens that one window has beside each other. */
            long column = width - shift, run;
            for (long left = width; left; left -= run, column += run) {
                column = column == width ? 0 : column;
                long inner = column % side;
                run = side - inner < left ? side - inner : left;
                const float *from = line + (column / side * side * side + inner) * channels;
                for (long i = 0; i < run * channels;) {
                    size_t vl = __riscv_vsetvl_e32m8(run * channels - i);
                    ahead(from + i + 192, VLEN);
                    __riscv_vse32_v_f32m8(to + i, __riscv_vle32_v_f32m8(from + i, vl), vl);
                    i += (long)vl;
                }
                to += run * channels;
            }
        }
}

static inline void dry_repeat_penalty(const uint64_t *args) {
    const int32_t *tokens = IN(int32_t, 0);
    float *penalties = OUT(float, 1);
    long rows = sizes[0], n = INT(2), words = INT(3), most = INT(4), allowed = INT(5);
    float base = as_float(args[7]), steps[most + 1];
    uint16_t places[VLEN / 4];
    steps[0] = as_float(args[6]);
    for (long k = 1; k <= most - allowed; k++)
        steps[k] = steps[k - 1] * base;
    for (long row = 0; row < rows; row++, tokens += n, penalties += words) {
        int32_t last = tokens[n - 1];
        for (long i = 0; i < n - 1;) {
            /* Where the last token was before, which is seldom. */
            size_t vl = __riscv_vsetvl_e32m8(n - 1 - i);
            ahead(tokens + i + 192, VLEN);
            vint32m8_t here = __riscv_vle32_v_i32m8(tokens + i, vl);
            vbool4_t same = __riscv_vmseq_vx_i32m8_b4(here, last, vl);
            long count = (long)__riscv_vcpop_m_b4(same, vl);
            if (count) {
                vuint16m4_t place = __riscv_vid_v_u16m4(vl);
                place = __riscv_vcompress_vm_u16m4(place, same, vl);
                __riscv_vse16_v_u16m4(places, place, (size_t)count);
            }
            for (long k = 0; k < count; k++) {
                long at = i + places[k], length = 1;
                while (length < most && length <= at &&
                       tokens[at - length] == tokens[n - 1 - length])
                    length++;
                if (length < allowed)
                    continue;
                float *penalty = penalties + tokens[at + 1], step = steps[length - allowed];
                *penalty = *penalty > step ? *penalty : step;
            }
            i += (long)vl;
        }
    }
}
