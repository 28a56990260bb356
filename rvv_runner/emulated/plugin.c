/* Glue between QEMU and the model: what to instrument, regions, the report at the end.
 *
 * Arguments: costs=FILE, report=FILE, and whole=1 to measure the whole program if it marks no
 * region.
 *
 * Each block gets one callback at its start and one for each memory access. A block is put through
 * the scoreboard when the next one starts, because only then are its misses known. The caches are
 * kept up to date all the time, so that a region finds them as warm as the program left them; the
 * rest is counted in regions only.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "qemu_api.h"
#include "report.h"

/* Hints with no effect on any RISC-V core: slti x0, x0, 0x5a1 and 0x5a2. */
enum { REGION_START = 0x5a102013, REGION_STOP = 0x5a202013 };
enum { MAX_THREADS = 1024 };

PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                      char **argv);

static struct costs costs;
static struct core *cores[MAX_THREADS];
static struct report *report;
static const char *report_path;
static atomic_bool measuring;
static atomic_uint unpaired_marks; /* starts within a region, and stops outside of one */
static atomic_bool tracking; /* some instruction needs the values of registers */
static bool whole;           /* the whole program is measured, as long as it marks no region */
static pid_t program;        /* the process that reports, and not those that it forks */
static ptrdiff_t guest_base; /* host address minus guest address */

/* QEMU's own code leaves the upper halves of AVX registers dirty, which slows its SSE arithmetic
 * (fmaf above all) several times over until they are cleared. */
static inline void clear_upper_halves(void) {
#if defined(__x86_64__)
    static int has_avx = -1;
    if (__builtin_expect(has_avx < 0, 0)) {
        has_avx = __builtin_cpu_supports("avx") != 0;
    }
    if (has_avx) {
        __asm__ volatile("vzeroupper" ::: "memory");
    }
#endif
}

/* QEMU 7 and 8 take plug-ins of version 1, later ones those of version 2 and newer. They read it
 * after the plug-in is loaded, which is when this runs. */
__attribute__((constructor)) static void choose_version(void) {
    qemu_plugin_version = qemu_plugin_get_registers == NULL ? 1 : 2;
}

static void fail(const char *message) {
    fprintf(stderr, "board plug-in: %s\n", message);
    exit(EXIT_FAILURE);
}

static struct core *core_of(unsigned vcpu) {
    if (__builtin_expect(vcpu >= MAX_THREADS, 0)) {
        fail("the program has more than 1024 threads");
    }
    struct core *core = cores[vcpu];
    if (__builtin_expect(core == NULL, 0)) {
        core = core_new(&costs);
        if (core == NULL) {
            fail("out of memory");
        }
        cores[vcpu] = core;
    }
    return core;
}

static void on_block(unsigned vcpu, void *data) {
    clear_upper_halves();
    struct core *core = core_of(vcpu);
    core->last_site = NULL;
    struct block *block = data;
    if (atomic_load_explicit(&measuring, memory_order_relaxed)) {
        core_enter_block(core, block, atomic_load_explicit(&tracking, memory_order_relaxed));
    } else if (block->sets_type) {
        core->type = block->type_after;
    }
}

static void observe(struct core *core, const struct site *site, uint64_t address) {
    struct observed *observed = &core->observed[site->index];
    if (!observed->any) {
        observed->any = true;
        observed->address = address;
        if (opcode_of(site->word) == OPCODE_LOAD) {
            observed->loaded =
                tracker_loaded_value(site->word, (const char *)(uintptr_t)address + guest_base);
        }
    }
}

