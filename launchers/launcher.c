/* Runs a kernel over its grid on the arguments of a data file, checks its outputs, times it.
 *
 *   kernel.elf DATA_FILE --grid X,Y,Z [--repeats N] [--warmup N] [--flush BYTES] [--ordered] [--alone]
 *              [--cores N [--in-turn]]
 *
 * docs/reference/launcher.md describes what it does, prints and returns. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "caches.h"
#include "check.h"
#include "clock.h"
#include "cores.h"
#include "data_file.h"
#include "helpers.h"
#include "kernel_abi.h"
#include "orders.h"
#include "places.h"
#include "region.h"
#include "report.h"
#include "vector_unit.h"

/* Programs that run without the others. */
#define MOST_ALONE 8u
#define OTHER_CORE 1

struct options {
    const char *data_path;
    uint32_t grid[3];
    uint32_t repeats;
    uint32_t warmup;
    uint32_t flush_bytes;
    bool ordered; /* the kernel is right in the order of its programs alone */
    bool alone;   /* and where it is not, some programs have to be right without the others */
    uint32_t cores;
    bool in_turn; /* one core runs the portions of all, for an emulator */
};

static int fail_usage(const char *sentence) {
    fprintf(stderr,
            "%s: usage is kernel.elf DATA_FILE --grid X,Y,Z [--repeats N] [--warmup N] "
            "[--flush BYTES] [--ordered] [--alone] [--cores N [--in-turn]]\n", sentence);
    return EXIT_USAGE;
}

/* Reads a whole number up to `end_char`; returns what follows it, or NULL where there is none. */
static const char *parse_number(const char *text, char end_char, uint32_t *number) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != end_char || errno != 0 || value > UINT32_MAX)
        return NULL;
    *number = (uint32_t)value;
    return end_char == '\0' ? end : end + 1;
}

static bool parse_grid(const char *text, uint32_t grid[3]) {
    for (int i = 0; i < 3 && text != NULL; i++)
        text = parse_number(text, i < 2 ? ',' : '\0', &grid[i]);
    return text != NULL && grid[0] > 0 && grid[1] > 0 && grid[2] > 0;
}

static int parse_options(int argc, char **argv, struct options *options) {
    static const struct option known[] = {{"grid", required_argument, NULL, 'g'},
                                          {"repeats", required_argument, NULL, 'r'},
                                          {"warmup", required_argument, NULL, 'w'},
                                          {"flush", required_argument, NULL, 'f'},
                                          {"ordered", no_argument, NULL, 'o'},
                                          {"alone", no_argument, NULL, 'a'},
                                          {"cores", required_argument, NULL, 'c'},
                                          {"in-turn", no_argument, NULL, 'i'},
                                          {0}};
    *options = (struct options){.repeats = 1, .cores = 1};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'g' && !parse_grid(optarg, options->grid))
            return fail_usage("--grid takes three positive numbers such as 16,1,1");
        if (option == 'r' && !parse_number(optarg, '\0', &options->repeats))
            return fail_usage("--repeats takes a number of runs");
        if (option == 'w' && !parse_number(optarg, '\0', &options->warmup))
            return fail_usage("--warmup takes a number of runs");
        if (option == 'f' && !parse_number(optarg, '\0', &options->flush_bytes))
            return fail_usage("--flush takes a number of bytes");
        if (option == 'c' && (!parse_number(optarg, '\0', &options->cores) ||
                              options->cores == 0 || options->cores > CORES_MOST))
            return fail_usage("--cores takes a number of cores from 1 to 64");
        options->in_turn |= option == 'i';
        options->ordered |= option == 'o';
        options->alone |= option == 'a';
        if (option == '?')
            return fail_usage("an option is unknown or lacks its value");
    }
    if (optind != argc - 1)
        return fail_usage("exactly one data file has to be given");
    if (options->grid[0] == 0)
        return fail_usage("--grid has to be given");
    options->data_path = argv[optind];
    return EXIT_OK;
}

#ifdef __riscv
static int check_machine(void) {
    uint32_t vlen_bits = vector_unit_vlen_bits();
    if (vlen_bits == triton_rvv_vlen_bits)
        return EXIT_OK;
    if (vlen_bits == 0)
        fprintf(stderr, "this machine has no vector unit and the kernel was built for one of "
                        "%" PRIu32 " bits\n", triton_rvv_vlen_bits);
    else
        fprintf(stderr, "this machine's vector registers have %" PRIu32 " bits and the kernel was "
                        "built for %" PRIu32 "\n", vlen_bits, triton_rvv_vlen_bits);
    return EXIT_WRONG_MACHINE;
}
#else /* built for the machine it runs on */
static int check_machine(void) { return EXIT_OK; }
#endif

void triton_rvv_assertion_failed(const char *message, uint32_t pid_x, uint32_t pid_y,
                                 uint32_t pid_z) {
    fprintf(stderr, "%s in program (%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")\n", message, pid_x, pid_y,
            pid_z);
    _exit(EXIT_ASSERTION);
}

