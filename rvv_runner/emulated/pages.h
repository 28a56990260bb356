/* Physical pages: given out in the order of first use, and scattered like those of a system that
 * has been running for a while. The order depends on the program alone, the addresses do not. */
#ifndef PAGES_H
#define PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct pages {
    uint64_t *keys; /* virtual page + 1 by hash, 0 where free */
    uint32_t *order;
    uint32_t capacity, count;
};

/* False where there is not enough memory on the host. */
bool pages_init(struct pages *pages);

/* The physical page of a virtual one. */
uint64_t pages_translate(struct pages *pages, uint64_t page);

#endif
