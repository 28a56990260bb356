/* The sequential streams that the hardware's prefetcher follows. */
#ifndef STREAMS_H
#define STREAMS_H

#include "cache.h"

/* What the hardware's prefetcher knew of a miss. */
struct foresight {
    bool foreseen;  /* a stream had come to this line */
    bool followed;  /* the one of the last miss, which the prefetcher of L1D follows */
    bool displaced; /* L1D has lost the line again to those of other streams */
};

/* Look for a stream, up or down, that foresaw this miss. A miss that none foresaw starts a new one,
 * which replaces the oldest of its kind (of loads or of stores), unless the line is a stream's last
 * one, which L1D has lost. So stores to scattered lines leave the streams of loads alone. */
struct foresight streams_look_ahead(struct memory *memory, uint64_t line, bool store);

/* Advance the stream that foresaw a line which a prefetch has brought; none starts. */
void streams_go_on(struct memory *memory, uint64_t line);

#endif
