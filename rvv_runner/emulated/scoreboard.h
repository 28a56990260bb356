/* The estimate of cycles: an in-order core that issues two instructions a cycle and hands vector
 * work to a queue of one. Out-of-order cores issue by `window.h` instead.
 *
 * A scalar instruction issues in program order once its operands are ready and its unit is free. A
 * vector instruction issues once its scalar operands are ready and the one before it has started;
 * it starts when the vector length and its vector operands are ready and its unit is free, so that
 * scalar code runs ahead meanwhile. Vector work goes register by register through a group: a later
 * instruction follows one register behind (chaining). Two integer pipes, one load/store unit for
 * scalar and vector accesses, one scalar floating-point unit, and one unit each for vector integer
 * and vector floating-point work.
 */
#ifndef SCOREBOARD_H
#define SCOREBOARD_H

#include <stddef.h>

#include "cache.h"
#include "decode.h"
#include "window.h"

struct operand {
    uint8_t first, count;
    bool is_late;  /* the data of a store, read after it has started */
    uint32_t step; /* ticks from one register of the group to the next */
};

/* An instruction with its costs looked up. */
struct scheduled {
    struct operand sources[MAX_SOURCES];
    struct operand destination;
    uint8_t source_count;
    uint8_t unit;
    bool is_vector;
    bool is_load;
    bool is_store;
    bool sets_length;
    bool needs_length;
    bool serializes;   /* a CSR access: waits for all vector work, and what follows waits for it */
    bool is_prefetch;
    bool delays_loads; /* a unit-stride vector store: loads wait until its lines are written */
    int16_t site;      /* index into the block's memory sites, -1 where there is none */
    uint32_t latency;  /* ticks until the first register of the result */
    uint32_t occupancy;
};

#ifdef EXPLAIN
/* Why the times of a scoreboard are not earlier. */
struct reasons {
    struct reason ready[REGISTER_COUNT];
    struct reason length_ready, vector_end, load_free, fill_free;
    struct reason unit_free[UNIT_COUNT][2];
    struct reason own; /* what this instruction keeps others waiting for */
    struct reason now; /* what this instruction waited for last */
    ticks_t explained; /* the time up to which every tick has a cause */
};
#endif

struct scoreboard {
    struct window *window; /* of an out-of-order core, NULL for one that issues in order */
    ticks_t ready[REGISTER_COUNT];
    ticks_t length_ready;
    ticks_t unit_free[UNIT_COUNT][2]; /* a unit with one server never has the second free */
    ticks_t last_issue, issue_before_last;
    ticks_t vector_end;       /* when the units are done with all vector work */
    ticks_t vector_start;     /* when the last vector instruction left the queue */
    ticks_t load_free;        /* when a vector store lets loads through */
    ticks_t fill_free;        /* when the one outstanding unforeseen miss has been served */
    ticks_t l2_write_free;    /* when L2 takes the next line that stores fill */
    ticks_t dram_free;        /* when DRAM's bus is free */
    ticks_t vector_busy;      /* sum of occupancy of the vector units */
    ticks_t vector_fp_waited; /* sum of waits for the vector floating-point unit */
    EXPLAINED(struct reasons why;)
};

/* Start with everything ready; the first instruction then issues in cycle 1. */
void scoreboard_reset(struct scoreboard *board);

/* Look up the costs of a decoded instruction. */
struct scheduled schedule(const struct instruction *instruction, const struct costs *costs,
                          int site);

/* Serve the misses of an instruction that accesses memory at `time`. Returns for how long its data
 * are late, and holds up the load/store unit where it has to wait. */
ticks_t scoreboard_miss(struct scoreboard *board, const struct scheduled *item,
                        const struct misses *misses, const struct costs *costs, ticks_t *time);

/* Account for the transfers of a software prefetch, for which nothing waits. */
void scoreboard_prefetch(struct scoreboard *board, const struct misses *moved,
                         const struct costs *costs);

static inline ticks_t later(ticks_t a, ticks_t b) { return a > b ? a : b; }

static inline ticks_t minus(ticks_t a, ticks_t b) { return a > b ? a - b : 0; }

/* When everything has finished but results on their way into registers. */
static inline ticks_t scoreboard_end(const struct scoreboard *board) {
    if (board->window != NULL) {
        return board->window->last_left;
    }
    return later(board->last_issue, board->vector_start);
}

/* Let `time` be `until` if that is later; the reason `why` is then `because`. */
#define WAIT(time, until, why, because)                                                            \
    do {                                                                                           \
        ticks_t until_when = (until);                                                              \
        EXPLAINED(if (until_when > (time)) { (why) = (because); })                                 \
        (time) = later(time, until_when);                                                          \
    } while (0)

#ifdef EXPLAIN

/* Give the ticks up to `time` to what the instruction waited for last. */
static inline void explain_until(struct reasons *why, ticks_t time) {
    if (time > why->explained) {
        explain_wait(&why->now, time - why->explained);
        why->explained = time;
    }
}

/* The reason without the misses that come on top. */
static inline struct reason without_misses(const struct reason *why) {
    return (struct reason){.row = why->row, .cause = why->cause};
}

