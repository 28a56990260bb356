#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_integer(uint32_t type) { return type <= DATA_U64; }

/* Wide enough for every type from i64 to u64. */
static __int128 load_integer(uint32_t type, const void *array, uint64_t index) {
    switch (type) {
    case DATA_I8:
        return ((const int8_t *)array)[index];
    case DATA_I16:
        return ((const int16_t *)array)[index];
    case DATA_U16:
        return ((const uint16_t *)array)[index];
    case DATA_I32:
        return ((const int32_t *)array)[index];
    case DATA_U32:
        return ((const uint32_t *)array)[index];
    case DATA_I64:
        return ((const int64_t *)array)[index];
    case DATA_U64:
        return ((const uint64_t *)array)[index];
    default: /* DATA_I1, DATA_U8 */
        return ((const uint8_t *)array)[index];
    }
}

/* OCP 8-bit floating point specification 1.0, "E4M3": bias 7, and all ones is its only NaN. */
static double fp8e4nv_value(uint8_t bits) {
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 0x7f) == 0x7f)
        return (double)NAN;
    double size = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return bits & 0x80 ? -size : size;
}

static double load_float(uint32_t type, const void *array, uint64_t index) {
    switch (type) {
    case DATA_FP16:
        return (double)((const _Float16 *)array)[index];
    case DATA_BF16: { /* the upper half of an fp32 */
        uint32_t bits = (uint32_t)((const uint16_t *)array)[index] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    case DATA_FP32:
        return ((const float *)array)[index];
    case DATA_FP8E4NV:
        return fp8e4nv_value(((const uint8_t *)array)[index]);
    case DATA_FP8E5: { /* the upper half of an fp16 */
        uint16_t bits = (uint16_t)(((const uint8_t *)array)[index] << 8);
        _Float16 value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    default: /* DATA_FP64 */
        return ((const double *)array)[index];
    }
}

/* Stores quiet NaN or, where that would pass, zero. */
static void poison_float(uint32_t type, const void *expected, void *buffer, uint64_t index) {
    bool zero = isnan(load_float(type, expected, index));
    switch (type) {
    case DATA_FP16:
        ((uint16_t *)buffer)[index] = zero ? 0 : 0x7e00;
        break;
    case DATA_BF16:
        ((uint16_t *)buffer)[index] = zero ? 0 : 0x7fc0;
        break;
    case DATA_FP32:
        ((float *)buffer)[index] = zero ? 0 : NAN;
        break;
    case DATA_FP8E4NV:
        ((uint8_t *)buffer)[index] = zero ? 0 : 0x7f;
        break;
    case DATA_FP8E5:
        ((uint8_t *)buffer)[index] = zero ? 0 : 0x7e;
        break;
    default: /* DATA_FP64 */
        ((double *)buffer)[index] = zero ? 0 : (double)NAN;
        break;
    }
}

void check_poison(const struct data_argument *argument, const void *expected, void *buffer) {
    if (!is_integer(argument->type)) {
        for (uint64_t i = 0; i < argument->element_count; i++)
            poison_float(argument->type, expected, buffer, i);
        return;
    }
    uint64_t element_bytes = data_type_size(argument->type);
    memcpy(buffer, expected, argument->element_count * element_bytes);
    for (uint64_t i = 0; i < argument->element_count; i++)
        ((uint8_t *)buffer)[i * element_bytes + element_bytes - 1] ^= 0x80;
}

/* |got - expected|, infinite where the two are not both finite and differ. */
static double float_error(double got, double expected) {
    if (isfinite(got) && isfinite(expected))
        return fabs(got - expected);
    bool same = got == expected || (isnan(got) && isnan(expected));
    return same ? 0.0 : INFINITY;
}

static double integer_error(__int128 got, __int128 expected) {
    return (double)(got > expected ? got - expected : expected - got);
}

static void check_output(const struct data_argument *argument, const void *got,
                         const void *expected, struct check_result *result) {
    uint32_t type = argument->type;
    for (uint64_t i = 0; i < argument->element_count; i++) {
        double error;
        double reference;
        if (is_integer(type)) {
            __int128 exact = load_integer(type, expected, i);
            error = integer_error(load_integer(type, got, i), exact);
            reference = (double)exact;
        } else {
            reference = load_float(type, expected, i);
            error = float_error(load_float(type, got, i), reference);
        }
        if (error > result->max_abs_error)
            result->max_abs_error = error;
        /* An infinite error is wrong even where an infinite reference makes the tolerance so. */
        double tolerance = argument->atol + argument->rtol * fabs(reference);
        bool right = error == 0.0 || (isfinite(error) && error <= tolerance);
        if (!right && result->wrong == NULL) {
            result->wrong = argument;
            result->wrong_got = got;
            result->wrong_expected = expected;
            result->wrong_index = i;
        }
    }
}

struct check_result check_outputs(const struct data *data) {
    struct check_result result = {0};
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (data->expected[i] != NULL)
            check_output(&data->arguments[i], (const void *)(uintptr_t)data->slots[i],
                         data->expected[i], &result);
    return result;
}

static void print_element(const char *label, uint32_t type, const void *array, uint64_t index) {
    if (!is_integer(type))
        printf(" %s=%.9g", label, load_float(type, array, index));
    else if (type == DATA_U64)
        printf(" %s=%" PRIu64, label, (uint64_t)load_integer(type, array, index));
    else
        printf(" %s=%" PRId64, label, (int64_t)load_integer(type, array, index));
}

void check_print(const struct check_result *result) {
    if (result->wrong == NULL) {
        printf("out OK max_abs_error=%.6g\n", result->max_abs_error);
        return;
    }
    printf("out NOT OK max_abs_error=%.6g argument=%s index=%" PRIu64, result->max_abs_error,
           result->wrong->name, result->wrong_index);
    print_element("got", result->wrong->type, result->wrong_got, result->wrong_index);
    print_element("expected", result->wrong->type, result->wrong_expected, result->wrong_index);
    printf("\n");
}
