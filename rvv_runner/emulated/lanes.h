/* Figures of several models side by side, one in each lane, so that one pass estimates all of them.
 *
 * LANES is 8, or 1 where a model branches too much to run beside others: in the explaining plug-in,
 * and for out-of-order cores. With one lane, each model has a scoreboard of its own.
 */
#ifndef LANES_H
#define LANES_H

#include <stdbool.h>
#include <stdint.h>

#ifndef LANES
#define LANES 1
#endif

enum { MAX_MEMBERS = 8, BOARDS = MAX_MEMBERS / LANES };
enum { MAX_CORES = 64 };

#if LANES == 1

typedef uint64_t lanes_t;

static inline lanes_t all_lanes(uint64_t value) { return value; }

static inline uint64_t get_lane(lanes_t lanes, unsigned lane) { return lane == 0 ? lanes : 0; }

static inline void set_lane(lanes_t *lanes, unsigned lane, uint64_t value) {
    *lanes = lane == 0 ? value : *lanes;
}

static inline lanes_t later(lanes_t a, lanes_t b) { return a > b ? a : b; }

static inline lanes_t earlier(lanes_t a, lanes_t b) { return a < b ? a : b; }

/* All bits where a > 0. */
static inline lanes_t any_of(lanes_t a) { return -(lanes_t)(a > 0); }

#else

#ifdef __AVX2__
#include <immintrin.h>
#endif

typedef uint32_t lanes_t __attribute__((vector_size(4 * LANES), aligned(16)));

static inline lanes_t all_lanes(uint32_t value) { return (lanes_t){0} + value; }

static inline uint32_t get_lane(lanes_t lanes, unsigned lane) { return lanes[lane]; }

static inline void set_lane(lanes_t *lanes, unsigned lane, uint64_t value) {
    (*lanes)[lane] = (uint32_t)value;
}

static inline lanes_t later(lanes_t a, lanes_t b) {
#ifdef __AVX2__
    return (lanes_t)_mm256_max_epu32((__m256i)a, (__m256i)b);
#else
    lanes_t above = (lanes_t)(a > b);
    return (a & above) | (b & ~above);
#endif
}

static inline lanes_t earlier(lanes_t a, lanes_t b) {
#ifdef __AVX2__
    return (lanes_t)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
    lanes_t below = (lanes_t)(a < b);
    return (a & below) | (b & ~below);
#endif
}

static inline lanes_t any_of(lanes_t a) { return (lanes_t)(a != 0); }

#endif

static inline lanes_t minus(lanes_t a, lanes_t b) { return later(a, b) - b; }

static inline lanes_t where(lanes_t mask, lanes_t yes, lanes_t no) {
    return (yes & mask) | (no & ~mask);
}

#endif