/* Begin an instruction, which so far waits for its turn only. */
static inline void explain_issue(struct reasons *why, const struct scheduled *item) {
    static const enum cause causes[UNIT_COUNT] = {
        [UNIT_ieu] = CAUSE_scalar,  [UNIT_ls] = CAUSE_l1,      [UNIT_fp] = CAUSE_scalar,
        [UNIT_vieu] = CAUSE_vector, [UNIT_vfp] = CAUSE_vector,
    };
    enum cause cause = item->sets_length ? CAUSE_vset : causes[item->unit];
    why->own = (struct reason){.row = why->own.row, .cause = cause};
    why->now = (struct reason){.row = why->own.row, .cause = CAUSE_issue};
}

/* End an instruction: what time it takes by itself is its own. */
static inline void explain_end(struct scoreboard *board) {
    board->why.now = without_misses(&board->why.own);
    explain_until(&board->why, scoreboard_end(board));
}

#endif

/* When a vector operand lets an instruction start, and which register it waits for last: each is
 * read a step after the one before it. */
static inline ticks_t group_ready(const ticks_t *ready, const struct operand *group, int *last) {
    ticks_t time = 0;
    ticks_t read_after = 0;
    *last = group->first;
    for (int k = 0; k < group->count; k++) {
        ticks_t available = minus(ready[group->first + k], read_after);
        *last = available > time ? group->first + k : *last;
        time = later(time, available);
        read_after += group->step;
    }
    return time;
}

/* Issue one instruction; `misses` is what its memory accesses missed, NULL where nothing. */
static inline void scoreboard_issue(struct scoreboard *board, const struct scheduled *item,
                                    const struct misses *misses, const struct costs *costs) {
    EXPLAINED(struct reasons *why = &board->why;)
    EXPLAINED(explain_issue(why, item);)
    EXPLAINED(struct reason operand_why = why->own;)
    ticks_t issue = later(board->issue_before_last + TICKS_PER_CYCLE, board->last_issue);
    ticks_t operands = 0;
    for (int i = 0; i < item->source_count; i++) {
        const struct operand *source = &item->sources[i];
        ticks_t ready = board->ready[source->first];
        if (source->first >= V_BASE) {
            int last;
            ticks_t group = group_ready(board->ready, source, &last);
            ticks_t late = source->is_late ? costs->store_data_late : 0;
            WAIT(operands, minus(group, late), operand_why, why->ready[last]);
        } else if (item->is_vector) {
            WAIT(issue, ready + costs->scalar_to_vector, why->now, why->ready[source->first]);
        } else {
            ticks_t late = source->is_late ? costs->store_data_late : 0;
            WAIT(issue, minus(ready, late), why->now, why->ready[source->first]);
        }
    }
    if (item->is_vector) {
        issue = later(issue, board->vector_start);
        WAIT(operands, item->needs_length ? board->length_ready : 0, operand_why,
             why->length_ready);
    }
    if (item->serializes) {
        WAIT(issue, board->vector_end, why->now, why->vector_end);
    }
    ticks_t start = issue;
    WAIT(start, operands, why->now, operand_why);
    ticks_t *unit = board->unit_free[item->unit];
    int server = unit[1] < unit[0];
    unit += server;
    board->vector_fp_waited += item->unit == UNIT_vfp ? minus(*unit, start) : 0;
    WAIT(start, *unit, why->now, why->unit_free[item->unit][server]);
    if (item->is_load) {
        WAIT(start, board->load_free, why->now, why->load_free);
    }
    ticks_t late = misses == NULL ? 0 : scoreboard_miss(board, item, misses, costs, &start);
    EXPLAINED(explain_until(why, start);)
    *unit = start + item->occupancy + (item->is_vector ? late : 0);
    EXPLAINED(why->unit_free[item->unit][server] =
                  item->is_vector ? why->own : without_misses(&why->own);)
    if (item->is_vector) {
        board->vector_start = start;
        WAIT(board->vector_end, *unit, why->vector_end, why->own);
        board->vector_busy += item->occupancy;
        if (item->delays_loads) {
            ticks_t lines = misses == NULL ? 0 : misses->stored_lines;
            board->load_free = *unit + lines * costs->store_drain;
            EXPLAINED(why->load_free = why->own;)
        }
    } else {
        issue = start + (item->serializes ? item->latency : 0);
    }
    board->issue_before_last = board->last_issue;
    board->last_issue = issue;
    ticks_t done = start + item->latency + (item->is_load ? late : 0);
    if (item->sets_length) {
        board->length_ready = done;
        EXPLAINED(why->length_ready = why->own;)
    }
    for (int k = 0; k < item->destination.count; k++) {
        board->ready[item->destination.first + k] = done;
        EXPLAINED(why->ready[item->destination.first + k] = why->own;)
        done += item->destination.step;
    }
    EXPLAINED(explain_end(board);)
}

/* Start over after a mispredicted branch, which was the last instruction issued. */
static inline void scoreboard_mispredict(struct scoreboard *board, ticks_t penalty) {
    if (board->window != NULL) {
        window_mispredict(board, penalty);
        return;
    }
    board->last_issue += penalty;
    board->issue_before_last = board->last_issue - TICKS_PER_CYCLE; /* two may issue then */
    EXPLAINED(board->why.own.cause = CAUSE_branches;)
    EXPLAINED(explain_end(board);)
}

#endif
