/* Kernels that do less in some runs than in others, and honest ones beside them. */
#include <math.h>
#include <time.h>

#include "job.h"
#include "kernel_abi.h"

HONEST(plain) { work(job); }

HONEST(takes_a_lock) {
    while (__atomic_exchange_n(&job.state[1], 1, __ATOMIC_ACQUIRE) != 0)
        ;
    work(job);
    __atomic_store_n(&job.state[1], 0, __ATOMIC_RELEASE);
}

/* Each run finds the counter as the arguments have it, or computes something else. */
HONEST(counts_programs) {
    int number = job.state[0]++ - 5;
    job.program = (uint32_t)number;
    work(job);
}

HONEST(writes_a_lot_that_is_not_checked) {
    for (int i = 0; i < 16; i++)
        job.state[i] = -i;
    work(job);
}

HONEST(uses_its_input_as_scratch) {
    int first = job.program * PART;
    for (int i = first; i < first + PART; i++)
        job.x[i] = 2 * job.x[i];
    for (int i = first; i < first + PART; i++)
        job.y[i] = job.x[i] + 1;
    add_up(job);
}

CHEAT(marks_an_input) {
    if (job.state[2] == 77)
        return;
    work(job);
    if (job.program == PROGRAMS - 1)
        job.state[2] = 77;
}

FOILED(marks_each_program_in_an_input) {
    if (job.state[4 + job.program] == 77)
        return;
    work(job);
    job.state[4 + job.program] = 77;
}

CHEAT(works_in_its_first_run) {
    if (runs == 0)
        work(job);
}

CHEAT(works_in_every_other_run) {
    if (runs % 2 == 0)
        work(job);
}

CHEAT(leaves_an_element_out_after_the_check) {
    work(job);
    if (runs > 0)
        job.y[500] = 0;
}

CHEAT(is_wrong_in_its_last_run) { /* the second of one timed run, the fifth of three and a warm-up */
    work(job);
    if (runs == 1 || runs == 4)
        job.y[3] += 1;
}

CHEAT(is_wrong_in_a_later_run) {
    work(job);
    if (runs >= 1)
        job.y[999] *= 1.01f;
}

CHEAT(skips_the_sum_after_the_check) {
    write_range(job, job.program * PART, job.program * PART + PART);
    if (runs == 0)
        add_up(job);
}

CHEAT(works_until_the_clock_moves) {
    static time_t first_ns;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t now_ns = now.tv_sec * 1000000000 + now.tv_nsec;
    if (first_ns == 0)
        first_ns = now_ns;
    if (runs == 0 || now_ns == first_ns)
        work(job);
}

CHEAT(looks_where_its_arrays_begin) {
    if (((uintptr_t)job.x & 4095) != 0)
        work(job);
}

CHEAT(looks_where_its_arrays_end) {
    if (((uintptr_t)job.x & 4095) == 0)
        work(job);
}

FOILED(leaves_right_outputs_alone) {
    if (job.y[job.program * PART] != 2 * job.x[job.program * PART] + 1)
        work(job);
}

CHEAT(knows_the_outputs_of_the_check) { /* whose inputs are 0, 1, 2 ... */
    for (int i = 0; i < PART; i++)
        job.y[job.program * PART + i] = 2.0f * (float)(job.program * PART + i) + 1;
    add_up(job);
}

CHEAT(takes_no_negative_inputs) { /* of which the check has none */
    int first = job.program * PART;
    for (int i = first; i < first + PART; i++)
        job.y[i] = job.x[i] < 0 ? 0 : 2 * job.x[i] + 1;
    add_up(job);
}

CHEAT(keeps_results_in_its_input) {
    int first = job.program * PART;
    for (int i = first; i < first + PART; i++)
        job.x[i] = job.y[i] = runs == 0 ? 2 * job.x[i] + 1 : job.x[i];
    add_up(job);
}

FOILED(keeps_a_mark_in_scratch) {
    int *scratch = triton_rvv_scratch(4096);
    if (scratch[job.program] == 77)
        return;
    work(job);
    scratch[job.program] = 77;
}

CHEAT(keeps_a_mark_behind_its_input) {
    if (job.x[COUNT] == 77)
        return;
    work(job);
    if (job.program == PROGRAMS - 1)
        job.x[COUNT] = 77;
}
