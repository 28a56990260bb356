/* ggml's products of 4-bit weights with 8-bit activations, on random numbers, checked and timed:
 *
 *   program ROWS COLUMNS DEPTH
 *
 * Each product is a region: a dot product for each element, then, of weights that are repacked for
 * vectors of 256 bits, those of one row (gemv) or of four at a time (gemm). With MATRIX_UNIT, there is
 * one region, of the kernel for the X60's matrix unit. The functions come from a checkout of llama.cpp
 * or ggml; how they take their operands is what is written here. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 32, TILE = 16, ROWS = 4 };

/* What launchers/region.h says: an emulator times what stands between. */
#define REGION_START() __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory")
#define REGION_STOP() __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory")

typedef struct {
    _Float16 scale;
    uint8_t bytes[GROUP / 2]; /* weights plus 8: element j below, j + 16 above */
} weights;
typedef struct {
    _Float16 scale;
    int8_t values[GROUP];
} activations;
typedef struct {
    _Float16 scales[TILE];
    uint8_t bytes[GROUP / 2 * TILE]; /* signed halves, columns side by side */
} tile;
typedef struct {
    _Float16 scales[ROWS];
    int8_t values[GROUP * ROWS]; /* rows side by side */
} four_rows;

typedef struct {
    _Float16 scales[TILE];
    uint8_t bytes[2][TILE][GROUP / 4]; /* weights plus 8: elements j and j + 8 of each half */
} unit_tile;
typedef struct {
    float scales[ROWS];
    int8_t values[GROUP / 8][ROWS][8];
} unit_rows;

void ggml_vec_dot_q4_0_q8_0(int n, float *s, size_t bs, const void *x, size_t bx, const void *y,
                            size_t by, int nrc);
void ggml_gemv_q4_0_16x1_q8_0(int n, float *s, size_t bs, const void *x, const void *y, int rows,
                              int columns);
void ggml_gemm_q4_0_16x1_q8_0(int n, float *s, size_t bs, const void *x, const void *y, int rows,
                              int columns);

/* Of C++: returns how many rows it has computed. */
size_t gemm_kernel_i8i4(size_t group, const uint8_t *a, const uint8_t *b, const uint8_t *zeros,
                        float *c, size_t rows, size_t columns, size_t groups, size_t stride)
    __asm__("_ZN16spacemit_kernels4ime116gemm_kernel_i8i4EmPKhS2_S2_Pfmmmm");

static uint32_t state = 20261126;
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static int rows, columns, depth, groups;
static weights *w;
static activations *x;
static tile *tiles;
static four_rows *fours;
static unit_tile *unit_tiles;
static unit_rows *unit_fours;
static float *y;

static void make(void) {
    groups = depth / GROUP;
    w = calloc((size_t)columns * groups, sizeof *w);
    x = calloc((size_t)rows * groups, sizeof *x);
    tiles = calloc((size_t)(columns / TILE) * groups, sizeof *tiles);
    fours = calloc((size_t)(rows / ROWS + 1) * groups, sizeof *fours);
    unit_tiles = calloc((size_t)(columns / TILE) * groups, sizeof *unit_tiles);
    unit_fours = calloc((size_t)(rows / ROWS + 1) * groups, sizeof *unit_fours);
    y = calloc((size_t)rows * columns, sizeof *y);
    for (int c = 0; c < columns; c++)
        for (int g = 0; g < groups; g++) {
            weights *one = &w[c * groups + g];
            tile *packed = &tiles[c / TILE * groups + g];
            unit_tile *of_unit = &unit_tiles[c / TILE * groups + g];
            one->scale = packed->scales[c % TILE] = (_Float16)((1 + draw(100)) / 1024.0f);
            of_unit->scales[c % TILE] = one->scale;
            for (int j = 0; j < GROUP / 2; j++) {
                one->bytes[j] = (uint8_t)draw(256);
                packed->bytes[j * TILE + c % TILE] = one->bytes[j] ^ 0x88;
            }
            for (int j = 0; j < GROUP / 4; j++) {
                uint8_t first = one->bytes[j], second = one->bytes[j + GROUP / 4];
                of_unit->bytes[0][c % TILE][j] = (uint8_t)((first & 15) | second << 4);
                of_unit->bytes[1][c % TILE][j] = (uint8_t)(first >> 4 | (second & 0xf0));
            }
        }
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < groups; g++) {
            activations *one = &x[r * groups + g];
            four_rows *packed = &fours[r / ROWS * groups + g];
            unit_rows *of_unit = &unit_fours[r / ROWS * groups + g];
            one->scale = packed->scales[r % ROWS] = (_Float16)((1 + draw(100)) / 1024.0f);
            of_unit->scales[r % ROWS] = (float)one->scale;
            for (int j = 0; j < GROUP; j++) {
                one->values[j] = (int8_t)((int)draw(255) - 127);
                packed->values[j * ROWS + r % ROWS] = one->values[j];
                of_unit->values[j / 8][r % ROWS][j % 8] = one->values[j];
            }
        }
}

