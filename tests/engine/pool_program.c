/* Calls threads of pool.h from one thread and from two at once. Ends with status 0 where each call
 * did all its work, and the calls had as many threads as they should.
 *
 *   program
 *   program fork    forked processes call them, too, which sanitizers do not follow */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool.h"

enum { PARTS = 64, CALLS = 300, THREADS = 4 };

struct job {
    int next, done[PARTS];
};

static void work(void *argument) {
    struct job *job = argument;
    for (int i; (i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED)) < PARTS;)
        job->done[i]++;
}

static void require(int is_right, const char *what) {
    if (is_right)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    _exit(1);
}

static void *call_often(void *unused) {
    for (int call = 0; call < CALLS; call++) {
        struct job job = {0};
        pool_run(work, &job, 1 + call % THREADS);
        for (int i = 0; i < PARTS; i++)
            require(job.done[i] == 1, "each part is done once");
    }
    return unused;
}

/* All threads of a call at once: none goes on before the last has come. */
static void meet(void *argument) {
    int *come = argument;
    __atomic_add_fetch(come, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(come, __ATOMIC_RELAXED) < THREADS)
        sched_yield();
}

static int thread_count(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void in_a_child(void) {
    pid_t child = fork();
    if (child == 0) {
        int come = 0;
        call_often(NULL);
        pool_run(meet, &come, THREADS);
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    require(status == 0, "a forked process has threads of its own");
}

static int signals;
static pthread_t first;
static void on_signal(int number) {
    (void)number;
    signals += pthread_equal(pthread_self(), first) ? 1 : 1000;
}

int main(int argc, char **argv) {
    (void)argv;
    first = pthread_self();
    signal(SIGUSR1, on_signal);
    int come = 0, again = 0;
    pool_run(meet, &come, THREADS);
    int count = thread_count();
    call_often(NULL);
    pool_run(meet, &again, THREADS);
    require(thread_count() == count && count >= THREADS, "threads are started once");
    kill(getpid(), SIGUSR1);
    require(signals == 1, "the program's own thread handles signals");
    pthread_t other;
    pthread_create(&other, NULL, call_often, NULL);
    if (argc > 1)
        in_a_child();
    call_often(NULL);
    pthread_join(other, NULL);
    if (argc > 1)
        in_a_child();
    puts("right");
    return 0;
}
