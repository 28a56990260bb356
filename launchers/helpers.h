/* What could do a kernel's work beside it, or hide its faults: threads, processes, and handlers of
 * signals. */
#ifndef TRITON_RVV_HELPERS_H
#define TRITON_RVV_HELPERS_H

/* Remembers what there is before a kernel runs. */
void helpers_remember(void);

/* A sentence about what has come since, or NULL. */
const char *helpers_found(void);

#endif
