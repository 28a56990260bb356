/* The memory that a kernel works on: each array between two guards that nobody may touch. */
#ifndef TRITON_RVV_ARENA_H
#define TRITON_RVV_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "data_file.h"

/* An access outside an array, as far as it can be told: addresses do not say what was meant. */
struct arena_violation {
    const struct data_argument *argument; /* the nearest array; NULL: there was no such access */
    int64_t index; /* of the element, counted in the flattened array: negative, or past its end */
};

/* Lays out guards and room for every array, without contents, and says from now on which access
 * to a guard ended the program. NULL, or a sentence that says why there is no memory. */
const char *arena_create(const struct data *data);

/* Does that for the thread that calls it, as for the one that made the arena: each needs a stack of
 * its own for it. NULL, or a sentence that says why not. */
const char *arena_watch_faults(void);

/* Gives every array its contents before a run. For the check, arrays end at a guard as nearly as
 * their alignment to 64 bytes allows; for the timed runs, they begin at one. The bytes that are
 * left between an array and its guards are filled with one value, which differs in the two. */
void arena_load(enum data_set set);

/* Reads a byte of each 64 of every array. An emulator does not see the system write their contents,
 * which warms the caches of a real core; and those of the timed runs do not lie where the check has
 * left them. */
void arena_touch(void);

/* Gives the arrays that the kernel may have written their contents again. The others cannot be
 * written: the first attempt makes an input one of those that are given back. */
void arena_restore(void);

/* The first write found between an array and its guards since `arena_load`. */
struct arena_violation arena_check(void);

/* Whether the kernel has written an argument's array, or is to. */
bool arena_is_written(uint32_t argument);

/* Remembers what a run has left in the arrays that are no outputs and that it wrote. False where there
 * is too little memory. */
bool arena_keep(void);

/* What was remembered of an argument's array, NULL for nothing. */
const void *arena_kept(uint32_t argument);

/* args of triton_rvv_kernel: scalars, and addresses at multiples of 64 bytes. A kernel that writes to
 * them ends the program, with a sentence. */
const uint64_t *arena_args(void);

/* The byte between arrays and guards. */
unsigned char arena_filler(enum data_set set);

#endif
