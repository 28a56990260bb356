#include "chip.h"

#include <string.h>

/* Between the stacks and the large blocks of two cores, as launchers/places.h has it. */
enum { PRIVATE_STRIDE_BYTES = 64 << 20 };

bool chip_init(struct chip *chip, const struct family *family) {
    memset(chip, 0, sizeof *chip);
    chip->count = family->members[0].cores;
    chip->per_cluster = family->members[0].cores_per_l2;
    chip->random = 1;
    for (unsigned i = 0; i < chip->count; i++) {
        unsigned cluster = i / chip->per_cluster;
        chip->shared[cluster] = (struct shared){&chip->l2[cluster], &chip->dram};
        struct core *core = core_new(family);
        if (core == NULL) {
            return false;
        }
        chip->cores[i] = core;
        chip->memories[i] = &core->memories;
        core->private_bytes = (uint64_t)i * PRIVATE_STRIDE_BYTES;
        for (unsigned board = 0; board < core->board_count; board++) {
            core->boards[board].shared = &chip->shared[cluster];
        }
    }
    bool good = true;
    for (unsigned i = 0; i < chip->count; i++) {
        good &= memories_share(chip->memories, chip->count, chip->per_cluster, i);
    }
    return good;
}

void chip_start_region(struct chip *chip) {
    for (unsigned i = 0; i < chip->count; i++) {
        core_start_region(chip->cores[i]);
        calendar_clear(&chip->l2[i]);
    }
    calendar_clear(&chip->dram);
    memset(chip->portions, 0, sizeof chip->portions);
}

struct core *chip_hand_over(struct chip *chip, struct core *from, unsigned number) {
    struct core *to = chip->cores[number];
    if (to != from) {
        core_take_over(to, from);
    }
    return to;
}

/* Every core waits until these times, but for one that has passed them. */
static void wait_until(struct chip *chip, const ticks_t *times) {
    for (unsigned i = 0; i < chip->count; i++) {
        struct core *core = chip->cores[i];
        ticks_t until[MAX_MEMBERS];
        for (unsigned member = 0; member < core->family->count; member++) {
            ticks_t time = core_elapsed(core, member);
            until[member] = time > times[member] ? time : times[member];
        }
        core_wait_until(core, until);
    }
}

void chip_invite(struct chip *chip, struct core *core, uint64_t pc, bool tracking) {
    ticks_t now[MAX_MEMBERS];
    if (core->pending != NULL) {
        core_finish_block(core, pc, tracking);
    }
    if (chip->invited == 0) {
        for (unsigned member = 0; member < core->family->count; member++) {
            now[member] = core_elapsed(core, member);
        }
        wait_until(chip, now);
    }
    chip->invited++;
}

static unsigned takers(const struct chip *chip) {
    return chip->invited > 0 && chip->invited < chip->count ? chip->invited : chip->count;
}

static unsigned earliest_core(const struct chip *chip) {
    unsigned first = 0;
    for (unsigned i = 1; i < takers(chip); i++) {
        if (core_elapsed(chip->cores[i], 0) < core_elapsed(chip->cores[first], 0)) {
            first = i;
        }
    }
    return first;
}

/* One of the cores that have taken the fewest portions: which one a board's threads would leave to
 * chance. So no core finds in its caches what it is going to need by the order of cores alone. */
static unsigned any_core(struct chip *chip) {
    unsigned fewest[MAX_CORES], count = 0;
    for (unsigned i = 0; i < takers(chip); i++) {
        if (count > 0 && chip->portions[i] < chip->portions[fewest[0]]) {
            count = 0;
        }
        if (count == 0 || chip->portions[i] == chip->portions[fewest[0]]) {
            fewest[count++] = i;
        }
    }
    chip->random = chip->random * 1664525 + 1013904223; /* of Numerical Recipes */
    unsigned chosen = fewest[(chip->random >> 16) % count];
    chip->portions[chosen]++;
    return chosen;
}

struct core *chip_next_portion(struct chip *chip, struct core *core, uint64_t pc, bool measured,
                               bool tracking) {
    if (core->pending != NULL) {
        core_finish_block(core, pc, tracking);
    }
    return chip_hand_over(chip, core, measured ? earliest_core(chip) : any_core(chip));
}

struct core *chip_join(struct chip *chip, struct core *core, uint64_t pc, bool tracking) {
    ticks_t last[MAX_MEMBERS] = {0};
    if (core->pending != NULL) {
        core_finish_block(core, pc, tracking);
    }
    for (unsigned i = 0; i < chip->count; i++) {
        for (unsigned member = 0; member < core->family->count; member++) {
            ticks_t time = core_elapsed(chip->cores[i], member);
            last[member] = time > last[member] ? time : last[member];
        }
    }
    wait_until(chip, last);
    chip->invited = 0;
    return chip_hand_over(chip, core, 0);
}
