/* Data caches, TLB and hardware prefetch streams of one core, by virtual address.
 *
 * Both caches are write-back, write-allocate and exactly least-recently-used; each set is a list
 * with the last used line in front, so that the usual hit is one comparison.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stdint.h>

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

struct memory {
    struct cache l1d, l2, tlb;
    uint64_t next_lines[MAX_STREAMS]; /* what each stream is expected to miss next */
    uint32_t oldest_stream;
    uint32_t line_shift, page_shift;
    uint64_t last_page;
    const struct costs *costs;
    struct memory_counts counts;
};

/* False where there is not enough memory on the host. */
bool memory_init(struct memory *memory, const struct costs *costs);

/* Touch a line that is not the first of its set in L1D. Returns the penalty in ticks. */
ticks_t memory_access_slowly(struct memory *memory, uint64_t line, bool store);

/* Translate a page other than the last one. Returns the penalty in ticks. */
ticks_t memory_translate_slowly(struct memory *memory, uint64_t page);

/* Bring a line into L1D for a software prefetch. Returns the ticks the transfer takes. */
ticks_t memory_prefetch(struct memory *memory, uint64_t address);

static inline uint64_t *cache_set(const struct cache *cache, uint64_t line) {
    return &cache->entries[(line & cache->set_mask) * cache->ways];
}

/* One access of one instruction to one line. Returns the penalty of its misses in ticks. */
static inline ticks_t memory_access(struct memory *memory, uint64_t line, bool store) {
    uint64_t page = line >> (memory->page_shift - memory->line_shift);
    ticks_t penalty = 0;
    if (__builtin_expect(page != memory->last_page, 0)) {
        penalty = memory_translate_slowly(memory, page);
    }
    uint64_t *set = cache_set(&memory->l1d, line);
    if (__builtin_expect(set[0] >> 1 == line + 1, 1)) {
        set[0] |= store;
        return penalty;
    }
    return penalty + memory_access_slowly(memory, line, store);
}

static inline void memory_count_access(struct memory *memory, bool store) {
    if (store) {
        memory->counts.l1d_store_access++;
    } else {
        memory->counts.l1d_load_access++;
    }
}

#endif
