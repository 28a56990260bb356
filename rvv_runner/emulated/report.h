/* What was counted in each measured region, and its JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "core.h"

struct report;

/* Take down one region over all cores; cores that never ran are NULL. */
void report_add_region(struct report **report, struct core *const *cores, unsigned core_count);

/* Write all regions. Returns false, with a message on stderr, where the file cannot be written. */
bool report_write(const struct report *report, const char *path);

#endif
