/* What was counted in each measured region, and its JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "core.h"

struct report;

/* Take down one region over all cores; cores that never ran are NULL. Where a plug-in explains, its
 * causes are those of the slowest core. */
void report_add_region(struct report **report, struct core *const *cores, unsigned core_count);

/* Write all regions; `whole` says that the only one is the whole program, `unpaired_marks` counts
 * starts within a region and stops outside of one, and `processes` those that the program started.
 * Returns false, with a message on stderr, where the file cannot be written. */
bool report_write(const struct report *report, const char *path, bool whole,
                  unsigned unpaired_marks, unsigned processes);

#endif
