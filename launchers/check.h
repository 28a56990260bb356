/* Compares a kernel's outputs with what is expected of them. */
#ifndef TRITON_RVV_CHECK_H
#define TRITON_RVV_CHECK_H

#include "data_file.h"

#define CHECK_NUMBER_BYTES 48

/* How far the outputs are from what is expected, and the first element that is wrong. */
struct check_result {
    double max_abs_error; /* infinite where an element is NaN or infinite and should not be */
    double max_share;     /* the largest part of its tolerance that an element is off by */
    const struct data_argument *wrong; /* NULL where every output is right; else the argument, */
    uint64_t wrong_index;              /* the element, counted in the flattened array, */
    uint64_t wrong_count;              /* how many of the argument's are wrong, */
    char wrong_got[CHECK_NUMBER_BYTES]; /* what it is: integers in decimal, others as %.9g, */
    char wrong_expected[CHECK_NUMBER_BYTES]; /* and what it should be */
};

/* Compares all outputs, whose addresses are in `args`, with what a set expects, and inputs that may not
 * be changed and were written with what they held before. */
struct check_result check_outputs(const struct data *data, enum data_set set, const uint64_t *args);

/* The same of those elements that do not hold what they held before the run; and of other arrays, those
 * that hold neither that nor what was kept of a whole run. */
struct check_result check_written(const struct data *data, enum data_set set, const uint64_t *args);

/* A digest of the bits of all outputs. */
uint64_t check_digest(const struct data *data, const uint64_t *args);

#endif
