/* Compares a kernel's outputs with what is expected of them. */
#ifndef TRITON_RVV_CHECK_H
#define TRITON_RVV_CHECK_H

#include "data_file.h"

/* How far the outputs are from what is expected, and the first element that is wrong. */
struct check_result {
    double max_abs_error; /* infinite where an element is NaN or infinite and should not be */
    const struct data_argument *wrong; /* NULL where every output is right; else the argument, */
    const void *wrong_got;             /* its array after the run, */
    const void *wrong_expected;        /* what that should be, */
    uint64_t wrong_index;              /* and the element, counted in the flattened array */
};

/* Fills `buffer`, an output that the kernel only writes, so that no element of it would pass:
 * floating point with NaN (zero where NaN is expected), integers with the highest bit inverted. */
void check_poison(const struct data_argument *argument, const void *expected, void *buffer);

/* Compares all outputs. */
struct check_result check_outputs(const struct data *data);

/* Prints the line "out OK ..." or "out NOT OK ...", integers in decimal and others as %.9g. */
void check_print(const struct check_result *result);

#endif
