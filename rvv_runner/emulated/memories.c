/* Which models share caches, page walks, and prefetches. */
#include "memories.h"

#include <stdlib.h>
#include <string.h>

#include "sharing.h"

/* Whether the caches of two models hold the same for the same accesses. */
static bool same_lines(const struct costs *a, const struct costs *b) {
    return a->l2_sets == b->l2_sets && a->l2_ways == b->l2_ways && a->streams == b->streams &&
           a->store_streams == b->store_streams &&
           a->l2_keeps_one_in == b->l2_keeps_one_in &&
           a->l2_keeps_unforeseen == b->l2_keeps_unforeseen &&
           a->write_stream_lines == b->write_stream_lines;
}

/* And for the same prefetches. Buffers are taken for as long as lines are on their way. */
static bool same_prefetches(const struct costs *a, const struct costs *b) {
    bool same_buffers = a->prefetch_buffers == b->prefetch_buffers &&
                        (a->prefetch_buffers == 0 ||
                         (a->l2_random == b->l2_random && a->dram_random == b->dram_random));
    return a->prefetch_works == b->prefetch_works && same_buffers &&
           a->prefetch_needs_page == b->prefetch_needs_page;
}

/* The memory of a member among those that there are, NULL where none is like it. */
static struct memory *memory_like(const struct memories *memories, const struct costs *costs) {
    for (unsigned i = 0; i < memories->count; i++) {
        struct memory *memory = memories->each[i];
        if (same_lines(costs, memory->costs) && same_prefetches(costs, memory->costs)) {
            return memory;
        }
    }
    return NULL;
}

/* Let a member use a memory, and no other. */
static void join(struct memories *memories, struct memory *memory, unsigned member) {
    bool late = memories->family->members[member].prefetch_late != 0;
    memory->any_late |= late;
    set_lane(&memory->members[member / LANES], member % LANES, UINT64_MAX);
    set_lane(&memory->late[member / LANES], member % LANES, late ? UINT64_MAX : 0);
}

static bool sleeps(const struct memories *memories, const struct memory *memory) {
    const struct costs *first = memories->each[0]->costs;
    return memory != memories->each[0] && same_lines(first, memory->costs);
}

/* Put the memories that sleep last, and let their members use the default's until they wake. */
static void put_to_sleep(struct memories *memories) {
    struct memory *sleeping[MAX_MEMBERS];
    unsigned asleep = 0;
    for (unsigned i = 0; i < memories->count; i++) {
        if (sleeps(memories, memories->each[i])) {
            sleeping[asleep++] = memories->each[i];
        } else {
            memories->each[memories->awake++] = memories->each[i];
        }
    }
    memcpy(&memories->each[memories->awake], sleeping, asleep * sizeof sleeping[0]);
    for (unsigned i = 0; i < asleep; i++) {
        for (unsigned board = 0; board < BOARDS; board++) {
            memories->each[0]->members[board] |= sleeping[i]->members[board];
        }
    }
}

static void wake(struct memories *memories) {
    while (memories->awake < memories->count) {
        struct memory *memory = memories->each[memories->awake++];
        memory_copy(memory, memories->each[0]);
        for (unsigned board = 0; board < BOARDS; board++) {
            memories->each[0]->members[board] &= ~memory->members[board];
        }
    }
}

bool memories_init(struct memories *memories, const struct family *family) {
    const struct costs *costs = &family->members[0];
    *memories = (struct memories){.family = family};
    memories->line_shift = (uint32_t)__builtin_ctz(costs->line_bytes);
    memories->page_lines_shift = (uint32_t)__builtin_ctz(costs->page_bytes / costs->line_bytes);
    for (unsigned member = 0; member < family->count; member++) {
        struct memory *memory = memory_like(memories, &family->members[member]);
        if (memory == NULL) {
            memory = malloc(sizeof *memory);
            if (memory == NULL || !memory_init(memory, family, member)) {
                return false;
            }
            memories->each[memories->count++] = memory;
        }
        join(memories, memory, member);
    }
    if (!cache_init(&memories->tlb, costs->tlb_sets, costs->tlb_ways)) {
        return false;
    }
    memories->last_page = UINT64_MAX;
    put_to_sleep(memories);
    return true;
}

bool memories_share(struct memories *const *cores, unsigned count, unsigned per_cluster,
                    unsigned own) {
    struct memories *memories = cores[own];
    unsigned first = own - own % per_cluster;
    memories->chip = cores;
    memories->chip_count = count;
    for (unsigned i = 0; i < memories->count; i++) {
        struct sharing *sharing = malloc(sizeof *sharing);
        if (sharing == NULL) {
            return false;
        }
        *sharing = (struct sharing){.count = count, .per_cluster = per_cluster, .own = own};
        for (unsigned core = 0; core < count; core++) {
            sharing->cores[core] = cores[core]->each[i];
        }
        memories->each[i]->sharing = sharing;
        if (own != first) {
            free(memories->each[i]->l2.entries);
            memories->each[i]->l2 = cores[first]->each[i]->l2;
        }
    }
    return true;
}

void memories_forget(struct memories *memories) {
    for (unsigned i = 0; i < memories->awake; i++) {
        memory_forget(memories->each[i]);
    }
    cache_clear(&memories->tlb);
    memories->last_page = UINT64_MAX;
    memories->last_stored_line = 0;
}

void memories_start_region(struct memories *memories) {
    for (unsigned i = 0; i < memories->count; i++) {
        struct memory *memory = memories->each[i];
        memset(&memory->counts, 0, sizeof memory->counts);
        memset(memory->buffers, 0, sizeof memory->buffers);
        memset(memory->arrivals, 0, sizeof memory->arrivals);
    }
}

void memories_translate_slowly(struct memories *memories, uint64_t page, struct misses *misses) {
    memories->last_page = page;
    if (cache_find(&memories->tlb, page, 0) != 0) {
        return;
    }
    cache_insert(&memories->tlb, page, 0);
    memories_counts(memories)->tlb_miss++;
    misses->any = true;
    for (unsigned i = 0; i < BOARDS; i++) {
        misses->of[i].penalty += memories->family->times[i].tlb_miss;
        EXPLAINED(misses->of[i].walks += memories->family->times[i].tlb_miss;)
    }
}

void memories_prefetch(struct memories *memories, uint64_t address, const ticks_t *now,
                       struct misses *misses) {
    uint64_t line = address >> memories->line_shift;
    bool page_known = cache_holds(&memories->tlb, line >> memories->page_lines_shift);
    wake(memories);
    for (unsigned i = 0; i < memories->chip_count; i++) {
        wake(memories->chip[i]); /* at once, since they share L2 */
    }
    memories_counts(memories)->software_prefetch++;
    for (unsigned i = 0; i < memories->awake; i++) {
        struct memory *memory = memories->each[i];
        memory_prefetch(memory, line, page_known, now[memory->first_member], misses);
    }
}
