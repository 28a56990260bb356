#include "caches.h"

#include <string.h>
#include <sys/mman.h>

#include "places.h"
#include "region.h"

#define LINE_BYTES 64u /* or half of a line, on some cores */

static const volatile unsigned char *read_through;
static size_t read_bytes;

bool caches_prepare(size_t flush_bytes) {
    unsigned char *memory;
    if (flush_bytes == 0)
        return true;
    memory = place_memory(PLACE_FLUSH, 0, flush_bytes, PROT_READ | PROT_WRITE);
    if (memory == NULL)
        return false;
    memset(memory, 1, flush_bytes); /* pages never written to are one page of zeros */
    mprotect(memory, flush_bytes, PROT_READ); /* so that no kernel keeps anything there */
    read_through = memory;
    read_bytes = flush_bytes;
    return true;
}

void caches_flush(void) {
    const volatile unsigned char *memory = read_through;
    size_t size_bytes = read_bytes;
    TRITON_RVV_MODEL_RESUME();
    for (size_t i = 0; i < size_bytes; i += LINE_BYTES)
        (void)memory[i];
    TRITON_RVV_MODEL_PAUSE();
}