static void on_memory(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)info;
    const struct site *site = data;
    struct core *core = cores[vcpu];
    bool measured = atomic_load_explicit(&measuring, memory_order_relaxed);
    core->vector_memory_callbacks += site->is_vector;
    uint64_t line = address >> core->memory.line_shift;
    uint64_t last_line = (address + site->size_bytes - 1) >> core->memory.line_shift;
    if (site == core->last_site && last_line == core->last_line) {
        return; /* the same instruction goes on in the same line */
    }
    clear_upper_halves();
    if (measured && atomic_load_explicit(&tracking, memory_order_relaxed)) {
        observe(core, site, address);
    }
    struct misses unmeasured = {0};
    struct misses *misses = measured ? &core->misses[site->index] : &unmeasured;
    if (site != core->last_site || line != core->last_line) {
        memory_access(&core->memory, line, site->is_store, misses);
        memory_count_access(&core->memory, site->is_store);
    }
    if (last_line != line) { /* a misaligned element reaches into the next line */
        memory_access(&core->memory, last_line, site->is_store, misses);
        memory_count_access(&core->memory, site->is_store);
    }
    core->last_site = site;
    core->last_line = last_line;
}

static void on_region_start(unsigned vcpu, void *data) {
    (void)data;
    unpaired_marks += measuring && !whole;
    whole = false;
    core_of(vcpu);
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        if (cores[i] != NULL) {
            core_start_region(cores[i]);
        }
    }
    measuring = true;
}

static void stop_region(uint64_t next_pc) {
    if (!measuring) {
        return;
    }
    measuring = false;
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        if (cores[i] != NULL && cores[i]->pending != NULL) {
            core_finish_block(cores[i], next_pc, tracking);
        }
    }
    report_add_region(&report, cores, MAX_THREADS);
}

static void on_region_stop(unsigned vcpu, void *data) {
    (void)vcpu;
    if (!whole) {
        unpaired_marks += !measuring;
        stop_region((uint64_t)(uintptr_t)data);
    }
}

/* Read from the program's memory: the function for it is not the same in every version. */
static uint32_t instruction_word(const struct qemu_plugin_insn *insn) {
    uint16_t half;
    uint32_t word;
    const void *code = qemu_plugin_insn_haddr(insn);
    if (qemu_plugin_insn_size(insn) == 2) {
        memcpy(&half, code, sizeof half);
        return expand_compressed(half);
    }
    memcpy(&word, code, sizeof word);
    return word;
}

static bool instrument_marker(struct qemu_plugin_insn *insn, uint32_t word) {
    if (word != REGION_START && word != REGION_STOP) {
        return false;
    }
    qemu_plugin_register_vcpu_insn_exec_cb(
        insn, word == REGION_START ? on_region_start : on_region_stop, QEMU_PLUGIN_CB_NO_REGS,
        (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    return true;
}

static bool needs_registers(uint32_t word) {
    struct vector_type type;
    return is_prefetch(word) || (decode_vset(word, &type) && bits(word, 31, 30) == 2);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    struct block *block = NULL;
    size_t count = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t pc = qemu_plugin_insn_vaddr(insn);
        uint32_t word = instruction_word(insn);
        if (instrument_marker(insn, word)) {
            block = NULL; /* what follows is a block of its own */
            continue;
        }
        if (block == NULL) {
            guest_base = (char *)qemu_plugin_insn_haddr(insn) - (char *)(uintptr_t)pc;
            block = block_new(pc, (uint32_t)(count - i));
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
        }
        if (needs_registers(word)) {
            tracking = true;
        }
        struct site *site = block_append(block, word, (uint8_t)qemu_plugin_insn_size(insn));
        if (site != NULL) {
            qemu_plugin_register_vcpu_mem_cb(insn, on_memory, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, site);
        }
    }
}

static void on_end(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    if (getpid() != program) {
        return;
    }
    if (whole) {
        stop_region(0);
    }
    if (!report_write(report, report_path, whole, unpaired_marks)) {
        _Exit(EXIT_FAILURE);
    }
}

static const char *argument(int argc, char **argv, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') {
            return argv[i] + length + 1;
        }
    }
    return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    (void)info;
    const char *costs_path = argument(argc, argv, "costs");
    report_path = argument(argc, argv, "report");
    if (costs_path == NULL || report_path == NULL) {
        fputs("board plug-in: needs the arguments costs=FILE and report=FILE\n", stderr);
        return 1;
    }
    if (!costs_read(costs_path, &costs)) {
        return 1;
    }
    whole = argument(argc, argv, "whole") != NULL;
    measuring = whole;
    program = getpid();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
