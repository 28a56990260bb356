/* Runs finished blocks through branch predictor, register tracker and scoreboard. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* What an unknown vector type is taken for until a vset* is seen. */
static const struct vector_type UNKNOWN_TYPE = {.sew_index = 2, .lmul_index = LMUL_1};

/* The scoreboards of a core, one for each model or one for all. */
static bool make_boards(struct core *core) {
    const struct family *family = core->family;
    core->board_count = (family->count + LANES - 1) / LANES;
    EXPLAINED(core->board_count = 1;)
    for (unsigned i = 0; i < core->board_count; i++) {
        struct scoreboard *board = &core->boards[i];
        board->number = i;
        board->costs = &family->members[i * LANES];
        board->times = &family->times[i];
#if LANES == 1
        if (board->costs->window_entries > 0) {
            board->window = window_new();
            if (board->window == NULL) {
                return false;
            }
        }
#endif
    }
    return true;
}

struct core *core_new(const struct family *family) {
    struct core *core = calloc(1, sizeof *core);
    if (core == NULL) {
        return NULL;
    }
    core->family = family;
    core->costs = &family->members[0];
    core->predictor = calloc(core->costs->predictor_entries, sizeof *core->predictor);
    if (core->predictor == NULL || !memories_init(&core->memories, family) || !make_boards(core)) {
        return NULL;
    }
    core->type = UNKNOWN_TYPE;
    core_start_region(core);
    return core;
}

#ifdef EXPLAIN

/* The rows of a block's instructions, made on first use. */
static row_t *rows_of(struct rows *rows, const struct block *block) {
    if (block->number >= rows->capacity) {
        uint32_t capacity = 2 * block->number + 64;
        rows->blocks = realloc(rows->blocks, capacity * sizeof *rows->blocks);
        if (rows->blocks == NULL) {
            abort();
        }
        memset(&rows->blocks[rows->capacity], 0,
               (capacity - rows->capacity) * sizeof *rows->blocks);
        rows->capacity = capacity;
    }
    struct row_block *found = &rows->blocks[block->number];
    if (found->rows == NULL) {
        found->block = block;
        found->rows = calloc(block->length, sizeof *found->rows);
        if (found->rows == NULL) {
            abort();
        }
    }
    return found->rows;
}

static void clear_rows(struct rows *rows) {
    for (uint32_t i = 0; i < rows->capacity; i++) {
        if (rows->blocks[i].rows != NULL) {
            memset(rows->blocks[i].rows, 0,
                   rows->blocks[i].block->length * sizeof *rows->blocks[i].rows);
        }
    }
}

#endif

void core_start_region(struct core *core) {
    EXPLAINED(clear_rows(&core->rows);)
    for (unsigned i = 0; i < core->board_count; i++) {
        scoreboard_reset(&core->boards[i]);
    }
    memories_start_region(&core->memories);
    memset(core->counts, 0, sizeof core->counts);
    tracker_reset(&core->tracker, core->costs->vlen_bits / 8);
    memset(core->misses, 0, sizeof core->misses);
    core->pending = NULL;
    core->branch_misses = 0;
    core->vector_elements = 0;
    core->waited = 0;
}

void core_take_over(struct core *core, const struct core *other) {
    core->type = other->type;
    core->tracker = other->tracker;
    core->vector_length = other->vector_length;
    core->length_read = other->length_read;
    core->length_changes = other->length_changes;
    core->last_site = NULL;
}

/* Let a scoreboard wait, but no longer than its lanes can hold; whether that was long enough. */
static bool wait_a_while(struct core *core, unsigned number, const ticks_t *times) {
    enum { MOST = 0x80000000 };
    struct scoreboard *board = &core->boards[number];
    bool done = true;
    lanes_t until = all_lanes(0);
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned member = member_in(number, lane);
        ticks_t time = times[member < core->family->count ? member : 0] - board->passed[lane];
        done &= LANES == 1 || time <= MOST;
        set_lane(&until, lane, LANES == 1 || time <= MOST ? time : MOST);
    }
    scoreboard_wait(board, until);
    return done;
}

void core_wait_until(struct core *core, const ticks_t *times) {
    core->waited += times[0] - core_elapsed(core, 0);
    for (unsigned i = 0; i < core->board_count; i++) {
        while (!wait_a_while(core, i, times)) {
            scoreboard_rebase(&core->boards[i], core->memories.each, core->memories.count);
        }
    }
}

void core_replay(struct core *core, uint32_t end) {
    const struct block *block = core->pending;
    for (uint32_t i = core->replayed; i < end; i++) {
        uint32_t word = block->words[i];
        const struct observed *observed =
            has_site(word) ? &core->observed[core->replayed_sites++] : NULL;
        tracker_step(&core->tracker, word, core->replayed_pc, block->sizes[i], observed);
        core->replayed_pc += block->sizes[i];
    }
    core->replayed = end;
}

