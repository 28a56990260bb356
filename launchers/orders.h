/* Other orders in which the programs of a grid may run: what a kernel computes in one of them and not
 * in another, it computes by luck wherever several programs run at once. */
#ifndef TRITON_RVV_ORDERS_H
#define TRITON_RVV_ORDERS_H

#include <stdint.h>

enum order {
    ORDER_FORWARD,  /* x fastest, as in timed runs */
    ORDER_SHUFFLED, /* by steps of a fixed length, the same in every run */
    ORDER_REVERSED, /* the last program first */
    ORDER_ALONE,    /* shuffled, and most programs left out */
};

/* A part of a grid: `count` programs from the place `first` on, in an order of all. */
struct portion {
    enum order order;
    const uint32_t *grid;
    uint64_t first;
    uint64_t count;
};

/* Programs of a grid. */
uint64_t grid_programs(const uint32_t grid[3]);

/* The program at a place in an order, counted with x fastest. Every order has every program once. */
uint64_t order_program(enum order order, uint64_t place, uint64_t programs);

#endif
