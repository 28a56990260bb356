/* What the launcher prints, and the status that it ends with. */
#ifndef TRITON_RVV_REPORT_H
#define TRITON_RVV_REPORT_H

#include "arena.h"
#include "check.h"
#include "orders.h"

/* docs/reference/launcher.md describes them. */
enum exit_status {
    EXIT_OK = 0,
    EXIT_WRONG_OUTPUT = 1,
    EXIT_USAGE = 2,         /* a mistake in the command or a data file that cannot be read */
    EXIT_WRONG_MACHINE = 3, /* no vector unit, or one of another length */
    EXIT_ASSERTION = 4,     /* a tl.device_assert did not hold */
    EXIT_MEMORY = 5,        /* too little of it for the kernel's blocks */
    EXIT_OUT_OF_BOUNDS = 6, /* the kernel touched memory before or behind an array */
    EXIT_HELPERS = 7,       /* the kernel handles signals itself, or left a thread running */
};

/* Takes standard output for the report alone: what a kernel prints there goes to standard error.
 * And draws a key, which is printed before the kernel runs, and again before what is found then: a
 * kernel that writes to the report's descriptor all the same does not know it.
 * False where the system has no descriptor left, or no random number. */
bool report_open(void);

/* Prints what is known before anything runs, even where the kernel then ends the program. */
void report_start(void);

/* "shuffled", "reversed" or "alone". */
const char *order_name(enum order order);

/* Prints the line "order: ..." before programs run in that order, so that it is known where the
 * kernel never ends then. */
void report_order(enum order order);

/* Prints the key, then the line "out OK ..." or "out NOT OK ...", integers in decimal and others
 * as %.9g. `run` names the run: "check", "timed" or the name of an order. */
void report_check(const struct check_result *result, const char *run);

/* Prints the key, then the line "out of bounds ..."; `how` is "fault" for an access that ended the
 * program, and "write" for bytes that were found changed. May be called where a signal is handled. */
void report_out_of_bounds(const struct arena_violation *violation, const char *how);

/* Prints the times of all timed runs, and their mean on standard error. */
void report_times(const uint64_t *times_ns, uint32_t count);

#endif
