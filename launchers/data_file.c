#include "data_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct data_header) == 24, "the header has no padding");
_Static_assert(sizeof(struct data_argument) == 112, "an argument has no padding");

/* Blocks start at a huge page, so that which cache sets the arrays fall into does not depend on
 * where the system happens to place them: a run and its repetition then see the same conflicts. */
#define BLOCK_ALIGNMENT ((size_t)2 << 20)

static char message[512];

#define FAIL(...) (snprintf(message, sizeof message, __VA_ARGS__), message)

uint64_t data_type_size(uint32_t type) {
    switch (type) {
    case DATA_I1:
    case DATA_I8:
    case DATA_U8:
    case DATA_FP8E4NV:
    case DATA_FP8E5:
        return 1;
    case DATA_I16:
    case DATA_U16:
    case DATA_FP16:
    case DATA_BF16:
        return 2;
    case DATA_I32:
    case DATA_U32:
    case DATA_FP32:
        return 4;
    default:
        return 8;
    }
}

static uint64_t align(uint64_t size_bytes) {
    return (size_bytes + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
}

static void *allocate_block(uint64_t size_bytes) {
    size_t blocks = (size_bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT;
    return aligned_alloc(BLOCK_ALIGNMENT, (blocks ? blocks : 1) * BLOCK_ALIGNMENT);
}

/* Checks the header against the file's true size, then reads the rest of the file behind it. */
static const char *read_image(FILE *file, const char *path, char **image) {
    struct data_header header;
    size_t header_bytes = fread(&header, 1, sizeof header, file);
    if (ferror(file))
        return FAIL("cannot read %s: %s", path, strerror(errno));
    if (header_bytes < sizeof header.magic || memcmp(header.magic, DATA_MAGIC, sizeof header.magic))
        return FAIL("%s is not a data file: it does not start with " DATA_MAGIC, path);
    if (header_bytes < sizeof header)
        return FAIL("%s is truncated: its header is not whole", path);
    if (header.version != DATA_VERSION)
        return FAIL("%s has version %u of the data format and this program reads version %u: "
                    "write it anew", path, header.version, DATA_VERSION);
    if (fseek(file, 0, SEEK_END) != 0)
        return FAIL("cannot read %s: %s", path, strerror(errno));
    uint64_t size_bytes = (uint64_t)ftell(file);
    if (size_bytes != header.size_bytes)
        return FAIL("%s is truncated or damaged: it holds %llu bytes of %llu", path,
                    (unsigned long long)size_bytes, (unsigned long long)header.size_bytes);
    *image = allocate_block(size_bytes);
    if (*image == NULL)
        return FAIL("%s needs %llu bytes, more memory than there is", path,
                    (unsigned long long)size_bytes);
    rewind(file);
    if (fread(*image, 1, size_bytes, file) != size_bytes)
        return FAIL("cannot read %s to its end", path);
    return NULL;
}

/* Whether `offset` is 0 or that of a whole array of the file. */
static bool array_fits(const struct data_argument *argument, uint64_t offset, uint64_t size_bytes) {
    if (offset == 0)
        return true;
    return offset % DATA_ALIGNMENT == 0 && offset <= size_bytes &&
           argument->element_count <= (size_bytes - offset) / data_type_size(argument->type);
}

static bool argument_is_valid(const struct data_argument *argument, uint64_t size_bytes) {
    if (argument->type >= DATA_TYPE_COUNT || argument->is_pointer > 1 ||
        argument->name[DATA_NAME_BYTES - 1] != '\0')
        return false;
    if (argument->is_pointer && argument->value_offset == 0 && argument->expected_offset == 0)
        return false;
    return array_fits(argument, argument->value_offset, size_bytes) &&
           array_fits(argument, argument->expected_offset, size_bytes);
}

static uint64_t array_bytes(const struct data_argument *argument) {
    return argument->element_count * data_type_size(argument->type);
}

/* Gives each output a buffer of its own; an input is used where it lies in the image. */
static const char *fill_slots(const char *path, char *image, struct data *data) {
    uint64_t output_bytes = 0;
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (data->arguments[i].expected_offset != 0)
            output_bytes += align(array_bytes(&data->arguments[i]));
    char *outputs = allocate_block(output_bytes);
    data->slots = calloc(data->argument_count + 1, sizeof *data->slots);
    data->value = calloc(data->argument_count + 1, sizeof *data->value);
    data->expected = calloc(data->argument_count + 1, sizeof *data->expected);
    if (!outputs || !data->slots || !data->value || !data->expected)
        return FAIL("the outputs of %s need %llu bytes, more memory than there is", path,
                    (unsigned long long)output_bytes);
    for (uint32_t i = 0; i < data->argument_count; i++) {
        const struct data_argument *argument = &data->arguments[i];
        if (!argument->is_pointer) {
            data->slots[i] = argument->scalar;
            continue;
        }
        char *value = argument->value_offset ? image + argument->value_offset : NULL;
        data->value[i] = value;
        data->slots[i] = (uint64_t)(uintptr_t)value;
        if (argument->expected_offset != 0) {
            data->expected[i] = image + argument->expected_offset;
            data->slots[i] = (uint64_t)(uintptr_t)outputs;
            outputs += align(array_bytes(argument));
        }
    }
    return NULL;
}

const char *data_read(const char *path, struct data *data) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return FAIL("cannot read %s: %s", path, strerror(errno));
    char *image = NULL;
    const char *error = read_image(file, path, &image);
    fclose(file);
    if (error != NULL)
        return error;
    const struct data_header *header = (const struct data_header *)image;
    uint64_t table_bytes = header->argument_count * (uint64_t)sizeof(struct data_argument);
    if (sizeof *header + table_bytes > header->size_bytes)
        return FAIL("%s is damaged: its table of arguments reaches past its end", path);
    data->argument_count = header->argument_count;
    data->arguments = (const struct data_argument *)(image + sizeof *header);
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (!argument_is_valid(&data->arguments[i], header->size_bytes))
            return FAIL("%s is damaged: the entry of argument %u makes no sense", path, i);
    return fill_slots(path, image, data);
}
