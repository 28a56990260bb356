/* Sums counters over the cores of a region; its cycles are those of the slowest core. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counted while running; names as in the JSON. */
#define MEMORY_COUNTS(X)                                                                           \
    X(l1d_load_access)                                                                             \
    X(l1d_load_miss)                                                                               \
    X(l1d_store_access)                                                                            \
    X(l1d_store_miss)                                                                              \
    X(l1d_dirty_eviction)                                                                          \
    X(l2_load_access)                                                                              \
    X(l2_load_miss)                                                                                \
    X(l2_store_access)                                                                             \
    X(l2_store_miss) X(tlb_miss) X(software_prefetch) X(software_prefetch_unresolved)

struct region {
    ticks_t elapsed[MAX_MEMBERS]; /* under each model */
    ticks_t busy; /* of all cores */
    ticks_t vector_busy, vector_fp_waited;
    uint64_t counts[STATIC_COUNT_COUNT];
    struct memory_counts memory;
    uint64_t branch_misses, vector_elements;
    unsigned threads, models;
    EXPLAINED(struct place *places; size_t place_count;)
};

#ifdef EXPLAIN
/* The ticks of the instruction at an address. */
struct place {
    uint64_t pc;
    row_t row;
};
#endif

struct report {
    size_t count, capacity;
    struct region regions[];
};

static void add_core(struct region *region, const struct core *core) {
    region->models = core->family->count;
    for (unsigned i = 0; i < region->models; i++) {
        ticks_t elapsed = core_elapsed(core, i);
        region->elapsed[i] = elapsed > region->elapsed[i] ? elapsed : region->elapsed[i];
    }
    ticks_t busy = core_elapsed(core, 0) - core->waited;
    region->busy += busy;
    region->threads += busy > 0;
    region->vector_busy += core->boards[0].vector_busy;
    region->vector_fp_waited += core->boards[0].vector_fp_waited;
    region->branch_misses += core->branch_misses;
    region->vector_elements += core->vector_elements;
    for (int i = 0; i < STATIC_COUNT_COUNT; i++) {
        region->counts[i] += core->counts[i];
    }
#define X(name) region->memory.name += core->memories.each[0]->counts.name;
    MEMORY_COUNTS(X)
#undef X
}

#ifdef EXPLAIN

static void add_places(struct region *region, const struct block *block, const row_t *rows) {
    uint64_t pc = block->pc;
    region->places =
        realloc(region->places, (region->place_count + block->length) * sizeof *region->places);
    if (region->places == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < block->length; i++) {
        struct place *place = &region->places[region->place_count++];
        place->pc = pc;
        memcpy(place->row, rows[i], sizeof place->row);
        pc += block->sizes[i];
    }
}

static void explain_region(struct region *region, const struct core *core) {
    if (core_elapsed(core, 0) != region->elapsed[0] || region->places != NULL) {
        return;
    }
    for (uint32_t i = 0; i < core->rows.capacity; i++) {
        const struct row_block *found = &core->rows.blocks[i];
        if (found->rows != NULL) {
            add_places(region, found->block, found->rows);
        }
    }
}

static void write_row(FILE *file, const row_t row) {
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        fprintf(file, ", %" PRIu64 ".%02u", row[cause] / TICKS_PER_CYCLE,
                (unsigned)(row[cause] % TICKS_PER_CYCLE));
    }
}

/* The names of the causes, then each address with its cycles by cause. */
static void write_places(FILE *file, const struct region *region) {
    fputs(", \"causes\": [", file);
#define X(name) fputs(CAUSE_##name == 0 ? "\"" #name "\"" : ", \"" #name "\"", file);
    CAUSES(X)
#undef X
    fputs("], \"places\": [", file);
    for (size_t i = 0; i < region->place_count; i++) {
        fprintf(file, "%s[%" PRIu64, i == 0 ? "\n" : ",\n", region->places[i].pc);
        write_row(file, region->places[i].row);
        fputs("]", file);
    }
    fputs("]", file);
}

#endif

void report_add_region(struct report **report, struct core *const *cores, unsigned core_count) {
    if (*report == NULL || (*report)->count == (*report)->capacity) {
        size_t count = *report == NULL ? 0 : (*report)->count;
        size_t capacity = count == 0 ? 16 : count * 2;
        *report = realloc(*report, sizeof **report + capacity * sizeof(struct region));
        if (*report == NULL) {
            fputs("board plug-in: out of memory\n", stderr);
            exit(EXIT_FAILURE);
        }
        (*report)->count = count;
        (*report)->capacity = capacity;
    }
    struct region *region = &(*report)->regions[(*report)->count++];
    *region = (struct region){0};
    for (unsigned i = 0; i < core_count; i++) {
        if (cores[i] != NULL) {
            add_core(region, cores[i]);
        }
    }
#ifdef EXPLAIN
    for (unsigned i = 0; i < core_count; i++) {
        if (cores[i] != NULL) {
            explain_region(region, cores[i]);
        }
    }
#endif
}

static void write_ticks(FILE *file, const char *name, ticks_t ticks) {
    fprintf(file, "\"%s\": %" PRIu64 ".%02u, ", name, ticks / TICKS_PER_CYCLE,
            (unsigned)(ticks % TICKS_PER_CYCLE));
}

static void write_count(FILE *file, const char *name, uint64_t value) {
    fprintf(file, "\"%s\": %" PRIu64 ", ", name, value);
}

static void write_region(FILE *file, const struct region *region) {
    static const char *const names[STATIC_COUNT_COUNT] = {
#define X(name) #name,
        STATIC_COUNTS(X)
#undef X
    };
    fputs("{", file);
    write_ticks(file, "cycles", region->elapsed[0]);
    write_ticks(file, "busy_cycles", region->busy);
    write_ticks(file, "vector_unit_busy_cycles", region->vector_busy);
    write_ticks(file, "vector_fp_wait_cycles", region->vector_fp_waited);
    for (int i = 0; i < STATIC_COUNT_COUNT; i++) {
        write_count(file, names[i], region->counts[i]);
    }
#define X(name) write_count(file, #name, region->memory.name);
    MEMORY_COUNTS(X)
#undef X
    write_count(file, "branch_misses", region->branch_misses);
    write_count(file, "vector_elements", region->vector_elements);
    fprintf(file, "\"threads\": %u, \"models\": [", region->threads);
    for (unsigned i = 0; i < region->models; i++) {
        fprintf(file, "%s%" PRIu64 ".%02u", i == 0 ? "" : ", ", region->elapsed[i] / TICKS_PER_CYCLE,
                (unsigned)(region->elapsed[i] % TICKS_PER_CYCLE));
    }
    fputs("]", file);
    EXPLAINED(write_places(file, region);)
    fputs("}", file);
}

bool report_write(const struct report *report, const char *path, bool whole,
                  unsigned unpaired_marks, unsigned processes) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "board plug-in: cannot write %s\n", path);
        return false;
    }
    size_t count = report == NULL ? 0 : report->count;
    fprintf(file, "{\"whole\": %s, \"unpaired_marks\": %u, \"processes\": %u, \"regions\": [",
            whole ? "true" : "false", unpaired_marks, processes);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "\n" : ",\n", file);
        write_region(file, &report->regions[i]);
    }
    fputs("\n]}\n", file);
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}
