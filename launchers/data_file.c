#include "data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct data_header) == 24, "the header has no padding");
_Static_assert(sizeof(struct data_argument) == 152, "an argument has no padding");

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

uint64_t data_array_bytes(const struct data_argument *argument) {
    return argument->element_count * data_type_size(argument->type);
}

/* Bytes read, fewer than asked for at the end of the file, or -1. */
static int64_t read_up_to(int descriptor, uint64_t offset, void *buffer, uint64_t size_bytes) {
    uint64_t done = 0;
    while (done < size_bytes) {
        ssize_t count = pread(descriptor, (char *)buffer + done, size_bytes - done,
                              (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += (uint64_t)count;
    }
    return (int64_t)done;
}

void data_read(const struct data *data, uint64_t offset, void *buffer, uint64_t size_bytes) {
    int64_t count = read_up_to(data->descriptor, offset, buffer, size_bytes);
    if (count == (int64_t)size_bytes)
        return;
    fprintf(stderr, "cannot read %s to its end: %s\n", data->path,
            count < 0 ? strerror(errno) : "it became shorter");
    exit(2);
}

/* Checks the header against the file's true size. */
static const char *read_header(const char *path, int descriptor, struct data_header *header,
                               const struct stat *status) {
    int64_t header_bytes = read_up_to(descriptor, 0, header, sizeof *header);
    if (header_bytes < 0)
        return FAIL("cannot read %s: %s", path, strerror(errno));
    if ((size_t)header_bytes < sizeof header->magic ||
        memcmp(header->magic, DATA_MAGIC, sizeof header->magic) != 0)
        return FAIL("%s is not a data file: it does not start with " DATA_MAGIC, path);
    if ((size_t)header_bytes < sizeof *header)
        return FAIL("%s is truncated: its header is not whole", path);
    if (header->version != DATA_VERSION)
        return FAIL("%s has version %u of the data format and this program reads version %u: "
                    "write it anew", path, header->version, DATA_VERSION);
    if ((uint64_t)status->st_size != header->size_bytes)
        return FAIL("%s is truncated or damaged: it holds %llu bytes of %llu", path,
                    (unsigned long long)status->st_size, (unsigned long long)header->size_bytes);
    return NULL;
}

/* Whether `offset` is that of a whole array of the file. */
static bool array_fits(uint64_t offset, uint64_t count, uint64_t element_bytes, uint64_t end) {
    return offset != 0 && offset % DATA_ALIGNMENT == 0 && offset <= end &&
           count <= (end - offset) / element_bytes;
}

static bool array_is_valid(const struct data_argument *argument, uint64_t end) {
    uint64_t count = argument->element_count, element_bytes = data_type_size(argument->type);
    for (int set = 0; set < DATA_SET_COUNT; set++) {
        const struct data_contents *contents = &argument->sets[set];
        if ((contents->expected_offset != 0) != data_is_output(argument) ||
            !array_fits(contents->value_offset, count, element_bytes, end))
            return false;
        if (contents->expected_offset != 0 &&
            !array_fits(contents->expected_offset, count, element_bytes, end))
            return false;
        if (contents->slack_offset != 0 &&
            !array_fits(contents->slack_offset, count, sizeof(float), end))
            return false;
    }
    return true;
}

static bool argument_is_valid(const struct data_argument *argument, uint64_t end) {
    if (argument->type >= DATA_TYPE_COUNT || argument->kind >= KIND_COUNT ||
        argument->name[DATA_NAME_BYTES - 1] != '\0')
        return false;
    return argument->kind == KIND_SCALAR ? !data_is_output(argument) : array_is_valid(argument, end);
}

const char *data_open(const char *path, struct data *data) {
    struct data_header header;
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        return FAIL("cannot read %s: %s", path, strerror(errno));
    const char *error = read_header(path, descriptor, &header, &status);
    if (error != NULL)
        return error;
    uint64_t table_bytes = header.argument_count * (uint64_t)sizeof(struct data_argument);
    if (sizeof header + table_bytes > header.size_bytes)
        return FAIL("%s is damaged: its table of arguments reaches past its end", path);
    struct data_argument *arguments = malloc(table_bytes + 1);
    if (arguments == NULL)
        return FAIL("%s has %u arguments, more than memory can hold", path, header.argument_count);
    *data = (struct data){path, descriptor, status.st_dev, status.st_ino, header.argument_count,
                          arguments};
    data_read(data, sizeof header, arguments, table_bytes);
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (!argument_is_valid(&arguments[i], header.size_bytes))
            return FAIL("%s is damaged: the entry of argument %u makes no sense", path, i);
    return NULL;
}

bool data_is_same(const struct data *data) {
    struct stat status;
    return fstat(data->descriptor, &status) == 0 && status.st_dev == data->device &&
           status.st_ino == data->inode;
}
