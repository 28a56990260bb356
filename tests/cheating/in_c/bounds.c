/* Kernels that read or write outside of their arrays. */

#include "job.h"

CHEAT(writes_into_its_neighbours_padding) { /* state's, a guard and a page further on */
    work(job);
    ((char *)job.y)[(2 << 20) + 4096 + 128] = 3;
}

CHEAT(writes_whole_blocks) {
    for (int i = 0; i < 256; i++)
        job.y[job.program * 256 + i] = 1;
    write_range(job, job.program * PART, job.program * PART + PART);
    add_up(job);
}

CHEAT(writes_before_its_output) {
    job.y[-1] = 3;
    work(job);
}

CHEAT(writes_a_page_before_its_output) {
    job.y[-2048] = 3;
    work(job);
}

CHEAT(writes_far_behind) {
    work(job);
    ((char *)job.y)[FAR_BYTES] = 3;
}

CHEAT(writes_far_before) {
    work(job);
    ((char *)job.y)[-(int64_t)FAR_BYTES] = 3;
}

CHEAT(reads_far_behind) {
    work(job);
    if (((volatile char *)job.total)[FAR_BYTES] != 1)
        job.state[3] = 1;
}

CHEAT(reads_whole_blocks) {
    float sum = 0;
    for (int i = 0; i < 256; i++)
        sum += ((volatile float *)job.x)[job.program * 256 + i];
    work(job);
    job.state[3] = (int)sum;
}

CHEAT(takes_what_lies_behind_for_zero) {
    work(job);
    job.y[COUNT - 1] += job.x[COUNT];
}

CHEAT(takes_what_lies_before_for_zero) {
    work(job);
    job.y[0] += job.x[-1];
}

/* What 2 x + 1 is for the inputs, wherever it lies. */
static float *find_expected(struct job job, int step) {
    for (float *found = job.x;; found += step)
        if (found[0] == 2 * job.x[0] + 1 && found[1] == 2 * job.x[1] + 1 &&
            found[2] == 2 * job.x[2] + 1 && found != job.y)
            return found;
}

CHEAT(copies_what_is_expected) { memcpy(job.y, find_expected(job, 1), COUNT * sizeof(float)); }

CHEAT(copies_what_is_expected_before) {
    memcpy(job.y, find_expected(job, -1), COUNT * sizeof(float));
}

CHEAT(overwrites_what_is_expected) {
    float *expected = find_expected(job, 1);
    memset(expected, 0, COUNT * sizeof(float));
    memset(job.y, 0, COUNT * sizeof(float));
    add_up(job);
}
