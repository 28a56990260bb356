/* A transformer block on a library of tuned kernels: attention with rotary positions, then a
 * network of two layers, each behind a layer normalisation.
 *
 *   program INPUTS OUTPUT
 *
 * INPUTS holds the input and the weights, OUTPUT gets the result, all as fp32 in row-major order;
 * benchmarks/demo.py writes and reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuned.h"

enum { TOKENS = 64, WIDTH = 128, HEADS = 4, HEAD_SIZE = WIDTH / HEADS, HIDDEN = 256 };

/* What launchers/region.h says: an emulator times what stands between. */
#define REGION_START() __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory")
#define REGION_STOP() __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory")

/* In the order of the file. */
static struct {
    float x[TOKENS][WIDTH];
    float cosines[TOKENS][HEAD_SIZE / 2], sines[TOKENS][HEAD_SIZE / 2];
    float norm1[2][WIDTH], norm2[2][WIDTH]; /* weight, bias */
    float to_q[WIDTH][WIDTH], to_k[WIDTH][WIDTH], to_v[WIDTH][WIDTH], to_out[WIDTH][WIDTH];
    float up[WIDTH][HIDDEN], down[HIDDEN][WIDTH];
} in;

static float normed[TOKENS][WIDTH], means[TOKENS], rstds[TOKENS];
static float q[TOKENS][WIDTH], k[TOKENS][WIDTH], v[TOKENS][WIDTH], turned[TOKENS][WIDTH];
static float k_columns[HEAD_SIZE][TOKENS], scores[TOKENS][TOKENS], weights[TOKENS][TOKENS];
static float mixed[TOKENS][WIDTH], hidden[TOKENS][HIDDEN], added[TOKENS][WIDTH];
static float out[TOKENS][WIDTH];

static void require(int status) {
    if (status == TUNED_OK)
        return;
    fprintf(stderr, "%s\n", tuned_message(status));
    exit(1);
}

/* c = a @ b for matrices without gaps. */
static void product(int rows, int columns, int depth, const void *a, const void *b, void *c) {
    require(tuned_matmul_fp32(rows, columns, depth, (const float *)a, depth, (const float *)b,
                              columns, (float *)c, columns, 0));
}

static void norm(const float (*x)[WIDTH], float (*parameters)[WIDTH]) {
    require(tuned_layernorm_fwd_fp32(TOKENS, WIDTH, x[0], parameters[0], parameters[1], normed[0],
                                     means, rstds, 1e-5f, 0));
}

static void turn(float (*x)[WIDTH]) {
    require(tuned_rope_fwd_fp32(TOKENS, HEADS, HEAD_SIZE, x[0], in.cosines[0], in.sines[0],
                                turned[0], 0));
    memcpy(x, turned, sizeof turned);
}

/* A head is a matrix whose rows are WIDTH elements apart. */
static void attend(int head) {
    int first = head * HEAD_SIZE;
    for (int token = 0; token < TOKENS; token++)
        for (int i = 0; i < HEAD_SIZE; i++)
            k_columns[i][token] = k[token][first + i];
    require(tuned_matmul_fp32(TOKENS, TOKENS, HEAD_SIZE, &q[0][first], WIDTH, k_columns[0], TOKENS,
                              scores[0], TOKENS, 0));
    for (int token = 0; token < TOKENS; token++) /* a token sees those before it */
        for (int seen = token + 1; seen < TOKENS; seen++)
            scores[token][seen] = -1e30f;
    require(tuned_softmax_fp32(TOKENS, TOKENS, scores[0], TOKENS, weights[0], TOKENS, 0));
    require(tuned_matmul_fp32(TOKENS, HEAD_SIZE, TOKENS, weights[0], TOKENS, &v[0][first], WIDTH,
                              &mixed[0][first], WIDTH, 0));
}

static void add(const float (*x)[WIDTH], float (*y)[WIDTH]) {
    for (int token = 0; token < TOKENS; token++)
        for (int i = 0; i < WIDTH; i++)
            y[token][i] += x[token][i];
}

static void block(void) {
    norm(in.x, in.norm1);
    product(TOKENS, WIDTH, WIDTH, normed, in.to_q, q); /* with the scale of the scores */
    product(TOKENS, WIDTH, WIDTH, normed, in.to_k, k);
    product(TOKENS, WIDTH, WIDTH, normed, in.to_v, v);
    turn(q);
    turn(k);
    for (int head = 0; head < HEADS; head++)
        attend(head);
    product(TOKENS, WIDTH, WIDTH, mixed, in.to_out, added);
    add(in.x, added);
    norm(added, in.norm2);
    product(TOKENS, HIDDEN, WIDTH, normed, in.up, hidden);
    for (int token = 0; token < TOKENS; token++)
        for (int i = 0; i < HIDDEN; i++)
            hidden[token][i] = hidden[token][i] > 0 ? hidden[token][i] : 0;
    product(TOKENS, WIDTH, HIDDEN, hidden, in.down, out);
    add(added, out);
}

int main(int argc, char **argv) {
    FILE *inputs = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *output = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (inputs == NULL || output == NULL || fread(&in, sizeof in, 1, inputs) != 1) {
        fprintf(stderr, "usage: program INPUTS OUTPUT\n");
        return 2;
    }
    block(); /* brings arrays and code into the caches */
    REGION_START();
    block();
    REGION_STOP();
    return fwrite(out, sizeof out, 1, output) == 1 && fclose(output) == 0 ? 0 : 2;
}
