#include "orders.h"

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The golden section of the number, or a little more, so that no two programs that follow each other
 * are close. It has no divisor in common with the number, so that steps of it meet every program. */
static uint64_t step(uint64_t programs) {
    uint64_t length = (uint64_t)((double)programs * 0.6180339887);
    while (length > 1 && common_divisor(length, programs) != 1)
        length++;
    return length > 1 ? length : 1;
}

uint64_t grid_programs(const uint32_t grid[3]) {
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

uint64_t order_program(enum order order, uint64_t place, uint64_t programs) {
    if (order == ORDER_FORWARD)
        return place;
    if (order == ORDER_REVERSED)
        return programs - 1 - place;
    /* The last program first, since it is the one that waits for others. */
    return (uint64_t)(((unsigned __int128)place * step(programs) + programs - 1) % programs);
}
