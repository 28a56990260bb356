#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define STACK_BYTES ((size_t)16 << 20) /* a program's blocks take up to 4 MiB of it */
/* How often a thread looks before it sleeps: some microseconds, as they lie between the calls of a
 * program that does little else. */
#define LOOKS 4000

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t called, left; /* for the threads, and for the call that waits for them */
    pthread_t threads[POOL_MOST_THREADS];
    int started;
    bool is_taken;  /* by a call */
    bool is_ending; /* with the program, or with the library that it unloads */
    void (*work)(void *);
    void *argument;
    int places;  /* how many threads may still come to the call */
    int working; /* how many came and are not done */
};

#define NO_THREADS                                                                                 \
    {.lock = PTHREAD_MUTEX_INITIALIZER,                                                            \
     .called = PTHREAD_COND_INITIALIZER,                                                           \
     .left = PTHREAD_COND_INITIALIZER}

static struct pool pool = NO_THREADS;

/* Waits a moment, without the lock, for a count to become other than 0, or 0. */
static void look_for(const int *count, bool is_zero) {
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < LOOKS; i++)
        if ((__atomic_load_n(count, __ATOMIC_RELAXED) == 0) == is_zero)
            break;
    pthread_mutex_lock(&pool.lock);
}

/* Counts are changed under the lock and read without. */
static void add(int *count, int number) { __atomic_fetch_add(count, number, __ATOMIC_RELAXED); }

static void *wait_for_calls(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.is_ending) {
        if (pool.places == 0)
            look_for(&pool.places, false);
        while (pool.places == 0 && !pool.is_ending)
            pthread_cond_wait(&pool.called, &pool.lock);
        if (pool.places == 0)
            break;
        add(&pool.places, -1);
        add(&pool.working, 1);
        pthread_mutex_unlock(&pool.lock);
        pool.work(pool.argument);
        pthread_mutex_lock(&pool.lock);
        add(&pool.working, -1);
        if (pool.working == 0)
            pthread_cond_signal(&pool.left);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* A forked process has none of the threads. */
static void forget_threads(void) { pool = (struct pool)NO_THREADS; }

static void on_fork(void) { pthread_atfork(NULL, NULL, forget_threads); }

/* Signals are left to the program's own threads. */
static void start_threads(int wanted) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pool.started >= wanted || pool.is_ending || pthread_attr_init(&attributes) != 0)
        return;
    pthread_once(&once, on_fork);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.started < wanted && pthread_create(&pool.threads[pool.started], &attributes,
                                                   wait_for_calls, NULL) == 0)
        pool.started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Lets threads come to a call, unless another one has them. */
static bool call_threads(void (*work)(void *), void *argument, int wanted) {
    pthread_mutex_lock(&pool.lock);
    bool is_free = !pool.is_taken;
    if (is_free) {
        pool.is_taken = true;
        start_threads(wanted);
        pool.work = work;
        pool.argument = argument;
        add(&pool.places, wanted < pool.started ? wanted : pool.started);
        pthread_cond_broadcast(&pool.called);
    }
    pthread_mutex_unlock(&pool.lock);
    return is_free;
}

static void wait_until_done(void) {
    pthread_mutex_lock(&pool.lock);
    add(&pool.places, -pool.places);
    if (pool.working > 0)
        look_for(&pool.working, true);
    while (pool.working > 0)
        pthread_cond_wait(&pool.left, &pool.lock);
    pool.is_taken = false;
    pthread_mutex_unlock(&pool.lock);
}

void pool_run(void (*work)(void *), void *argument, int threads) {
    bool are_called = threads > 1 && call_threads(work, argument, threads - 1);
    work(argument);
    if (are_called)
        wait_until_done();
}

/* A program that ends while one of its threads is in a call leaves the threads as they are. */
__attribute__((destructor)) static void end_threads(void) {
    pthread_mutex_lock(&pool.lock);
    int count = pool.is_taken ? 0 : pool.started;
    pool.is_ending = true;
    pthread_cond_broadcast(&pool.called);
    pthread_mutex_unlock(&pool.lock);
    while (count > 0)
        pthread_join(pool.threads[--count], NULL);
}
