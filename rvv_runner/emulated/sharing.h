/* Lines that several cores have in their caches: L1D are kept coherent by invalidation (MESI), and so
 * are the L2 of several clusters. */
#ifndef SHARING_H
#define SHARING_H

#include "cache.h"

/* The caches of all cores, as one model sees them. */
struct sharing {
    struct memory *cores[MAX_CORES];
    unsigned count, per_cluster;
    unsigned own; /* which of them it is */
};

/* Before this core brings a line into its L1D: let a core that has changed it write it back, and take
 * it away from all others where this one is going to change it. */
void sharing_ask(struct memory *memory, uint64_t line, bool store, struct misses *misses);

#endif
