/* The cost table of a core, as Python hands it over; every figure comes from the TOML table. */
#ifndef COSTS_H
#define COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lanes.h"

/* Times are whole hundredths of a cycle, so that sums do not depend on the compiler. */
typedef uint64_t ticks_t;
#define TICKS_PER_CYCLE 100

enum { LMUL_COUNT = 7, SEW_COUNT = 4 }; /* mf8 mf4 mf2 m1 m2 m4 m8; e8 e16 e32 e64 */
enum { LMUL_1 = 3 };

/* Every class of instruction that has a cost of its own: name in the table, enumerator. The last one
 * is of cores with a matrix unit only. */
/* clang-format off */
#define COST_CLASSES(X) \
    X(alu) X(alu_slow) X(multiply) X(divide_word) X(divide) X(load) X(store) X(branch) \
    X(jump) X(csr) X(atomic) X(fp_add) X(fp_add_double) X(fp_fma) X(fp_fma_double) \
    X(fp_divide) X(fp_divide_double) X(fp_convert) X(fp_compare) X(fp_move) X(vset) \
    X(vset_constant) X(v_int) X(v_logic) X(v_shift) X(v_multiply) X(v_divide) X(v_compare) \
    X(v_fp) X(v_fma) X(v_fp_slow) X(v_fp_compare) X(v_fp_divide) X(v_fp_sqrt) X(v_reduce) \
    X(v_fp_reduce) X(v_fp_reduce_ordered) X(v_slide_up) X(v_slide_down) X(v_gather) \
    X(v_gather_wide_index) X(v_compress) X(v_mask) X(v_mask_set) X(v_mask_count) \
    X(v_to_scalar) X(v_scalar_move) X(v_move_whole) X(v_load) X(v_store) \
    X(v_load_first_fault) X(v_load_mask) X(v_store_mask) X(v_load_strided) \
    X(v_store_strided) X(v_load_indexed) X(v_store_indexed) X(v_load_segment2) X(v_load_segment3) X(v_load_segment4) \
    X(v_load_segment_many) X(v_store_segment2) X(v_store_segment3) X(v_store_segment4) \
    X(v_store_segment_many) X(v_load_strided_segment2) X(v_load_strided_segment3) \
    X(v_load_strided_segment4) X(v_store_strided_segment2) X(v_store_strided_segment3) \
    X(v_store_strided_segment4) X(v_load_whole) X(v_store_whole) X(v_matrix)
/* clang-format on */

enum cost_class {
#define X(name) CLASS_##name,
    COST_CLASSES(X)
#undef X
        CLASS_COUNT
};

/* Execution units; the first has two servers, the others one. */
enum unit { UNIT_ieu, UNIT_ls, UNIT_fp, UNIT_vieu, UNIT_vfp, UNIT_COUNT };

struct class_cost {
    enum unit unit;
    bool is_chained;                           /* works through a group register by register */
    uint32_t masked_percent[LMUL_COUNT];       /* occupancy under a mask, 100 where it is free */
    uint32_t masked_extra;                     /* and ticks on top of that */
    uint32_t latency[SEW_COUNT][LMUL_COUNT];   /* ticks until the result can be used */
    uint32_t occupancy[SEW_COUNT][LMUL_COUNT]; /* ticks the unit is taken */
};

/* Sizes and penalties outside the classes: name in the table, field. Penalties are in ticks. */
#define COST_PARAMETERS(X)                                                                         \
    X(vlen_bits)                                                                                   \
    X(line_bytes)                                                                                  \
    X(l1d_sets)                                                                                    \
    X(l1d_ways)                                                                                    \
    X(l2_sets)                                                                                     \
    X(l2_ways)                                                                                     \
    X(page_bytes)                                                                                  \
    X(tlb_sets)                                                                                    \
    X(tlb_ways)                                                                                    \
    X(tlb_miss)                                                                                    \
    X(streams)                                                                                     \
    X(l2_random)                                                                                   \
    X(l2_streamed)                                                                                 \
    X(l2_streamed_scalar)                                                                          \
    X(l2_written)                                                                                  \
    X(dram_random)                                                                                 \
    X(dram_read)                                                                                   \
    X(dram_write)                                                                                  \
    X(dram_unmerged)                                                                               \
    X(dram_ahead)                                                                                  \
    X(l2_keeps_one_in)                                                                             \
    X(l2_keeps_unforeseen)                                                                         \
    X(store_misses)                                                                                \
    X(store_streams)                                                                               \
    X(write_stream_lines)                                                                          \
    X(dirty_eviction)                                                                              \
    X(prefetch_works)                                                                              \
    X(prefetch_late)                                                                               \
    X(prefetch_needs_page)                                                                         \
    X(prefetch_buffers)                                                                            \
    X(scalar_to_vector)                                                                            \
    X(store_data_late)                                                                             \
    X(store_drain)                                                                                 \
    X(mispredict)                                                                                  \
    X(predictor_entries)

/* Of an out-of-order core only; all are 0 for one that issues in order. */
#define WINDOW_PARAMETERS(X) X(issue_width) X(window_entries) X(load_misses) X(vectors_in_order)

/* Of several cores of a chip only; all are 0 for one core. */
#define SHARED_PARAMETERS(X)                                                                       \
    X(cores) X(cores_per_l2) X(l2_line) X(bus_read) X(bus_write) X(snoop) X(far_snoop)

struct costs {
    struct class_cost classes[CLASS_COUNT];
#define X(name) uint32_t name;
    COST_PARAMETERS(X)
    WINDOW_PARAMETERS(X)
    SHARED_PARAMETERS(X)
#undef X
};

/* Those times that instructions meet while they run, of the members in a scoreboard's lanes. */
#define LANE_TIMES(X)                                                                              \
    X(tlb_miss)                                                                                    \
    X(l2_random)                                                                                   \
    X(l2_streamed)                                                                                 \
    X(l2_streamed_scalar)                                                                          \
    X(l2_written)                                                                                  \
    X(dram_random)                                                                                 \
    X(dram_read)                                                                                   \
    X(dram_write)                                                                                  \
    X(dram_unmerged)                                                                               \
    X(dram_ahead)                                                                                  \
    X(scalar_to_vector)                                                                            \
    X(store_data_late)                                                                             \
    X(store_drain)                                                                                 \
    X(mispredict)                                                                                  \
    X(l2_line)                                                                                     \
    X(bus_read)                                                                                    \
    X(bus_write)

struct lane_times {
#define X(name) lanes_t name;
    LANE_TIMES(X)
#undef X
    /* Of a miss that nothing foresaw: [is a store][hits L2][evicts a dirty line]. */
    lanes_t unforeseen[2][2][2];
};

/* The models that one run estimates under; the first is the default. They differ in times, in what
 * becomes of prefetches, and in L2 and streams; all else is the same in each. */
struct family {
    unsigned count;
    struct costs members[MAX_MEMBERS];
    struct lane_times times[BOARDS];
};

/* The member in a lane of a scoreboard. */
static inline unsigned member_in(unsigned board, unsigned lane) { return board * LANES + lane; }

/* Read the tables that Python wrote; false, with a message on stderr, where a line is wrong or one
 * is missing. */
bool family_read(const char *path, struct family *family);

#endif
