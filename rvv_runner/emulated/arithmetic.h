/* What integer instructions compute from what their registers hold. */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

/* The result of `word` where `a` and `b` are in its first and second source register; false for an
 * instruction that is not known here. One with an immediate does not look at `b`. */
bool integer_result(uint32_t word, uint64_t a, uint64_t b, uint64_t *result);

#endif
