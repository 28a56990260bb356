#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "scoreboard.h"

#if LANES == 1 /* no other plug-in is for out-of-order cores */

struct window *window_new(void) { return calloc(1, sizeof(struct window)); }

void window_reset(struct window *window) { memset(window, 0, sizeof *window); }

/* Ticks that a unit has in each cycle: one server's, the integer pipes' two. */
static uint32_t capacity_of(int unit) { return (unit == UNIT_ieu ? 2 : 1) * TICKS_PER_CYCLE; }

/* What is taken of a cycle; the slot's earlier cycle is long over. */
static uint16_t *taken_of(struct unit_calendar *unit, uint64_t cycle) {
    uint32_t slot = (uint32_t)(cycle % WINDOW_SLOTS);
    if (unit->cycles[slot] != (uint32_t)cycle) {
        unit->cycles[slot] = (uint32_t)cycle;
        unit->taken[slot] = 0;
    }
    return &unit->taken[slot];
}

/* Take `occupancy` ticks of the unit from the first free ones at or after `ready`; returns when
 * they begin. Nothing asks for time before `oldest` any more. */
static ticks_t book(struct unit_calendar *unit, uint32_t capacity, ticks_t oldest, ticks_t ready,
                    ticks_t occupancy) {
    uint64_t cycle = oldest / TICKS_PER_CYCLE;
    unit->open = cycle > unit->open ? cycle : unit->open;
    while (*taken_of(unit, unit->open) >= capacity) {
        unit->open++;
    }
    cycle = ready / TICKS_PER_CYCLE;
    cycle = cycle > unit->open ? cycle : unit->open;
    while (*taken_of(unit, cycle) >= capacity) {
        cycle++;
    }
    ticks_t start = later(ready, cycle * TICKS_PER_CYCLE);
    for (; occupancy > 0; cycle++) {
        uint16_t *taken = taken_of(unit, cycle);
        ticks_t part = capacity - *taken < occupancy ? capacity - *taken : occupancy;
        part = part < TICKS_PER_CYCLE ? part : TICKS_PER_CYCLE; /* one server's */
        *taken += (uint16_t)part;
        occupancy -= part;
    }
    return start;
}

/* The window's entries that an instruction holds: one for each register that it writes or stores.
 */
static uint32_t entries_of(const struct scheduled *item, const struct costs *costs) {
    uint32_t entries = item->destination.count;
    if (item->is_store && item->source_count > 0) {
        entries = item->sources[item->source_count - 1].count;
    }
    entries = entries > 0 ? entries : 1;
    return entries < costs->window_entries ? entries : costs->window_entries;
}

/* When the instruction enters: after those before it, into entries that others have left. */
static ticks_t enter(struct window *window, uint32_t entries, const struct costs *costs) {
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t entry = (window->next_entry + i) % costs->window_entries;
        window->enters = later(window->enters, window->leaves[entry]);
    }
    return window->enters;
}

static void leave(struct window *window, uint32_t entries, const struct costs *costs) {
    window->last_left = later(window->last_left, window->last_done);
    for (uint32_t i = 0; i < entries; i++) {
        window->leaves[window->next_entry] = window->last_left;
        window->next_entry = (window->next_entry + 1) % costs->window_entries;
    }
}

/* When the operands of an instruction that enters at `time` are ready. */
static ticks_t operands_ready(struct scoreboard *board, const struct scheduled *item,
                              ticks_t time) {
    const struct costs *costs = board->costs;
    WAIT(time, item->needs_length ? board->length_ready : 0, board->why.now,
         board->why.length_ready);
    for (int i = 0; i < item->source_count; i++) {
        const struct operand *source = &item->sources[i];
        ticks_t ready = board->ready[source->first];
        int last = source->first;
        if (source->first >= V_BASE) {
            ready = group_ready(board->ready, source, source_step(board, item, i), &last);
        } else if (item->is_vector) {
            ready += costs->scalar_to_vector;
        }
        ticks_t late = source->is_late ? costs->store_data_late : 0;
        WAIT(time, minus(ready, late), board->why.now, board->why.ready[last]);
    }
    return time;
}

/* Serve misses with one of several fill buffers. The lines that one instruction misses overlap as
 * well: all but the first cost only their share of the buffers. */
static ticks_t serve_misses(struct scoreboard *board, const struct scheduled *item,
                            const struct misses *misses, ticks_t *time) {
    const struct costs *costs = board->costs;
    struct lane_misses of = misses->of[board->number];
    if (of.penalty > costs->dram_random) {
        of.penalty = costs->dram_random + (of.penalty - costs->dram_random) / costs->load_misses;
    }
    ticks_t *fill = board->window->fills;
    for (uint32_t i = 1; i < costs->load_misses; i++) {
        if (board->window->fills[i] < *fill) {
            fill = &board->window->fills[i];
        }
    }
    board->fill_free = *fill;
    ticks_t late = scoreboard_miss(board, item, misses, &of, time);
    *fill = board->fill_free;
    return late;
}

void window_issue(struct scoreboard *board, const struct scheduled *item,
                  const struct misses *misses) {
    struct window *window = board->window;
    const struct costs *costs = board->costs;
    ticks_t occupancy = occupancy_of(board, item);
    uint32_t entries = entries_of(item, costs);
    EXPLAINED(explain_issue(&board->why, item);)
    ticks_t entered = enter(window, entries, costs);
    WAIT(entered, window->restarts, board->why.now, window->restart_why);
    window->enters =
        later(window->enters, entered + entries * TICKS_PER_CYCLE / costs->issue_width);
    board->last_issue = entered; /* where software prefetches begin */
    ticks_t ready = operands_ready(board, item, entered);
    bool in_order = costs->vectors_in_order && item->is_vector && item->unit != UNIT_ls;
    WAIT(ready, in_order ? window->vector_started : 0, board->why.now,
         without_misses(&board->why.own));
    ticks_t start =
        book(&window->units[item->unit], capacity_of(item->unit), entered, ready, occupancy);
    window->vector_started = in_order ? start : window->vector_started;
    EXPLAINED(if (start > ready) { board->why.now = without_misses(&board->why.own); })
    board->vector_fp_waited += item->unit == UNIT_vfp ? start - ready : 0;
    board->vector_busy += item->is_vector ? item->occupancy : 0;
    ticks_t late = misses == NULL ? 0 : serve_misses(board, item, misses, &start);
    EXPLAINED(explain_until(&board->why, start);)
    ticks_t done = start + latency_of(board, item) + (item->is_load ? late : 0);
    if (item->sets_length) {
        board->length_ready = done;
        EXPLAINED(board->why.length_ready = board->why.own;)
    }
    window->last_done = done;
    for (int k = 0; k < item->destination.count; k++) {
        board->ready[item->destination.first + k] = done;
        EXPLAINED(board->why.ready[item->destination.first + k] = board->why.own;)
        window->last_done = done;
        done += destination_step(board, item);
    }
    leave(window, entries, costs);
    EXPLAINED(board->why.now = board->why.own;)
    EXPLAINED(explain_until(&board->why, window->last_left);)
}

void window_mispredict(struct scoreboard *board, ticks_t penalty) {
    struct window *window = board->window;
    window->restarts = window->last_done + penalty;
    EXPLAINED(window->restart_why =
                  (struct reason){.row = board->why.own.row, .cause = CAUSE_branches};)
}

#endif
