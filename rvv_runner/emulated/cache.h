/* Data caches and hardware prefetch streams of one core, as one or several models see them.
 *
 * L1D goes by virtual address, L2 by physical page. Both are write-back and write-allocate; each
 * set is a list with the last used line in front, so that the usual hit is one comparison.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "causes.h"
#include "costs.h"

enum { STREAM_KINDS = 2 }; /* begun by loads, and by stores */
enum { MAX_STREAMS = 32, MAX_PREFETCH_BUFFERS = 32, ARRIVAL_SLOTS = 256, MAX_ARRIVALS = 8 };

struct cache {
    uint64_t *entries; /* sets x ways: line + 1, then the bits below; 0 empty */
    uint32_t set_mask;
    uint32_t ways;
};

enum { ENTRY_DIRTY = 1, ENTRY_FRESH = 2, ENTRY_SHIFT = 2 }; /* fresh: prefetched, not yet used */

struct memory_counts {
    uint64_t l1d_load_access, l1d_load_miss;
    uint64_t l1d_store_access, l1d_store_miss;
    uint64_t l1d_dirty_eviction;
    uint64_t l2_load_access, l2_load_miss;
    uint64_t l2_store_access, l2_store_miss;
    uint64_t tlb_miss;
    uint64_t software_prefetch, software_prefetch_unresolved;
};

/* A line that a software prefetch has brought, in the models where that takes its time. */
struct arrival {
    uint64_t line;
    const lanes_t *late; /* by scoreboard: all bits in the lanes of those models */
    lanes_t at[BOARDS];  /* when it is there; 0 in all other lanes */
};

/* What the accesses of one instruction missed in the models of one scoreboard. */
struct lane_misses {
    lanes_t penalty;      /* ticks: misses that nothing foresaw, and page walks */
    lanes_t l2_streamed;  /* lines from L2 that the prefetcher of L1D had on the way */
    lanes_t l2_waited;    /* lines from L2 of streams that it does not follow at the time */
    lanes_t dram_read;    /* lines from DRAM that a stream foresaw */
    lanes_t dram_written; /* dirty lines that L2 wrote back for them */
    EXPLAINED(lanes_t walks; /* ticks of the penalty that page walks take */)
    EXPLAINED(lanes_t random; /* ticks of the penalty that DRAM takes */)
};

/* What the accesses of one instruction missed, for the scoreboards to put into time. */
struct misses {
    bool any;
    uint8_t arrival_count;
    uint16_t stored_lines; /* lines that stores went on to, missed or not */
    bool within_line;      /* the access begins within a line: memories_within_line */
    struct arrival *arrivals[MAX_ARRIVALS]; /* of a prefetch what it brings, else what it waits for */
    struct lane_misses of[BOARDS];
};

struct sharing;

/* The caches of those models in which they hold the same. */
struct memory {
    struct cache l1d, l2;
    lanes_t members[BOARDS]; /* all bits in their lanes */
    lanes_t late[BOARDS];    /* and in those where a prefetched line takes its time */
    bool any_late;
    uint64_t stream_lines[STREAM_KINDS * MAX_STREAMS]; /* the last that each missed; stores' last */
    uint64_t streaming; /* a bit for each stream that has foreseen a miss */
    uint32_t oldest_stream[STREAM_KINDS], last_stream;
    uint32_t stores_in_a_row; /* foreseen store misses since the last other miss */
    uint32_t page_lines_shift;
    uint32_t random; /* decides which of a set's older lines makes room */
    const struct costs *costs; /* of the first of its members */
    unsigned first_member;
    const struct lane_times *times;
    struct sharing *sharing; /* with other cores, NULL for a lone one */
    ticks_t buffers[MAX_PREFETCH_BUFFERS]; /* until when prefetches hold them */
    struct arrival arrivals[ARRIVAL_SLOTS];
    struct memory_counts counts;
};

/* False where there is not enough memory on the host. */
bool memory_init(struct memory *memory, const struct family *family, unsigned first_member);

/* Empty the caches, and decide from now on the same for the same accesses. */
void memory_forget(struct memory *memory);

/* Take over what another memory's caches hold. */
void memory_copy(struct memory *memory, const struct memory *other);

/* Touch a line that is not the first of its set in L1D, and add to `misses`. */
void memory_access_slowly(struct memory *memory, uint64_t line, bool store, struct misses *misses);

/* Bring a line into L1D for a software prefetch at the time `now`, and add to `misses` what that
 * moved. `page_known`: the TLB has its page. */
void memory_prefetch(struct memory *memory, uint64_t line, bool page_known, ticks_t now,
                     struct misses *misses);

/* False where there is not enough memory on the host. */
bool cache_init(struct cache *cache, uint32_t sets, uint32_t ways);

void cache_clear(struct cache *cache);

/* A line's number in L2. */
uint64_t memory_physical_line(const struct memory *memory, uint64_t line);

/* Let go of a line; returns its entry, 0 where it was absent. */
uint64_t cache_remove(struct cache *cache, uint64_t line);

/* Whether the cache holds a line; nothing moves. */
bool cache_holds(const struct cache *cache, uint64_t line);

/* Move `line` to the front of its set, with these bits on top of its own, and return what they
 * were together with the line; 0 where it was absent. */
uint64_t cache_find(struct cache *cache, uint64_t line, uint64_t flags);

/* Put `line` in front of its set. Returns the entry that fell out, 0 where it was empty. */
uint64_t cache_insert(struct cache *cache, uint64_t line, uint64_t flags);

/* Take a line away from all other cores, before this one changes it. */
void sharing_claim(struct memory *memory, uint64_t line, struct misses *misses);

static inline uint64_t *cache_set(const struct cache *cache, uint64_t line) {
    return &cache->entries[(line & cache->set_mask) * cache->ways];
}

/* One access of one instruction to one line; adds to `misses`. */
static inline void memory_access(struct memory *memory, uint64_t line, bool store,
                                 struct misses *misses) {
    uint64_t *set = cache_set(&memory->l1d, line);
    if (__builtin_expect((set[0] & ~(uint64_t)ENTRY_DIRTY) == (line + 1) << ENTRY_SHIFT, 1)) {
        if (store && !(set[0] & ENTRY_DIRTY) && memory->sharing != NULL) {
            sharing_claim(memory, line, misses);
        }
        set[0] |= store;
        return;
    }
    memory_access_slowly(memory, line, store, misses);
}

#endif
