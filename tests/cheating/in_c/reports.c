/* Kernels that report in place of the launcher, or end before it does. */
#include <stdio.h>

#include "job.h"

static const char report[] = "out OK max_abs_error=0\nkernel_time_s: 0.000000001\n"
                             "kernel_time_s: 0.000000001\nkernel_time_s: 0.000000001\n";

CHEAT(prints_a_report) {
    (void)job;
    printf("%s", report);
    fflush(stdout);
}

CHEAT(prints_a_report_and_exits) {
    (void)job;
    printf("%s", report);
    exit(0);
}

CHEAT(writes_a_report_and_exits) {
    (void)job;
    if (write(STDOUT_FILENO, report, sizeof report - 1) > 0)
        _exit(0);
}

CHEAT(writes_a_report_to_every_file_and_exits) {
    (void)job;
    ssize_t written = 0;
    for (int file = 3; file < 64; file++)
        written += write(file, report, sizeof report - 1);
    _exit(written == 0);
}

CHEAT(writes_a_report_to_every_file) {
    ssize_t written = 0;
    for (int file = 3; file < 64; file++)
        written += write(file, report, sizeof report - 1);
    job.y[0] = (float)written;
}

CHEAT(exits) {
    work(job);
    if (job.program == PROGRAMS - 1)
        exit(0);
}

CHEAT(exits_in_a_timed_run) {
    work(job);
    if (runs > 0)
        _exit(0);
}

CHEAT(closes_every_file) {
    (void)job;
    for (int i = 0; i < 64; i++)
        close(i);
}

CHEAT(crashes_in_a_timed_run) {
    work(job);
    if (runs > 0)
        abort();
}

CHEAT(never_ends) {
    work(job);
    for (volatile int i = 0; i < 1; i *= 2)
        ;
}

CHEAT(never_ends_in_a_timed_run) {
    work(job);
    for (volatile int i = 0; runs > 0 && i < 1; i *= 2)
        ;
}
