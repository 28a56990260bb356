/* One emulated core: everything that belongs to one thread of the guest. */
#ifndef CORE_H
#define CORE_H

#include <stddef.h>

#include "block.h"
#include "cache.h"
#include "tracker.h"

enum { MAX_SITES = 512 }; /* QEMU ends a translation block after 512 instructions */

#ifdef EXPLAIN
/* The ticks of each instruction of each block that has run, by the block's number. */
struct rows {
    uint32_t capacity;
    struct row_block {
        const struct block *block;
        row_t *rows; /* NULL where the block has not run */
    } *blocks;
};
#endif

struct core {
    const struct costs *costs;
    struct scoreboard board;
    struct memory memory;
    struct tracker tracker;
    struct vector_type type;
    struct block *pending; /* entered, and not yet put through the scoreboard */
    const struct site *last_site;
    uint64_t last_line;
    uint8_t *predictor; /* two-bit counters */
    uint64_t counts[STATIC_COUNT_COUNT];
    uint64_t branch_misses;
    uint64_t vector_memory_callbacks;
    EXPLAINED(struct rows rows;)
    struct misses misses[MAX_SITES];
    struct observed observed[MAX_SITES];
};

/* NULL where the host has no memory. */
struct core *core_new(const struct costs *costs);

/* Start counting from nothing; the caches keep what they hold. */
void core_start_region(struct core *core);

/* The program goes on at `next_pc`: put the pending block through the scoreboard. `tracking`: also
 * replay its integer instructions. */
void core_finish_block(struct core *core, uint64_t next_pc, bool tracking);

/* Cycles since the region started, in ticks. */
ticks_t core_elapsed(const struct core *core);

/* Enter a block in a measured region. */
static inline void core_enter_block(struct core *core, struct block *block, bool tracking) {
    if (core->pending != NULL) {
        core_finish_block(core, block->pc, tracking);
    }
    core->pending = block;
    for (uint32_t i = 0; i < block->site_count; i++) {
        core->misses[i] = (struct misses){0};
        core->observed[i].any = false;
    }
}

#endif
