/* Where the cycles of a run went: to which cause, and to which instruction.
 *
 * Only in a plug-in that is compiled with EXPLAIN; in any other, nothing here costs anything. The
 * estimate is the time up to which the core has got: the later of the last issue and the last start
 * in the vector queue. Each instruction moves it forward by some ticks or none, and these are given
 * to what the instruction waited for last. So the causes of a run add up to its estimate.
 */
#ifndef CAUSES_H
#define CAUSES_H

#include <stdint.h>

#include "costs.h"

/* Name in the JSON; rvv_runner/emulated/causes.py says in words what each stands for. */
#define CAUSES(X)                                                                                  \
    X(issue)                                                                                       \
    X(scalar)                                                                                      \
    X(vector)                                                                                      \
    X(vset)                                                                                        \
    X(branches)                                                                                    \
    X(l1)                                                                                          \
    X(l2)                                                                                          \
    X(dram)                                                                                        \
    X(tlb)

enum cause {
#define X(name) CAUSE_##name,
    CAUSES(X)
#undef X
        CAUSE_COUNT
};

/* The ticks of one instruction by cause. */
typedef ticks_t row_t[CAUSE_COUNT];

#ifdef EXPLAIN

#define EXPLAINED(...) __VA_ARGS__

/* Why something is not ready before its time: the work of `row`, and how much of the wait comes
 * from misses on top of that. */
struct reason {
    ticks_t *row;
    ticks_t dram, l2, tlb;
    enum cause cause;
};

static inline ticks_t give(ticks_t *row, enum cause cause, ticks_t most, ticks_t wait) {
    ticks_t given = most < wait ? most : wait;
    row[cause] += given;
    return wait - given;
}

/* Give a wait to its causes. Where other work hid a part of a miss, what is left is its end: first
 * the page was found, then L2 was asked, and DRAM came last. */
static inline void explain_wait(const struct reason *why, ticks_t wait) {
    wait = give(why->row, CAUSE_dram, why->dram, wait);
    wait = give(why->row, CAUSE_l2, why->l2, wait);
    wait = give(why->row, CAUSE_tlb, why->tlb, wait);
    why->row[why->cause] += wait;
}

#else

#define EXPLAINED(...)

#endif

#endif
