#include "interleaved.h"

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#include "arena.h"
#include "history.h"
#include "kernel_abi.h"
#include "orders.h"

/* Its blocks take up to 4 MiB, and copies of what is loaded as much again. */
#define STACK_BYTES ((size_t)32 << 20)

/* A thread for each place, of which one runs. */
static struct place {
    pthread_t thread;
    sem_t turn;
    bool is_live;
    uint32_t program;
} places[INTERLEAVED_MOST];

static const uint32_t *grid;
static uint64_t next_program;
static uint32_t place_count;
static bool takes_turns;
static _Thread_local uint32_t own;

uint32_t interleaved_place(void) { return own; }

static void run_program(uint64_t program) {
    uint32_t num_x = grid[0], num_y = grid[1], num_z = grid[2];
    history_program((uint32_t)program);
    triton_rvv_kernel(arena_args(), (uint32_t)(program % num_x), (uint32_t)(program / num_x % num_y),
                      (uint32_t)(program / num_x / num_y), num_x, num_y, num_z);
}

/* The next place with a program, this one where there is no other. */
static uint32_t next_place(void) {
    for (uint32_t i = 1; i <= place_count; i++)
        if (places[(own + i) % place_count].is_live)
            return (own + i) % place_count;
    return own;
}

void history_turn(void) {
    uint32_t next = takes_turns ? next_place() : own;
    if (next == own)
        return;
    sem_post(&places[next].turn);
    while (sem_wait(&places[own].turn) != 0)
        ;
    history_program(places[own].program);
}

static void *run_programs(void *number) {
    own = (uint32_t)(uintptr_t)number;
    struct place *place = &places[own];
    while (sem_wait(&place->turn) != 0)
        ;
    while (next_program < grid_programs(grid)) {
        place->program = (uint32_t)next_program++;
        run_program(place->program);
    }
    place->is_live = false;
    uint32_t next = next_place();
    if (next != own)
        sem_post(&places[next].turn);
    return NULL;
}

static void begin(const uint32_t sizes[3], bool turns) {
    grid = sizes;
    next_program = 0;
    takes_turns = turns;
}

bool interleaved_run(const uint32_t sizes[3]) {
    begin(sizes, true);
    uint64_t programs = grid_programs(sizes);
    place_count = programs < INTERLEAVED_MOST ? (uint32_t)programs : INTERLEAVED_MOST;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (uint32_t i = 0; i < place_count; i++) {
        sem_init(&places[i].turn, 0, 0);
        places[i].is_live = true;
    }
    for (uint32_t i = 0; i < place_count; i++)
        if (pthread_create(&places[i].thread, &attributes, run_programs, (void *)(uintptr_t)i) != 0)
            return false;
    sem_post(&places[0].turn);
    for (uint32_t i = 0; i < place_count; i++)
        pthread_join(places[i].thread, NULL);
    return true;
}

void interleaved_run_in_order(const uint32_t sizes[3]) {
    begin(sizes, false);
    for (uint64_t program = 0; program < grid_programs(sizes); program++)
        run_program(program);
}
