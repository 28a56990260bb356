/* Several cores of one chip, which one thread of the guest runs in turn.
 *
 * The program marks where each portion of its work begins. The core whose time is the earliest takes
 * it, as it would if all ran at once: portions begin in the order in which they are handed out. Each
 * core has its own L1D, TLB and streams; those of a cluster share L2, all share DRAM's bus.
 */
#ifndef CHIP_H
#define CHIP_H

#include "calendar.h"
#include "core.h"

struct chip {
    unsigned count, per_cluster;
    struct core *cores[MAX_CORES];
    struct memories *memories[MAX_CORES]; /* of each core */
    struct calendar l2[MAX_CORES], dram;  /* the former by cluster */
    struct shared shared[MAX_CORES];      /* by cluster */
    unsigned invited;                     /* how many take portions; 0 for all */
    uint64_t portions[MAX_CORES];         /* taken while nothing is measured */
    uint32_t random;                      /* decides which of the cores takes one then */
};

/* The cores that the cost table has, at least two. False where there is not enough memory. */
bool chip_init(struct chip *chip, const struct family *family);

/* Start counting from nothing on all cores; the caches keep what they hold. */
void chip_start_region(struct chip *chip);

/* One more core takes the portions that follow, up to where all are done. At the first mark, every core
 * waits for `core`, which has come to the mark at `pc`: none began before the program got there. */
void chip_invite(struct chip *chip, struct core *core, uint64_t pc, bool tracking);

/* The core that takes the next portion: `core` has come to the mark at `pc` and hands the program's
 * state over. */
struct core *chip_next_portion(struct chip *chip, struct core *core, uint64_t pc, bool measured,
                               bool tracking);

/* All portions are done at the mark at `pc`: every core waits for the last one, and the first goes on
 * with the program. */
struct core *chip_join(struct chip *chip, struct core *core, uint64_t pc, bool tracking);

/* Let the program go on with another core. */
struct core *chip_hand_over(struct chip *chip, struct core *from, unsigned number);

#endif
