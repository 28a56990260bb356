#include "calendar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long beside a transfer, and short beside a program. */
enum { BUCKET_TICKS = 512 * TICKS_PER_CYCLE };

static void grow(struct calendar *calendar, size_t bucket) {
    size_t buckets = 2 * bucket + 64;
    calendar->taken = realloc(calendar->taken, buckets * sizeof *calendar->taken);
    if (calendar->taken == NULL) {
        fputs("board plug-in: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memset(calendar->taken + calendar->buckets, 0,
           (buckets - calendar->buckets) * sizeof *calendar->taken);
    calendar->buckets = buckets;
}

ticks_t calendar_take(struct calendar *calendar, unsigned member, ticks_t earliest,
                      ticks_t amount) {
    ticks_t end = earliest;
    for (size_t bucket = earliest / BUCKET_TICKS; amount > 0; bucket++) {
        if (bucket >= calendar->buckets) {
            grow(calendar, bucket);
        }
        uint32_t *taken = &calendar->taken[bucket][member];
        ticks_t start = bucket * (ticks_t)BUCKET_TICKS;
        start = start > earliest ? start : earliest;
        ticks_t until_end = (bucket + 1) * (ticks_t)BUCKET_TICKS - start;
        ticks_t part = BUCKET_TICKS - *taken;
        part = part < until_end ? part : until_end;
        part = part < amount ? part : amount;
        *taken += (uint32_t)part;
        amount -= part;
        end = part > 0 ? start + part : end;
    }
    return end;
}

void calendar_clear(struct calendar *calendar) {
    if (calendar->buckets > 0) {
        memset(calendar->taken, 0, calendar->buckets * sizeof *calendar->taken);
    }
}