#ifdef MATRIX_UNIT
/* As llama.cpp walks over a product: few columns' weights, which stay in a cache, by all rows. */
static void by_the_unit(void) {
    for (int c = 0; c < columns; c += TILE)
        for (int r = 0; r < rows; r += ROWS)
            gemm_kernel_i8i4(GROUP, (const uint8_t *)&unit_fours[r / ROWS * groups],
                             (const uint8_t *)&unit_tiles[c / TILE * groups], NULL,
                             &y[r * columns + c], ROWS, TILE, (size_t)groups, (size_t)columns);
}
#else
static void dots(void) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            ggml_vec_dot_q4_0_q8_0(depth, &y[r * columns + c], 0, &w[c * groups], 0, &x[r * groups],
                                   0, 1);
}

static void repacked(void) {
    if (rows == 1)
        ggml_gemv_q4_0_16x1_q8_0(depth, y, (size_t)columns, tiles, x, 1, columns);
    else
        ggml_gemm_q4_0_16x1_q8_0(depth, y, (size_t)columns, tiles, fours, rows, columns);
}

#endif

/* Of some elements: the error may be that of fp32 sums. */
static void check(const char *name) {
    for (int i = 0; i < 200; i++) {
        int r = (int)draw((uint32_t)rows), c = (int)draw((uint32_t)columns);
        double sum = 0, size = 0;
        for (int g = 0; g < groups; g++) {
            const weights *a = &w[c * groups + g];
            const activations *b = &x[r * groups + g];
            int products = 0;
            for (int j = 0; j < GROUP / 2; j++)
                products += ((a->bytes[j] & 15) - 8) * b->values[j] +
                            ((a->bytes[j] >> 4) - 8) * b->values[j + GROUP / 2];
            double scaled = (double)a->scale * (double)b->scale * products;
            sum += scaled;
            size += fabs(scaled);
        }
        if (!(fabs(y[r * columns + c] - sum) <= 1e-5 * size)) {
            fprintf(stderr, "%s is wrong: %g for %g\n", name, y[r * columns + c], sum);
            exit(1);
        }
    }
    for (int i = 0; i < rows * columns; i++)
        y[i] = NAN;
}

static void timed(void (*product)(void), const char *name) {
    product(); /* as kernels are: what fits into the caches is there */
    check(name);
    REGION_START();
    product();
    REGION_STOP();
    check(name);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    rows = atoi(argv[1]), columns = atoi(argv[2]), depth = atoi(argv[3]);
    make();
#ifdef MATRIX_UNIT
    timed(by_the_unit, "gemm_kernel_i8i4");
#else
    timed(dots, "ggml_vec_dot_q4_0_q8_0");
    timed(repacked, "the repacked product");
#endif
    return 0;
}
