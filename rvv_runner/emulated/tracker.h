/* Follows the integer registers of a thread as far as they can be known.
 *
 * Version 1 of QEMU's plug-in interface reads no registers, yet two things depend on one: the
 * address of a Zicbop prefetch and the vtype that vsetvl takes from a register. So the integer
 * instructions are replayed: constants start the chain, and every load or store reveals its base
 * register (address minus offset) and what was loaded. A register is unknown until then.
 */
#ifndef TRACKER_H
#define TRACKER_H

#include <stdbool.h>
#include <stdint.h>

struct tracker {
    uint64_t value[32];
    uint64_t vlen_bytes;
    uint32_t known; /* one bit a register; x0 always is */
};

/* What a memory site saw this time round, for the tracker. */
struct observed {
    bool any;
    bool has_loaded;
    uint64_t address;
    uint64_t loaded; /* sign- or zero-extended as the instruction does */
};

static inline void tracker_reset(struct tracker *tracker, uint64_t vlen_bytes) {
    *tracker = (struct tracker){.vlen_bytes = vlen_bytes, .known = 1};
}

static inline bool tracker_knows(const struct tracker *tracker, uint32_t reg) {
    return tracker->known >> reg & 1;
}

/* Replay one instruction. `length` is its size in bytes, `observed` NULL where it has no memory
 * site. */
void tracker_step(struct tracker *tracker, uint32_t word, uint64_t pc, uint32_t length,
                  const struct observed *observed);

/* The bytes at `host` as the load instruction `word` would extend them. */
uint64_t tracker_loaded_value(uint32_t word, const void *host);

#endif
