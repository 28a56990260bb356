#include "chip.h"

#include <string.h>

/* Between the stacks and the large blocks of two cores, as launchers/places.h has it. */
enum { PRIVATE_STRIDE_BYTES = 64 << 20 };

bool chip_init(struct chip *chip, const struct family *family) {
    memset(chip, 0, sizeof *chip);
    chip->count = family->members[0].cores;
    chip->per_cluster = family->members[0].cores_per_l2;
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

struct core *chip_next_portion(struct chip *chip, struct core *core, uint64_t pc, bool measured,
                               bool tracking) {
    if (core->pending != NULL) {
        core_finish_block(core, pc, tracking);
    }
    unsigned first = 0;
    ticks_t earliest = 0;
    for (unsigned i = 0; i < chip->count; i++) {
        ticks_t time = measured ? core_elapsed(chip->cores[i], 0) : chip->portions[i];
        if (i == 0 || time < earliest) {
            first = i;
            earliest = time;
        }
    }
    chip->portions[first]++;
    return chip_hand_over(chip, core, first);
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
    for (unsigned i = 0; i < chip->count; i++) {
        core_wait_until(chip->cores[i], last);
    }
    return chip_hand_over(chip, core, 0);
}
