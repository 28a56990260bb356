/* Runs a kernel whose accesses are watched, and says whether its outputs depend on when its programs
 * run.
 *
 *   races.elf DATA_FILE X Y Z
 *
 * Programs take turns, and a load reads what its program may count on: not what another wrote unless an
 * atomic operation ordered the two; and of two stores in no order, either may be the last. Wrong outputs
 * are the kernel's fault only where it is right with its programs one after another.
 * docs/reference/launcher.md describes what it prints and returns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "check.h"
#include "clock.h"
#include "data_file.h"
#include "history.h"
#include "interleaved.h"
#include "kernel_abi.h"
#include "orders.h"
#include "report.h"

/* A pair of numbers for each pair of programs has to fit. */
#define MOST_PROGRAMS 4096u

void triton_rvv_assertion_failed(const char *message, uint32_t x, uint32_t y, uint32_t z) {
    (void)message, (void)x, (void)y, (void)z;
    _exit(EXIT_UNDECIDED);
}

void *triton_rvv_scratch(uint64_t size_bytes) {
    static void *scratch[INTERLEAVED_MOST];
    void **own = &scratch[interleaved_place()];
    if (*own == NULL && (*own = malloc(size_bytes)) == NULL)
        _exit(EXIT_UNDECIDED);
    return *own;
}

static struct data data;
static uint32_t grid[3];

/* The outcome of a run of the grid. */
static struct check_result run(enum data_set set, enum history_mode mode, bool in_turns) {
    arena_load(set);
    clock_restart(0);
    if (!history_begin(&data, arena_args(), (uint32_t)grid_programs(grid), mode))
        exit(EXIT_UNDECIDED);
    if (!in_turns)
        interleaved_run_in_order(grid);
    else if (!interleaved_run(grid))
        exit(EXIT_UNDECIDED);
    if (mode == HISTORY_KNOWN)
        history_settle();
    return check_outputs(&data, set, arena_args());
}

/* The first way of running it that makes an output wrong; the last one where all are right. */
static struct check_result try_ways(enum data_set set) {
    struct check_result result = run(set, HISTORY_KNOWN, true);
    if (result.wrong == NULL && history_race().argument != NULL)
        result = run(set, HISTORY_EITHER, true);
    return result;
}

static int look(enum data_set set) {
    struct check_result result = try_ways(set);
    if (result.wrong == NULL)
        return EXIT_OK;
    struct history_race race = history_race();
    if (run(set, HISTORY_LATEST, false).wrong != NULL)
        return EXIT_UNDECIDED; /* it is wrong without another order */
    if (race.argument != NULL)
        fprintf(stderr, "race argument=%s index=%" PRIu64 " reader=%" PRIu32 " writer=%" PRIu32 "\n",
                race.argument->name, race.index, race.reader, race.writer);
    report_check(&result, "together");
    return EXIT_WRONG_OUTPUT;
}

int main(int argc, char **argv) {
    if (argc != 5 || data_open(argv[1], &data) != NULL || arena_create(&data) != NULL)
        return EXIT_USAGE;
    for (int axis = 0; axis < 3; axis++)
        grid[axis] = (uint32_t)strtoul(argv[2 + axis], NULL, 10);
    if (grid_programs(grid) > MOST_PROGRAMS || !report_open())
        return EXIT_UNDECIDED;
    report_start();
    /* Where inputs of the check hold a NaN, a sum of all is one, whatever it has missed. */
    int status = look(DATA_CHECK);
    return status == EXIT_OK ? look(DATA_TIMED) : status;
}
