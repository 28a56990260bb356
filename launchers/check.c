#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"

/* Expected contents are read in parts of this many elements, so that little of them is ever in
 * memory, and none while the kernel runs. */
#define PART_ELEMENTS 4096

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

__attribute__((always_inline)) static inline double load_float(uint32_t type, const void *array, uint64_t index) {
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

/* |got - expected|, infinite where the two are not both finite and differ. */
static inline double float_error(double got, double expected) {
    if (isfinite(got) && isfinite(expected))
        return fabs(got - expected);
    bool same = got == expected || (isnan(got) && isnan(expected));
    return same ? 0.0 : INFINITY;
}

static double integer_error(__int128 got, __int128 expected) {
    return (double)(got > expected ? got - expected : expected - got);
}

/* A run of elements of one output. */
struct part {
    const struct data_argument *argument;
    const void *got;
    const void *expected;
    const float *slack; /* NULL for none */
    const void *start;  /* before the run, where elements that still hold it do not count; or NULL */
    uint64_t first;     /* the first element's number in the output */
    uint64_t count;
};

static void format_number(char *text, uint32_t type, const void *array, uint64_t index) {
    if (!is_integer(type))
        snprintf(text, CHECK_NUMBER_BYTES, "%.9g", load_float(type, array, index));
    else if (type == DATA_U64)
        snprintf(text, CHECK_NUMBER_BYTES, "%" PRIu64, (uint64_t)load_integer(type, array, index));
    else
        snprintf(text, CHECK_NUMBER_BYTES, "%" PRId64, (int64_t)load_integer(type, array, index));
}

static bool is_untouched(const struct part *part, uint64_t i) {
    uint64_t element_bytes = data_type_size(part->argument->type), at = i * element_bytes;
    return part->start != NULL &&
           memcmp((const char *)part->got + at, (const char *)part->start + at, element_bytes) == 0;
}

static void judge(const struct part *part, uint64_t i, double error, double reference,
                  struct check_result *result) {
    const struct data_argument *argument = part->argument;
    if (is_untouched(part, i))
        return;
    if (error > result->max_abs_error)
        result->max_abs_error = error;
    /* An infinite error is wrong even where an infinite reference makes the tolerance so. */
    double tolerance = argument->atol + argument->rtol * fabs(reference);
    if (part->slack != NULL)
        tolerance += (double)part->slack[i];
    if (error > tolerance * result->max_share) /* never where both are zero */
        result->max_share = error / tolerance;
    if (error == 0.0 || (isfinite(error) && error <= tolerance))
        return;
    if (result->wrong == NULL) {
        result->wrong = argument;
        result->wrong_index = part->first + i;
        format_number(result->wrong_got, argument->type, part->got, i);
        format_number(result->wrong_expected, argument->type, part->expected, i);
    }
    if (result->wrong == argument)
        result->wrong_count++;
}

static void check_integers(const struct part *part, struct check_result *result) {
    uint32_t type = part->argument->type;
    for (uint64_t i = 0; i < part->count; i++) {
        __int128 exact = load_integer(type, part->expected, i);
        double error = integer_error(load_integer(type, part->got, i), exact);
        judge(part, i, error, (double)exact, result);
    }
}

/* Inlined for each type, since this is most of the time that a check takes. */
__attribute__((always_inline)) static inline void
check_floats(uint32_t type, const struct part *part, struct check_result *result) {
    for (uint64_t i = 0; i < part->count; i++) {
        double reference = load_float(type, part->expected, i);
        double error = float_error(load_float(type, part->got, i), reference);
        if (error != 0.0)
            judge(part, i, error, reference, result);
    }
}

/* By words, since the C library's own goes byte by byte. Inlined, so that a processor may take
 * several at once. */
static inline bool is_same(const void *one, const void *other, uint64_t size_bytes) {
    const char *a = one, *b = other;
    uint64_t difference = 0, at = 0;
    for (; at + sizeof difference <= size_bytes; at += sizeof difference) {
        uint64_t words[2];
        memcpy(&words[0], a + at, sizeof words[0]);
        memcpy(&words[1], b + at, sizeof words[1]);
        difference |= words[0] ^ words[1];
    }
    for (; at < size_bytes; at++)
        difference |= (uint64_t)(a[at] ^ b[at]);
    return difference == 0;
}

static void check_part(const struct part *part, struct check_result *result) {
    uint32_t type = part->argument->type;
    if (is_same(part->got, part->expected, part->count * data_type_size(type)))
        return;
    if (is_integer(type))
        check_integers(part, result);
    else if (type == DATA_FP32)
        check_floats(DATA_FP32, part, result);
    else if (type == DATA_FP64)
        check_floats(DATA_FP64, part, result);
    else
        check_floats(type, part, result);
}

static uint64_t expected_part[PART_ELEMENTS];
static float slack_part[PART_ELEMENTS];
static uint64_t start_part[PART_ELEMENTS];

/* Whether the contents of an array count: it is an output, or may not be changed and was written. */
static bool is_checked(const struct data *data, uint32_t argument) {
    return data_is_output(&data->arguments[argument]) ||
           (data_is_constant(&data->arguments[argument]) && arena_is_written(argument));
}

/* The elements of one array, by parts.
 *
 * kept: what is expected, or NULL where the file says it: of an input, its contents before the run.
 * written_alone: whether elements that hold what they held before the run do not count. */
static void check_array(const struct data *data, const struct data_argument *argument,
                        enum data_set set, const char *kept, bool written_alone, const char *got,
                        struct check_result *result) {
    uint64_t element_bytes = data_type_size(argument->type);
    const struct data_contents *contents = &argument->sets[set];
    uint64_t expected_offset =
        data_is_output(argument) ? contents->expected_offset : contents->value_offset;
    bool has_slack = contents->slack_offset != 0;
    for (uint64_t first = 0; first < argument->element_count; first += PART_ELEMENTS) {
        uint64_t left = argument->element_count - first, at = first * element_bytes;
        uint64_t count = left < PART_ELEMENTS ? left : PART_ELEMENTS;
        struct part part = {.argument = argument,
                            .got = got + at,
                            .expected = kept == NULL ? (const void *)expected_part : kept + at,
                            .slack = has_slack ? slack_part : NULL,
                            .start = written_alone ? start_part : NULL,
                            .first = first,
                            .count = count};
        if (written_alone) {
            data_read(data, contents->value_offset + at, start_part, count * element_bytes);
            if (is_same(part.got, start_part, count * element_bytes))
                continue;
        }
        if (kept == NULL)
            data_read(data, expected_offset + at, expected_part, count * element_bytes);
        if (has_slack)
            data_read(data, contents->slack_offset + first * sizeof(float), slack_part,
                      count * sizeof(float));
        check_part(&part, result);
    }
    memset(expected_part, 0, sizeof expected_part);
}

struct check_result check_outputs(const struct data *data, enum data_set set,
                                  const uint64_t *args) {
    struct check_result result = {0};
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (is_checked(data, i))
            check_array(data, &data->arguments[i], set, NULL, false,
                        (const char *)(uintptr_t)args[i], &result);
    return result;
}

struct check_result check_written(const struct data *data, enum data_set set,
                                  const uint64_t *args) {
    struct check_result result = {0};
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (is_checked(data, i) || arena_kept(i) != NULL)
            check_array(data, &data->arguments[i], set, arena_kept(i), true,
                        (const char *)(uintptr_t)args[i], &result);
    return result;
}

/* FNV-1a, with words in place of bytes and a shift that carries high bits down. */
static uint64_t add_to_digest(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x100000001b3u;
    return digest ^ digest >> 29;
}

uint64_t check_digest(const struct data *data, const uint64_t *args) {
    uint64_t digest = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < data->argument_count; i++) {
        if (!is_checked(data, i))
            continue;
        const char *output = (const char *)(uintptr_t)args[i];
        uint64_t size_bytes = data_array_bytes(&data->arguments[i]);
        for (uint64_t at = 0; at < size_bytes; at += sizeof(uint64_t)) {
            uint64_t word = 0, left = size_bytes - at;
            memcpy(&word, output + at, left < sizeof word ? left : sizeof word);
            digest = add_to_digest(digest, word);
        }
    }
    return digest;
}