/* The time of a model, as far as finished blocks have brought it. */
static ticks_t time_of(const struct core *core, unsigned member) {
    const struct scoreboard *board = &core->boards[member / LANES];
    unsigned lane = member % LANES;
    return board->passed[lane] + get_lane(board->last_issue, lane);
}

void core_prefetch(struct core *core, const struct site *site, uint64_t address) {
    address = core_address(core, address);
    ticks_t now[MAX_MEMBERS];
    for (unsigned member = 0; member < core->family->count; member++) {
        /* Of the pending block, two instructions a cycle. */
        now[member] = time_of(core, member) + site->at * (ticks_t)(TICKS_PER_CYCLE / 2);
    }
    memories_prefetch(&core->memories, address, now, &core->misses[site->index]);
}

/* Find the vector type that the block's last instruction takes from a register, if it does. */
static void replay_type(struct core *core, const struct block *block) {
    uint32_t last = block->length - 1;
    uint32_t source = rs2_of(block->words[last]);
    core_replay(core, last);
    if (block->sets_type_from_register && tracker_knows(&core->tracker, source)) {
        core->register_type = vector_type_from_bits(core->tracker.value[source]);
    }
}

/* A two-bit counter for each branch; a mispredicted one costs a restart of the pipeline. */
static void predict(struct core *core, const struct block *block, uint64_t next_pc) {
    uint64_t branch_pc = block->end_pc - block->sizes[block->length - 1];
    uint8_t *counter = &core->predictor[branch_pc >> 1 & (core->costs->predictor_entries - 1)];
    bool taken = next_pc != block->end_pc;
    if ((*counter >= 2) != taken) {
        core->branch_misses++;
        for (unsigned i = 0; i < core->board_count; i++) {
            scoreboard_mispredict(&core->boards[i]);
        }
    }
    if (taken && *counter < 3) {
        (*counter)++;
    } else if (!taken && *counter > 0) {
        (*counter)--;
    }
}

/* Put an instruction through one scoreboard. */
static inline void issue_on(struct core *core, struct scoreboard *board,
                            const struct scheduled *item, const struct misses *moved) {
    const struct misses *misses = item->is_prefetch ? NULL : moved;
    if (moved != NULL && scoreboard_is_late(board)) {
        scoreboard_rebase(board, core->memories.each, core->memories.count);
    }
#if LANES == 1
    if (board->window != NULL) {
        window_issue(board, item, misses);
    } else {
        scoreboard_issue(board, item, misses);
    }
#else
    scoreboard_issue(board, item, misses);
#endif
    if (item->is_prefetch && moved != NULL) {
        EXPLAINED(board->why.own.cause = CAUSE_l2;)
        scoreboard_prefetch(board, moved);
    }
}

/* Put the block's instructions through the model of issue. */
static void issue(struct core *core, const struct block *block,
                  const struct schedule_variant *variant) {
    EXPLAINED(row_t *rows = rows_of(&core->rows, block);)
    if (scoreboard_is_late(&core->boards[0])) {
        scoreboard_rebase(&core->boards[0], core->memories.each, core->memories.count);
    }
    for (uint32_t i = 0; i < block->length; i++) {
        const struct scheduled *item = &variant->items[i];
        struct misses *moved = item->site < 0 ? NULL : &core->misses[item->site];
        moved = moved != NULL && moved->any ? moved : NULL;
        EXPLAINED(core->boards[0].why.own.row = rows[i];)
        for (unsigned board = 0; board < core->board_count; board++) {
            issue_on(core, &core->boards[board], item, moved);
        }
        if (moved != NULL) {
            memset(moved, 0, sizeof *moved);
        }
    }
}

void core_finish_block(struct core *core, uint64_t next_pc, bool tracking) {
    struct block *block = core->pending;
    const struct schedule_variant *variant = block_schedule(block, core->type, core->family);
    core->type = variant->after;
    if (tracking) {
        replay_type(core, block);
        core_replay(core, block->length);
    }
    if (core->register_type.known) {
        core->type = core->register_type;
    }
    issue(core, block, variant);
    for (int i = 0; i < STATIC_COUNT_COUNT; i++) {
        core->counts[i] += variant->counts[i];
    }
    if (block->ends_in_branch) {
        predict(core, block, next_pc);
    }
    core->pending = NULL;
}

ticks_t core_elapsed(const struct core *core, unsigned member) {
    const struct scoreboard *board = &core->boards[member / LANES];
    unsigned lane = member % LANES;
    /* In order, the first instruction issues in cycle 1. */
    return board->passed[lane] + get_lane(scoreboard_end(board), lane);
}