static void *scratch[CORES_MOST];
static uint64_t scratch_bytes;

#define PAGE_BYTES UINT64_C(4096)

/* A core runs one program at a time, and each needs as much as the one before. */
void *triton_rvv_scratch(uint64_t size_bytes) {
    uint32_t core = cores_own();
    if (scratch[core] == NULL)
        scratch[core] = place_memory(PLACE_SCRATCH, core, size_bytes, PROT_READ | PROT_WRITE);
    scratch_bytes = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (scratch[core] != NULL)
        return scratch[core];
    fprintf(stderr, "the kernel's blocks need %" PRIu64 " MiB of memory, more than is free\n",
            size_bytes >> 20);
    _exit(EXIT_MEMORY);
}

/* The programs of a grid, on the stack at its place. */
static void run_programs(const void *grid_sizes) {
    const uint32_t *grid = grid_sizes;
    const uint64_t *args = arena_args();
    uint32_t num_x = grid[0], num_y = grid[1], num_z = grid[2];
    TRITON_RVV_MODEL_RESUME();
    for (uint32_t z = 0; z < num_z; z++)
        for (uint32_t y = 0; y < num_y; y++)
            for (uint32_t x = 0; x < num_x; x++)
                triton_rvv_kernel(args, x, y, z, num_x, num_y, num_z);
    TRITON_RVV_MODEL_PAUSE();
}

/* The same in another order, which an emulated core does not see. */
static void run_portion(const void *of_a_grid) {
    const struct portion *portion = of_a_grid;
    const uint64_t *args = arena_args();
    uint32_t num_x = portion->grid[0], num_y = portion->grid[1], num_z = portion->grid[2];
    uint64_t programs = grid_programs(portion->grid);
    for (uint64_t i = 0; i < portion->count; i++) {
        uint64_t program = order_program(portion->order, portion->first + i, programs);
        uint32_t x = (uint32_t)(program % num_x);
        uint32_t y = (uint32_t)(program / num_x % num_y);
        uint32_t z = (uint32_t)(program / num_x / num_y);
        triton_rvv_kernel(args, x, y, z, num_x, num_y, num_z);
    }
}

