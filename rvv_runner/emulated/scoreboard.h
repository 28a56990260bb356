/* The estimate of cycles: an in-order core that issues two instructions a cycle.
 *
 * An instruction issues in program order once its operands are ready and its unit is free; at most
 * two issue within any one cycle. The units are those of LLVM's RISCVSchedSpacemitX60.td: two
 * integer pipes, two scalar load/store ports, one scalar floating-point unit, and one unit each for
 * vector memory, vector integer and vector floating-point work, which is why a vector load overlaps
 * arithmetic that does not need it.
 */
#ifndef SCOREBOARD_H
#define SCOREBOARD_H

#include "decode.h"

/* An instruction with its costs looked up, and what its memory accesses did this time. */
struct scheduled {
    struct register_range sources[MAX_SOURCES];
    struct register_range destination;
    uint8_t source_count;
    uint8_t unit;
    bool is_vector;
    bool is_load;
    bool is_vector_store;
    int16_t site; /* index into the block's memory sites, -1 where memory is not touched */
    uint32_t latency;
    uint32_t occupancy;
    uint32_t earlier_for_stores; /* how much sooner than arithmetic a store can take the result */
};

struct scoreboard {
    ticks_t ready[REGISTER_COUNT];
    ticks_t ready_to_store[REGISTER_COUNT];
    ticks_t unit_free[UNIT_COUNT][2]; /* a unit with one server never has the second free */
    ticks_t last_issue, issue_before_last;
    ticks_t fill_free;        /* when the one outstanding miss has been served */
    ticks_t vector_busy;      /* sum of occupancy of the vector units */
    ticks_t vector_fp_waited; /* sum of waits for the vector floating-point unit */
};

/* Start with everything ready; the first instruction then issues in cycle 1. */
void scoreboard_reset(struct scoreboard *board);

/* Look up the costs of a decoded instruction. */
struct scheduled schedule(const struct instruction *instruction, const struct costs *costs,
                          int site);

/* Issue one instruction whose memory accesses missed for `penalty` ticks in all. */
static inline void scoreboard_issue(struct scoreboard *board, const struct scheduled *item,
                                    ticks_t penalty) {
    ticks_t time = board->issue_before_last + TICKS_PER_CYCLE;
    if (time < board->last_issue) {
        time = board->last_issue;
    }
    for (int i = 0; i < item->source_count; i++) {
        bool is_stored = item->is_vector_store && i == item->source_count - 1;
        const ticks_t *all = is_stored ? board->ready_to_store : board->ready;
        const ticks_t *ready = &all[item->sources[i].first];
        for (int k = 0; k < item->sources[i].count; k++) {
            time = ready[k] > time ? ready[k] : time;
        }
    }
    ticks_t *unit = board->unit_free[item->unit];
    if (unit[1] < unit[0]) {
        unit++;
    }
    if (*unit > time) {
        board->vector_fp_waited += item->unit == UNIT_vfp ? *unit - time : 0;
        time = *unit;
    }
    if (penalty > 0) {
        if (board->fill_free > time) {
            time = board->fill_free;
        }
        board->fill_free = time + penalty;
    }
    *unit = time + item->occupancy;
    board->vector_busy += item->is_vector ? item->occupancy : 0;
    board->issue_before_last = board->last_issue;
    board->last_issue = time;
    ticks_t done = time + item->latency + (item->is_load ? penalty : 0);
    for (int k = 0; k < item->destination.count; k++) {
        board->ready[item->destination.first + k] = done;
        board->ready_to_store[item->destination.first + k] = done - item->earlier_for_stores;
    }
}

/* Start over after a mispredicted branch, which was the last instruction issued. */
static inline void scoreboard_mispredict(struct scoreboard *board, ticks_t penalty) {
    board->last_issue += penalty;
    board->issue_before_last = board->last_issue - TICKS_PER_CYCLE; /* two may issue then */
}

#endif
