#include "caches.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u /* or half of a line, on some cores */

static const volatile unsigned char *read_through;
static size_t read_bytes;

bool caches_prepare(size_t flush_bytes) {
    unsigned char *memory;
    if (flush_bytes == 0)
        return true;
    memory = malloc(flush_bytes);
    if (memory == NULL)
        return false;
    memset(memory, 1, flush_bytes); /* pages never written to are one page of zeros */
    read_through = memory;
    read_bytes = flush_bytes;
    return true;
}

void caches_flush(void) {
    for (size_t i = 0; i < read_bytes; i += LINE_BYTES)
        (void)read_through[i];
}
