/* Calls of the library's shared part: serial work, and a grid whose programs only spin. */
#include <stdlib.h>

#include "pool.c"
#include "portions.c"
#include "runtime.c"

uint32_t tuned_machine_vlen = 256;
char tuned_machine_fault[1];
const uint32_t tuned_vlens[] = {256, 0};
const char *const tuned_extensions[TUNED_EXTENSIONS];

static void spin(int times) {
    for (int i = 0; i < times; i++)
        __asm__ volatile("");
}

static void kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                   uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)args, (void)pid_x, (void)pid_y, (void)pid_z, (void)num_x, (void)num_y, (void)num_z;
    spin(20000);
}

static void programs(const int64_t *sizes, int64_t grid[3]) {
    (void)sizes, grid[0] = 8, grid[1] = 1, grid[2] = 1;
}

/* THREADS CALLS */
int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    static const struct tuned_variant variant = {kernel, programs, NULL, NULL, 256, {1}, 1};
    static const struct tuned_function function = {&variant, 1, 1};
    const int64_t sizes[] = {1};
    const struct tuned_call call = {sizes, NULL, 0, NULL, atoi(argv[1]), 0};
    int status = 0;
    for (int i = 0; i < atoi(argv[2]); i++) {
        spin(160000);
        status |= tuned_run(&function, &call);
    }
    return status;
}
