/* A decoder with the shapes of Qwen2.5-0.5B on a library of tuned kernels: the embedding, one layer,
 * and the projection to the vocabulary with sampling. One layer stands for all.
 *
 *   program INPUTS OUTPUT TOKENS PAST
 *
 * TOKENS tokens are computed, behind PAST that are in the cache: one token, or a prompt, for which
 * PAST is 0. INPUTS holds `in`, OUTPUT gets `out`; benchmarks/programs/demo.py writes and reads them. Each
 * run has three regions: embedding, layer, and the rest. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuned.h"

enum {
    WIDTH = 896,
    HEAD_SIZE = 64,
    HEADS = 14,
    KV_HEADS = 2,
    QUERIES = HEADS * HEAD_SIZE,
    KEYS = KV_HEADS * HEAD_SIZE,
    INNER = 4864,
    VOCABULARY = 151936,
    MOST_TOKENS = 32,
    ROOM = 576, /* tokens in the cache */
    TOP = 40,
    GROUP = 32, /* of weights with one scale */
    TILE = 128, /* columns of weights side by side */
};

/* What launchers/region.h says: an emulator times what stands between. */
#define REGION_START() __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory")
#define REGION_STOP() __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory")

#define MATRIX(name, columns, depth)                                                               \
    struct {                                                                                       \
        uint8_t weights[((columns) + TILE - 1) / TILE][(depth) / 2][TILE];                         \
        _Float16 scales[((columns) + TILE - 1) / TILE][(depth) / GROUP][TILE];                     \
    } name

/* In the order of the file. */
static struct {
    int32_t tokens[MOST_TOKENS];
    float cosines[MOST_TOKENS][HEAD_SIZE / 2], sines[MOST_TOKENS][HEAD_SIZE / 2];
    float norms[3][WIDTH]; /* before the attention, the network, the vocabulary */
    float bias[QUERIES + 2 * KEYS];
    MATRIX(queries, QUERIES + 2 * KEYS, WIDTH); /* with keys and values */
    MATRIX(mix, WIDTH, QUERIES);
    MATRIX(gate_and_up, 2 * INNER, WIDTH);
    MATRIX(down, WIDTH, INNER);
    MATRIX(vocabulary, VOCABULARY, WIDTH); /* also the embedding */
    _Float16 keys[KV_HEADS][ROOM][HEAD_SIZE], values[KV_HEADS][ROOM][HEAD_SIZE];
} in;

static struct {
    float hidden[MOST_TOKENS][WIDTH]; /* behind the layer */
    float logits[VOCABULARY];
    int32_t top[TOP]; /* tokens with the largest logits, those first */
    int32_t sampled;
} out;

static float x[MOST_TOKENS * WIDTH], residual[MOST_TOKENS * WIDTH], normed[MOST_TOKENS * WIDTH];
static float qkv[MOST_TOKENS * (QUERIES + 2 * KEYS)], turned[MOST_TOKENS * (QUERIES + KEYS)];
static _Float16 q[MOST_TOKENS * QUERIES], mixed[MOST_TOKENS * QUERIES];
static _Float16 all_keys[MOST_TOKENS * QUERIES], all_values[MOST_TOKENS * QUERIES];
static float logsumexp[HEADS * MOST_TOKENS];
static float gate_and_up[MOST_TOKENS * 2 * INNER], inner[MOST_TOKENS * INNER];
static int8_t q8[MOST_TOKENS * INNER];
static float q8_scale[MOST_TOKENS * INNER / GROUP];
static int32_t q8_sum[MOST_TOKENS * INNER / GROUP];

static void require(int status) {
    if (status == TUNED_OK)
        return;
    fprintf(stderr, "%s\n", tuned_message(status));
    exit(1);
}

/* What takes a few microseconds runs on one thread; ALL_THREADS are those of TUNED_THREADS. */
enum { ALL_THREADS = 0 };

static int threads_for(int tokens) { return tokens == 1 ? 1 : ALL_THREADS; }

static void quantize(int tokens, int depth, const float *from) {
    require(tuned_quantize_groups_fp32(tokens, depth, from, q8, q8_scale, q8_sum,
                                       threads_for(tokens)));
}

