#define _GNU_SOURCE
#include "cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "arena.h"
#include "kernel_abi.h"
#include "places.h"
#include "portions.h"
#include "region.h"

/* Where a kernel runs on its thread's own stack: its blocks take up to 4 MiB. */
#define STACK_BYTES ((size_t)16 << 20)

static struct {
    uint32_t count;
    bool in_turn;
    pthread_mutex_t lock;
    pthread_cond_t called, returned; /* for the threads, and for whoever waits for them */
    uint64_t runs;                   /* begun so far */
    uint32_t working;                /* threads that are not done with the last one */
    uint32_t ready;                  /* and those at its start, which wait without sleeping */
    struct portions portions;
    uint64_t start_ns;
    uint64_t end_ns[CORES_MOST];
    int processors[CORES_MOST];
} cores = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .called = PTHREAD_COND_INITIALIZER,
           .returned = PTHREAD_COND_INITIALIZER};

static _Thread_local uint32_t own;

uint32_t cores_count(void) { return cores.count; }

uint32_t triton_rvv_one_thread(void) { return cores.count <= 1; }

uint32_t cores_own(void) { return own; }

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The last one to come starts the time. */
static void wait_for_all(void) {
    if (__atomic_add_fetch(&cores.ready, 1, __ATOMIC_ACQ_REL) == cores.count) {
        cores.start_ns = now_ns();
        __atomic_store_n(&cores.ready, 0, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&cores.ready, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

static void run_portions(const void *portions) {
    (void)portions;
    portions_run(&cores.portions);
}

static void *work(void *number) {
    own = (uint32_t)(uintptr_t)number;
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(cores.processors[own], &processor);
    const char *error = arena_watch_faults();
    bool is_bound = sched_setaffinity(0, sizeof processor, &processor) == 0;
    pthread_mutex_lock(&cores.lock);
    for (uint64_t runs = 0;; runs++) {
        if (--cores.working == 0)
            pthread_cond_signal(&cores.returned);
        if (error != NULL || !is_bound)
            cores.count = 0; /* which cores_start sees */
        while (cores.runs == runs)
            pthread_cond_wait(&cores.called, &cores.lock);
        pthread_mutex_unlock(&cores.lock);
        wait_for_all();
        place_call_on(own, run_portions, NULL);
        cores.end_ns[own] = now_ns();
        pthread_mutex_lock(&cores.lock);
    }
    return NULL;
}

static void wait_until_done(void) {
    while (cores.working > 0)
        pthread_cond_wait(&cores.returned, &cores.lock);
}

/* The last processors that this process may use; how many there are. */
static uint32_t find_processors(uint32_t wanted) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    uint32_t found = 0;
    for (int i = CPU_SETSIZE - 1; i >= 0 && found < wanted; i--)
        if (CPU_ISSET(i, &allowed))
            cores.processors[wanted - ++found] = i;
    return found;
}

static const char *start_threads(uint32_t count) {
    static char sentence[96];
    uint32_t found = find_processors(count);
    if (found < count) {
        snprintf(sentence, sizeof sentence, "%u cores are wanted and this program may use %u",
                 count, found);
        return sentence;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    cores.count = cores.working = count;
    for (uint32_t i = 0; i < count; i++) {
        pthread_t thread;
        if (i > 0 && !place_stack(i))
            return "there is too little memory for the kernel's stacks";
        if (pthread_create(&thread, &attributes, work, (void *)(uintptr_t)i) != 0)
            return "the system gives no thread for each core";
    }
    pthread_mutex_lock(&cores.lock);
    wait_until_done();
    pthread_mutex_unlock(&cores.lock);
    return cores.count == 0 ? "the system binds no thread to a core" : NULL;
}

const char *cores_start(uint32_t count, bool in_turn) {
    cores.in_turn = in_turn;
    if (!in_turn)
        return start_threads(count);
    cores.count = count;
    return NULL;
}

/* On threads; nanoseconds from when the last one was ready until the last was done. */
static uint64_t run_on_threads(void) {
    pthread_mutex_lock(&cores.lock);
    cores.working = cores.count;
    cores.runs++;
    pthread_cond_broadcast(&cores.called);
    wait_until_done();
    pthread_mutex_unlock(&cores.lock);
    uint64_t end_ns = 0;
    for (uint32_t i = 0; i < cores.count; i++)
        end_ns = cores.end_ns[i] > end_ns ? cores.end_ns[i] : end_ns;
    return end_ns - cores.start_ns;
}

/* For an emulator, on the thread that asks. */
static void run_in_turn(const void *portions) {
    (void)portions;
    TRITON_RVV_MODEL_RESUME();
    portions_run_in_turn(&cores.portions);
    TRITON_RVV_MODEL_PAUSE();
}

void cores_run(const uint32_t grid[3]) {
    cores.portions = portions_of(triton_rvv_kernel, arena_args(), grid, cores.count);
    if (cores.in_turn)
        place_call(run_in_turn, NULL);
    else
        run_on_threads();
}

uint64_t cores_time_ns(const uint32_t grid[3]) {
    cores.portions = portions_of(triton_rvv_kernel, arena_args(), grid, cores.count);
    if (!cores.in_turn)
        return run_on_threads();
    uint64_t start_ns = now_ns();
    TRITON_RVV_REGION_START();
    place_call(run_in_turn, NULL);
    TRITON_RVV_REGION_STOP();
    return now_ns() - start_ns;
}
