/* Where the launcher puts what a kernel uses: arrays, arguments, stack, large blocks, and what is read
 * to empty caches. The addresses are the same in every run, whatever the launcher's own code, stack
 * and heap, the environment and the system's choice of random addresses. So caches and predictors
 * that go by address treat one kernel alike in two runs, and under two launchers. */
#ifndef TRITON_RVV_PLACES_H
#define TRITON_RVV_PLACES_H

#include <stdbool.h>
#include <stddef.h>

enum place { PLACE_STACK, PLACE_ARGUMENTS, PLACE_SCRATCH, PLACE_FLUSH, PLACE_ARENA };

/* Memory at this place, or elsewhere if something lies there already. `access` is as for mmap. NULL
 * where there is too little. */
void *place_memory(enum place place, size_t size_bytes, int access);

/* Make the stack for place_call; false where there is too little memory. */
bool place_stack(void);

/* Call a function on the stack at its place; on other machines than RISC-V, on the caller's. */
void place_call(void (*function)(const void *), const void *argument);

#endif
