/* What one core's accesses find under every model: one TLB, and one set of caches for all models in
 * which they hold the same.
 *
 * Models that differ from the default in what becomes of prefetches alone share its caches until the
 * program's first prefetch.
 */
#ifndef MEMORIES_H
#define MEMORIES_H

#include "cache.h"

struct memories {
    struct memory *each[MAX_MEMBERS]; /* the default's first; those that sleep last */
    unsigned count, awake;
    struct cache tlb;
    uint64_t last_page;
    uint64_t last_stored_line;
    uint32_t line_shift, page_lines_shift;
    const struct family *family;
    struct memories *const *chip; /* of all cores, NULL for a lone one */
    unsigned chip_count;
};

/* False where there is not enough memory on the host. */
bool memories_init(struct memories *memories, const struct family *family);

/* Let the cores of a chip keep their caches coherent, and those of a cluster share L2; `own` is the
 * number of these among `cores`. False where there is not enough memory on the host. */
bool memories_share(struct memories *const *cores, unsigned count, unsigned per_cluster,
                    unsigned own);

/* Empty the caches, and decide from now on the same for the same accesses. */
void memories_forget(struct memories *memories);

/* Count from nothing; the caches keep what they hold. */
void memories_start_region(struct memories *memories);

/* Translate a page other than the last one, and add to `misses`. */
void memories_translate_slowly(struct memories *memories, uint64_t page, struct misses *misses);

/* Carry out a software prefetch; `now` gives the time of each member. */
void memories_prefetch(struct memories *memories, uint64_t address, const ticks_t *now,
                       struct misses *misses);

/* What the default's caches have counted. */
static inline struct memory_counts *memories_counts(struct memories *memories) {
    return &memories->each[0]->counts;
}

/* Whether an access at a place leaves the first bytes of a line to a later one. One that goes through
 * neighbouring bytes does so unless it begins with them; of others, which may go down from element to
 * element, not one that begins with the last bytes either. */
static inline bool memories_within_line(const struct memories *memories, uint64_t place,
                                        bool is_contiguous) {
    enum { MERGED_BYTES = 16 }; /* that a store buffer collects in any order */
    uint64_t line_bytes = (uint64_t)1 << memories->line_shift;
    uint64_t offset = place & (line_bytes - 1);
    return offset >= MERGED_BYTES && (is_contiguous || offset < line_bytes - MERGED_BYTES);
}

/* One access of one instruction to one line; adds to `misses`. */
static inline void memories_access(struct memories *memories, uint64_t line, bool store,
                                   struct misses *misses) {
    uint64_t page = line >> memories->page_lines_shift;
    if (__builtin_expect(page != memories->last_page, 0)) {
        memories_translate_slowly(memories, page, misses);
    }
    if (store && line != memories->last_stored_line) {
        memories->last_stored_line = line;
        misses->stored_lines++;
        misses->any = true;
    }
    for (unsigned i = 0; i < memories->awake; i++) {
        memory_access(memories->each[i], line, store, misses);
    }
}

static inline void memories_count_access(struct memories *memories, bool store) {
    struct memory_counts *counts = memories_counts(memories);
    if (store) {
        counts->l1d_store_access++;
    } else {
        counts->l1d_load_access++;
    }
}

#endif
