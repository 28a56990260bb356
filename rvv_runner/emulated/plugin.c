/* Glue between QEMU and the model: what to instrument, regions, the report at the end.
 *
 * Arguments: costs=FILE, report=FILE, and whole=1 to measure the whole program if it marks no
 * region.
 *
 * Each block gets one callback at its start and one for each memory access. Where registers can be
 * read, an unmasked vector access to one stretch of memory gets one callback in place of one for
 * each element: QEMU then moves the whole stretch at once. A block is put through the scoreboard when
 * the next one starts, because only then are its misses known. The caches are kept up to date all the
 * time, so that a region finds them as warm as the program left them, but for what the program asks
 * to leave out; the rest is counted in regions only.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chip.h"
#include "qemu_api.h"
#include "registers.h"
#include "report.h"
#include "software.h"

/* Hints with no effect on any RISC-V core: slti x0, x0, 0x5a1 to 0x5a9. */
enum {
    REGION_START = 0x5a102013,
    REGION_STOP = 0x5a202013,
    MODEL_PAUSE = 0x5a302013,
    MODEL_RESUME = 0x5a402013,
    MODEL_END = 0x5a502013,
    NEXT_PORTION = 0x5a602013,
    ALL_PORTIONS = 0x5a802013,
    ONE_MORE_CORE = 0x5a902013,
};
enum { MAX_THREADS = 1024 };

PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                      char **argv);

static struct family family;
static struct core *cores[MAX_THREADS]; /* on which each thread of the guest runs */
static struct chip chip;                /* whose cores one thread has in turn; none for lone cores */
static uint64_t portion_pc;             /* of the only mark of a portion */
static struct report *report;
static const char *report_path;
static atomic_bool measuring;
static atomic_bool paused; /* the caches do not see what runs */
static atomic_uint unpaired_marks; /* starts within a region, and stops outside of one */
static atomic_uint processes; /* that the program has started, whose work is not counted */
static atomic_bool tracking; /* some instruction needs registers that cannot be read */
static bool whole;           /* the whole program is measured, as long as it marks no region */
static qemu_plugin_id_t own_id;
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
        if (chip.count > 0 && vcpu >= chip.count) {
            fail("the program has more threads than the board has cores");
        }
        core = chip.count > 0 ? chip.cores[vcpu] : core_new(&family);
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
    core->length_read &= !core->length_changes;
    core->length_changes = block->sets_length;
    if (atomic_load_explicit(&measuring, memory_order_relaxed)) {
        core_enter_block(core, block, atomic_load_explicit(&tracking, memory_order_relaxed));
    } else if (block->sets_type) {
        core->type = block->type_after;
    }
}

/* An atomic instruction is seen between its load and its store; where several threads run, QEMU
 * says behind both that it stores, and what was there before is gone. */
static bool has_loaded(const struct site *site, qemu_plugin_meminfo_t info) {
    uint32_t opcode = opcode_of(site->word);
    bool atomic = opcode == OPCODE_ATOMIC && bits(site->word, 31, 27) != STORE_CONDITIONAL;
    return opcode == OPCODE_LOAD || (atomic && !qemu_plugin_mem_is_store(info));
}

static void observe(struct core *core, const struct site *site, uint64_t address,
                    qemu_plugin_meminfo_t info) {
    struct observed *observed = &core->observed[site->index];
    if (!observed->any) {
        observed->any = true;
        observed->address = address;
        if (has_loaded(site, info)) {
            observed->has_loaded = true;
            observed->loaded =
                tracker_loaded_value(site->word, (const char *)(uintptr_t)address + guest_base);
        }
    }
}

/* An instruction goes through neighbouring bytes. */
static void touch(struct core *core, const struct site *site, uint64_t place, uint64_t last_place,
                  bool measured) {
    struct misses *misses = measured ? &core->misses[site->index] : &core->unmeasured;
    uint32_t shift = core->memories.line_shift;
    misses->within_line =
        site->is_store && memories_within_line(&core->memories, place, site->is_contiguous);
    for (uint64_t line = place >> shift; line <= last_place >> shift; line++) {
        memories_access(&core->memories, line, site->is_store, misses);
        memories_count_access(&core->memories, site->is_store);
        misses->within_line = false;
    }
}

