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
    bool allocated = cache_init(&memory->l1d, costs->l1d_sets, costs->l1d_ways) &&
                     cache_init(&memory->l2, costs->l2_sets, costs->l2_ways) &&
                     cache_init(&memory->tlb, costs->tlb_sets, costs->tlb_ways);
    if (allocated) {
        memory_forget(memory);
    }
    return allocated;
}

static void cache_clear(struct cache *cache) {
    size_t entries = ((size_t)cache->set_mask + 1) * cache->ways;
    memset(cache->entries, 0, entries * sizeof *cache->entries);
}

void memory_forget(struct memory *memory) {
    cache_clear(&memory->l1d);
    cache_clear(&memory->l2);
    cache_clear(&memory->tlb);
    memset(memory->stream_lines, 0, sizeof memory->stream_lines);
    memory->oldest_stream = 0;
    memory->last_stream = 0;
    memory->last_stored_line = 0;
    memory->stores_in_a_row = 0;
    memory->last_page = UINT64_MAX;
    memory->random = 1;
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

/* Put `line` in front of its set, in the place of the line in `way`. Returns the entry that fell
 * out, 0 where it was empty. */
static uint64_t cache_replace(struct cache *cache, uint64_t line, bool dirty, uint32_t way) {
    uint64_t *set = cache_set(cache, line);
    uint64_t victim = set[way];
    memmove(&set[1], &set[0], way * sizeof *set);
    set[0] = (line + 1) << 1 | dirty;
    return victim;
}

static uint64_t cache_insert(struct cache *cache, uint64_t line, bool dirty) {
    return cache_replace(cache, line, dirty, cache->ways - 1);
}

static uint32_t next_random(struct memory *memory) {
    memory->random = memory->random >> 1 ^ (memory->random & 1 ? 0xedb88320u : 0);
    return memory->random;
}

/* L1D evicts any line but the last used (the only one, if there is one way), by a shift register as
 * cheap hardware has. */
static uint32_t l1d_victim(struct memory *memory) {
    uint32_t others = memory->l1d.ways - 1;
    return others == 0 ? 0 : 1 + next_random(memory) % others;
}

/* Physical pages are scattered like those of a system that has been running for a while, but each
 * page always gets the same one: which lines collide in L2 depends on the addresses of what a program
 * uses, and not on what it has used before. The finalizer of splitmix64 spreads neighbouring numbers
 * over all bits; 40 of them are a page number. */
static uint64_t physical_page(uint64_t page) {
    page += 0x9e3779b97f4a7c15u;
    page = (page ^ page >> 30) * 0xbf58476d1ce4e5b9u;
    page = (page ^ page >> 27) * 0x94d049bb133111ebu;
    return (page ^ page >> 31) >> 24;
}

static uint64_t physical_line(const struct memory *memory, uint64_t line) {
    uint32_t shift = memory->page_shift - memory->line_shift;
    return physical_page(line >> shift) << shift | (line & ((1u << shift) - 1));
}

/* Whether a hardware stream, up or down, foresaw this miss, and whether it is the one of the last
 * miss, which the prefetcher of L1D follows. A miss that none foresaw starts a new stream in the
 * place of the oldest. */
static bool stream_foresaw(struct memory *memory, uint64_t line, bool *followed) {
    uint32_t streams = memory->costs->streams;
    for (uint32_t i = 0; i < streams; i++) {
        uint64_t distance = line - memory->stream_lines[i];
        if (distance == 1 || distance == UINT64_MAX) {
            memory->stream_lines[i] = line;
            *followed = i == memory->last_stream;
            memory->last_stream = i;
            return true;
        }
    }
    if (streams > 0) {
        memory->stream_lines[memory->oldest_stream] = line;
        memory->last_stream = memory->oldest_stream;
        memory->oldest_stream = (memory->oldest_stream + 1) % streams;
    }
    return false;
}

/* What bringing a line into L1D moved. */
struct fill {
    bool l2_hit;
    bool evicted_dirty; /* L1D had to write a line back to L2 */
    uint16_t written;   /* lines that L2 had to write back to DRAM */
};

/* L2 resists streams: a new line is the next to leave again unless it is used once more; only one
 * in `l2_keeps_one_in` is taken for a line that will be. */
static void l2_insert(struct memory *memory, uint64_t physical, bool dirty, struct fill *fill) {
    uint64_t *set = cache_set(&memory->l2, physical);
    uint32_t last = memory->l2.ways - 1;
    fill->written += set[last] & 1;
    if (set[last] == 0 || next_random(memory) % memory->costs->l2_keeps_one_in == 0) {
        cache_insert(&memory->l2, physical, dirty);
    } else {
        set[last] = (physical + 1) << 1 | dirty;
    }
}

static struct fill fill_from_l2(struct memory *memory, uint64_t line, bool store) {
    struct fill fill = {0};
    uint64_t physical = physical_line(memory, line);
    fill.l2_hit = cache_find(&memory->l2, physical, false);
    if (!fill.l2_hit) {
        l2_insert(memory, physical, false, &fill);
    }
    uint64_t *set = cache_set(&memory->l1d, line);
    uint32_t last = memory->l1d.ways - 1;
    uint32_t way = set[last] == 0 ? last : l1d_victim(memory);
    uint64_t victim = cache_replace(&memory->l1d, line, store, way);
    fill.evicted_dirty = victim & 1;
    if (fill.evicted_dirty) {
        uint64_t victim_line = physical_line(memory, (victim >> 1) - 1);
        memory->counts.l1d_dirty_eviction++;
        if (!cache_find(&memory->l2, victim_line, true)) {
            l2_insert(memory, victim_line, true, &fill);
        }
    }
    return fill;
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

void memory_access_slowly(struct memory *memory, uint64_t line, bool store, struct misses *misses) {
    const struct costs *costs = memory->costs;
    if (cache_find(&memory->l1d, line, store)) {
        return;
    }
    bool followed = false;
    bool foreseen = stream_foresaw(memory, line, &followed);
    struct fill fill = fill_from_l2(memory, line, store);
    count_miss(&memory->counts, store, fill.l2_hit);
    memory->stores_in_a_row = foreseen && store ? memory->stores_in_a_row + 1 : 0;
    misses->any = true;
    misses->dram_written += fill.written;
    if (!foreseen) {
        uint32_t penalty = fill.l2_hit ? costs->l2_random : costs->dram_random;
        penalty += fill.evicted_dirty ? costs->dirty_eviction : 0;
        misses->penalty += store ? penalty / costs->store_misses : penalty;
        EXPLAINED(uint32_t random = fill.l2_hit ? 0 : costs->dram_random;)
        EXPLAINED(misses->random += store ? random / costs->store_misses : random;)
    } else if (fill.l2_hit) {
        misses->l2_streamed += followed;
        misses->l2_waited += !followed;
    } else if (memory->stores_in_a_row <= costs->write_stream_lines) {
        misses->dram_read++; /* further on, whole lines are written without being read */
    }
}

void memory_translate_slowly(struct memory *memory, uint64_t page, struct misses *misses) {
    memory->last_page = page;
    if (cache_find(&memory->tlb, page, false)) {
        return;
    }
    cache_insert(&memory->tlb, page, false);
    memory->counts.tlb_miss++;
    misses->any = true;
    misses->penalty += memory->costs->tlb_miss;
    EXPLAINED(misses->walks += memory->costs->tlb_miss;)
}

struct misses memory_prefetch(struct memory *memory, uint64_t address) {
    uint64_t line = address >> memory->line_shift;
    struct misses misses = {0};
    memory->counts.software_prefetch++;
    if (cache_find(&memory->l1d, line, false)) {
        return misses;
    }
    struct fill fill = fill_from_l2(memory, line, false);
    memory->counts.l2_load_access++; /* no load has missed: there was none yet */
    memory->counts.l2_load_miss += !fill.l2_hit;
    misses.any = true;
    misses.l2_streamed = fill.l2_hit;
    misses.dram_read = !fill.l2_hit;
    misses.dram_written = fill.written;
    return misses;
}
