/* The estimate of cycles of an out-of-order core.
 *
 * Instructions enter a window in program order, a few a cycle, and leave it in that order once they
 * are done. In between, each starts as soon as its operands are ready and its unit has time left,
 * also before older ones. Renaming is perfect: only true dependences count. With
 * `vectors_in_order`, vector arithmetic starts in program order.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include "cache.h"
#include "causes.h"
#include "costs.h"

struct scheduled;
struct scoreboard;

enum { WINDOW_SLOTS = 8192, MAX_WINDOW_ENTRIES = 1024, MAX_LOAD_MISSES = 64 };

/* A unit's cycles: how much of each is taken. A slot stands for the cycle in `cycles`. */
struct unit_calendar {
    uint32_t cycles[WINDOW_SLOTS];
    uint16_t taken[WINDOW_SLOTS]; /* ticks */
    uint64_t open;                /* no cycle before this one has time left */
};

struct window {
    struct unit_calendar units[UNIT_COUNT];
    ticks_t leaves[MAX_WINDOW_ENTRIES]; /* when the entry's last holder leaves the window */
    ticks_t fills[MAX_LOAD_MISSES];     /* when each fill buffer is free */
    uint32_t next_entry;
    ticks_t enters;    /* when the next instruction enters */
    ticks_t last_left; /* when the last one so far leaves */
    ticks_t last_done; /* when the last one to enter is done */
    ticks_t vector_started; /* when the last vector arithmetic to enter starts */
    ticks_t restarts;  /* before that, nothing enters after a mispredicted branch */
    EXPLAINED(struct reason restart_why;)
};

/* An empty window; NULL where the host has no memory. */
struct window *window_new(void);

/* Empty it. */
void window_reset(struct window *window);

/* Put one instruction through; `misses` is what its memory accesses missed, NULL where nothing. */
void window_issue(struct scoreboard *board, const struct scheduled *item,
                  const struct misses *misses);

/* Fetch goes on only after the last instruction, a mispredicted branch, is done. */
void window_mispredict(struct scoreboard *board, ticks_t penalty);

#endif