static void on_memory(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    const struct site *site = data;
    struct core *core = cores[vcpu];
    if (atomic_load_explicit(&paused, memory_order_relaxed)) {
        return;
    }
    core->vector_elements += site->is_vector;
    uint64_t place = core_address(core, address);
    uint64_t last_place = place + site->size_bytes - 1;
    uint64_t last_line = last_place >> core->memories.line_shift;
    if (site == core->last_site && last_line == core->last_line) {
        return; /* the same instruction goes on in the same line */
    }
    clear_upper_halves();
    bool measured = core->pending != NULL;
    if (measured && atomic_load_explicit(&tracking, memory_order_relaxed)) {
        observe(core, site, address, info);
    }
    if (site == core->last_site && place >> core->memories.line_shift == core->last_line) {
        place = last_line << core->memories.line_shift; /* behind the part that is known */
    }
    touch(core, site, place, last_place, measured);
    core->last_site = site;
    core->last_line = last_line;
}

static void on_contiguous(unsigned vcpu, void *data) {
    const struct site *site = data;
    struct core *core = cores[vcpu];
    if (atomic_load_explicit(&paused, memory_order_relaxed)) {
        return;
    }
    clear_upper_halves();
    if (!core->length_read) {
        core->vector_length = registers_vector_length();
        core->length_read = true;
    }
    uint64_t size_bytes =
        contiguous_bytes(site->word, core->vector_length, family.members[0].vlen_bits / 8);
    if (size_bytes > 0) {
        uint64_t address = core_address(core, registers_integer(rs1_of(site->word)));
        core->vector_elements += size_bytes / site->size_bytes;
        touch(core, site, address, address + size_bytes - 1, core->pending != NULL);
    }
}

static void on_prefetch(unsigned vcpu, void *data) {
    const struct site *site = data;
    struct core *core = cores[vcpu];
    if (core->pending == NULL) {
        return;
    }
    clear_upper_halves();
    uint32_t base = rs1_of(site->word);
    uint64_t offset = (uint64_t)prefetch_offset(site->word);
    if (registers_readable()) {
        core_prefetch(core, site, registers_integer(base) + offset);
        return;
    }
    core_replay(core, site->at);
    if (tracker_knows(&core->tracker, base)) {
        core_prefetch(core, site, core->tracker.value[base] + offset);
    } else {
        memories_counts(&core->memories)->software_prefetch_unresolved++;
    }
}

static void on_type_from_register(unsigned vcpu, void *data) {
    struct core *core = cores[vcpu];
    core->register_type = vector_type_from_bits(registers_integer((uint32_t)(uintptr_t)data));
    if (core->pending == NULL) {
        core->type = core->register_type;
    }
}

