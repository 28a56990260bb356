/* From a decoded instruction and the cost table to what the scoreboard needs, and how misses are
 * served. */
#include "scoreboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scoreboard_reset(struct scoreboard *board) {
    struct scoreboard kept = *board;
    memset(board, 0, sizeof *board);
    board->window = kept.window;
    board->number = kept.number;
    board->costs = kept.costs;
    board->times = kept.times;
    board->shared = kept.shared;
    if (HAS_WINDOW(board)) {
        window_reset(board->window);
    }
}

/* Ticks from one register of a group to the next, where the work goes through it in order. */
static uint32_t step_of(uint32_t occupancy, uint32_t registers) {
    return registers > 1 ? occupancy / registers : 0;
}

/* With the costs of one model. */
static struct scheduled schedule_in(const struct instruction *instruction,
                                    const struct costs *costs, int site) {
    const struct class_cost *cost = &costs->classes[instruction->cost_class];
    const uint32_t *occupancies = cost->occupancy[instruction->sew_index];
    const uint32_t *latencies = cost->latency[instruction->sew_index];
    uint32_t occupancy = occupancies[instruction->lmul_index];
    uint32_t extra = occupancy * (instruction->fields - 1u); /* the table holds them per field */
    uint32_t later = extra;
    if (instruction->is_masked) {
        uint32_t percent = cost->masked_percent[instruction->lmul_index];
        extra += cost->masked_extra + occupancy * (percent - 100) / 100;
        later += cost->masked_extra; /* a factor takes the unit's time alone */
    }
    bool chains = cost->is_chained && instruction->destination.count > 1;
    uint32_t latency = latencies[instruction->lmul_index];
    if (chains && latency <= occupancy) {
        latency = latencies[LMUL_1]; /* what was measured is the unit's time, not the latency */
    }
    struct scheduled item = {
        .destination = {instruction->destination.first, instruction->destination.count},
        .source_count = instruction->source_count,
        .unit = (uint8_t)cost->unit,
        .is_vector = instruction->is_vector,
        .is_load = instruction->is_load,
        .is_store = instruction->is_store,
        .sets_length = instruction->sets_length,
        .needs_length = instruction->is_vector && !instruction->is_whole_register,
        .serializes = instruction->cost_class == CLASS_csr,
        .is_prefetch = instruction->is_prefetch,
        .delays_loads = instruction->cost_class == CLASS_v_store ||
                        instruction->cost_class == CLASS_v_store_whole,
        .site = (int16_t)site,
        .latency = latency + (chains ? 0 : later),
        .occupancy = occupancy + extra,
    };
    if (chains) {
        item.destination.step = step_of(item.occupancy, instruction->destination.count);
    }
    for (int i = 0; i < instruction->source_count; i++) {
        struct register_range range = instruction->sources[i];
        bool is_data = instruction->is_store && i == instruction->source_count - 1;
        item.sources[i] = (struct operand){
            .first = range.first,
            .count = range.count,
            .is_late = is_data,
            .step = cost->is_chained ? step_of(item.occupancy, range.count) : 0,
        };
    }
    return item;
}

static bool costs_differ(const struct family *family, enum cost_class cost_class) {
    for (unsigned member = 1; member < family->count; member++) {
        if (memcmp(&family->members[member].classes[cost_class],
                   &family->members[0].classes[cost_class], sizeof(struct class_cost)) != 0) {
            return true;
        }
    }
    return false;
}

struct scheduled schedule(const struct instruction *instruction, const struct family *family,
                          int site) {
    struct scheduled item = schedule_in(instruction, &family->members[0], site);
    if (!costs_differ(family, instruction->cost_class)) {
        return item;
    }
    struct own_costs *own = calloc(BOARDS, sizeof *own);
    if (own == NULL) {
        fputs("board plug-in: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    for (unsigned member = 0; member < MAX_MEMBERS; member++) {
        const struct costs *costs = &family->members[member < family->count ? member : 0];
        struct scheduled its = schedule_in(instruction, costs, site);
        struct own_costs *board = &own[member / LANES];
        unsigned lane = member % LANES;
        set_lane(&board->latency, lane, its.latency);
        set_lane(&board->occupancy, lane, its.occupancy);
        set_lane(&board->destination_step, lane, its.destination.step);
        for (int i = 0; i < its.source_count; i++) {
            set_lane(&board->source_steps[i], lane, its.sources[i].step);
        }
    }
    item.own = own;
    return item;
}

/* Take ticks of what cores share, from a time in each lane on; returns when that is over. */
static lanes_t take(struct scoreboard *board, struct calendar *calendar, lanes_t from,
                    lanes_t amounts) {
    enum { MOST = 0xc0000000 }; /* so that nothing that is added to it wraps */
    lanes_t ends = all_lanes(0);
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t amount = get_lane(amounts, lane);
        if (amount == 0) {
            continue;
        }
        ticks_t end = calendar_take(calendar, member_in(board->number, lane),
                                    board->passed[lane] + get_lane(from, lane), amount);
        end -= board->passed[lane];
        set_lane(&ends, lane, LANES > 1 && end > MOST ? MOST : end);
    }
    return ends;
}

