/* Checks calls, chooses a variant for the sizes, and spreads its programs over threads. */
#include "runtime.h"

#include <stdlib.h>

#include "pool.h"
#include "portions.h"
#include "region.h"

#define MOST_ELEMENTS INT32_MAX /* kernels count elements in 32 bits */

/* A grid that several threads run, and whether one of them found too little memory. */
struct job {
    struct portions portions;
    int threads;
    int is_out_of_memory;
};

/* Memory for the blocks of the program that a thread runs, and the job it is for. */
static _Thread_local struct {
    void *memory;
    struct job *job;
} scratch;

/* As launchers/kernel_abi.h has it. A kernel asks for the same size in each program. */
TUNED_HIDDEN void *triton_rvv_scratch(uint64_t size_bytes) {
    if (scratch.memory == NULL)
        scratch.memory = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    if (scratch.memory == NULL)
        __atomic_store_n(&scratch.job->is_out_of_memory, 1, __ATOMIC_RELAXED);
    return scratch.memory;
}

/* As launchers/cores.h has it: kernels that add to memory need no atomic instructions then. */
TUNED_HIDDEN uint32_t triton_rvv_one_thread(void) { return scratch.job->threads == 1; }

static void run_programs(void *argument) {
    struct job *job = argument;
    scratch.job = job;
    portions_run(&job->portions);
    free(scratch.memory);
    scratch.memory = NULL;
}

/* For an emulator, which takes what one thread runs for the work of so many cores. */
static void run_in_turn(struct job *job) {
    scratch.job = job;
    for (int i = 0; i < job->threads; i++)
        TRITON_RVV_ONE_MORE_CORE();
    portions_run_in_turn(&job->portions);
    free(scratch.memory);
    scratch.memory = NULL;
}

static int thread_count(int asked) {
    if (asked > 0)
        return asked < POOL_MOST_THREADS ? asked : POOL_MOST_THREADS;
    const char *text = getenv("TUNED_THREADS");
    long count = text == NULL ? 1 : strtol(text, NULL, 10);
    return count < 1 ? 1 : count < POOL_MOST_THREADS ? (int)count : POOL_MOST_THREADS;
}

/* A size of which MOST_ELEMENTS + 1 stands for any larger one; two of them have a product. */
static int64_t limited(int64_t size) {
    return size > MOST_ELEMENTS ? MOST_ELEMENTS + INT64_C(1) : size;
}

/* The product of all sizes but the last, limited. A division takes dozens of cycles: none here. */
static int64_t row_count(const struct tuned_array *array) {
    int64_t rows = 1;
    for (int i = 0; i < TUNED_MOST_DIMENSIONS - 1; i++) {
        rows *= limited(array->shape[i]);
        rows = limited(rows);
    }
    return rows;
}

static int64_t column_count(const struct tuned_array *array) {
    return array->shape[TUNED_MOST_DIMENSIONS - 1];
}

/* Elements from the first to behind the last. */
static int64_t extent(const struct tuned_array *array) {
    int64_t rows = row_count(array), columns = column_count(array);
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * array->stride + columns;
}

/* An array of a call, and how many elements there are from its first to behind its last. */
struct checked {
    const struct tuned_array *array;
    int64_t extent;
};

/* Whether two arrays share an element. Two matrices may lie side by side in one larger matrix. */
static int overlap(const struct checked *first, const struct checked *second) {
    const struct tuned_array *one = first->array, *other = second->array;
    uintptr_t a = (uintptr_t)one->address, b = (uintptr_t)other->address;
    uintptr_t a_bytes = (uintptr_t)first->extent * one->element_bytes;
    uintptr_t b_bytes = (uintptr_t)second->extent * other->element_bytes;
    if (a_bytes == 0 || b_bytes == 0 || a + a_bytes <= b || b + b_bytes <= a)
        return 0;
    uintptr_t line = (uintptr_t)one->stride * one->element_bytes;
    if (line != (uintptr_t)other->stride * other->element_bytes)
        return 1;
    uintptr_t shift = a <= b ? (b - a) % line : (line - (a - b) % line) % line;
    uintptr_t a_row = (uintptr_t)column_count(one) * one->element_bytes;
    uintptr_t b_row = (uintptr_t)column_count(other) * other->element_bytes;
    return shift < a_row || shift + b_row > line;
}

static int check_array(const struct checked *checked) {
    const struct tuned_array *array = checked->array;
    if (array->stride < column_count(array))
        return TUNED_BAD_STRIDE;
    if (array->stride > MOST_ELEMENTS || checked->extent > MOST_ELEMENTS)
        return TUNED_TOO_LARGE;
    return array->address == NULL && checked->extent != 0 ? TUNED_NULL_ARRAY : TUNED_OK;
}

/* The status of a call's arrays, and whether there is nothing to do: no written one has elements. */
static int check_arrays(const struct tuned_call *call, int *is_empty) {
    size_t count = call->array_count;
    struct checked checked[count];
    for (size_t i = 0; i < count; i++) {
        checked[i] = (struct checked){&call->arrays[i], extent(&call->arrays[i])};
        int status = check_array(&checked[i]);
        if (status != TUNED_OK)
            return status;
    }
    int written = 0, elements = 0;
    for (size_t i = 0; i < count; i++) {
        if (!call->arrays[i].written)
            continue;
        written = 1;
        elements |= checked[i].extent != 0;
        for (size_t j = 0; j < count; j++)
            if (i != j && overlap(&checked[i], &checked[j]))
                return TUNED_OVERLAP;
    }
    *is_empty = written && !elements;
    return TUNED_OK;
}