/* Out of line, so that the check, the warm-up and the timed runs execute the same instructions. */
__attribute__((noinline)) static void run_grid(const uint32_t grid[3]) {
    place_call(run_programs, grid);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Out of line too, so that the marks stand once. */
__attribute__((noinline)) static uint64_t time_grid_ns(const uint32_t grid[3]) {
    uint64_t start_ns = now_ns();
    TRITON_RVV_REGION_START();
    run_grid(grid);
    TRITON_RVV_REGION_STOP();
    return now_ns() - start_ns;
}

static void run(const uint32_t grid[3]) {
    if (cores_count() > 1)
        cores_run(grid);
    else
        run_grid(grid);
}

static uint64_t time_ns(const uint32_t grid[3]) {
    return cores_count() > 1 ? cores_time_ns(grid) : time_grid_ns(grid);
}

static void forget_scratch(enum data_set set) {
    for (uint32_t core = 0; core < CORES_MOST; core++)
        if (scratch[core] != NULL)
            memset(scratch[core], arena_filler(set), scratch_bytes);
}

static void load(enum data_set set) {
    arena_load(set);
    forget_scratch(set);
    clock_restart(0);
}

/* Between two runs on one set. */
static void restore(enum data_set set) {
    arena_restore();
    forget_scratch(set);
    clock_restart(0);
}

/* Ends the program where the run before was not alone, or what is expected is read from elsewhere. */
static void require_alone(const struct data *data) {
    const char *sentence = helpers_found();
    if (sentence == NULL && !data_is_same(data))
        sentence = "the kernel put another file in the place of its data";
    if (sentence == NULL)
        return;
    fprintf(stderr, "%s\n", sentence);
    exit(EXIT_HELPERS);
}

/* Ends the program where the run before wrote outside an array. */
static void require_bounds(void) {
    struct arena_violation violation = arena_check();
    if (violation.argument == NULL)
        return;
    report_out_of_bounds(&violation, "write");
    exit(EXIT_WRONG_OUTPUT);
}

/* Of a run and those before, the largest errors. */
static void keep_errors(struct check_result *most, const struct check_result *result) {
    most->max_abs_error = fmax(most->max_abs_error, result->max_abs_error);
    most->max_share = fmax(most->max_share, result->max_share);
}

/* Keeps the errors of the run before; ends the program where an output is wrong. */
static void require_right(const struct data *data, enum data_set set,
                          struct check_result *most) {
    require_bounds();
    struct check_result result = check_outputs(data, set, arena_args());
    if (result.wrong == NULL) {
        keep_errors(most, &result);
        return;
    }
    report_check(&result, set == DATA_CHECK ? "check" : "timed");
    exit(EXIT_WRONG_OUTPUT);
}

/* Runs programs in another order; ends the program where an output is wrong then that was right. */
static void require_any_order(const struct data *data, enum data_set set,
                              const struct portion *portion) {
    report_order(portion->order);
    restore(set);
    clock_restart(OTHER_CORE); /* nothing says which core a program gets */
    place_call(run_portion, portion);
    require_alone(data);
    require_bounds();
    struct check_result result = portion->order == ORDER_ALONE
                                     ? check_written(data, set, arena_args())
                                     : check_outputs(data, set, arena_args());
    if (result.wrong == NULL)
        return;
    report_check(&result, order_name(portion->order));
    exit(EXIT_WRONG_OUTPUT);
}

/* Runs the grid in other orders, after the timed runs, which find all as if there were none. */
static void check_orders(const struct data *data, const struct options *options) {
    uint64_t programs = grid_programs(options->grid);
    if (options->ordered || options->repeats == 0 || programs == 1)
        return;
    TRITON_RVV_MODEL_END();
    if (options->repeats > 1) {
        struct portion shuffled = {ORDER_SHUFFLED, options->grid, 0, programs};
        require_any_order(data, DATA_TIMED, &shuffled);
    }
    load(DATA_CHECK);
    struct portion reversed = {ORDER_REVERSED, options->grid, 0, programs};
    require_any_order(data, DATA_CHECK, &reversed);
    if (!options->alone)
        return;
    uint64_t some = programs / 8 + 1 < MOST_ALONE ? programs / 8 + 1 : MOST_ALONE;
    struct portion alone = {ORDER_ALONE, options->grid, 0, some};
    require_any_order(data, DATA_CHECK, &alone);
}

static void check(const struct data *data, const struct options *options,
                  struct check_result *most) {
    load(DATA_CHECK);
    run(options->grid);
    require_alone(data);
    if (options->alone && !arena_keep()) {
        fprintf(stderr, "there is too little memory for what the kernel writes\n");
        exit(EXIT_MEMORY);
    }
    require_right(data, DATA_CHECK, most);
}

/* Runs the grid on the second set, and fills in the times. Each run but the warm-up is checked: in
 * full, or by having the same bits as one that was. Keeps the largest errors. */
static void time_runs(const struct data *data, const struct options *options, uint64_t *times_ns,
                      struct check_result *most) {
    uint64_t checked_digest = 0;
    load(DATA_TIMED);
    arena_touch();
    if (options->warmup == 0) /* so that one warm-up adds its run and nothing else to a count */
        caches_flush();
    for (uint32_t i = 0; i < options->warmup; i++) {
        caches_flush();
        run(options->grid);
        restore(DATA_TIMED);
    }
    for (uint32_t i = 0; i == 0 || i < options->repeats; i++) {
        if (i > 0)
            restore(DATA_TIMED);
        caches_flush();
        times_ns[i] = time_ns(options->grid);
        require_alone(data);
        uint64_t digest = options->repeats > 1 ? check_digest(data, arena_args()) : 0;
        if (i == 0 || digest != checked_digest)
            require_right(data, DATA_TIMED, most);
        checked_digest = digest;
    }
    require_bounds();
}

/* Prints only when all is known, so that no output falls between two runs. */
static int check_and_time(const struct data *data, const struct options *options) {
    uint64_t *times_ns = calloc((size_t)options->repeats + 1, sizeof *times_ns);
    if (times_ns == NULL)
        return fail_usage("--repeats is more than memory can hold");
    struct check_result right = {0};
    check(data, options, &right);
    time_runs(data, options, times_ns, &right);
    check_orders(data, options);
    report_check(&right, "timed");
    report_times(times_ns, options->repeats);
    return EXIT_OK;
}

int main(int argc, char **argv) {
    TRITON_RVV_MODEL_PAUSE();
    struct options options;
    int status = parse_options(argc, argv, &options);
    if (status == EXIT_OK)
        status = check_machine();
    if (status != EXIT_OK)
        return status;
    struct data data;
    const char *error = data_open(options.data_path, &data);
    if (error == NULL)
        error = arena_create(&data);
    if (error == NULL && !place_stack(0))
        error = "there is too little memory for the kernel's stack";
    if (error == NULL && !caches_prepare(options.flush_bytes))
        error = "there is too little memory for --flush";
    if (error == NULL && !report_open())
        error = "the system gives no file descriptor or no random number for the report";
    if (error != NULL) {
        fprintf(stderr, "%s\n", error);
        return EXIT_USAGE;
    }
    const char *missing = options.cores > 1 ? cores_start(options.cores, options.in_turn) : NULL;
    if (missing != NULL) {
        fprintf(stderr, "%s\n", missing);
        return EXIT_WRONG_MACHINE;
    }
    report_start();
    helpers_remember();
    return check_and_time(&data, &options);
}
