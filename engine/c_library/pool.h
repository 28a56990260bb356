/* Threads that are started once and wait for the library's calls. */
#ifndef TUNED_POOL_H
#define TUNED_POOL_H

#define POOL_MOST_THREADS 1024

/* Does `work` on so many threads at once, of which the calling one is the first, and returns when
 * all that came are done with it. Fewer may come: those that cannot be started, those that wake up
 * when the calling thread is done already, and all where another call has them at work. So `work`
 * has to find by itself what is left to do. */
void pool_run(void (*work)(void *), void *argument, int threads)
    __attribute__((visibility("hidden")));

#endif
