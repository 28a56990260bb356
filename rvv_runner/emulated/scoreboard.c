/* From a decoded instruction and the cost table to what the scoreboard needs, and how misses are
 * served. */
#include "scoreboard.h"

#include <string.h>

void scoreboard_reset(struct scoreboard *board) {
    struct window *window = board->window;
    memset(board, 0, sizeof *board);
    board->window = window;
    if (window != NULL) {
        window_reset(window);
    }
    for (int unit = 0; unit < UNIT_COUNT; unit++) {
        board->unit_free[unit][1] = unit == UNIT_ieu ? 0 : UINT64_MAX;
    }
}

/* Ticks from one register of a group to the next, where the work goes through it in order. */
static uint32_t step_of(uint32_t occupancy, uint32_t registers) {
    return registers > 1 ? occupancy / registers : 0;
}

struct scheduled schedule(const struct instruction *instruction, const struct costs *costs,
                          int site) {
    const struct class_cost *cost = &costs->classes[instruction->cost_class];
    const uint32_t *occupancies = cost->occupancy[instruction->sew_index];
    const uint32_t *latencies = cost->latency[instruction->sew_index];
    uint32_t occupancy = occupancies[instruction->lmul_index];
    uint32_t extra = occupancy * (instruction->fields - 1u); /* the table holds them per field */
    if (instruction->is_masked) {
        bool whole = instruction->lmul_index >= LMUL_1; /* fractions of a register are no slower */
        extra += cost->masked_extra + (whole ? occupancy * (cost->masked_percent - 100) / 100 : 0);
    }
    bool chains = cost->is_chained && instruction->destination.count > 1;
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
        .latency = chains ? latencies[LMUL_1] : latencies[instruction->lmul_index] + extra,
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

/* Move lines over DRAM's bus for an access at `time`; streams are known a while ahead. */
static void dram_transfer(struct scoreboard *board, const struct costs *costs, ticks_t time,
                          uint32_t read, uint32_t written) {
    if (read + written > 0) {
        ticks_t earliest = time > costs->dram_ahead ? time - costs->dram_ahead : 0;
        board->dram_free = later(board->dram_free, earliest) + (ticks_t)read * costs->dram_read +
                           (ticks_t)written * costs->dram_write;
    }
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
static void explain_late(struct reason *own, const struct misses *misses, ticks_t late,
                         ticks_t bus) {
    own->dram = misses->random + bus;
    own->tlb = misses->walks;
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

ticks_t scoreboard_miss(struct scoreboard *board, const struct scheduled *item,
                        const struct misses *misses, const struct costs *costs, ticks_t *time) {
    if (misses->penalty > 0 && item->is_load) {
        WAIT(*time, board->fill_free, board->why.now, board->why.fill_free);
    }
    ticks_t start = *time;
    if (misses->penalty > 0) {
        EXPLAINED(explain_fill(board, start, misses->random,
                               misses->penalty - misses->random - misses->walks, misses->walks);)
        board->fill_free = later(board->fill_free, start) + misses->penalty;
    }
    dram_transfer(board, costs, start, misses->dram_read, misses->dram_written);
    ticks_t late = misses->penalty;
    if (item->is_load) {
        ticks_t waited = item->is_vector ? costs->l2_streamed : costs->l2_streamed_scalar;
        late += misses->l2_streamed * (ticks_t)costs->l2_streamed + misses->l2_waited * waited;
        ticks_t bus = misses->dram_read > 0 ? minus(board->dram_free, start) : 0;
        late += bus;
        EXPLAINED(explain_late(&board->why.own, misses, late, bus);)
        return late;
    }
    /* Stores wait in a buffer, and hold up what follows only when it is full. */
    uint32_t l2_lines = misses->l2_streamed + misses->l2_waited;
    if (l2_lines > 0) {
        ticks_t earliest = start > costs->dram_ahead ? start - costs->dram_ahead : 0;
        board->l2_write_free =
            later(board->l2_write_free, earliest) + l2_lines * (ticks_t)costs->l2_written;
    }
    ticks_t buffered = start + costs->dram_ahead;
    bool moved = misses->dram_read + misses->dram_written > 0;
    ticks_t bus = moved ? minus(board->dram_free, buffered) : 0;
    ticks_t miss = misses->penalty > 0 ? minus(board->fill_free, buffered) : 0;
    ticks_t l2 = minus(board->l2_write_free, buffered);
    ticks_t full = later(later(bus, miss), l2);
    EXPLAINED(explain_full(board, start, full, miss, l2);)
    *time += full;
    return 0;
}

void scoreboard_prefetch(struct scoreboard *board, const struct misses *moved,
                         const struct costs *costs) {
    dram_transfer(board, costs, board->last_issue, moved->dram_read, moved->dram_written);
    if (moved->l2_streamed > 0) { /* one line at a time comes from L2 */
        EXPLAINED(explain_fill(board, board->last_issue, 0, costs->l2_streamed, 0);)
        board->fill_free = later(board->fill_free, board->last_issue) + costs->l2_streamed;
    }
}
