/* The kernels of `kernels/` as a C programmer would write them, for bench_code_speed.py: plain loops
 * that a C compiler vectorises. KERNEL names the one to build. Arguments are those of the Triton
 * kernel; all of the work is done by one program, and of `correlation` by one for each
 * displacement. */
#include "kernel_abi.h"

#include <math.h>
#include <string.h>

#define NAME_(kernel) #kernel
#define NAME(kernel) NAME_(kernel)
const char triton_rvv_kernel_name[] = NAME(KERNEL);
const uint32_t triton_rvv_vlen_bits = 256;

/* The problem's, in the order of its shape. */
static const long sizes[] = {SIZES};

#define INT(slot) ((long)(int32_t)args[slot])
#define IN(type, slot) ((const type *restrict)args[slot])
#define OUT(type, slot) ((type *restrict)args[slot])

static inline float as_float(uint64_t slot) {
    float value;
    memcpy(&value, &slot, sizeof value);
    return value;
}

static inline void vector_add(const uint64_t *args, long z) {
    const float *x = IN(float, 0), *y = IN(float, 1);
    float *restrict out = OUT(float, 2);
    long n = INT(3);
    for (long i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static inline void softmax(const uint64_t *args, long z) {
    long rows = INT(4), columns = INT(5);
    for (long row = 0; row < rows; row++) {
        float *restrict out = OUT(float, 0) + row * INT(3);
        const float *restrict in = IN(float, 1) + row * INT(2);
        float largest = -INFINITY, total = 0;
        for (long i = 0; i < columns; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (long i = 0; i < columns; i++)
            out[i] = expf(in[i] - largest);
        for (long i = 0; i < columns; i++)
            total += out[i];
        for (long i = 0; i < columns; i++)
            out[i] *= 1 / total;
    }
}

static inline void cross_entropy(const uint64_t *args, long z) {
    const int64_t *labels = IN(int64_t, 1);
    float *restrict loss = OUT(float, 2);
    long rows = INT(3), columns = INT(4);
    for (long row = 0; row < rows; row++) {
        const float *restrict in = IN(float, 0) + row * columns;
        float largest = -INFINITY, total = 0;
        for (long i = 0; i < columns; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (long i = 0; i < columns; i++)
            total += expf(in[i] - largest);
        loss[row] = labels[row] < 0 ? 0 : largest + logf(total) - in[labels[row]];
    }
}

static inline void layernorm_fwd(const uint64_t *args, long z) {
    const float *weight = IN(float, 1), *bias = IN(float, 2);
    long rows = INT(7), columns = INT(8);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 3) + row * columns;
        float mean = 0, squares = 0;
        for (long i = 0; i < columns; i++)
            mean += x[i];
        mean /= columns;
        for (long i = 0; i < columns; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        float scale = 1 / sqrtf(squares / columns + as_float(args[6]));
        OUT(float, 4)[row] = mean;
        OUT(float, 5)[row] = scale;
        for (long i = 0; i < columns; i++)
            y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
    }
}

static inline void layernorm_bwd(const uint64_t *args, long z) {
    const float *weight = IN(float, 2);
    float *restrict dweight = OUT(float, 6), *restrict dbias = OUT(float, 7);
    long rows = INT(8), columns = INT(9);
    for (long row = 0; row < rows; row++) {
        const float *restrict dy = IN(float, 0) + row * columns;
        const float *restrict x = IN(float, 1) + row * columns;
        float *restrict dx = OUT(float, 5) + row * columns;
        float mean = IN(float, 3)[row], scale = IN(float, 4)[row], of_g = 0, of_gn = 0;
        for (long i = 0; i < columns; i++) {
            float n = (x[i] - mean) * scale, g = dy[i] * weight[i];
            of_g += g;
            of_gn += g * n;
        }
        of_g /= columns;
        of_gn /= columns;
        for (long i = 0; i < columns; i++) {
            float n = (x[i] - mean) * scale, g = dy[i] * weight[i];
            dx[i] = (g - of_g - n * of_gn) * scale;
            dweight[i] += dy[i] * n;
            dbias[i] += dy[i];
        }
    }
}

static inline void rope(const uint64_t *args, float sign) {
    long tokens = INT(4), heads = INT(5), half = INT(6);
    for (long token = 0; token < tokens; token++)
        for (long head = 0; head < heads; head++) {
            const float *restrict cosine = IN(float, 1) + token * half;
            const float *restrict sine = IN(float, 2) + token * half;
            const float *restrict x = IN(float, 0) + (token * heads + head) * 2 * half;
            float *restrict y = OUT(float, 3) + (token * heads + head) * 2 * half;
            for (long i = 0; i < half; i++) {
                y[i] = x[i] * cosine[i] - sign * x[i + half] * sine[i];
                y[i + half] = x[i + half] * cosine[i] + sign * x[i] * sine[i];
            }
        }
}

static inline void rope_fwd(const uint64_t *args, long z) { rope(args, 1); }

static inline void rope_bwd(const uint64_t *args, long z) { rope(args, -1); }

static inline void dropout(const uint64_t *args, long z) {
    const float *x = IN(float, 0);
    float *restrict out = OUT(float, 1);
    float probability = as_float(args[3]);
    long n = INT(2);
    for (long i = 0; i < n; i++) {
        uint32_t a = i, b = 0, c = 0, d = 0, key_a = args[4], key_b = 0;
        for (int round = 0; round < 10; round++) {
            uint64_t first = 0xD2511F53ull * a, second = 0xCD9E8D57ull * c;
            a = (uint32_t)(second >> 32) ^ b ^ key_a;
            b = second;
            c = (uint32_t)(first >> 32) ^ d ^ key_b;
            d = first;
            key_a += 0x9E3779B9;
            key_b += 0xBB67AE85;
        }
        int32_t number = (int32_t)a < 0 ? -(int32_t)a - 1 : (int32_t)a;
        out[i] = number * 4.6566127342e-10f > probability ? x[i] / (1 - probability) : 0;
    }
}

static inline void correlation(const uint64_t *args, long z) {
    const int8_t *left = IN(int8_t, 0), *right = IN(int8_t, 1);
    long channels = INT(3), height = INT(4), width = INT(5), shift = INT(6);
    int8_t *restrict out = OUT(int8_t, 2) + z * height * width;
    for (long y = 0; y < height; y++) {
        int32_t total[width];
        memset(total, 0, sizeof total);
        for (long c = 0; c < channels; c++)
            for (long x = z; x < width; x++) {
                long at = (c * height + y) * width + x;
                total[x] += left[at] * right[at - z];
            }
        for (long x = 0; x < width; x++)
            out[y * width + x] = total[x] >> shift;
    }
}

static inline void resize(const uint64_t *args, long z) {
    long height = INT(2), width = INT(3);
    for (long c = 0; c < 3; c++)
        for (long y = 0; y < height; y++) {
            long below = y + 1 < height ? y + 1 : y;
            const int8_t *restrict upper = IN(int8_t, 0) + (c * height + y) * width;
            const int8_t *restrict lower = IN(int8_t, 0) + (c * height + below) * width;
            int8_t *restrict out = OUT(int8_t, 1) + (c * height + y) * 4 * width;
            for (long x = 0; x < width; x++) {
                long next = x + 1 < width ? x + 1 : x;
                out[2 * x] = upper[x];
                out[2 * x + 1] = (upper[x] + upper[next]) >> 1;
                out[2 * width + 2 * x] = (upper[x] + lower[x]) >> 1;
                out[2 * width + 2 * x + 1] =
                    (upper[x] + upper[next] + lower[x] + lower[next]) >> 2;
            }
        }
}

static inline void warp(const uint64_t *args, long z) {
    long channels = INT(3), height = INT(4), width = INT(5);
    for (long c = 0; c < channels; c++)
        for (long y = 0; y < height; y++) {
            const int16_t *restrict offset = IN(int16_t, 1) + y * width;
            const int8_t *restrict src = IN(int8_t, 0) + (c * height + y) * width;
            int8_t *restrict out = OUT(int8_t, 2) + (c * height + y) * width;
            for (long x = 0; x < width; x++) {
                int32_t position = ((int32_t)x << 8) - offset[x];
                int32_t at = position >> 8, fraction = position & 255;
                int32_t left = at >= 0 && at < width ? src[at] : 0;
                int32_t right = at >= -1 && at + 1 < width ? src[at + 1] : 0;
                out[x] = ((left << 8) + (right - left) * fraction) >> 8;
            }
        }
}

static inline void jacobi(const uint64_t *args, long z) {
    const float *grid = IN(float, 0);
    long height = INT(2), width = INT(3), line = width + 2;
    for (long y = 0; y < height; y++) {
        const float *restrict above = grid + y * line + 1;
        float *restrict out = OUT(float, 1) + y * width;
        for (long x = 0; x < width; x++)
            out[x] = (above[x] + above[x + line - 1] + above[x + line + 1] + above[x + 2 * line]) *
                     0.25f;
    }
}

static inline void matmul(const uint64_t *args, long z) {
    const float *a = IN(float, 0), *b = IN(float, 1);
    float *restrict c = OUT(float, 2);
    long m = INT(3), n = INT(4), k = INT(5);
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (long p = 0; p < k; p++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
}

#include "hand/common_bits.h"
#include "hand/common_images.h"
#include "hand/common_kernels.h"
#include "hand/common_layers.h"
#include "hand/common_losses.h"
#include "hand/common_moves.h"
#include "hand/common_signals.h"

void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)pid_x, (void)pid_y, (void)num_x, (void)num_y, (void)num_z;
    KERNEL(args, pid_z);
}
