/* A grid whose programs several cores run: each takes the next portion when it is done with its last
 * one. The launcher and the C library share it. */
#ifndef TRITON_RVV_PORTIONS_H
#define TRITON_RVV_PORTIONS_H

#include <stdint.h>

/* Runs one program of a grid, as triton_rvv_kernel of kernel_abi.h. */
typedef void portions_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                             uint32_t num_x, uint32_t num_y, uint32_t num_z);

struct portions {
    portions_kernel *kernel;
    const uint64_t *args;
    uint32_t grid[3];
    uint64_t programs;
    uint64_t size; /* programs of a portion */
    uint64_t next; /* the first program that no core has taken */
};

/* The programs of a kernel's grid, x fastest, in portions for so many cores. */
struct portions portions_of(portions_kernel *kernel, const uint64_t *args, const uint32_t grid[3],
                            uint32_t cores) __attribute__((visibility("hidden")));

/* Takes portions and runs their programs until none is left; on each core at once. */
void portions_run(struct portions *portions) __attribute__((visibility("hidden")));

/* The same for all cores on one thread, for an emulator. */
void portions_run_in_turn(struct portions *portions) __attribute__((visibility("hidden")));

#endif