/* to = (what was quantised last) times `columns` columns of a matrix, from the given tile on. */
#define PRODUCT(tokens, columns, depth, matrix, first_tile, to)                                    \
    require(tuned_matmul_w4a8_i8(tokens, columns, depth, q8, q8_scale, q8_sum,                     \
                                 (matrix).weights[first_tile][0],                                  \
                                 (const tuned_fp16 *)(matrix).scales[first_tile][0], to,           \
                                 ALL_THREADS))

static void add_and_norm(int tokens, const float *added, float *to, int which) {
    require(tuned_add_rms_norm_fp32(tokens, WIDTH, added, to, in.norms[which], normed, 1e-6f,
                                    threads_for(tokens)));
}

static void embed(int tokens) {
    for (int t = 0; t < tokens; t++) {
        int tile = in.tokens[t] / TILE, lane = in.tokens[t] % TILE;
        for (int i = 0; i < WIDTH; i++) {
            int byte = in.vocabulary.weights[tile][i / GROUP * (GROUP / 2) + i % (GROUP / 2)][lane];
            int weight = i % GROUP < GROUP / 2 ? byte & 15 : byte >> 4;
            x[t * WIDTH + i] =
                (float)(weight - 8) * (float)in.vocabulary.scales[tile][i / GROUP][lane];
        }
    }
    memset(residual, 0, sizeof(float) * (size_t)(tokens * WIDTH));
}

/* Queries and keys into qkv, values behind them. One token takes them in one product. */
static void project(int tokens) {
    int columns = QUERIES + KEYS;
    float *values = qkv + tokens * columns;
    quantize(tokens, WIDTH, normed);
    if (tokens == 1) {
        PRODUCT(1, columns + KEYS, WIDTH, in.queries, 0, qkv);
    } else {
        PRODUCT(tokens, columns, WIDTH, in.queries, 0, qkv);
        PRODUCT(tokens, KEYS, WIDTH, in.queries, columns / TILE, values);
    }
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < columns; i++)
            qkv[t * columns + i] += in.bias[i];
        for (int i = 0; i < KEYS; i++)
            values[t * KEYS + i] += in.bias[columns + i];
    }
    require(tuned_rope_fwd_fp32(tokens, HEADS + KV_HEADS, HEAD_SIZE, qkv, in.cosines[0],
                                in.sines[0], turned, threads_for(tokens)));
}

/* Keys and values of the new tokens into the cache, queries by heads into q. */
static void store(int tokens, int past) {
    const float *values = qkv + tokens * (QUERIES + KEYS);
    for (int t = 0; t < tokens; t++) {
        const float *token = turned + t * (QUERIES + KEYS);
        for (int head = 0; head < HEADS; head++)
            for (int i = 0; i < HEAD_SIZE; i++)
                q[(head * tokens + t) * HEAD_SIZE + i] = (_Float16)token[head * HEAD_SIZE + i];
        for (int head = 0; head < KV_HEADS; head++)
            for (int i = 0; i < HEAD_SIZE; i++) {
                int from = head * HEAD_SIZE + i;
                in.keys[head][past + t][i] = (_Float16)token[QUERIES + from];
                in.values[head][past + t][i] = (_Float16)values[t * KEYS + from];
            }
    }
}

static const tuned_fp16 *bits(const void *floats) { return (const tuned_fp16 *)floats; }

/* mixed = the attention of one token over the cache. */
static void attend_one(int seen) {
    require(tuned_decode_attention_fp16(
        KV_HEADS, HEADS / KV_HEADS, seen, HEAD_SIZE, bits(q), bits(in.keys), ROOM * HEAD_SIZE,
        bits(in.values), ROOM * HEAD_SIZE, (tuned_fp16 *)mixed, 0.125f, ALL_THREADS));
}

/* The same of a prompt, whose kernel takes as many heads of keys as of queries. */
static void attend_all(int tokens) {
    size_t size = sizeof(_Float16) * (size_t)(tokens * HEAD_SIZE);
    for (int head = 0; head < HEADS; head++) {
        int shared = head / (HEADS / KV_HEADS);
        memcpy(all_keys + head * tokens * HEAD_SIZE, in.keys[shared], size);
        memcpy(all_values + head * tokens * HEAD_SIZE, in.values[shared], size);
    }
    require(tuned_flash_attention_fwd_causal_fp16(
        1, HEADS, tokens, HEAD_SIZE, bits(q), bits(all_keys), bits(all_values),
        (tuned_fp16 *)mixed, logsumexp, 0.125f, ALL_THREADS));
}