/* For how long lines that other cores want as well wait for the cluster's L2. */
static lanes_t l2_queue(struct scoreboard *board, lanes_t time, const struct lane_misses *of) {
    if (board->shared == NULL) {
        return all_lanes(0);
    }
    lanes_t amount = (of->l2_streamed + of->l2_waited + of->dram_read) * board->times->l2_line;
    return minus(take(board, board->shared->l2, time, amount), time + amount);
}

/* Move lines over DRAM's bus for an access at `time`; streams are known a while ahead. */
static void dram_transfer(struct scoreboard *board, lanes_t time, const struct lane_misses *of) {
    const struct lane_times *times = board->times;
    lanes_t earliest = minus(time, times->dram_ahead);
    lanes_t start = later(board->dram_free, earliest);
    lanes_t moved = start + of->dram_read * times->dram_read + of->dram_written * times->dram_write;
    if (board->shared != NULL) {
        lanes_t amount = of->dram_read * times->bus_read + of->dram_written * times->bus_write;
        moved = later(moved, take(board, board->shared->dram, start, amount));
    }
    board->dram_free = where(any_of(of->dram_read | of->dram_written), moved, board->dram_free);
}

#ifdef EXPLAIN

/* Add to what keeps the one outstanding unforeseen miss; what is still under way goes before it. */
static void explain_fill(struct scoreboard *board, ticks_t start, ticks_t dram, ticks_t l2,
                         ticks_t tlb) {
    struct reason *fill = &board->why.fill_free;
    const struct reason *own = &board->why.own;
    if (board->fill_free <= start) {
        *fill = (struct reason){0};
    }
    fill->row = own->row;
    fill->cause = own->cause;
    fill->dram += dram;
    fill->l2 += l2;
    fill->tlb += tlb;
}

/* What of a load's delay comes from where. */
static void explain_late(struct reason *own, const struct lane_misses *of, ticks_t late,
                         ticks_t bus) {
    own->dram = of->random + bus;
    own->tlb = of->walks;
    own->l2 = late - own->dram - own->tlb;
}

/* A store that starts at `start` waits from then on for room in a buffer: for DRAM's bus, the
 * outstanding miss or L2. */
static void explain_full(struct scoreboard *board, ticks_t start, ticks_t full, ticks_t miss,
                         ticks_t l2) {
    struct reasons *why = &board->why;
    explain_until(why, start);
    enum cause cause = l2 == full ? CAUSE_l2 : CAUSE_dram;
    why->now = (struct reason){.row = why->own.row, .cause = cause};
    if (miss == full) {
        why->now = why->fill_free;
    }
}

#endif

/* For how long the data of a load at `start` are late. */
static lanes_t load_late(struct scoreboard *board, const struct scheduled *item,
                         const struct misses *misses, const struct lane_misses *of, lanes_t start) {
    const struct lane_times *times = board->times;
    lanes_t waited = item->is_vector ? times->l2_streamed : times->l2_streamed_scalar;
    lanes_t late = of->penalty + of->l2_streamed * times->l2_streamed + of->l2_waited * waited;
    lanes_t bus = minus(board->dram_free, start) & any_of(of->dram_read);
    late += bus + l2_queue(board, start, of);
    EXPLAINED(explain_late(&board->why.own, of, late, bus);)
    for (unsigned i = 0; i < misses->arrival_count; i++) {
        late = later(late, minus(misses->arrivals[i]->at[board->number], start));
    }
    return late;
}