static void on_region_start(unsigned vcpu, void *data) {
    (void)data;
    unpaired_marks += measuring && !whole;
    whole = false;
    struct core *core = core_of(vcpu);
    if (chip.count > 0) {
        cores[vcpu] = chip_hand_over(&chip, core, 0);
        chip_start_region(&chip);
    }
    for (unsigned i = 0; chip.count == 0 && i < MAX_THREADS; i++) {
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
    if (chip.count > 0) {
        report_add_region(&report, chip.cores, chip.count);
    } else {
        report_add_region(&report, cores, MAX_THREADS);
    }
}

static void on_region_stop(unsigned vcpu, void *data) {
    (void)vcpu;
    if (!whole) {
        unpaired_marks += !measuring;
        stop_region((uint64_t)(uintptr_t)data);
    }
}

/* A kernel may not begin a portion. */
static void on_portion(unsigned vcpu, void *data) {
    uint64_t pc = (uint64_t)(uintptr_t)data;
    unpaired_marks += portion_pc != 0 && portion_pc != pc;
    portion_pc = pc;
    if (chip.count > 0) {
        cores[vcpu] = chip_next_portion(&chip, core_of(vcpu), pc, measuring, tracking);
    }
}

static void on_all_portions(unsigned vcpu, void *data) {
    if (chip.count > 0) {
        uint64_t pc = (uint64_t)(uintptr_t)data;
        cores[vcpu] = chip_join(&chip, core_of(vcpu), pc, tracking);
    }
}

static void on_one_more_core(unsigned vcpu, void *data) {
    if (chip.count > 0) {
        chip_invite(&chip, core_of(vcpu), (uint64_t)(uintptr_t)data, tracking);
    }
}

/* The first time, the caches become empty: a program that says what they see says so of everything. */
static void on_pause(unsigned vcpu, void *data) {
    (void)data;
    static atomic_bool again;
    if (!atomic_exchange(&again, true)) {
        memories_forget(&core_of(vcpu)->memories);
        for (unsigned i = 0; i < chip.count; i++) {
            memories_forget(chip.memories[i]);
        }
    }
    paused = true;
}

static void on_resume(unsigned vcpu, void *data) {
    (void)vcpu;
    (void)data;
    paused = false;
}

static void on_end(qemu_plugin_id_t id, void *data);

static void after_reset(qemu_plugin_id_t id) {
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
}

/* What follows runs without callbacks, several times as fast. */
static void on_model_end(unsigned vcpu, void *data) {
    (void)vcpu;
    (void)data;
    if (measuring || report == NULL) {
        unpaired_marks++;
    } else {
        qemu_plugin_reset(own_id, after_reset);
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

/* Whether the instruction is none that the model times. */
static bool instrument_marker(struct qemu_plugin_insn *insn, uint32_t word) {
    if (software_announced(word, qemu_plugin_insn_haddr(insn)) || software_is_missing(word)) {
        return true;
    }
    if (word == NEXT_PORTION || word == ALL_PORTIONS || word == ONE_MORE_CORE) {
        qemu_plugin_vcpu_udata_cb_t called = word == NEXT_PORTION   ? on_portion
                                             : word == ALL_PORTIONS ? on_all_portions
                                                                    : on_one_more_core;
        qemu_plugin_register_vcpu_insn_exec_cb(insn, called, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
        return true;
    }
    if (word == MODEL_PAUSE || word == MODEL_RESUME || word == MODEL_END) {
        qemu_plugin_vcpu_udata_cb_t called = word == MODEL_PAUSE    ? on_pause
                                             : word == MODEL_RESUME ? on_resume
                                                                    : on_model_end;
        qemu_plugin_register_vcpu_insn_exec_cb(insn, called, QEMU_PLUGIN_CB_NO_REGS, NULL);
        return true;
    }
    if (word != REGION_START && word != REGION_STOP) {
        return false;
    }
    qemu_plugin_register_vcpu_insn_exec_cb(
        insn, word == REGION_START ? on_region_start : on_region_stop, QEMU_PLUGIN_CB_NO_REGS,
        (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    return true;
}

/* What happens when the instruction runs; `site` is NULL where it has none. */
static void instrument(struct qemu_plugin_insn *insn, uint32_t word, struct site *site) {
    bool readable = registers_readable();
    struct vector_type type;
    bool takes_type = decode_vset(word, &type) && bits(word, 31, 30) == 2;
    if (!readable && (is_prefetch(word) || takes_type)) {
        tracking = true;
    }
    enum qemu_plugin_cb_flags flags = readable ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS;
    if (is_prefetch(word)) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_prefetch, flags, site);
    } else if (readable && takes_type) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_type_from_register, flags,
                                               (void *)(uintptr_t)rs2_of(word));
    } else if (readable && site != NULL && site->is_contiguous) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_contiguous, flags, site);
    } else if (site != NULL) {
        qemu_plugin_register_vcpu_mem_cb(insn, on_memory, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, site);
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    struct block *block = NULL;
    size_t count = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t pc = qemu_plugin_insn_vaddr(insn);
        if (software_holds(pc)) {
            return; /* all of a block, since jumps lead there and away */
        }
        uint32_t word = instruction_word(insn);
        if (instrument_marker(insn, word)) {
            block = NULL; /* what follows is a block of its own */
            continue;
        }
        word = software_replaced(word, pc, qemu_plugin_insn_haddr(insn));
        if (block == NULL) {
            guest_base = (char *)qemu_plugin_insn_haddr(insn) - (char *)(uintptr_t)pc;
            block = block_new(pc, (uint32_t)(count - i));
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
        }
        instrument(insn, word, block_append(block, word, (uint8_t)qemu_plugin_insn_size(insn)));
    }
}

static void on_thread(qemu_plugin_id_t id, unsigned vcpu) {
    (void)id;
    (void)vcpu;
    registers_find();
}

/* In the program, before it becomes two. */
static void on_fork(void) { processes++; }

static void on_end(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    if (getpid() != program) {
        return;
    }
    if (whole) {
        stop_region(0);
    }
    if (!report_write(report, report_path, whole, unpaired_marks, processes)) {
        fputs("board plug-in: its report cannot be written\n", stderr);
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
    if (!family_read(costs_path, &family)) {
        return 1;
    }
    if (family.members[0].cores > 0 && !chip_init(&chip, &family)) {
        fputs("board plug-in: out of memory\n", stderr);
        return 1;
    }
    whole = argument(argc, argv, "whole") != NULL;
    measuring = whole;
    program = getpid();
    own_id = id;
    pthread_atfork(on_fork, NULL, NULL);
    qemu_plugin_register_vcpu_init_cb(id, on_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
