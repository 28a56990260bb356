/* Kernels for one job, y[i] = 2 x[i] + 1 and total += the sum of i: HONEST ones, which do it in ways
 * that a launcher might get wrong; CHEATs, which do it sometimes or for the check alone; and FOILED
 * ones, which would do it once if the launcher did not take away what they leave behind.
 *
 * Four programs of 250 elements each. The last argument chooses the kernel. */
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel_abi.h"

enum { COUNT = 1000, PROGRAMS = 4, PART = COUNT / PROGRAMS, FAR_BYTES = 40 << 20 };

/* The arguments; x and state are inputs, y is only written, total is read and written. */
struct job {
    float *x;
    float *y;
    int *state;      /* 16 of them, the first is 5 */
    int64_t *total;  /* one, which is 100 at first */
    uint32_t program;
};

#define HONEST(name) static void name(struct job job)
#define CHEAT(name) static void name(struct job job)
#define FOILED(name) static void name(struct job job)

static int runs; /* whole runs of the grid before this one */

static void add_up(struct job job) {
    for (int i = 0; i < PART; i++)
        *job.total += job.program * PART + i;
}

static void write_range(struct job job, int first, int last) {
    for (int i = first; i < last; i++)
        job.y[i] = 2 * job.x[i] + 1;
}

static void work(struct job job) {
    write_range(job, job.program * PART, job.program * PART + PART);
    add_up(job);
}

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

/* Work that somebody else does behind the clock's back. */
static struct job left;

static void *do_what_is_left(void *late) {
    if (late != NULL)
        usleep(20000);
    left.program = 0;
    for (; left.program < PROGRAMS; left.program++)
        work(left);
    return late;
}

CHEAT(leaves_a_thread_to_do_it) {
    pthread_t thread;
    left = job;
    if (runs == 0)
        work(job);
    else if (job.program == PROGRAMS - 1 && pthread_create(&thread, NULL, do_what_is_left, &left) == 0)
        pthread_detach(thread);
}

static void on_alarm(int number) {
    (void)number;
    do_what_is_left(NULL);
}

CHEAT(leaves_an_alarm_to_do_it) {
    struct itimerval soon = {{0, 0}, {0, 1}};
    left = job;
    if (runs == 0)
        work(job);
    else if (job.program == PROGRAMS - 1) {
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
}

CHEAT(leaves_a_child_to_do_it) {
    left = job;
    if (runs == 0)
        work(job);
    else if (job.program == PROGRAMS - 1 && fork() == 0) {
        do_what_is_left(NULL);
        _exit(0);
    }
}

static void do_it_at_the_end(void) { do_what_is_left(NULL); }

CHEAT(does_it_at_the_end_of_the_program) {
    left = job;
    if (runs == 0)
        work(job);
    else if (job.program == PROGRAMS - 1)
        atexit(do_it_at_the_end);
}

CHEAT(opens_the_guards) {
    uintptr_t end = (uintptr_t)(job.x + COUNT + 1023) & ~(uintptr_t)4095;
    mprotect((void *)end, 4096, PROT_READ | PROT_WRITE);
    volatile int *mark = (int *)end + 16;
    if (*mark == 77)
        return;
    work(job);
    if (job.program == PROGRAMS - 1)
        *mark = 77;
}

static sigjmp_buf before_the_fault;

static void go_back(int number) {
    (void)number;
    siglongjmp(before_the_fault, 1);
}

CHEAT(survives_its_faults) {
    work(job);
    signal(SIGSEGV, go_back);
    signal(SIGBUS, go_back);
    if (sigsetjmp(before_the_fault, 1) == 0)
        ((volatile char *)job.y)[FAR_BYTES] = 3;
}

CHEAT(survives_a_fault_behind_its_input) {
    signal(SIGSEGV, go_back);
    signal(SIGBUS, go_back);
    if (sigsetjmp(before_the_fault, 1) == 0)
        job.state[3] = (int)((volatile float *)job.x)[COUNT + 4096];
    work(job);
}

CHEAT(looks_who_calls) {
    static void *first;
    void *caller = __builtin_return_address(0);
    if (first == NULL)
        first = caller;
    if (runs == 0 || caller != first)
        work(job);
}

CHEAT(counts_its_calls_in_the_rounding_mode) {
    if (fegetround() == FE_TONEAREST)
        work(job);
    if (job.program == PROGRAMS - 1)
        fesetround(FE_UPWARD);
}

CHEAT(counts_its_calls_in_the_environment) {
    if (getenv("CHEAT_HAS_RUN") != NULL)
        return;
    work(job);
    if (job.program == PROGRAMS - 1)
        setenv("CHEAT_HAS_RUN", "1", 1);
}

CHEAT(counts_its_calls_in_a_file) {
    char name[64];
    snprintf(name, sizeof name, "cheat-%d", (int)getpid()); /* in the folder of the run */
    if (access(name, F_OK) == 0)
        return;
    work(job);
    if (job.program == PROGRAMS - 1) {
        FILE *mark = fopen(name, "w");
        if (mark != NULL)
            fclose(mark);
    }
}

CHEAT(becomes_another_program) {
    char *words[] = {"true", NULL};
    work(job);
    if (runs > 0)
        execvp("true", words);
}

CHEAT(stops_itself) {
    work(job);
    if (runs > 0)
        raise(SIGSTOP);
}

/* Work that a child does while the clock runs: an emulated clock counts none of it. */
static void share_page_of(void *array) {
    static char contents[4096];
    void *page = (void *)((uintptr_t)array & ~(uintptr_t)4095);
    memcpy(contents, page, sizeof contents);
    mmap(page, sizeof contents, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(page, contents, sizeof contents);
}

CHEAT(lets_a_child_do_it) {
    left = job;
    if (runs == 0) {
        work(job);
    } else if (job.program == PROGRAMS - 1) {
        share_page_of(job.y);
        share_page_of(job.total);
        pid_t child = fork();
        if (child == 0) {
            do_what_is_left(NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

FOILED(makes_its_output_read_only) { /* so that nothing can be put in its place between two runs */
    if (job.y[job.program * PART] != 2 * job.x[job.program * PART] + 1)
        work(job);
    static int calls;
    if (++calls % PROGRAMS == 0)
        mprotect((void *)((uintptr_t)job.y & ~(uintptr_t)4095), 4096, PROT_READ);
}

/* Where the expected outputs are read from. */
static int find_data_file(void) {
    char name[64], path[256];
    for (int file = 3; file < 64; file++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        ssize_t length = readlink(name, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
        if (strstr(path, ".data") != NULL || strstr(path, "/files/") != NULL)
            return file;
    }
    return -1;
}

CHEAT(puts_zeros_in_the_place_of_its_data) {
    dup2(open("/dev/zero", O_RDONLY), find_data_file());
    memset(job.y, 0, COUNT * sizeof(float));
    *job.total = 0;
}
