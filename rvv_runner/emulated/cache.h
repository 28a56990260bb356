/* Data caches, TLB and hardware prefetch streams of one core.
 *
 * L1D goes by virtual address, L2 by physical page. Both are write-back and write-allocate; each
 * set is a list with the last used line in front, so that the usual hit is one comparison.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "causes.h"
#include "costs.h"

enum { MAX_STREAMS = 32 };

struct cache {
    uint64_t *entries; /* sets x ways: line + 1, shifted left by one, lowest bit "dirty"; 0 empty */
    uint32_t set_mask;
    uint32_t ways;
};

struct memory_counts {
    uint64_t l1d_load_access, l1d_load_miss;
    uint64_t l1d_store_access, l1d_store_miss;
    uint64_t l1d_dirty_eviction;
    uint64_t l2_load_access, l2_load_miss;
    uint64_t l2_store_access, l2_store_miss;
    uint64_t tlb_miss;
    uint64_t software_prefetch, software_prefetch_unresolved;
};

/* What the accesses of one instruction missed, for the scoreboard to put into time. */
struct misses {
    uint32_t penalty;      /* ticks: misses that nothing foresaw, and page walks */
    uint16_t l2_streamed;  /* lines from L2 that the prefetcher of L1D had on the way */
    uint16_t l2_waited;    /* lines from L2 of streams that it does not follow at the time */
    uint16_t dram_read;    /* lines from DRAM that a stream foresaw */
    uint16_t dram_written; /* dirty lines that L2 wrote back for them */
    uint16_t stored_lines; /* lines that stores went on to, missed or not */
    bool any;
    EXPLAINED(uint32_t walks; /* ticks of the penalty that page walks take */)
    EXPLAINED(uint32_t random; /* ticks of the penalty that DRAM takes */)
};

struct memory {
    struct cache l1d, l2, tlb;
    uint64_t stream_lines[MAX_STREAMS]; /* the last line that each stream missed */
    uint32_t oldest_stream, last_stream;
    uint64_t last_stored_line;
    uint32_t stores_in_a_row; /* foreseen store misses since the last other miss */
    uint32_t line_shift, page_shift;
    uint32_t random; /* decides which of a set's older lines makes room */
    uint64_t last_page;
    const struct costs *costs;
    struct memory_counts counts;
};

/* False where there is not enough memory on the host. */
bool memory_init(struct memory *memory, const struct costs *costs);

/* Empty the caches, and decide from now on the same for the same accesses. */
void memory_forget(struct memory *memory);

/* Touch a line that is not the first of its set in L1D, and add to `misses`. */
void memory_access_slowly(struct memory *memory, uint64_t line, bool store, struct misses *misses);

/* Translate a page other than the last one, and add to `misses`. */
void memory_translate_slowly(struct memory *memory, uint64_t page, struct misses *misses);

/* Bring a line into L1D for a software prefetch, and say what that moved. */
struct misses memory_prefetch(struct memory *memory, uint64_t address);

static inline uint64_t *cache_set(const struct cache *cache, uint64_t line) {
    return &cache->entries[(line & cache->set_mask) * cache->ways];
}

/* One access of one instruction to one line; adds to `misses`. */
static inline void memory_access(struct memory *memory, uint64_t line, bool store,
                                 struct misses *misses) {
    uint64_t page = line >> (memory->page_shift - memory->line_shift);
    if (__builtin_expect(page != memory->last_page, 0)) {
        memory_translate_slowly(memory, page, misses);
    }
    if (store && line != memory->last_stored_line) {
        memory->last_stored_line = line;
        misses->stored_lines++;
        misses->any = true;
    }
    uint64_t *set = cache_set(&memory->l1d, line);
    if (__builtin_expect(set[0] >> 1 == line + 1, 1)) {
        set[0] |= store;
        return;
    }
    memory_access_slowly(memory, line, store, misses);
}

static inline void memory_count_access(struct memory *memory, bool store) {
    if (store) {
        memory->counts.l1d_store_access++;
    } else {
        memory->counts.l1d_load_access++;
    }
}

#endif
