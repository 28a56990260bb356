/* Takes the place of rvv-bench's bench/bench.h: the same names for its routines, but runs the
 * points that the arguments name, each in a region of its own, instead of timing all sizes.
 *
 * An argument is BENCHMARK:IMPLEMENTATION:SIZE:WARMUPS:RUNS, the first two as indices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEM (1024 * 1024 * 128)
#define NEXT(c) ((c) + 1)
#define MAX_REPEATS 1
#define SCALE_mandelbrot(N) ((N) / 10)
#define SCALE_mergelines(N) ((N) / 10)
#define mandelbrot_ITER 100

#define main unused_main /* nolibc.h has one without arguments */
#include "nolibc.h"
#undef main
int nolibc_main(void) { return 0; }

#define MX(f, F) f(F##_m1) f(F##_m2) f(F##_m4) f(F##_m8)
#define STR(x) STR_(x)
#define STR_(x) #x
#define BENCH_MAY_ALIAS __attribute__((__may_alias__))
#define BENCH_CLOBBER() ({ __asm__ volatile("" ::: "memory"); })
#define BENCH_VOLATILE(x) ({ __asm__ volatile("" : "+g"(x) : "g"(x) : "memory"); })
#define BENCH_VOLATILE_REG(x) ({ __asm__ volatile("" : "+r"(x) : "r"(x) : "memory"); })
#define BENCH_VOLATILE_MEM(x) ({ __asm__ volatile("" : "+m"(x) : "m"(x) : "memory"); })

static URand randState = {123, 456, 789};
static ux bench_urand(void) { return urand(&randState); }
static float bench_urandf(void) { return urandf(&randState); }
static void bench_memrand(void *ptr, size_t n) { memrand(&randState, ptr, n); }

typedef struct {
    char const *name;
    void *func;
    int skipCheck;
} Impl;
typedef struct {
    Impl *impls;
    size_t nImpls;
    size_t N;
    char const *name;
    ux (*func)(void *, size_t);
} Bench;

static unsigned char heap[MAX_MEM + 65536] __attribute__((aligned(65536)));
static unsigned char *mem = heap;
static volatile int timed;

static inline void region_start(void) {
    if (timed) {
        __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory");
    }
}

static inline void region_stop(void) {
    if (timed) {
        __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory");
    }
}

#define TIME for (int once = (region_start(), 1); once; region_stop(), once = 0)
#define BENCH_BEG(name)                                                                            \
    ux bench_##name(void *_func, size_t n) {                                                       \
        Func *f = _func;
#define BENCH_END                                                                                  \
    return 0;                                                                                      \
    }
#define BENCH(impls, ...) {impls, ARR_LEN(impls), __VA_ARGS__}
#define BENCH_MAIN(benches)                                                                        \
    int main(int argc, char **argv) { return run_points(benches, ARR_LEN(benches), argc, argv); }

void init(void);

static int run_points(Bench *benches, size_t count, int argc, char **argv) {
    if (argc < 2) { /* what there is */
        for (size_t b = 0; b < count; b++) {
            for (size_t i = 0; i < benches[b].nImpls; i++) {
                printf("%zu %zu %s\t%s\n", b, i, benches[b].name, benches[b].impls[i].name);
            }
        }
        return 0;
    }
    bench_memrand(mem, 1 << 20);
    init();
    for (int a = 1; a < argc; a++) {
        size_t b, i, n, warmups, runs;
        if (sscanf(argv[a], "%zu:%zu:%zu:%zu:%zu", &b, &i, &n, &warmups, &runs) != 5) {
            return 2;
        }
        for (size_t round = 0; round < warmups + runs; round++) {
            timed = round >= warmups;
            benches[b].func(benches[b].impls[i].func, n);
        }
    }
    return 0;
}
