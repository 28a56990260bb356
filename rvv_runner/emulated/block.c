/* Blocks are never freed: QEMU may come back to any of them until it ends. */
#include "block.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t variants_lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_uint block_count;

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fputs("board plug-in: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

struct block *block_new(uint64_t pc, uint32_t length) {
    struct block *block = allocate(1, sizeof *block);
    block->pc = pc;
    block->end_pc = pc;
    block->number = block_count++;
    block->words = allocate(length, sizeof *block->words);
    block->sizes = allocate(length, sizeof *block->sizes);
    block->sites = allocate(length, sizeof *block->sites);
    return block;
}

struct site *block_append(struct block *block, uint32_t word, uint8_t size) {
    block->words[block->length] = word;
    block->sizes[block->length] = size;
    block->length++;
    block->end_pc += size;
    block->ends_in_branch = opcode_of(word) == OPCODE_BRANCH;
    bool is_vset = decode_vset(word, &block->type_after);
    block->sets_type |= is_vset;
    block->sets_type_from_register = is_vset && bits(word, 31, 30) == 2;
    block->sets_length |= is_vset || is_first_fault(word);
    if (!has_site(word)) {
        return NULL;
    }
    static const uint8_t vector_sizes[8] = {1, 0, 0, 0, 0, 2, 4, 8};
    struct instruction decoded;
    decode_instruction(word, block->type_after, &decoded); /* no field used below depends on it */
    struct site *site = &block->sites[block->site_count];
    *site = (struct site){
        .word = word,
        .index = (uint16_t)block->site_count,
        .at = (uint16_t)(block->length - 1),
        .size_bytes = decoded.is_vector ? vector_sizes[funct3_of(word)]
                                        : (uint8_t)(1u << (funct3_of(word) & 3)),
        .is_store = decoded.is_store,
        .is_vector = decoded.is_vector,
        .is_contiguous = is_contiguous(word),
    };
    block->site_count++;
    return site;
}

static void count(const struct instruction *decoded, bool type_known, uint64_t *counts) {
    counts[COUNT_instructions]++;
    if (!decoded->is_vector) {
        counts[COUNT_scalar_loads] += decoded->is_load;
        counts[COUNT_scalar_stores] += decoded->is_store;
        return;
    }
    counts[COUNT_vector_instructions]++;
    counts[COUNT_vector_mf8 + decoded->lmul_index]++;
    counts[COUNT_vector_micro_operations] += decoded->registers;
    counts[COUNT_vector_loads] += decoded->is_load;
    counts[COUNT_vector_stores] += decoded->is_store;
    counts[COUNT_whole_register_loads] += decoded->is_load && decoded->is_whole_register;
    counts[COUNT_whole_register_stores] += decoded->is_store && decoded->is_whole_register;
    counts[COUNT_unknown_vector_type] += !type_known && !decoded->is_whole_register;
}

static struct schedule_variant *make_variant(const struct block *block, struct vector_type type,
                                             const struct family *family) {
    struct schedule_variant *variant =
        allocate(1, sizeof *variant + block->length * sizeof variant->items[0]);
    int site = 0;
    variant->before = type;
    for (uint32_t i = 0; i < block->length; i++) {
        uint32_t word = block->words[i];
        struct instruction decoded;
        decode_instruction(word, type, &decoded);
        variant->items[i] = schedule(&decoded, family, has_site(word) ? site++ : -1);
        count(&decoded, type.known, variant->counts);
        decode_vset(word, &type);
    }
    variant->after = type;
    return variant;
}

static bool same_type(struct vector_type a, struct vector_type b) {
    return a.sew_index == b.sew_index && a.lmul_index == b.lmul_index && a.known == b.known;
}

static struct schedule_variant *find_variant(struct schedule_variant *variant,
                                             struct vector_type type) {
    while (variant != NULL && !same_type(variant->before, type)) {
        variant = variant->next;
    }
    return variant;
}

const struct schedule_variant *block_schedule(struct block *block, struct vector_type type,
                                              const struct family *family) {
    struct schedule_variant *found = find_variant(block->variants, type);
    if (found != NULL) {
        return found;
    }
    pthread_mutex_lock(&variants_lock);
    found = find_variant(block->variants, type);
    if (found == NULL) {
        found = make_variant(block, type, family);
        found->next = block->variants;
        block->variants = found; /* complete before other threads can see it */
    }
    pthread_mutex_unlock(&variants_lock);
    return found;
}
