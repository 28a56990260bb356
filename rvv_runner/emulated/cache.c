/* The slow paths of the memory model: misses, evictions, prefetches. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "sharing.h"
#include "streams.h"

bool cache_init(struct cache *cache, uint32_t sets, uint32_t ways) {
    cache->entries = calloc((size_t)sets * ways, sizeof *cache->entries);
    cache->set_mask = sets - 1;
    cache->ways = ways;
    return cache->entries != NULL;
}

static size_t cache_bytes(const struct cache *cache) {
    return ((size_t)cache->set_mask + 1) * cache->ways * sizeof *cache->entries;
}

void cache_clear(struct cache *cache) { memset(cache->entries, 0, cache_bytes(cache)); }

bool memory_init(struct memory *memory, const struct family *family, unsigned first_member) {
    const struct costs *costs = &family->members[first_member];
    memset(memory, 0, sizeof *memory);
    memory->costs = costs;
    memory->first_member = first_member;
    memory->times = family->times;
    memory->page_lines_shift = (uint32_t)__builtin_ctz(costs->page_bytes / costs->line_bytes);
    bool allocated = cache_init(&memory->l1d, costs->l1d_sets, costs->l1d_ways) &&
                     cache_init(&memory->l2, costs->l2_sets, costs->l2_ways);
    if (allocated) {
        memory_forget(memory);
    }
    return allocated;
}

void memory_forget(struct memory *memory) {
    cache_clear(&memory->l1d);
    cache_clear(&memory->l2);
    memset(memory->stream_lines, 0, sizeof memory->stream_lines);
    memory->streaming = 0;
    memset(memory->oldest_stream, 0, sizeof memory->oldest_stream);
    memory->last_stream = 0;
    memory->stores_in_a_row = 0;
    memory->random = 1;
}

void memory_copy(struct memory *memory, const struct memory *other) {
    memcpy(memory->l1d.entries, other->l1d.entries, cache_bytes(&memory->l1d));
    memcpy(memory->l2.entries, other->l2.entries, cache_bytes(&memory->l2));
    memcpy(memory->stream_lines, other->stream_lines, sizeof memory->stream_lines);
    memory->streaming = other->streaming;
    memcpy(memory->oldest_stream, other->oldest_stream, sizeof memory->oldest_stream);
    memory->last_stream = other->last_stream;
    memory->stores_in_a_row = other->stores_in_a_row;
    memory->random = other->random;
}

bool cache_holds(const struct cache *cache, uint64_t line) {
    const uint64_t *set = cache_set(cache, line);
    for (uint32_t way = 0; way < cache->ways; way++) {
        if (set[way] >> ENTRY_SHIFT == line + 1) {
            return true;
        }
    }
    return false;
}

uint64_t cache_find(struct cache *cache, uint64_t line, uint64_t flags) {
    uint64_t *set = cache_set(cache, line);
    for (uint32_t way = 0; way < cache->ways; way++) {
        uint64_t entry = set[way];
        if (entry >> ENTRY_SHIFT == line + 1) {
            memmove(&set[1], &set[0], way * sizeof *set);
            set[0] = entry | flags;
            return entry;
        }
    }
    return 0;
}

uint64_t cache_remove(struct cache *cache, uint64_t line) {
    uint64_t entry = cache_find(cache, line, 0);
    if (entry != 0) {
        uint64_t *set = cache_set(cache, line);
        memmove(&set[0], &set[1], (cache->ways - 1) * sizeof *set);
        set[cache->ways - 1] = 0;
    }
    return entry;
}

/* Put `line` in front of its set, in the place of the line in `way`. */
static uint64_t cache_replace(struct cache *cache, uint64_t line, uint64_t flags, uint32_t way) {
    uint64_t *set = cache_set(cache, line);
    uint64_t victim = set[way];
    memmove(&set[1], &set[0], way * sizeof *set);
    set[0] = (line + 1) << ENTRY_SHIFT | flags;
    return victim;
}

