/* Kernels that leave their work to somebody else. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "job.h"

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
