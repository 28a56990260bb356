/* Which variant a call takes: the shared part of the library with variants that do nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "pool.c"
#include "portions.c"
#include "runtime.c"

uint32_t tuned_machine_vlen = 256;
char tuned_machine_fault[1];
const uint32_t tuned_vlens[] = {256, 0};
const char *const tuned_extensions[TUNED_EXTENSIONS];

static int64_t programs; /* of the last call */

static void kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                   uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)args, (void)num_x, (void)num_y, (void)num_z;
    __atomic_fetch_add(&programs, 1 + (int64_t)pid_x + 100 * (int64_t)pid_y + 10000 * (int64_t)pid_z,
                       __ATOMIC_RELAXED);
}

/* The number of the variant, told by its grid. */
static void one(const int64_t *sizes, int64_t grid[3]) {
    (void)sizes, grid[0] = 1, grid[1] = 1, grid[2] = 1;
}
static void large(const int64_t *sizes, int64_t grid[3]) {
    (void)sizes, grid[0] = 7, grid[1] = 5, grid[2] = 3;
}

static int to_64(const int64_t *sizes) { return sizes[1] <= 64; }
static int to_256(const int64_t *sizes) { return 64 < sizes[1] && sizes[1] <= 256; }

static const struct tuned_variant variants[] = {
    {kernel, one, NULL, NULL, 128, {1, 1}, 1},
    {kernel, large, NULL, to_256, 256, {16, 256}, 1},
    {kernel, one, NULL, to_256, 256, {1024, 256}, 1},
    {kernel, one, NULL, to_64, 256, {16, 64}, 1},
    {kernel, large, NULL, to_64, 256, {1024, 64}, 1},
};
static const struct tuned_function function = {variants, 5, 2};

static const struct tuned_variant of_cores[] = {
    {kernel, one, NULL, NULL, 256, {64, 64}, 1},
    {kernel, large, NULL, NULL, 256, {64, 64}, 4},
};
static const struct tuned_function tuned_on_cores = {of_cores, 2, 2};

/* What was measured at 64 x 64 stands before code for any size. */
static int is_64(const int64_t *sizes) { return sizes[0] == 64 && sizes[1] == 64; }
static const struct tuned_variant with_measured[] = {
    {kernel, large, NULL, is_64, 256, {64, 64}, 1, 1},
    {kernel, one, NULL, NULL, 256, {64, 64}, 1},
};
static const struct tuned_function measured = {with_measured, 2, 2};

/* FUNCTION rows columns threads: prints the status, and what its programs added up to. */
int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const struct tuned_function *called = argv[1][0] == 'c' ? &tuned_on_cores : &function;
    int is_apart = argv[1][0] == 'a';
    if (argv[1][0] == 'm' || is_apart)
        called = &measured;
    const int64_t sizes[] = {atoll(argv[2]), atoll(argv[3])};
    const struct tuned_call call = {sizes, NULL, 0, NULL, atoi(argv[4]), is_apart};
    int status = tuned_run(called, &call);
    printf("%d %lld\n", status, (long long)programs);
    return 0;
}
