/* The clock and the core that a kernel sees while it is measured, the same on every board: what it makes
 * of them is right or wrong everywhere. */
#ifndef TRITON_RVV_CLOCK_H
#define TRITON_RVV_CLOCK_H

#include <time.h>

/* Before a run of the grid: sets the clock to zero, and the number of the core. */
void clock_restart(int core);

/* In place of clock_gettime, for a kernel: the clock goes on by a microsecond at each reading. */
int triton_rvv_clock(clockid_t clock, struct timespec *time);

/* In place of sched_getcpu, for a kernel: the number of the core. */
int triton_rvv_core(void);

#endif
