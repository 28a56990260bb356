/* ggml's attention of queries over a cache in fp16, on random numbers, checked and timed:
 *
 *   program KV_HEADS GROUP QUERIES KEYS SIZE
 *
 * One thread, one region. Of several queries, each sees the keys up to its own. The functions come from
 * a checkout of llama.cpp or ggml; how they take their operands is what is written here. Keys and values
 * lie head by head. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-cpu-impl.h"
#include "ggml.h"
#include "ops.h"

/* What launchers/region.h says: an emulator times what stands between. */
#define REGION_START() __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory")
#define REGION_STOP() __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory")

/* In place of ggml's threads. */
static int next_chunk;
void ggml_barrier(struct ggml_threadpool *pool) {
    (void)pool;
}
void ggml_threadpool_chunk_set(struct ggml_threadpool *pool, int value) {
    (void)pool;
    next_chunk = value;
}
int ggml_threadpool_chunk_add(struct ggml_threadpool *pool, int value) {
    (void)pool;
    next_chunk += value;
    return next_chunk - value;
}

static uint32_t state = 20261128;
static float draw(void) { /* about normal */
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        state = state * 1664525u + 1013904223u;
        sum += (float)(state >> 8) / (1 << 24) - 0.5f;
    }
    return 2 * sum;
}

static int kv_heads, group, queries, keys, size;

static struct ggml_tensor tensor(enum ggml_type type, int columns, int rows, int heads) {
    size_t bytes = type == GGML_TYPE_F16 ? 2 : 4;
    struct ggml_tensor made = {.type = type, .ne = {columns, rows, heads, 1}, .nb = {bytes}};
    for (int i = 1; i < 4; i++)
        made.nb[i] = made.nb[i - 1] * (size_t)made.ne[i - 1];
    made.data = aligned_alloc(64, (made.nb[3] + 63) / 64 * 64);
    return made;
}

static void fill(struct ggml_tensor *made) {
    for (size_t i = 0; i < made->nb[3] / made->nb[0]; i++) {
        float value = draw();
        if (made->type == GGML_TYPE_F16)
            ((_Float16 *)made->data)[i] = (_Float16)value;
        else
            ((float *)made->data)[i] = value;
    }
}

/* Of some elements of the result: (heads, queries, size) is q's order, (queries, heads, size) y's. */
static void check(const struct ggml_tensor *y, float scale) {
    const float *q = y->src[0]->data, *found = y->data;
    const _Float16 *k = y->src[1]->data, *v = y->src[2]->data;
    int heads = kv_heads * group;
    for (int i = 0; i < 20; i++) {
        int head = i * 7 % heads, query = queries - 1 - i * 13 % queries, at = i * 5 % size;
        int seen = keys - (queries - 1 - query), cache = head / group;
        double total = 0, sum = 0;
        for (int key = 0; key < seen; key++) {
            double score = 0;
            for (int d = 0; d < size; d++)
                score += (double)q[(head * queries + query) * size + d] *
                         (double)k[(cache * keys + key) * size + d];
            double weight = exp(score * scale);
            total += weight;
            sum += weight * (double)v[(cache * keys + key) * size + at];
        }
        float one = found[(query * heads + head) * size + at];
        if (!(fabs(one - sum / total) <= 0.01)) { /* sums of one query are in fp16 */
            fprintf(stderr, "the attention is wrong: %g for %g\n", one, sum / total);
            exit(1);
        }
    }
    for (size_t i = 0; i < y->nb[3] / sizeof(float); i++)
        ((float *)y->data)[i] = NAN;
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    kv_heads = atoi(argv[1]), group = atoi(argv[2]), queries = atoi(argv[3]);
    keys = atoi(argv[4]), size = atoi(argv[5]);
    int heads = kv_heads * group;
    struct ggml_tensor q = tensor(GGML_TYPE_F32, size, queries, heads);
    struct ggml_tensor k = tensor(GGML_TYPE_F16, size, keys, kv_heads);
    struct ggml_tensor v = tensor(GGML_TYPE_F16, size, keys, kv_heads);
    struct ggml_tensor mask = tensor(GGML_TYPE_F16, keys, queries, 1);
    struct ggml_tensor y = tensor(GGML_TYPE_F32, size, heads, queries);
    fill(&q), fill(&k), fill(&v);
    for (int query = 0; query < queries; query++)
        for (int key = 0; key < keys; key++)
            ((_Float16 *)mask.data)[query * keys + key] =
                key <= keys - queries + query ? 0 : (_Float16)-INFINITY;
    float scale = 1 / sqrtf((float)size);
    ((float *)y.op_params)[0] = scale;
    y.op = GGML_OP_FLASH_ATTN_EXT;
    y.src[0] = &q, y.src[1] = &k, y.src[2] = &v, y.src[3] = &mask;
    size_t room = (size_t)(heads + 1024) * (size_t)(size + 64) * 8 * sizeof(float);
    struct ggml_compute_params params = {.nth = 1, .wsize = room, .wdata = aligned_alloc(64, room)};

    ggml_compute_forward_flash_attn_ext(&params, &y); /* what fits into the caches is there */
    check(&y, scale);
    REGION_START();
    ggml_compute_forward_flash_attn_ext(&params, &y);
    REGION_STOP();
    check(&y, scale);
    return 0;
}
