/* Programs of a grid that take turns, as if each ran on a core of its own. */
#ifndef TRITON_RVV_INTERLEAVED_H
#define TRITON_RVV_INTERLEAVED_H

#include <stdbool.h>
#include <stdint.h>

/* Runs the grid with several programs at a time: one after another, each up to its next atomic
 * operation (`history_turn`). A program that ends makes room for the next one of the grid. False where
 * the system gives no threads. */
bool interleaved_run(const uint32_t grid[3]);

/* Runs the grid in order, one program after another. */
void interleaved_run_in_order(const uint32_t grid[3]);

/* Which of the programs at a time runs. */
uint32_t interleaved_place(void);

enum { INTERLEAVED_MOST = 16 };

#endif