/* The factor between two shapes, the product of the ratios of their sizes, each 1 or more; as a
 * fraction, since a division takes longer than all else of it. */
struct distance {
    double above, below;
};

static struct distance with_sizes(struct distance found, const int64_t *sizes, const int64_t *shape,
                                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t size = sizes[i] > 0 ? sizes[i] : 1;
        found.above *= (double)(size > shape[i] ? size : shape[i]);
        found.below *= (double)(size > shape[i] ? shape[i] : size);
    }
    return found;
}

static int is_less(struct distance one, struct distance other) {
    return one.above * other.below < other.above * one.below;
}

/* Of the variants that are right for the sizes, the one that was tuned nearest, where the number of
 * cores counts as a size; the first of several. */
static const struct tuned_variant *choose(const struct tuned_function *function,
                                          const struct tuned_call *call, int64_t threads) {
    const int64_t *sizes = call->sizes;
    const struct tuned_variant *best = NULL;
    struct distance best_distance = {1, 1};
    for (size_t i = 0; i < function->variant_count; i++) {
        const struct tuned_variant *variant = &function->variants[i];
        if (variant->vlen_bits != tuned_machine_vlen)
            continue;
        if (variant->for_rows_together && call->rows_apart)
            continue;
        if (variant->is_right != NULL && !variant->is_right(sizes))
            continue;
        struct distance away = with_sizes((struct distance){1, 1}, &threads, &variant->cores, 1);
        away = with_sizes(away, sizes, variant->shape, function->size_count);
        if (best == NULL || is_less(away, best_distance)) {
            best = variant;
            best_distance = away;
        }
    }
    return best;
}

/* Runs a grid; threads that have nothing to do are not called. */
static int run_grid(const struct tuned_variant *variant, const uint64_t *args,
                    const uint32_t grid[3], int threads) {
    uint64_t programs = (uint64_t)grid[0] * grid[1] * grid[2];
    if (programs == 0)
        return TUNED_OK;
    if ((uint64_t)threads > programs)
        threads = (int)programs;
    struct job job = {portions_of(variant->kernel, args, grid, (uint32_t)threads), threads, 0};
    if (threads > 1 && getenv("TUNED_IN_TURN") != NULL)
        run_in_turn(&job);
    else
        pool_run(run_programs, &job, threads);
    return job.is_out_of_memory ? TUNED_OUT_OF_MEMORY : TUNED_OK;
}

/* Runs a grid with its rooms; they are zeros again for each call. */
static int run_with_rooms(const struct tuned_function *function, const struct tuned_call *call,
                          const struct tuned_variant *variant, const uint32_t grid[3],
                          int threads) {
    int64_t elements[TUNED_MOST_ROOMS];
    void *rooms[TUNED_MOST_ROOMS];
    int status = TUNED_OK;
    if (function->room_count > 0)
        variant->rooms(call->sizes, elements);
    for (size_t i = 0; i < function->room_count; i++) {
        rooms[i] = calloc((size_t)elements[i], function->rooms[i].element_bytes);
        if (rooms[i] == NULL && elements[i] > 0)
            status = TUNED_OUT_OF_MEMORY;
        call->args[function->rooms[i].slot] = (uint64_t)(uintptr_t)rooms[i];
    }
    if (status == TUNED_OK)
        status = run_grid(variant, call->args, grid, threads);
    for (size_t i = 0; i < function->room_count; i++)
        free(rooms[i]);
    return status;
}

int tuned_run(const struct tuned_function *function, const struct tuned_call *call) {
    if (tuned_machine_vlen == 0)
        return TUNED_WRONG_MACHINE;
    int is_empty, status = check_arrays(call, &is_empty);
    if (status != TUNED_OK || is_empty)
        return status;
    int threads = thread_count(call->threads);
    const struct tuned_variant *variant = choose(function, call, threads);
    if (variant == NULL)
        return TUNED_NO_CODE;
    int64_t sizes[3];
    uint32_t grid[3];
    variant->grid(call->sizes, sizes);
    for (int i = 0; i < 3; i++) {
        if (sizes[i] > UINT32_MAX)
            return TUNED_TOO_LARGE;
        grid[i] = (uint32_t)sizes[i];
    }
    return run_with_rooms(function, call, variant, grid, threads);
}

int tuned_status(void) { return tuned_machine_vlen == 0 ? TUNED_WRONG_MACHINE : TUNED_OK; }

const char *tuned_message(int status) {
    switch (status) {
    case TUNED_OK:
        return "no error";
    case TUNED_WRONG_MACHINE:
        return tuned_machine_fault;
    case TUNED_BAD_SIZE:
        return "a size is negative, or no multiple of what tuned.h says";
    case TUNED_BAD_STRIDE:
        return "a stride is less than the columns of its array";
    case TUNED_NULL_ARRAY:
        return "an array that has elements is NULL";
    case TUNED_TOO_LARGE:
        return "an array has more than 2147483647 elements";
    case TUNED_OVERLAP:
        return "an array that is written shares elements with another one";
    case TUNED_NO_CODE:
        return "the library has no code for these sizes: tuned.h says for which it has";
    case TUNED_OUT_OF_MEMORY:
        return "there is too little memory for the kernel's blocks; the results are incomplete";
    default:
        return "no status of this library";
    }
}
