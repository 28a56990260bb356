#include "sharing.h"

static bool is_far(const struct sharing *sharing, unsigned core) {
    return core / sharing->per_cluster != sharing->own / sharing->per_cluster;
}

/* Charge for a line that comes from another core, or is taken from one. */
static void charge(const struct memory *memory, bool far, bool store, struct misses *misses) {
    const struct costs *costs = memory->costs;
    uint32_t ticks = far ? costs->far_snoop : costs->snoop;
    ticks = store ? ticks / costs->store_misses : ticks;
    misses->any = true;
    for (unsigned i = 0; i < BOARDS; i++) {
        misses->of[i].penalty += memory->members[i] & all_lanes(ticks);
    }
}

/* A core's changed line goes to the L2 of its cluster. */
static void write_back(struct memory *owner, uint64_t line) {
    uint64_t physical = memory_physical_line(owner, line);
    if (cache_find(&owner->l2, physical, ENTRY_DIRTY) == 0) {
        cache_insert(&owner->l2, physical, ENTRY_DIRTY);
    }
}

/* The entry of a line in a core's L1D, NULL where it is absent. */
static uint64_t *entry_of(const struct memory *memory, uint64_t line) {
    uint64_t *set = cache_set(&memory->l1d, line);
    for (uint32_t way = 0; way < memory->l1d.ways; way++) {
        if (set[way] >> ENTRY_SHIFT == line + 1) {
            return &set[way];
        }
    }
    return NULL;
}

void sharing_claim(struct memory *memory, uint64_t line, struct misses *misses) {
    const struct sharing *sharing = memory->sharing;
    bool any = false, far = false;
    for (unsigned i = 0; i < sharing->count; i++) {
        struct memory *other = sharing->cores[i];
        if (other == memory) {
            continue;
        }
        uint64_t taken = cache_remove(&other->l1d, line);
        if (taken & ENTRY_DIRTY && !is_far(sharing, i)) {
            write_back(other, line);
        }
        if (is_far(sharing, i) && i % sharing->per_cluster == 0) {
            taken |= cache_remove(&other->l2, memory_physical_line(other, line));
        }
        any |= taken != 0;
        far |= taken != 0 && is_far(sharing, i);
    }
    if (any) {
        charge(memory, far, true, misses);
    }
}

void sharing_ask(struct memory *memory, uint64_t line, bool store, struct misses *misses) {
    const struct sharing *sharing = memory->sharing;
    for (unsigned i = 0; i < sharing->count; i++) {
        struct memory *other = sharing->cores[i];
        uint64_t *entry = other == memory ? NULL : entry_of(other, line);
        if (entry != NULL && *entry & ENTRY_DIRTY) {
            *entry &= ~(uint64_t)ENTRY_DIRTY;
            write_back(other, line);
            charge(memory, is_far(sharing, i), store, misses);
            break; /* one core at most has changed it */
        }
    }
    if (store) {
        sharing_claim(memory, line, misses);
    }
}