static void attend(int tokens, int past) {
    if (tokens == 1)
        attend_one(past + 1);
    else
        attend_all(tokens);
    for (int t = 0; t < tokens; t++)
        for (int head = 0; head < HEADS; head++)
            for (int i = 0; i < HEAD_SIZE; i++)
                normed[t * QUERIES + head * HEAD_SIZE + i] =
                    (float)mixed[(head * tokens + t) * HEAD_SIZE + i];
}

static void network(int tokens) {
    float *up = gate_and_up + tokens * INNER;
    quantize(tokens, WIDTH, normed);
    if (tokens == 1) {
        PRODUCT(1, 2 * INNER, WIDTH, in.gate_and_up, 0, gate_and_up);
    } else {
        PRODUCT(tokens, INNER, WIDTH, in.gate_and_up, 0, gate_and_up);
        PRODUCT(tokens, INNER, WIDTH, in.gate_and_up, INNER / TILE, up);
    }
    require(tuned_swiglu_fp32(tokens * INNER, gate_and_up, up, inner, threads_for(tokens)));
    quantize(tokens, INNER, inner);
    PRODUCT(tokens, WIDTH, INNER, in.down, 0, x);
}

static void layer(int tokens, int past) {
    add_and_norm(tokens, x, residual, 0);
    project(tokens);
    store(tokens, past);
    attend(tokens, past);
    quantize(tokens, QUERIES, normed);
    PRODUCT(tokens, WIDTH, QUERIES, in.mix, 0, x);
    add_and_norm(tokens, x, residual, 1);
    network(tokens);
}

/* The tokens with the TOP largest logits, largest first. */
static void find_top(void) {
    int count = 0;
    for (int i = 0; i < VOCABULARY; i++) {
        float logit = out.logits[i];
        if (count == TOP && logit <= out.logits[out.top[TOP - 1]])
            continue;
        int place = count < TOP ? count++ : TOP - 1;
        while (place > 0 && out.logits[out.top[place - 1]] < logit) {
            out.top[place] = out.top[place - 1];
            place--;
        }
        out.top[place] = i;
    }
}

/* One of them, by its probability among them; `random` is from 0 to 1. */
static int sample(float random) {
    float weights[TOP], sum = 0;
    for (int i = 0; i < TOP; i++)
        sum += weights[i] = expf(out.logits[out.top[i]] - out.logits[out.top[0]]);
    int chosen = 0;
    for (float left = random * sum; chosen < TOP - 1 && left >= weights[chosen]; chosen++)
        left -= weights[chosen];
    return out.top[chosen];
}

/* The logits of the last token, and the next one. */
static void finish(int tokens) {
    int last = (tokens - 1) * WIDTH;
    add_and_norm(1, x + last, residual + last, 2);
    quantize(1, WIDTH, normed);
    PRODUCT(1, VOCABULARY, WIDTH, in.vocabulary, 0, out.logits);
    find_top();
    out.sampled = sample(0.5f);
}

static void forward(int tokens, int past) {
    REGION_START();
    embed(tokens);
    REGION_STOP();
    REGION_START();
    layer(tokens, past);
    REGION_STOP();
    for (int i = 0; i < tokens * WIDTH; i++)
        out.hidden[0][i] = residual[i] + x[i];
    REGION_START();
    finish(tokens);
    REGION_STOP();
}

int main(int argc, char **argv) {
    FILE *inputs = argc == 5 ? fopen(argv[1], "rb") : NULL;
    FILE *output = argc == 5 ? fopen(argv[2], "wb") : NULL;
    if (inputs == NULL || output == NULL || fread(&in, sizeof in, 1, inputs) != 1) {
        fprintf(stderr, "usage: program INPUTS OUTPUT TOKENS PAST\n");
        return 2;
    }
    int tokens = atoi(argv[3]), past = atoi(argv[4]);
    if (tokens == 1) { /* brings the layer's code and stacks into the caches */
        embed(tokens);
        layer(tokens, past);
    }
    forward(tokens, past);
    return fwrite(&out, sizeof out, 1, output) == 1 && fclose(output) == 0 ? 0 : 2;
}
