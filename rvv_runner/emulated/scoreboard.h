/* The estimates of cycles, of one model in each lane: an in-order core that issues two instructions a cycle and hands vector
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
#include "calendar.h"
#include "decode.h"
#include "window.h"

#if LANES == 1
#define HAS_WINDOW(board) ((board)->window != NULL)
#else
#define HAS_WINDOW(board) false /* out-of-order cores have one lane */
#endif

struct operand {
    uint8_t first, count;
    bool is_late;  /* the data of a store, read after it has started */
    uint32_t step; /* ticks from one register of the group to the next */
};

/* The costs of an instruction by lane, where not all models have the default's. */
struct own_costs {
    lanes_t latency, occupancy;
    lanes_t destination_step, source_steps[MAX_SOURCES];
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
    const struct own_costs *own; /* by scoreboard; NULL where all models have the costs above */
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
    unsigned number;       /* among the scoreboards */
    const struct costs *costs;       /* of the model in lane 0 */
    const struct lane_times *times;
    const struct shared *shared; /* with other cores, NULL for a lone one */
    lanes_t ready[REGISTER_COUNT];
    lanes_t length_ready;
    lanes_t unit_free[UNIT_COUNT][2]; /* the second only of the unit with two servers */
    lanes_t last_issue, issue_before_last;
    lanes_t vector_end;       /* when the units are done with all vector work */
    lanes_t vector_start;     /* when the last vector instruction left the queue */
    lanes_t load_free;        /* when a vector store lets loads through */
    lanes_t fill_free;        /* when the one outstanding unforeseen miss has been served */
    lanes_t l2_write_free;    /* when L2 takes the next line that stores fill */
    lanes_t dram_free;        /* when DRAM's bus is free */
    ticks_t passed[LANES];    /* all times above count from then on, so that they stay small */
    ticks_t vector_busy;      /* in lane 0, the sum of occupancy of the vector units */
    ticks_t vector_fp_waited; /* in lane 0, the sum of waits for the vector floating-point unit */
    EXPLAINED(struct reasons why;)
};

/* Start with everything ready; the first instruction then issues in cycle 1. */
void scoreboard_reset(struct scoreboard *board);

/* Look up the costs of a decoded instruction. */
struct scheduled schedule(const struct instruction *instruction, const struct family *family,
                          int site);

/* Serve the misses of an instruction that accesses memory at `time`. Returns for how long its data
 * are late, and holds up the load/store unit where it has to wait. */
lanes_t scoreboard_miss(struct scoreboard *board, const struct scheduled *item,
                        const struct misses *misses, const struct lane_misses *of, lanes_t *time);

/* Account for the transfers of a software prefetch, for which nothing waits at once. */
void scoreboard_prefetch(struct scoreboard *board, const struct misses *moved);

/* Count times from later on, where they have become large. `memories` are all of the core's. */
void scoreboard_rebase(struct scoreboard *board, struct memory *const *memories, unsigned count);

/* Issue nothing before a time; what is there is ready then. */
static inline void scoreboard_wait(struct scoreboard *board, lanes_t until) {
#if LANES == 1
    if (board->window != NULL) {
        board->window->enters = later(board->window->enters, until);
        board->window->last_left = later(board->window->last_left, until);
        return;
    }
#endif
    board->last_issue = later(board->last_issue, until);
    board->issue_before_last = later(board->issue_before_last, until);
    EXPLAINED(board->why.explained = later(board->why.explained, until);)
}

/* Whether scoreboard_rebase has to be called before the next instruction that may wait for misses. */
static inline bool scoreboard_is_late(const struct scoreboard *board) {
#if LANES == 1
    (void)board;
    return false;
#else
    uint64_t parts[sizeof(lanes_t) / sizeof(uint64_t)];
    uint64_t any = 0;
    __builtin_memcpy(parts, &board->last_issue, sizeof parts);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        any |= parts[i];
    }
    return any & 0xc0000000c0000000u;
#endif
}

/* When everything has finished but results on their way into registers. */
static inline lanes_t scoreboard_end(const struct scoreboard *board) {
    if (HAS_WINDOW(board)) {
        return all_lanes(board->window->last_left);
    }
    return later(board->last_issue, board->vector_start);
}

static inline lanes_t latency_of(const struct scoreboard *board, const struct scheduled *item) {
    return item->own == NULL ? all_lanes(item->latency) : item->own[board->number].latency;
}

static inline lanes_t occupancy_of(const struct scoreboard *board, const struct scheduled *item) {
    return item->own == NULL ? all_lanes(item->occupancy) : item->own[board->number].occupancy;
}

static inline lanes_t source_step(const struct scoreboard *board, const struct scheduled *item,
                                  int source) {
    return item->own == NULL ? all_lanes(item->sources[source].step)
                             : item->own[board->number].source_steps[source];
}

static inline lanes_t destination_step(const struct scoreboard *board,
                                       const struct scheduled *item) {
    return item->own == NULL ? all_lanes(item->destination.step)
                             : item->own[board->number].destination_step;
}

