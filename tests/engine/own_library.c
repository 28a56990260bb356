/* Calls functions of a user's own kernels at sizes that were not tuned; prints what is wrong. */
#include <stdio.h>
#include <string.h>

#include "tuned.h"

static int failures;

static void expect(const char *what, long found, long expected) {
    if (found != expected)
        failures++, printf("%s: %ld in place of %ld\n", what, found, expected);
}

static float x[1001], y[1001], out[1001];
static int8_t bytes[7 * 40];
static int32_t sums[8], count;
static const float factors[2] = {3, 2};
static tuned_fp16 halves[6 * 8];

static void scaled(void) {
    for (int n = 1; n <= 1000; n += 111) {
        for (int i = 0; i < n; i++)
            x[i] = (float)i, y[i] = (float)(2 * i);
        out[n] = -1;
        expect("scaled", tuned_scaled_fp32(n, x, y, out, 3, 4), TUNED_OK);
        for (int i = 0; i < n; i++)
            expect("scaled", (long)out[i], 7 * i);
        expect("behind scaled", (long)out[n], -1);
    }
    expect("no elements", tuned_scaled_fp32(0, x, y, out, 3, 1), TUNED_OK);
    expect("no elements of none", tuned_scaled_fp32(0, NULL, NULL, NULL, 3, 1), TUNED_OK);
    expect("in place", tuned_scaled_fp32(9, x, y, x, 3, 1), TUNED_OVERLAP);
    expect("no array", tuned_scaled_fp32(9, NULL, y, out, 3, 1), TUNED_NULL_ARRAY);
}

static void summed(void) {
    for (int i = 0; i < 7 * 40; i++)
        bytes[i] = (int8_t)(i % 251 - 120);
    for (int columns = 1; columns <= 32; columns += 31) {
        expect("sums", tuned_sums_i8(7, columns, 40, bytes, sums, 1), TUNED_OK);
        for (int row = 0; row < 7; row++) {
            int expected = 0;
            for (int i = 0; i < columns; i++)
                expected += bytes[row * 40 + i];
            expect("sums", sums[row], expected);
        }
    }
    expect("sums of none", tuned_sums_i8(7, 0, 40, bytes, sums, 1), TUNED_NO_CODE);
    expect("a row too long", tuned_sums_i8(7, 33, 40, bytes, sums, 1), TUNED_NO_CODE);
    expect("rows too near", tuned_sums_i8(7, 32, 30, bytes, sums, 1), TUNED_BAD_STRIDE);
}

/* 1 and -1 in fp16, every third of them 1. */
static void rectified(int rows, int columns, int status) {
    int positive = 0;
    for (int i = 0; i < rows * columns; i++) {
        halves[i] = i % 3 == 0 ? 0x3c00 : 0xbc00;
        positive += i % 3 == 0;
    }
    count = 5;
    expect("relu", tuned_relu_fp16(rows, columns, halves, &count, 3), status);
    for (int i = 0; i < rows * columns && status == TUNED_OK; i++)
        expect("relu", halves[i], i % 3 == 0 ? 0x3c00 : 0);
    expect("count", count, status == TUNED_OK ? 5 + positive : 5);
}

static void spread(void) {
    for (int n = 1; n <= 8; n += 7) {
        for (int i = 0; i < n; i++)
            sums[i] = i;
        expect("spread", tuned_spread_i32(n, sums, 2), TUNED_OK);
        for (int i = 0; i < n; i++)
            expect("spread", sums[i], -i);
    }
}

/* With a part of a block behind, in a grid of one dimension and of two. */
static void chosen(int n) {
    for (int i = 0; i < n; i++)
        x[i] = (float)i;
    out[n] = -1;
    expect("chosen", tuned_chosen_fp32(n, x, factors, out, 2), TUNED_OK);
    for (int i = 0; i < n; i++)
        expect("chosen", (long)out[i], (n < 50 ? 3 : 2) * i);
    expect("behind chosen", (long)out[n], -1);
}

int main(void) {
    spread();
    chosen(45);
    chosen(101);
    chosen(131);
    scaled();
    summed();
    rectified(4, 6, TUNED_OK);
    rectified(6, 8, TUNED_OK); /* code without masks */
    rectified(2, 7, TUNED_OK);
    rectified(6, 3, TUNED_OK);      /* a smaller block */
    rectified(3, 6, TUNED_NO_CODE); /* two rows a program, and no mask */
    printf("%d failures\n", failures);
    return failures != 0;
}
