/* What the functions of the library have in common; no part of its interface. */
#ifndef TUNED_RUNTIME_H
#define TUNED_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "tuned.h"

#define TUNED_MOST_SIZES 16     /* of a call */
#define TUNED_MOST_DIMENSIONS 4 /* of an array */
#define TUNED_MOST_ROOMS 4
#define TUNED_HIDDEN __attribute__((visibility("hidden")))

/* Runs one program of a grid, as triton_rvv_kernel of launchers/kernel_abi.h. */
typedef void tuned_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                          uint32_t num_x, uint32_t num_y, uint32_t num_z);

/* A configuration's code, and when it is taken. */
struct tuned_variant {
    tuned_kernel *kernel;
    void (*grid)(const int64_t *sizes, int64_t grid[3]); /* programs along x, y and z */
    void (*rooms)(const int64_t *sizes, int64_t *elements); /* of each of the function's rooms */
    int (*is_right)(const int64_t *sizes);               /* whether its code is; NULL: for any */
    uint32_t vlen_bits;
    int64_t shape[TUNED_MOST_SIZES]; /* where it was tuned */
    int64_t cores;                    /* and on how many */
    int for_rows_together;            /* whether its code is wrong where a caller sets rows apart */
};

/* Memory of zeros for the time of a call, whose address is the argument in this slot. */
struct tuned_room {
    size_t slot;
    size_t element_bytes;
};

struct tuned_function {
    const struct tuned_variant *variants;
    size_t variant_count;
    size_t size_count;
    const struct tuned_room *rooms;
    size_t room_count; /* TUNED_MOST_ROOMS or less */
};

/* An array of a call. Of its sizes the last are the columns, ones stand in front of fewer; the
 * starts of its rows are `stride` elements apart. */
struct tuned_array {
    const void *address;
    size_t element_bytes;
    int64_t shape[TUNED_MOST_DIMENSIONS];
    int64_t stride;
    int written;
};

/* A call: its arguments for the kernel, without its rooms, and what has to be checked of it. */
struct tuned_call {
    const int64_t *sizes;
    const struct tuned_array *arrays;
    size_t array_count;
    uint64_t *args;
    int threads;
    int rows_apart; /* whether a stride is more than the columns */
};

/* An extension beyond rv64gcv that the library's code uses: an instruction of it that changes
 * nothing is tried when the program is loaded. */
enum tuned_extension { TUNED_ZBA, TUNED_ZBB, TUNED_ZBS, TUNED_ZFH, TUNED_ZICOND, TUNED_EXTENSIONS };

/* In the generated library.c: the vector lengths in bits, ending in 0, and for each extension its
 * name if the code uses it. */
TUNED_HIDDEN extern const uint32_t tuned_vlens[];
TUNED_HIDDEN extern const char *const tuned_extensions[TUNED_EXTENSIONS];

/* Checks a call, chooses the variant, and runs its grid; returns the status for the caller. */
TUNED_HIDDEN int tuned_run(const struct tuned_function *function, const struct tuned_call *call);

/* The machine's vector length in bits; 0 where it cannot run the library's code. */
TUNED_HIDDEN extern uint32_t tuned_machine_vlen;

/* Why it cannot. */
TUNED_HIDDEN extern char tuned_machine_fault[];

/* Whether a size may be one: TUNED_OK or a status. Kernels take sizes in 32 bits. */
static inline int tuned_check_size(int64_t size, int64_t multiple_of) {
    if (size < 0 || size % multiple_of != 0)
        return TUNED_BAD_SIZE;
    return size > INT32_MAX ? TUNED_TOO_LARGE : TUNED_OK;
}

static inline int64_t tuned_largest(int64_t one, int64_t other) { return one > other ? one : other; }

static inline int64_t tuned_smallest(int64_t one, int64_t other) {
    return one < other ? one : other;
}

/* A quotient, rounded down; 0 where there is none. */
static inline int64_t tuned_floor_quotient(int64_t dividend, int64_t divisor) {
    if (divisor == 0)
        return 0;
    int64_t quotient = dividend / divisor;
    return dividend % divisor != 0 && (dividend < 0) != (divisor < 0) ? quotient - 1 : quotient;
}

static inline int64_t tuned_floor_remainder(int64_t dividend, int64_t divisor) {
    return dividend - tuned_floor_quotient(dividend, divisor) * divisor;
}

/* The least power of two that is no less than a size; 0 for sizes below 1. */
static inline int64_t tuned_power_above(int64_t size) {
    if (size < 1)
        return 0;
    int64_t power = 1;
    while (power < size)
        power *= 2;
    return power;
}

/* An fp32 as a kernel's argument. */
static inline uint64_t tuned_fp32_slot(float value) {
    union {
        float value;
        uint32_t bits;
    } slot = {value};
    return slot.bits;
}

#endif
