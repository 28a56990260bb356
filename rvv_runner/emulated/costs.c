/* Reads the cost table: lines "param NAME VALUE", for an out-of-order core also "window NAME
 * VALUE", for several cores "shared NAME VALUE", and "cost NAME UNIT CHAINED MASKED_PERCENT MASKED_EXTRA" (CHAINED 0 or 1) followed by
 * seven latencies and seven occupancies (mf8 to m8) for each of e8, e16, e32 and e64. "member NAME"
 * begins another model, which is the first one but for the lines that follow. */
#include "costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "window.h"

static const char *const class_names[CLASS_COUNT] = {
#define X(name) #name,
    COST_CLASSES(X)
#undef X
};
static const char *const unit_names[UNIT_COUNT] = {"ieu", "ls", "fp", "vieu", "vfp"};

enum {
    PARAMETER_COUNT = 0
#define X(name) +1
    COST_PARAMETERS(X)
#undef X
};
enum {
    WINDOW_PARAMETER_COUNT = 0
#define X(name) +1
    WINDOW_PARAMETERS(X)
#undef X
};

enum {
    SHARED_PARAMETER_COUNT = 0
#define X(name) +1
    SHARED_PARAMETERS(X)
#undef X
};

/* What lines are counted by. */
enum line_kind { LINE_cost, LINE_param, LINE_window, LINE_shared, LINE_KINDS };

static int index_of(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool read_list(FILE *file, uint32_t list[LMUL_COUNT]) {
    for (int i = 0; i < LMUL_COUNT; i++) {
        if (fscanf(file, "%" SCNu32, &list[i]) != 1) {
            return false;
        }
    }
    return true;
}

static bool read_class(FILE *file, const char *name, struct costs *costs, unsigned *seen) {
    char unit[16];
    uint32_t chained, extra;
    int index = index_of(class_names, CLASS_COUNT, name);
    if (index < 0 ||
        fscanf(file, "%15s %" SCNu32 " %" SCNu32, unit, &chained, &extra) != 3) {
        return false;
    }
    int unit_index = index_of(unit_names, UNIT_COUNT, unit);
    if (unit_index < 0) {
        return false;
    }
    struct class_cost *cost = &costs->classes[index];
    cost->unit = (enum unit)unit_index;
    cost->is_chained = chained != 0;
    cost->masked_extra = extra;
    if (!read_list(file, cost->masked_percent)) {
        return false;
    }
    for (int sew = 0; sew < SEW_COUNT; sew++) {
        if (!read_list(file, cost->latency[sew]) || !read_list(file, cost->occupancy[sew])) {
            return false;
        }
    }
    (*seen)++;
    return true;
}

static bool read_parameter(FILE *file, const char *name, struct costs *costs, unsigned *seen) {
    uint32_t value;
    if (fscanf(file, "%" SCNu32, &value) != 1) {
        return false;
    }
    (*seen)++;
#define X(field)                                                                                   \
    if (strcmp(name, #field) == 0) {                                                               \
        costs->field = value;                                                                      \
        return true;                                                                               \
    }
    COST_PARAMETERS(X)
    WINDOW_PARAMETERS(X)
    SHARED_PARAMETERS(X)
#undef X
    return false;
}

/* Whether the window's parameters are absent, or complete and within the model's arrays. */
static bool window_fits(const struct costs *costs, unsigned parameters) {
    return parameters == 0 || (parameters == WINDOW_PARAMETER_COUNT && costs->issue_width > 0 &&
                               costs->window_entries <= MAX_WINDOW_ENTRIES &&
                               costs->load_misses > 0 && costs->load_misses <= MAX_LOAD_MISSES);
}

static bool shared_fits(const struct costs *costs, unsigned parameters) {
    return parameters == 0 || (parameters == SHARED_PARAMETER_COUNT && costs->cores > 1 &&
                               costs->cores <= MAX_CORES && costs->cores_per_l2 > 0);
}

/* Read the lines of all members; what is said of the first one is counted. */
static bool read_lines(FILE *file, struct family *family, char kind[16], char name[32],
                       unsigned seen[LINE_KINDS]) {
    static const char *const kinds[LINE_KINDS] = {"cost", "param", "window", "shared"};
    bool good = true;
    while (good && fscanf(file, "%15s %31s", kind, name) == 2) {
        struct costs *costs = &family->members[family->count - 1];
        unsigned others[LINE_KINDS] = {0};
        int line = index_of(kinds, LINE_KINDS, kind);
        unsigned *counts = family->count == 1 ? seen : others;
        if (strcmp(kind, "member") == 0) {
            good = family->count < MAX_MEMBERS;
            family->members[family->count] = family->members[0];
            family->count += good;
        } else if (line == LINE_cost) {
            good = read_class(file, name, costs, &counts[line]);
        } else {
            good = line > 0 && read_parameter(file, name, costs, &counts[line]);
        }
    }
    return good;
}

static uint32_t unforeseen(const struct costs *costs, bool store, bool hit, bool evicts) {
    uint32_t penalty = hit ? costs->l2_random : costs->dram_random;
    penalty += evicts ? costs->dirty_eviction : 0;
    return store ? penalty / costs->store_misses : penalty;
}

static void fill_times(struct family *family) {
    for (unsigned member = 0; member < MAX_MEMBERS; member++) {
        /* Lanes without a member repeat the default, so that nothing there grows out of bounds. */
        const struct costs *costs = &family->members[member < family->count ? member : 0];
        struct lane_times *times = &family->times[member / LANES];
        unsigned lane = member % LANES;
#define X(name) set_lane(&times->name, lane, costs->name);
        LANE_TIMES(X)
#undef X
        for (unsigned i = 0; i < 8; i++) {
            unsigned store = i >> 2, hit = i >> 1 & 1, evicts = i & 1;
            set_lane(&times->unforeseen[store][hit][evicts], lane,
                     unforeseen(costs, store, hit, evicts));
        }
    }
}

bool family_read(const char *path, struct family *family) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "board plug-in: cannot open the cost table %s\n", path);
        return false;
    }
    char kind[16];
    char name[32];
    unsigned seen[LINE_KINDS] = {0};
    family->count = 1;
    bool good = read_lines(file, family, kind, name, seen);
    fclose(file);
    if (!good) {
        fprintf(stderr, "board plug-in: the cost table is wrong at '%s %s'\n", kind, name);
    } else if ((seen[LINE_cost] != CLASS_COUNT && seen[LINE_cost] != CLASS_v_matrix) ||
               seen[LINE_param] != PARAMETER_COUNT) {
        fprintf(stderr, "board plug-in: the cost table has %u of %d classes, %u of %d parameters\n",
                seen[LINE_cost], CLASS_v_matrix, seen[LINE_param], PARAMETER_COUNT);
        good = false;
    } else if (!window_fits(&family->members[0], seen[LINE_window])) {
        fputs("board plug-in: the window in the cost table is incomplete or too large\n", stderr);
        good = false;
    } else if (!shared_fits(&family->members[0], seen[LINE_shared])) {
        fputs("board plug-in: the cores in the cost table are incomplete or too many\n", stderr);
        good = false;
    }
    if (good) {
        fill_times(family);
    }
    return good;
}
