/* What the kernels of this folder have in common. They do one job, y[i] = 2 x[i] + 1 and
 * total += the sum of i: HONEST ones do it in ways that a launcher might get wrong, CHEATs sometimes
 * or for the check alone, and FOILED ones would do it once if the launcher did not take away what
 * they leave behind.
 *
 * Four programs of 250 elements each. The last argument chooses the kernel. */
#ifndef CHEATING_JOB_H
#define CHEATING_JOB_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1000, PROGRAMS = 4, PART = COUNT / PROGRAMS, FAR_BYTES = 40 << 20 };

/* The arguments; x and state are inputs, y is only written, total is read and written. */
struct job {
    float *x;
    float *y;
    int *state;      /* 16 of them, the first is 5 */
    int64_t *total;  /* one, which is 100 at first */
    uint32_t program;
};

#define HONEST(name) static void name(struct job job)
#define CHEAT(name) static void name(struct job job)
#define FOILED(name) static void name(struct job job)

static int runs; /* whole runs of the grid before this one */

static void add_up(struct job job) {
    for (int i = 0; i < PART; i++)
        *job.total += job.program * PART + i;
}

static void write_range(struct job job, int first, int last) {
    for (int i = first; i < last; i++)
        job.y[i] = 2 * job.x[i] + 1;
}

static void work(struct job job) {
    write_range(job, job.program * PART, job.program * PART + PART);
    add_up(job);
}

#endif
