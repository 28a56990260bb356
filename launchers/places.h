/* Where the launcher puts what a kernel uses: arrays, arguments, stack, large blocks, and what is read
 * to empty caches. The addresses are the same in every run, whatever the launcher's own code, stack
 * and heap, the environment and the system's choice of random addresses. So caches and predictors
 * that go by address treat one kernel alike in two runs, and under two launchers. */
#ifndef TRITON_RVV_PLACES_H
#define TRITON_RVV_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place { PLACE_STACK, PLACE_ARGUMENTS, PLACE_SCRATCH, PLACE_FLUSH, PLACE_ARENA };

/* Stacks and large blocks of neighbouring cores lie so far apart. */
#define PLACE_CORE_STRIDE (UINT64_C(64) << 20)

/* Memory at this place, for a core of several, or elsewhere if something lies there already. `access` is as for mmap. NULL
 * where there is too little. */
void *place_memory(enum place place, uint32_t core, size_t size_bytes, int access);

/* Make a core's stack for place_call; false where there is too little memory. */
bool place_stack(uint32_t core);

/* Call a function on the first core's stack at its place; on other machines than RISC-V, on the
 * caller's. */
void place_call(void (*function)(const void *), const void *argument);

/* The same on the stack of any core. */
void place_call_on(uint32_t core, void (*function)(const void *), const void *argument);

#endif
