/* One emulated core: everything that belongs to one thread of the guest. */
#ifndef CORE_H
#define CORE_H

#include <stddef.h>

#include "block.h"
#include "memories.h"
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
    const struct family *family;
    const struct costs *costs; /* of the default */
    struct scoreboard boards[BOARDS];
    unsigned board_count;
    struct memories memories;
    uint64_t private_bytes; /* added to addresses of what each core has for itself */
    struct tracker tracker;
    struct vector_type type;
    struct block *pending; /* entered in a region, and not yet put through the scoreboard */
    uint32_t replayed;       /* of its instructions, by the tracker */
    uint32_t replayed_sites;
    uint64_t replayed_pc;
    struct vector_type register_type; /* what its vsetvl takes, if it is known */
    uint64_t vector_length;           /* vl, if it has been read since it last changed */
    bool length_read;
    bool length_changes; /* the block that runs leaves another vl behind */
    const struct site *last_site;
    uint64_t last_line;
    uint8_t *predictor; /* two-bit counters */
    uint64_t counts[STATIC_COUNT_COUNT];
    uint64_t branch_misses;
    uint64_t vector_elements;
    ticks_t waited; /* for other cores, under the default */
    EXPLAINED(struct rows rows;)
    struct misses misses[MAX_SITES]; /* of the pending block; all 0 without one */
    struct misses unmeasured;        /* of no interest */
    struct observed observed[MAX_SITES];
};

/* NULL where the host has no memory. */
struct core *core_new(const struct family *family);

/* Go on where another core's program is: what is in registers is the same. Neither has a pending
 * block. */
void core_take_over(struct core *core, const struct core *other);

/* Issue nothing before these times of the members, in ticks since the region started. */
void core_wait_until(struct core *core, const ticks_t *times);

/* Start counting from nothing; the caches keep what they hold. */
void core_start_region(struct core *core);

/* Follow the integer registers through the pending block up to the instruction at `end`. */
void core_replay(struct core *core, uint32_t end);

/* Carry out a prefetch of the pending block. */
void core_prefetch(struct core *core, const struct site *site, uint64_t address);

/* The program goes on at `next_pc`: put the pending block through the scoreboard. `tracking`: also
 * replay what is left of its integer instructions. */
void core_finish_block(struct core *core, uint64_t next_pc, bool tracking);

/* Cycles since the region started under a model of the family, in ticks. */
ticks_t core_elapsed(const struct core *core, unsigned member);

/* Where the model has what the program has at an address: a core's own stack and large blocks, which
 * the cores of a chip use in turn, lie apart. */
static inline uint64_t core_address(const struct core *core, uint64_t address) {
    /* Of launchers/places.h: PLACE_STACK, and PLACE_SCRATCH up to PLACE_FLUSH. */
    bool is_private = address >> 32 == 0xa || (address >= 0xc00000000 && address < 0xe00000000);
    return is_private ? address + core->private_bytes : address;
}

/* Enter a block in a measured region. */
static inline void core_enter_block(struct core *core, struct block *block, bool tracking) {
    if (core->pending != NULL) {
        core_finish_block(core, block->pc, tracking);
    }
    core->pending = block;
    core->replayed = 0;
    core->replayed_sites = 0;
    core->replayed_pc = block->pc;
    core->register_type.known = false;
    for (uint32_t i = 0; tracking && i < block->site_count; i++) {
        core->observed[i].any = core->observed[i].has_loaded = false;
    }
}

#endif
