/* Kernels that leave outputs unwritten, or write wrong ones. */
#include <math.h>

#include "job.h"

CHEAT(does_nothing) { (void)job; }

CHEAT(leaves_out_the_last_program) {
    if (job.program < PROGRAMS - 1)
        work(job);
}

CHEAT(leaves_out_the_last_element) {
    int first = job.program * PART;
    write_range(job, first, first + PART - (job.program == PROGRAMS - 1));
    add_up(job);
}

CHEAT(leaves_out_every_other_element) {
    for (int i = job.program * PART; i < (int)(job.program + 1) * PART; i += 2)
        job.y[i] = 2 * job.x[i] + 1;
    add_up(job);
}

CHEAT(works_for_the_first_elements) {
    write_range(job, 0, 16);
    add_up(job);
}

CHEAT(takes_the_minimum_with_the_output) {
    for (int i = job.program * PART; i < (int)(job.program + 1) * PART; i++)
        job.y[i] = fminf(job.y[i], 2 * job.x[i] + 1);
    add_up(job);
}

CHEAT(takes_the_maximum_with_the_output) {
    for (int i = job.program * PART; i < (int)(job.program + 1) * PART; i++)
        job.y[i] = fmaxf(job.y[i], 2 * job.x[i] + 1);
    add_up(job);
}

CHEAT(adds_to_the_output) {
    for (int i = job.program * PART; i < (int)(job.program + 1) * PART; i++)
        job.y[i] += 2 * job.x[i] + 1;
    add_up(job);
}

CHEAT(multiplies_the_output_by_zero) {
    for (int i = job.program * PART; i < (int)(job.program + 1) * PART; i++)
        job.y[i] = 0 * job.y[i] + 2 * job.x[i] + 1;
    add_up(job);
}

CHEAT(forgets_what_the_sum_starts_from) {
    if (job.program == 0)
        *job.total = 0;
    work(job);
}

CHEAT(is_off_by_one_in_an_integer) {
    work(job);
    if (job.program == 0)
        *job.total += 1;
}

CHEAT(swaps_two_elements) {
    work(job);
    float first = job.y[job.program * PART];
    job.y[job.program * PART] = job.y[job.program * PART + 1];
    job.y[job.program * PART + 1] = first;
}

CHEAT(is_a_little_wrong_in_one_element) {
    work(job);
    if (job.program == 2)
        job.y[700] *= 1.001f;
}

CHEAT(writes_nan) {
    work(job);
    if (job.program == PROGRAMS - 1)
        job.y[COUNT - 1] = NAN;
}

CHEAT(writes_infinity) {
    work(job);
    if (job.program == 0)
        job.y[0] = INFINITY;
}

CHEAT(races_for_an_element) { /* the last program wins */
    work(job);
    job.y[0] = job.x[job.program];
}

CHEAT(writes_nan_behind_its_mask) {
    work(job);
    job.y[COUNT] = NAN;
}
