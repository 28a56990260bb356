/* What several cores take of something that serves one request at a time, under each model.
 *
 * Cores run one after another, each in its own time, so a request may come for a time before those
 * that were served already. So time is divided into buckets: a request takes what is left of the
 * first one from its time on, and of those that follow. Within a bucket, nothing waits.
 */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#include "costs.h"

struct calendar {
    uint32_t (*taken)[MAX_MEMBERS]; /* ticks by bucket */
    size_t buckets;
};

/* What the cores of a cluster share, and all of them. */
struct shared {
    struct calendar *l2; /* of the cluster */
    struct calendar *dram;
};

/* Take `amount` ticks from `earliest` on; returns when the last of them is over. */
ticks_t calendar_take(struct calendar *calendar, unsigned member, ticks_t earliest, ticks_t amount);

/* Begin at time 0 with nothing taken. */
void calendar_clear(struct calendar *calendar);

#endif
