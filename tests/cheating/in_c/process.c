/* Kernels that change the process that they run in. */
#include <fcntl.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "job.h"

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
