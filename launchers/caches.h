/* Empties the data caches before a run, where that is asked for. */
#ifndef TRITON_RVV_CACHES_H
#define TRITON_RVV_CACHES_H

#include <stdbool.h>
#include <stddef.h>

/* Makes what `caches_flush` reads: so many bytes, none for 0. False where memory is short. */
bool caches_prepare(size_t flush_bytes);

/* Reads a byte of every line of it, so that caches of less hold nothing else. What they held and
 * was changed is written back meanwhile. */
void caches_flush(void);

#endif
