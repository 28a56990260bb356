/* Calls every function of a library at ragged sizes and writes inputs and results to a file, for
 * the test to compare. It is a C99 program and a C++ program.
 *
 *   program FILE     the calls
 *   program          what the library says of mistakes, a line each
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuned.h"

#define UNTOUCHED -77.0f

static FILE *file;

static float *filled(int64_t count, uint32_t seed) {
    float *values = (float *)malloc((size_t)(count > 0 ? count : 1) * sizeof(float));
    uint32_t state = seed * 2654435761u + 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)state / 2147483648.0f;
    }
    return values;
}

static float *untouched(int64_t count) {
    float *values = (float *)malloc((size_t)(count > 0 ? count : 1) * sizeof(float));
    for (int64_t i = 0; i < count; i++)
        values[i] = UNTOUCHED;
    return values;
}

static void save(const char *name, const float *values, int64_t rows, int64_t columns) {
    char title[16] = {0};
    int64_t sizes[2] = {rows, columns};
    strncpy(title, name, sizeof title - 1);
    fwrite(title, 1, sizeof title, file);
    fwrite(sizes, sizeof sizes[0], 2, file);
    fwrite(values, sizeof values[0], (size_t)(rows * columns), file);
}

static void require(int status) {
    if (status == TUNED_OK)
        return;
    fprintf(stderr, "%s\n", tuned_message(status));
    exit(3);
}

/* Both thread counts have to give the same bits. */
static void require_same(const float *one, const float *other, int64_t count) {
    if (memcmp(one, other, (size_t)count * sizeof one[0]) != 0) {
        fprintf(stderr, "threads change the result\n");
        exit(4);
    }
}

static void matmul(int64_t m, int64_t n, int64_t k, int64_t pad) {
    int64_t a_stride = k + pad, b_stride = n + 2 * pad, c_stride = n + 3 * pad;
    float *a = filled(m * a_stride, 1), *b = filled(k * b_stride, 2);
    float *c = untouched(m * c_stride), *again = untouched(m * c_stride);
    require(tuned_matmul_fp32(m, n, k, a, a_stride, b, b_stride, c, c_stride, 1));
    require(tuned_matmul_fp32(m, n, k, a, a_stride, b, b_stride, again, c_stride, 3));
    require_same(c, again, m * c_stride);
    save("matmul a", a, m, a_stride);
    save("matmul b", b, k, b_stride);
    save("matmul c", c, m, c_stride);
    free(a), free(b), free(c), free(again);
}

static void softmax(int64_t m, int64_t n, int64_t pad) {
    int64_t x_stride = n + pad, y_stride = n + 2 * pad;
    float *x = filled(m * x_stride, 3);
    float *y = untouched(m * y_stride), *again = untouched(m * y_stride);
    require(tuned_softmax_fp32(m, n, x, x_stride, y, y_stride, 1));
    require(tuned_softmax_fp32(m, n, x, x_stride, again, y_stride, 4));
    require_same(y, again, m * y_stride);
    save("softmax x", x, m, x_stride);
    save("softmax y", y, m, y_stride);
    free(x), free(y), free(again);
}

static int write_calls(const char *path) {
    file = fopen(path, "wb");
    if (file == NULL)
        return 2;
    static const int64_t products[][4] = {{64, 64, 64, 0},  {1, 1, 1, 0},   {33, 70, 65, 0},
                                          {17, 129, 31, 5}, {100, 3, 0, 2}, {0, 5, 5, 1},
                                          {5, 0, 4, 1},     {128, 16, 200, 1}};
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        matmul(products[i][0], products[i][1], products[i][2], products[i][3]);
    static const int64_t rows[][3] = {{64, 128, 0}, {7, 1, 3},    {5, 100, 1}, {1, 129, 0},
                                      {3, 4000, 7}, {2, 40000, 0}, {0, 9, 0},  {4, 0, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        softmax(rows[i][0], rows[i][1], rows[i][2]);
    return fclose(file) == 0 ? 0 : 2;
}

static void tell(const char *what, int status) { printf("%s: %s\n", what, tuned_message(status)); }

static void softmax_status(const char *what, int64_t m, int64_t n, float *x, int64_t x_stride,
                           float *y, int64_t y_stride) {
    tell(what, tuned_softmax_fp32(m, n, x, x_stride, y, y_stride, 0));
}

static int tell_of_mistakes(void) {
    static float x[64], y[64];
    tell("machine", tuned_status());
    softmax_status("right", 4, 8, x, 8, y, 8);
    softmax_status("negative", -1, 8, x, 8, y, 8);
    softmax_status("narrow", 4, 8, x, 7, y, 8);
    softmax_status("null", 4, 8, NULL, 8, y, 8);
    softmax_status("empty null", 0, 8, NULL, 8, NULL, 8);
    float *away = (float *)(INT64_C(1) << 40);
    softmax_status("empty wide", 0, INT64_C(1) << 20, x, INT64_C(1) << 20, y, INT64_C(1) << 20);
    softmax_status("wide", 1, INT64_C(1) << 20, x, INT64_C(1) << 20, away, INT64_C(1) << 20);
    softmax_status("long", INT64_C(1) << 30, 8, x, 8, y, 8);
    softmax_status("far", 2, 8, x, INT64_C(1) << 40, y, 8);
    softmax_status("same", 4, 8, x, 8, x, 8);
    softmax_status("partly", 4, 8, x, 8, x + 31, 8);
    softmax_status("behind", 4, 8, x, 8, x + 32, 8);
    softmax_status("beside", 4, 8, x, 16, x + 8, 16);
    softmax_status("not quite beside", 4, 8, x, 16, x + 7, 16);
    softmax_status("around the edge", 3, 8, x, 16, x + 9, 16);
    return 0;
}

int main(int argc, char **argv) { return argc > 1 ? write_calls(argv[1]) : tell_of_mistakes(); }
