/* The slow paths of the memory model: misses, evictions, page walks, prefetches. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

static bool cache_init(struct cache *cache, uint32_t sets, uint32_t ways) {
    cache->entries = calloc((size_t)sets * ways, sizeof *cache->entries);
    cache->set_mask = sets - 1;
    cache->ways = ways;
    return cache->entries != NULL;
}

bool memory_init(struct memory *memory, const struct costs *costs) {
    memset(memory, 0, sizeof *memory);
    memory->costs = costs;
    memory->line_shift = (uint32_t)__builtin_ctz(costs->line_bytes);
    memory->page_shift = (uint32_t)__builtin_ctz(costs->page_bytes);
    memory->last_page = UINT64_MAX;
    return cache_init(&memory->l1d, costs->l1d_sets, costs->l1d_ways) &&
           cache_init(&memory->l2, costs->l2_sets, costs->l2_ways) &&
           cache_init(&memory->tlb, costs->tlb_sets, costs->tlb_ways);
}

/* Move `line` to the front of its set, dirty where it was or is now; false where it was absent. */
static bool cache_find(struct cache *cache, uint64_t line, bool dirty) {
    uint64_t *set = cache_set(cache, line);
    for (uint32_t way = 0; way < cache->ways; way++) {
        uint64_t entry = set[way];
        if (entry >> 1 == line + 1) {
            memmove(&set[1], &set[0], way * sizeof *set);
            set[0] = entry | dirty;
            return true;
        }
    }
    return false;
}

/* Put `line` in front of its set and return the entry that fell out, 0 where one was empty. */
static uint64_t cache_insert(struct cache *cache, uint64_t line, bool dirty) {
    uint64_t *set = cache_set(cache, line);
    uint64_t victim = set[cache->ways - 1];
    memmove(&set[1], &set[0], (cache->ways - 1) * sizeof *set);
    set[0] = (line + 1) << 1 | dirty;
    return victim;
}

/* Whether a hardware stream foresaw this miss. A miss that none foresaw starts a new stream in the
 * place of the oldest. */
static bool stream_foresaw(struct memory *memory, uint64_t line) {
    uint32_t streams = memory->costs->streams;
    for (uint32_t i = 0; i < streams; i++) {
        if (memory->next_lines[i] == line) {
            memory->next_lines[i] = line + 1;
            return true;
        }
    }
    if (streams > 0) {
        memory->next_lines[memory->oldest_stream] = line + 1;
        memory->oldest_stream = (memory->oldest_stream + 1) % streams;
    }
    return false;
}

/* Fetch a line that L1D lacks: whether L2 had it, and whether a dirty line had to leave L1D. */
static bool fill_from_l2(struct memory *memory, uint64_t line, bool store, bool *evicted_dirty) {
    bool hit = cache_find(&memory->l2, line, false);
    if (!hit) {
        cache_insert(&memory->l2, line, false);
    }
    uint64_t victim = cache_insert(&memory->l1d, line, store);
    *evicted_dirty = victim & 1;
    if (*evicted_dirty) {
        uint64_t victim_line = (victim >> 1) - 1;
        memory->counts.l1d_dirty_eviction++;
        if (!cache_find(&memory->l2, victim_line, true)) {
            cache_insert(&memory->l2, victim_line, true);
        }
    }
    return hit;
}

static void count_miss(struct memory_counts *counts, bool store, bool l2_hit) {
    if (store) {
        counts->l1d_store_miss++;
        counts->l2_store_access++;
        counts->l2_store_miss += !l2_hit;
    } else {
        counts->l1d_load_miss++;
        counts->l2_load_access++;
        counts->l2_load_miss += !l2_hit;
    }
}

ticks_t memory_access_slowly(struct memory *memory, uint64_t line, bool store) {
    const struct costs *costs = memory->costs;
    if (cache_find(&memory->l1d, line, store)) {
        return 0;
    }
    bool foreseen = stream_foresaw(memory, line);
    bool evicted_dirty;
    bool l2_hit = fill_from_l2(memory, line, store, &evicted_dirty);
    count_miss(&memory->counts, store, l2_hit);
    if (foreseen) { /* the stream fetched it early, and its eviction with it */
        return l2_hit ? costs->l2_streamed : costs->dram_streamed;
    }
    return (l2_hit ? costs->l2_random : costs->dram_random) +
           (evicted_dirty ? costs->dirty_eviction : 0);
}

ticks_t memory_translate_slowly(struct memory *memory, uint64_t page) {
    memory->last_page = page;
    if (cache_find(&memory->tlb, page, false)) {
        return 0;
    }
    cache_insert(&memory->tlb, page, false);
    memory->counts.tlb_miss++;
    return memory->costs->tlb_miss;
}

ticks_t memory_prefetch(struct memory *memory, uint64_t address) {
    uint64_t line = address >> memory->line_shift;
    memory->counts.software_prefetch++;
    if (cache_find(&memory->l1d, line, false)) {
        return 0;
    }
    bool evicted_dirty;
    bool l2_hit = fill_from_l2(memory, line, false, &evicted_dirty);
    memory->counts.l2_load_access++; /* no load has missed: there was none yet */
    memory->counts.l2_load_miss += !l2_hit;
    return l2_hit ? memory->costs->l2_streamed : memory->costs->dram_streamed;
}
