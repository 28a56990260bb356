/* From a decoded instruction and the cost table to what the scoreboard needs. */
#include "scoreboard.h"

#include <string.h>

void scoreboard_reset(struct scoreboard *board) {
    memset(board, 0, sizeof *board);
    for (int unit = 0; unit < UNIT_COUNT; unit++) {
        bool two_servers = unit == UNIT_ieu || unit == UNIT_ls;
        board->unit_free[unit][1] = two_servers ? 0 : UINT64_MAX;
    }
}

struct scheduled schedule(const struct instruction *instruction, const struct costs *costs,
                          int site) {
    const struct class_cost *cost = &costs->classes[instruction->cost_class];
    uint32_t occupancy = cost->occupancy[instruction->sew_index][instruction->lmul_index];
    uint32_t latency = cost->latency[instruction->sew_index][instruction->lmul_index];
    if (instruction->is_masked) {
        uint32_t extra = occupancy * (cost->masked_percent - 100) / 100;
        occupancy += extra;
        latency += extra; /* the last element comes out later by as much */
    }
    if (instruction->fields > 1) { /* the table holds segment accesses per field */
        uint32_t extra = occupancy * (instruction->fields - 1u);
        occupancy += extra;
        latency += extra;
    }
    uint32_t late = 0;
    if (instruction->is_vector && instruction->is_load) {
        uint32_t further = group_registers(instruction->lmul_index) - 1;
        late = further * costs->load_latency_per_register;
    }
    struct scheduled item = {
        .destination = instruction->destination,
        .source_count = instruction->source_count,
        .unit = (uint8_t)cost->unit,
        .is_vector = instruction->is_vector,
        .is_load = instruction->is_load,
        .site = (int16_t)site,
        .is_vector_store = instruction->is_vector && instruction->is_store,
        .latency = latency + late,
        .occupancy = occupancy,
        .earlier_for_stores = late,
    };
    memcpy(item.sources, instruction->sources, sizeof item.sources);
    return item;
}
