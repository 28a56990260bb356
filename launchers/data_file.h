/* The data file: a kernel's arguments and the outputs expected of it. This comment is the one
 * definition of the format; data_file.py writes it and data_file.c reads it.
 *
 * All numbers are little-endian. A file is
 *   struct data_header
 *   struct data_argument, argument_count times, in the order of the kernel's parameters
 *   arrays, each at a multiple of 64 bytes from the start of the file, zeros between them
 * and every change to this layout raises DATA_VERSION. Arrays with the same bytes may be one. */
#ifndef TRITON_RVV_DATA_FILE_H
#define TRITON_RVV_DATA_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DATA_MAGIC "TRVVDATA" /* 8 bytes, without the NUL */
#define DATA_VERSION 5u
#define DATA_ALIGNMENT 64u
#define DATA_NAME_BYTES 56u

enum data_type {
    DATA_I1 = 0, /* one byte, 0 or 1 */
    DATA_I8 = 1,
    DATA_U8 = 2,
    DATA_I16 = 3,
    DATA_U16 = 4,
    DATA_I32 = 5,
    DATA_U32 = 6,
    DATA_I64 = 7,
    DATA_U64 = 8,
    DATA_FP16 = 9,
    DATA_BF16 = 10,
    DATA_FP32 = 11,
    DATA_FP64 = 12,
    DATA_FP8E4NV = 13, /* 4 bits of exponent, 3 of fraction, no infinity (OCP "E4M3") */
    DATA_FP8E5 = 14,   /* 5 bits of exponent, 2 of fraction (OCP "E5M2") */
    DATA_TYPE_COUNT = 15,
};

enum data_kind {
    KIND_SCALAR = 0,
    KIND_ARRAY = 1,
    KIND_CONSTANT = 2, /* an array that has to hold after a run what it held before */
    KIND_COUNT = 3,
};

/* Two sets of contents: the first is for the check before the timed runs, the second for those.
 * They differ in what outputs hold before a run and, as a rule, in the inputs. Integers are the same,
 * since code is made for them. */
enum data_set { DATA_CHECK, DATA_TIMED, DATA_SET_COUNT };

struct data_header {
    char magic[8];           /* DATA_MAGIC */
    uint32_t version;        /* DATA_VERSION */
    uint32_t argument_count; /* number of struct data_argument that follow */
    uint64_t size_bytes;     /* of the whole file */
};

/* Offsets of arrays in the file. */
struct data_contents {
    uint64_t value_offset;    /* contents before a run */
    uint64_t expected_offset; /* contents after one run; 0: an input */
    uint64_t slack_offset;    /* fp32, what each element may be off besides; 0: nothing */
};

struct data_argument {
    char name[DATA_NAME_BYTES]; /* ends in NUL, padded with NULs */
    uint32_t type;              /* enum data_type: of the scalar, or of the array's elements */
    uint32_t kind;              /* enum data_kind */
    uint64_t scalars[DATA_SET_COUNT]; /* a scalar's slot of triton_rvv_kernel's args; 0 for an array */
    uint64_t element_count;     /* elements of the array; 0 for a scalar */
    struct data_contents sets[DATA_SET_COUNT]; /* of the array; all 0 for a scalar */
    double atol; /* right where |output - expected| <= atol + slack + rtol * |expected| */
    double rtol;
};

/* An open data file. Its arrays are read where they are needed, so that what is expected does not
 * lie in memory while a kernel runs. */
struct data {
    const char *path;
    int descriptor;
    dev_t device; /* which file the descriptor is of */
    ino_t inode;
    uint32_t argument_count;
    const struct data_argument *arguments;
};

/* Bytes of one element. */
uint64_t data_type_size(uint32_t type);

/* Bytes of an argument's array. */
uint64_t data_array_bytes(const struct data_argument *argument);

/* Whether the kernel is to write this argument. */
static inline bool data_is_output(const struct data_argument *argument) {
    return argument->sets[DATA_CHECK].expected_offset != 0;
}

/* Whether an argument is an array that is no output and that no run may change. */
static inline bool data_is_constant(const struct data_argument *argument) {
    return argument->kind == KIND_CONSTANT && !data_is_output(argument);
}

/* Opens the file at `path`. NULL, or a sentence without a full stop that says what is wrong. */
const char *data_open(const char *path, struct data *data);

/* Whether the descriptor is still of the file that was opened. */
bool data_is_same(const struct data *data);

/* Reads a part of an array; ends the program with status 2 and a sentence where it cannot. */
void data_read(const struct data *data, uint64_t offset, void *buffer, uint64_t size_bytes);

#endif
