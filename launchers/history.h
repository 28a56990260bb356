/* What programs of a grid have written to each element, and what each of them may read of it: for a
 * kernel whose accesses all come here (triton_rvv/lowering/memory/watched.py).
 *
 * One program knows of another's writes where an atomic operation of the other, behind them, was read
 * by an atomic operation of its own: happens-before, by vector clocks. Of writes that it does not know
 * of, a machine may show it any or none. Programs run one at a time here, so it depends on the mode. */
#ifndef TRITON_RVV_HISTORY_H
#define TRITON_RVV_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "data_file.h"

/* How a program ends that finds nothing out; see report.h for the others. */
#define EXIT_UNDECIDED 8

enum history_mode {
    HISTORY_LATEST, /* a load reads what was written last */
    HISTORY_KNOWN,  /* what the program knows of, and no write that it does not know of */
    HISTORY_EITHER, /* the one or the other, as the element and the program have it */
};

/* A load of a program that reads an element which another has written, without knowing of it. */
struct history_race {
    const struct data_argument *argument; /* NULL where there was none */
    uint64_t index;                       /* of the element */
    uint32_t reader, writer;              /* programs, counted with x fastest */
};

/* Forgets all writes, before a run of so many programs on arrays at the addresses in `args`. False
 * where there is too little memory. */
bool history_begin(const struct data *data, const uint64_t *args, uint32_t programs,
                   enum history_mode mode);

/* Says which program runs from now on. */
void history_program(uint32_t program);

/* After the run: gives an element to which two programs stored in no order the value of the earlier
 * store, which may as well be the last. */
void history_settle(void);

/* The first race of the run. */
struct history_race history_race(void);

/* What a kernel calls. Sizes are those of an element; `order` is Triton's: 1 relaxed, 2 acquire,
 * 3 release, 4 both. A run that makes too many calls, or that takes elements for larger or smaller
 * ones, ends the program with EXIT_UNDECIDED. */
void history_load(void *to, const void *from, uint32_t size_bytes, uint32_t is_volatile);
void history_store(void *to, const void *from, uint32_t size_bytes);
void history_before_atomic(const void *at, uint32_t size_bytes, uint32_t order);
void history_after_atomic(const void *at, uint32_t size_bytes, uint32_t order, uint32_t is_swap);

/* Before an operation by which programs may wait for each other: others get a turn. */
void history_turn(void);

#endif