lanes_t scoreboard_miss(struct scoreboard *board, const struct scheduled *item,
                        const struct misses *misses, const struct lane_misses *of, lanes_t *time) {
    const struct lane_times *times = board->times;
    lanes_t unforeseen = any_of(of->penalty);
    if (item->is_load) {
        WAIT(*time, board->fill_free & unforeseen, board->why.now, board->why.fill_free);
    }
    lanes_t start = *time;
    EXPLAINED(if (of->penalty > 0) {
        explain_fill(board, start, of->random, of->penalty - of->random - of->walks, of->walks);
    })
    board->fill_free =
        where(unforeseen, later(board->fill_free, start) + of->penalty, board->fill_free);
    dram_transfer(board, start, of);
    if (item->is_load) {
        return load_late(board, item, misses, of, start);
    }
    /* Stores wait in a buffer, and hold up what follows only when it is full. */
    lanes_t l2_lines = of->l2_streamed + of->l2_waited;
    lanes_t written = later(board->l2_write_free, minus(start, times->dram_ahead)) +
                      l2_lines * times->l2_written + l2_queue(board, start, of);
    board->l2_write_free = where(any_of(l2_lines), written, board->l2_write_free);
    lanes_t buffered = start + times->dram_ahead;
    lanes_t bus = minus(board->dram_free, buffered) & any_of(of->dram_read | of->dram_written);
    lanes_t miss = minus(board->fill_free, buffered) & unforeseen;
    lanes_t l2 = minus(board->l2_write_free, buffered);
    lanes_t full = later(later(bus, miss), l2);
    EXPLAINED(explain_full(board, start, full, miss, l2);)
    *time += full;
    return all_lanes(0);
}

/* Say when the lines of a prefetch are there, in the models where that takes its time; there it also
 * has a slot of the load/store unit. */
static void set_arrivals(struct scoreboard *board, const struct misses *moved) {
    const struct lane_misses *of = &moved->of[board->number];
    const struct lane_times *times = board->times;
    lanes_t from_l2 = board->last_issue + times->l2_random;
    lanes_t from_dram = later(board->dram_free, board->last_issue + times->dram_random);
    lanes_t there = where(any_of(of->dram_read), from_dram, from_l2);
    lanes_t *unit = board->unit_free[UNIT_ls];
    for (unsigned i = 0; i < moved->arrival_count; i++) {
        struct arrival *arrival = moved->arrivals[i];
        lanes_t late = arrival->late[board->number];
        arrival->at[board->number] = there & late;
        unit[0] = where(late, later(unit[0], board->last_issue) + TICKS_PER_CYCLE, unit[0]);
    }
}

void scoreboard_prefetch(struct scoreboard *board, const struct misses *moved) {
    const struct lane_misses *of = &moved->of[board->number];
    const struct lane_times *times = board->times;
    dram_transfer(board, board->last_issue, of);
    EXPLAINED(if (of->l2_streamed > 0) {
        explain_fill(board, board->last_issue, 0, times->l2_streamed, 0);
    })
    /* One line at a time comes from L2. */
    lanes_t filled = later(board->fill_free, board->last_issue) + times->l2_streamed;
    board->fill_free = where(any_of(of->l2_streamed), filled, board->fill_free);
    set_arrivals(board, moved);
}

void scoreboard_rebase(struct scoreboard *board, struct memory *const *memories, unsigned count) {
    enum { KEPT = 1 << 24 }; /* what lies further back than this has no effect any more */
    lanes_t passed = minus(board->last_issue, all_lanes(KEPT));
    for (unsigned lane = 0; lane < LANES; lane++) {
        board->passed[lane] += get_lane(passed, lane);
    }
    for (int i = 0; i < REGISTER_COUNT; i++) {
        board->ready[i] = minus(board->ready[i], passed);
    }
    for (int i = 0; i < UNIT_COUNT; i++) {
        board->unit_free[i][0] = minus(board->unit_free[i][0], passed);
        board->unit_free[i][1] = minus(board->unit_free[i][1], passed);
    }
    lanes_t *others[] = {
        &board->length_ready, &board->last_issue,   &board->issue_before_last,
        &board->vector_end,   &board->vector_start, &board->load_free,
        &board->fill_free,    &board->l2_write_free, &board->dram_free,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        *others[i] = minus(*others[i], passed);
    }
    for (unsigned i = 0; i < count * ARRIVAL_SLOTS; i++) {
        lanes_t *at = &memories[i / ARRIVAL_SLOTS]->arrivals[i % ARRIVAL_SLOTS].at[board->number];
        *at = minus(*at, passed);
    }
}