uint64_t cache_insert(struct cache *cache, uint64_t line, uint64_t flags) {
    return cache_replace(cache, line, flags, cache->ways - 1);
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

uint64_t memory_physical_line(const struct memory *memory, uint64_t line) {
    uint32_t shift = memory->page_lines_shift;
    return physical_page(line >> shift) << shift | (line & ((1u << shift) - 1));
}

/* What bringing a line into L1D moved. */
struct fill {
    bool l2_hit;
    bool evicted_dirty; /* L1D had to write a line back to L2 */
    uint16_t written;   /* lines that L2 had to write back to DRAM */
};

/* L2 resists streams: a new line is the next to leave again unless it is used once more; only one
 * in `l2_keeps_one_in` is taken for a line that will be, and each that `keep` says so of. */
static void l2_insert(struct memory *memory, uint64_t physical, bool dirty, bool keep,
                      struct fill *fill) {
    uint64_t *set = cache_set(&memory->l2, physical);
    uint32_t last = memory->l2.ways - 1;
    fill->written += set[last] & ENTRY_DIRTY;
    if (keep || set[last] == 0 || next_random(memory) % memory->costs->l2_keeps_one_in == 0) {
        cache_insert(&memory->l2, physical, dirty);
    } else {
        set[last] = (physical + 1) << ENTRY_SHIFT | dirty;
    }
}

/* Bring a line into L1D. L2 takes one that nothing foresaw for one that is used again. */
static struct fill fill_from_l2(struct memory *memory, uint64_t line, uint64_t flags,
                                bool foreseen) {
    struct fill fill = {0};
    bool keep = !foreseen && memory->costs->l2_keeps_unforeseen;
    uint64_t physical = memory_physical_line(memory, line);
    fill.l2_hit = cache_find(&memory->l2, physical, 0) != 0;
    if (!fill.l2_hit) {
        l2_insert(memory, physical, false, keep, &fill);
    }
    uint64_t *set = cache_set(&memory->l1d, line);
    uint32_t last = memory->l1d.ways - 1;
    uint32_t way = set[last] == 0 ? last : l1d_victim(memory);
    uint64_t victim = cache_replace(&memory->l1d, line, flags, way);
    fill.evicted_dirty = victim & ENTRY_DIRTY;
    if (fill.evicted_dirty) {
        uint64_t victim_line = memory_physical_line(memory, (victim >> ENTRY_SHIFT) - 1);
        memory->counts.l1d_dirty_eviction++;
        if (cache_find(&memory->l2, victim_line, ENTRY_DIRTY) == 0) {
            l2_insert(memory, victim_line, true, false, &fill);
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

/* The first use of a prefetched line: it may still be on its way. Streams go on with it as with a
 * line that was missed, but none starts. */
static void use_prefetched(struct memory *memory, uint64_t line, struct misses *misses) {
    struct arrival *arrival = &memory->arrivals[line % ARRIVAL_SLOTS];
    cache_set(&memory->l1d, line)[0] &= ~(uint64_t)ENTRY_FRESH;
    streams_go_on(memory, line);
    if (arrival->line == line && misses->arrival_count < MAX_ARRIVALS) {
        misses->arrivals[misses->arrival_count++] = arrival;
        misses->any = true;
    }
}

/* Add a line to the counts of those lanes in which it was missed. */
static void add_miss(const struct memory *memory, const struct fill *fill, bool store,
                     const struct foresight *foresight, struct misses *misses) {
    /* Further on in a row of stores, whole lines are written without being read. */
    bool is_read = foresight->foreseen && !fill->l2_hit &&
                   memory->stores_in_a_row <= memory->costs->write_stream_lines;
    /* A store that begins within a line leaves it to later ones to fill, in no order. */
    bool is_unmerged = is_read && store && misses->within_line;
    misses->any = true;
    for (unsigned i = 0; i < BOARDS; i++) {
        lanes_t members = memory->members[i];
        struct lane_misses *of = &misses->of[i];
        if (fill->written > 0) {
            of->dram_written += members & all_lanes(fill->written);
        }
        if (!foresight->foreseen || foresight->displaced) {
            const struct lane_times *times = &memory->times[i];
            bool in_l2 = fill->l2_hit || foresight->displaced;
            of->penalty += members & times->unforeseen[store][in_l2][fill->evicted_dirty];
            EXPLAINED(uint32_t random = in_l2 ? 0 : memory->costs->dram_random;)
            EXPLAINED(of->random += store ? random / memory->costs->store_misses : random;)
        } else if (fill->l2_hit) {
            lanes_t *lines = foresight->followed ? &of->l2_streamed : &of->l2_waited;
            *lines += members & all_lanes(1);
        }
        if (is_read) {
            of->dram_read += members & all_lanes(1);
        }
        if (is_unmerged) {
            of->penalty += members & memory->times[i].dram_unmerged;
            EXPLAINED(of->random += memory->costs->dram_unmerged;)
        }
    }
}

void memory_access_slowly(struct memory *memory, uint64_t line, bool store, struct misses *misses) {
    uint64_t found = cache_find(&memory->l1d, line, store);
    if (found != 0) {
        if (found & ENTRY_FRESH) {
            use_prefetched(memory, line, misses);
        }
        if (store && !(found & ENTRY_DIRTY) && memory->sharing != NULL) {
            sharing_claim(memory, line, misses);
        }
        return;
    }
    if (memory->sharing != NULL) {
        sharing_ask(memory, line, store, misses);
    }
    struct foresight foresight = streams_look_ahead(memory, line, store);
    struct fill fill = fill_from_l2(memory, line, store, foresight.foreseen);
    count_miss(&memory->counts, store, fill.l2_hit);
    bool in_a_row = store && foresight.foreseen && !misses->within_line;
    memory->stores_in_a_row = in_a_row ? memory->stores_in_a_row + 1 : 0;
    add_miss(memory, &fill, store, &foresight, misses);
}

/* Whether there is a buffer for a prefetch at `now`, which then holds it for `ticks`. */
static bool takes_buffer(struct memory *memory, ticks_t now, ticks_t ticks) {
    ticks_t *first = memory->buffers;
    for (uint32_t i = 1; i < memory->costs->prefetch_buffers; i++) {
        first = memory->buffers[i] < *first ? &memory->buffers[i] : first;
    }
    bool free = *first <= now;
    *first = free ? now + ticks : *first;
    return free;
}

/* Whether this memory does anything about a prefetch of a line that L1D lacks. */
static bool is_honoured(struct memory *memory, uint64_t line, bool page_known, ticks_t now) {
    const struct costs *costs = memory->costs;
    if (costs->prefetch_needs_page && !page_known) {
        return false;
    }
    if (costs->prefetch_buffers == 0) {
        return true;
    }
    bool in_l2 = cache_holds(&memory->l2, memory_physical_line(memory, line));
    return takes_buffer(memory, now, in_l2 ? costs->l2_random : costs->dram_random);
}

void memory_prefetch(struct memory *memory, uint64_t line, bool page_known, ticks_t now,
                     struct misses *misses) {
    if (!memory->costs->prefetch_works) {
        return;
    }
    uint64_t found = cache_find(&memory->l1d, line, 0);
    if (found != 0 || !is_honoured(memory, line, page_known, now)) {
        return;
    }
    if (memory->sharing != NULL) {
        sharing_ask(memory, line, false, misses);
    }
    struct fill fill = fill_from_l2(memory, line, ENTRY_FRESH, true);
    memory->counts.l2_load_access++; /* no load has missed: there was none yet */
    memory->counts.l2_load_miss += !fill.l2_hit;
    misses->any = true;
    for (unsigned i = 0; i < BOARDS; i++) {
        lanes_t members = memory->members[i];
        lanes_t *lines = fill.l2_hit ? &misses->of[i].l2_streamed : &misses->of[i].dram_read;
        *lines += members & all_lanes(1);
        misses->of[i].dram_written += members & all_lanes(fill.written);
    }
    if (memory->any_late && misses->arrival_count < MAX_ARRIVALS) {
        struct arrival *arrival = &memory->arrivals[line % ARRIVAL_SLOTS];
        arrival->line = line;
        arrival->late = memory->late;
        misses->arrivals[misses->arrival_count++] = arrival;
    }
}
