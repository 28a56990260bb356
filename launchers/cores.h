/* Several cores for a grid: a thread for each, bound to it, which waits between two runs. */
#ifndef TRITON_RVV_CORES_H
#define TRITON_RVV_CORES_H

#include <stdbool.h>
#include <stdint.h>

enum { CORES_MOST = 64 };

/* Starts a thread on each of the last `count` processors that this process may use. With `in_turn`,
 * no thread: one core then runs the portions of all, one after another, and an emulator takes each for
 * the portion of another core. NULL, or a sentence that says what is missing. */
const char *cores_start(uint32_t count, bool in_turn);

/* How many there are; 0 where the grid runs on the thread that asks. */
uint32_t cores_count(void);

/* Runs the grid on all cores. */
void cores_run(const uint32_t grid[3]);

/* The same, timed: nanoseconds from when the last of them was ready until the last was done. */
uint64_t cores_time_ns(const uint32_t grid[3]);

/* 1 where the grid runs on the thread that asks, and 0 where it has several: kernels ask, which then
 * need no atomic instructions. */
uint32_t triton_rvv_one_thread(void);

/* The core that asks, counted from 0; outside of a run, 0. */
uint32_t cores_own(void);

#endif
