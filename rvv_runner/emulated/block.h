/* A straight run of translated instructions, and the schedules it has under each vector type. */
#ifndef BLOCK_H
#define BLOCK_H

#include "scoreboard.h"

/* Counted by looking at instructions alone; names as in the JSON. */
#define STATIC_COUNTS(X)                                                                           \
    X(instructions)                                                                                \
    X(vector_instructions)                                                                         \
    X(vector_loads)                                                                                \
    X(vector_stores)                                                                               \
    X(scalar_loads)                                                                                \
    X(scalar_stores)                                                                               \
    X(whole_register_loads)                                                                        \
    X(whole_register_stores)                                                                       \
    X(vector_micro_operations) X(vector_mf8) X(vector_mf4) X(vector_mf2) X(vector_m1) X(vector_m2) \
        X(vector_m4) X(vector_m8) X(unknown_vector_type)

enum static_count {
#define X(name) COUNT_##name,
    STATIC_COUNTS(X)
#undef X
        STATIC_COUNT_COUNT
};

/* An instruction that touches memory, or hints that it will. */
struct site {
    uint32_t word;
    uint16_t index;     /* position among the block's sites */
    uint16_t at;        /* and among its instructions */
    uint8_t size_bytes; /* of one element */
    bool is_store;
    bool is_vector;
    bool is_contiguous; /* a vector access to neighbouring bytes, without a mask */
};

struct schedule_variant {
    struct vector_type before, after;
    uint64_t counts[STATIC_COUNT_COUNT];
    struct schedule_variant *next;
    struct scheduled items[];
};

struct block {
    uint64_t pc, end_pc;
    uint32_t number; /* blocks are numbered as they are made */
    uint32_t length; /* instructions */
    uint32_t site_count;
    uint32_t *words;
    uint8_t *sizes; /* bytes of each instruction in memory: 2 or 4 */
    struct site *sites;
    bool ends_in_branch;
    bool sets_type;               /* holds a vset*; the last one leaves type_after behind */
    bool sets_type_from_register; /* its last instruction is vsetvl */
    bool sets_length;             /* leaves another vector length behind: vset*, or a first fault */
    struct vector_type type_after;
    struct schedule_variant *_Atomic variants;
};

/* Room for `length` instructions; NULL where the host has no memory. */
struct block *block_new(uint64_t pc, uint32_t length);

/* Append an instruction; returns its memory site, NULL where it has none. */
struct site *block_append(struct block *block, uint32_t word, uint8_t size);

/* The block's schedule when it is entered under `type`, made on first use. */
const struct schedule_variant *block_schedule(struct block *block, struct vector_type type,
                                              const struct family *family);

#endif
