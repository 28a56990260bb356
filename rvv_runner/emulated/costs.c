/* Reads the cost table: lines "param NAME VALUE", for an out-of-order core also "window NAME
 * VALUE", and "cost NAME UNIT CHAINED MASKED_PERCENT MASKED_EXTRA" (CHAINED 0 or 1) followed by
 * seven latencies and seven occupancies (mf8 to m8) for each of e8, e16, e32 and e64. */
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
    uint32_t chained, masked, extra;
    int index = index_of(class_names, CLASS_COUNT, name);
    if (index < 0 || fscanf(file, "%15s %" SCNu32 " %" SCNu32 " %" SCNu32, unit, &chained, &masked,
                            &extra) != 4) {
        return false;
    }
    int unit_index = index_of(unit_names, UNIT_COUNT, unit);
    if (unit_index < 0) {
        return false;
    }
    struct class_cost *cost = &costs->classes[index];
    cost->unit = (enum unit)unit_index;
    cost->is_chained = chained != 0;
    cost->masked_percent = masked;
    cost->masked_extra = extra;
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
#undef X
    return false;
}

/* Whether the window's parameters are absent, or complete and within the model's arrays. */
static bool window_fits(const struct costs *costs, unsigned parameters) {
    return parameters == 0 || (parameters == WINDOW_PARAMETER_COUNT && costs->issue_width > 0 &&
                               costs->window_entries <= MAX_WINDOW_ENTRIES &&
                               costs->load_misses > 0 && costs->load_misses <= MAX_LOAD_MISSES);
}

bool costs_read(const char *path, struct costs *costs) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "board plug-in: cannot open the cost table %s\n", path);
        return false;
    }
    char kind[16];
    char name[32];
    unsigned classes = 0;
    unsigned parameters = 0;
    unsigned window_parameters = 0;
    bool good = true;
    while (good && fscanf(file, "%15s %31s", kind, name) == 2) {
        bool of_window = strcmp(kind, "window") == 0;
        good =
            strcmp(kind, "cost") == 0
                ? read_class(file, name, costs, &classes)
                : read_parameter(file, name, costs, of_window ? &window_parameters : &parameters);
    }
    fclose(file);
    if (!good) {
        fprintf(stderr, "board plug-in: the cost table is wrong at '%s %s'\n", kind, name);
    } else if (classes != CLASS_COUNT || parameters != PARAMETER_COUNT) {
        fprintf(stderr, "board plug-in: the cost table has %u of %d classes, %u of %d parameters\n",
                classes, CLASS_COUNT, parameters, PARAMETER_COUNT);
        good = false;
    } else if (!window_fits(costs, window_parameters)) {
        fputs("board plug-in: the window in the cost table is incomplete or too large\n", stderr);
        good = false;
    }
    return good;
}
