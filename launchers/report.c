#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "kernel_abi.h"

static int report_descriptor = STDOUT_FILENO;
static char key[17];

#define PRINT(...) dprintf(report_descriptor, __VA_ARGS__)

/* Letters in place of a number, whose digits printf would find by steps that depend on it: these
 * take the same instructions and memory in every run. */
static bool draw_key(void) {
    ssize_t letters = sizeof key - 1;
    if (getrandom(key, (size_t)letters, 0) != letters)
        return false;
    for (ssize_t i = 0; i < letters; i++)
        key[i] = (char)('a' + (key[i] & 15));
    return true;
}

bool report_open(void) {
    report_descriptor = dup(STDOUT_FILENO);
    return report_descriptor >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && draw_key();
}

static void report_key(void) { PRINT("key: %s\n", key); }

void report_start(void) {
    PRINT("kernel: %s\nvlen_bits: %" PRIu32 "\n", triton_rvv_kernel_name, triton_rvv_vlen_bits);
    report_key();
}

const char *order_name(enum order order) {
    static const char *const names[] = {[ORDER_FORWARD] = "forward",
                                        [ORDER_SHUFFLED] = "shuffled",
                                        [ORDER_REVERSED] = "reversed",
                                        [ORDER_ALONE] = "alone"};
    return names[order];
}

void report_order(enum order order) { PRINT("order: %s\n", order_name(order)); }

void report_check(const struct check_result *result, const char *run) {
    report_key();
    if (result->wrong_count == 0) {
        PRINT("out OK max_abs_error=%.6g max_share=%.6g\n", result->max_abs_error, result->max_share);
        return;
    }
    PRINT("out NOT OK max_abs_error=%.6g argument=%s index=%" PRIu64 " got=%s expected=%s off=%" PRIu64
          "/%" PRIu64 " run=%s\n",
          result->max_abs_error, result->wrong->name, result->wrong_index, result->wrong_got,
          result->wrong_expected, result->wrong_count, result->wrong->element_count, run);
}

void report_out_of_bounds(const struct arena_violation *violation, const char *how) {
    report_key();
    PRINT("out of bounds argument=%s index=%" PRId64 " elements=%" PRIu64 " found=%s\n",
          violation->argument->name, violation->index, violation->argument->element_count, how);
}

void report_times(const uint64_t *times_ns, uint32_t count) {
    double sum_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        PRINT("kernel_time_s: %" PRIu64 ".%09" PRIu64 "\n", times_ns[i] / 1000000000,
              times_ns[i] % 1000000000);
        sum_s += (double)times_ns[i] * 1e-9;
    }
    if (count > 0)
        fprintf(stderr, "Running Triton Kernel Time: %.9f s\n", sum_s / count);
}