/* Let `time` be `until` if that is later; the reason `why` is then `because`. */
#define WAIT(time, until, why, because)                                                            \
    do {                                                                                           \
        lanes_t until_when = (until);                                                              \
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
static inline lanes_t group_ready(const lanes_t *ready, const struct operand *group, lanes_t step,
                                  int *last) {
    lanes_t time = ready[group->first];
    lanes_t read_after = step;
    *last = group->first;
    for (int k = 1; k < group->count; k++) {
        lanes_t available = minus(ready[group->first + k], read_after);
        EXPLAINED(*last = available > time ? group->first + k : *last;)
        time = later(time, available);
        read_after += step;
    }
    return time;
}

/* Wait for a free server of a unit; returns when one is. It becomes the first. */
static inline lanes_t first_server(struct scoreboard *board, uint8_t unit) {
    lanes_t *free = board->unit_free[unit];
    if (unit != UNIT_ieu) {
        return free[0];
    }
#ifdef EXPLAIN
    if (free[1] < free[0]) {
        struct reason *why = board->why.unit_free[unit], other = why[0];
        why[0] = why[1];
        why[1] = other;
    }
#endif
    lanes_t first = earlier(free[0], free[1]);
    free[1] = later(free[0], free[1]);
    return first;
}

/* Issue one instruction; `misses` is what its memory accesses missed, NULL where nothing. */
static inline void scoreboard_issue(struct scoreboard *board, const struct scheduled *item,
                                    const struct misses *misses) {
    EXPLAINED(struct reasons *why = &board->why;)
    EXPLAINED(explain_issue(why, item);)
    EXPLAINED(struct reason operand_why = why->own;)
    const struct lane_times *times = board->times;
    lanes_t issue = later(board->issue_before_last + TICKS_PER_CYCLE, board->last_issue);
    lanes_t operands = all_lanes(0);
    for (int i = 0; i < item->source_count; i++) {
        const struct operand *source = &item->sources[i];
        lanes_t ready = board->ready[source->first];
        lanes_t late = source->is_late ? times->store_data_late : all_lanes(0);
        if (source->first >= V_BASE) {
            int last;
            lanes_t group = group_ready(board->ready, source, source_step(board, item, i), &last);
            (void)last;
            WAIT(operands, minus(group, late), operand_why, why->ready[last]);
        } else if (item->is_vector) {
            WAIT(issue, ready + times->scalar_to_vector, why->now, why->ready[source->first]);
        } else {
            WAIT(issue, minus(ready, late), why->now, why->ready[source->first]);
        }
    }
    if (item->is_vector) {
        issue = later(issue, board->vector_start);
        if (item->destination.count > 0 && !item->is_load) { /* reads what it overwrites */
            uint8_t written = item->destination.first;
            WAIT(operands, board->ready[written], operand_why, why->ready[written]);
        }
        if (item->needs_length) {
            WAIT(operands, board->length_ready, operand_why, why->length_ready);
        }
    }
    if (item->serializes) {
        WAIT(issue, board->vector_end, why->now, why->vector_end);
    }
    lanes_t start = issue;
    WAIT(start, operands, why->now, operand_why);
    lanes_t *unit = &board->unit_free[item->unit][0];
    lanes_t free = first_server(board, item->unit);
    if (item->unit == UNIT_vfp) {
        board->vector_fp_waited += get_lane(minus(free, start), 0);
    }
    WAIT(start, free, why->now, why->unit_free[item->unit][0]);
    if (item->is_load) {
        WAIT(start, board->load_free, why->now, why->load_free);
    }
    lanes_t late = all_lanes(0);
    if (misses != NULL) {
        late = scoreboard_miss(board, item, misses, &misses->of[board->number], &start);
    }
    EXPLAINED(explain_until(why, start);)
    lanes_t occupancy = occupancy_of(board, item);
    *unit = start + occupancy + (item->is_vector ? late : all_lanes(0));
    EXPLAINED(why->unit_free[item->unit][0] =
                  item->is_vector ? why->own : without_misses(&why->own);)
    if (item->is_vector) {
        board->vector_start = start;
        WAIT(board->vector_end, *unit, why->vector_end, why->own);
        board->vector_busy += item->occupancy;
        if (item->delays_loads) {
            uint32_t lines = misses == NULL ? 0 : misses->stored_lines;
            board->load_free = *unit + times->store_drain * all_lanes(lines);
            EXPLAINED(why->load_free = why->own;)
        }
    } else {
        issue = item->serializes ? start + latency_of(board, item) : start;
    }
    board->issue_before_last = board->last_issue;
    board->last_issue = issue;
    lanes_t done = start + latency_of(board, item) + (item->is_load ? late : all_lanes(0));
    if (item->sets_length) {
        board->length_ready = done;
        EXPLAINED(why->length_ready = why->own;)
    }
    lanes_t step = destination_step(board, item);
    for (int k = 0; k < item->destination.count; k++) {
        board->ready[item->destination.first + k] = done;
        EXPLAINED(why->ready[item->destination.first + k] = why->own;)
        done += step;
    }
    EXPLAINED(explain_end(board);)
}

/* Start over after a mispredicted branch, which was the last instruction issued. */
static inline void scoreboard_mispredict(struct scoreboard *board) {
#if LANES == 1
    if (board->window != NULL) {
        window_mispredict(board, board->costs->mispredict);
        return;
    }
#endif
    board->last_issue += board->times->mispredict;
    board->issue_before_last = board->last_issue - TICKS_PER_CYCLE; /* two may issue then */
    EXPLAINED(board->why.own.cause = CAUSE_branches;)
    EXPLAINED(explain_end(board);)
}

#endif
