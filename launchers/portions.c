#include "portions.h"

#include "region.h"

#define PORTIONS_PER_CORE 16u /* so that no core waits long for the last one */

struct portions portions_of(portions_kernel *kernel, const uint64_t *args, const uint32_t grid[3],
                            uint32_t cores) {
    uint64_t programs = (uint64_t)grid[0] * grid[1] * grid[2];
    uint64_t size = cores == 1 ? programs : programs / PORTIONS_PER_CORE / cores;
    return (struct portions){
        .kernel = kernel,
        .args = args,
        .grid = {grid[0], grid[1], grid[2]},
        .programs = programs,
        .size = size > 0 ? size : 1,
    };
}

/* The first program of the next portion. */
static uint64_t take_portion(struct portions *portions) {
    return __atomic_fetch_add(&portions->next, portions->size, __ATOMIC_RELAXED);
}

/* The same where an emulator chooses the core. Out of line, so that the mark stands once. */
__attribute__((noinline)) static uint64_t mark_portion(struct portions *portions) {
    TRITON_RVV_NEXT_PORTION();
    return take_portion(portions);
}

__attribute__((always_inline)) static inline void run(struct portions *portions,
                                                      uint64_t (*take)(struct portions *)) {
    uint32_t num_x = portions->grid[0], num_y = portions->grid[1], num_z = portions->grid[2];
    uint64_t first;
    while ((first = take(portions)) < portions->programs) {
        uint64_t left = portions->programs - first;
        uint64_t end = first + (left < portions->size ? left : portions->size);
        uint32_t x = (uint32_t)(first % num_x), y = (uint32_t)(first / num_x % num_y);
        uint32_t z = (uint32_t)(first / num_x / num_y);
        for (uint64_t i = first; i < end; i++) { /* a division takes dozens of cycles */
            portions->kernel(portions->args, x, y, z, num_x, num_y, num_z);
            if (++x < num_x)
                continue;
            x = 0;
            if (++y < num_y)
                continue;
            y = 0, z++;
        }
    }
}

void portions_run(struct portions *portions) { run(portions, take_portion); }

void portions_run_in_turn(struct portions *portions) {
    run(portions, mark_portion);
    TRITON_RVV_ALL_PORTIONS();
}
