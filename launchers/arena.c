#include "arena.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "places.h"
#include "region.h"
#include "report.h"

/* Arrays lie a multiple of this apart, rounded up to pages, as if they lay one behind the other:
 * every cache whose ways are no larger sees the same conflicts. */
#define GUARD_BYTES ((size_t)2 << 20)
/* Before the first array and behind the last, where accesses that are far off land. */
#define OUTER_GUARD_BYTES ((size_t)256 << 20)
#define SIGNAL_STACK_BYTES ((size_t)64 << 10)

/* One argument's room. `pages` is NULL for a scalar. */
struct slot {
    const struct data_argument *argument;
    char *pages;
    size_t page_bytes;
    char *array;
    size_t size_bytes;
    bool restores; /* the kernel writes it */
    char *kept;    /* what a run has left there, NULL for nothing */
};

static const struct data *data;
static struct slot *slots;
static uint64_t *args; /* which only the launcher may write */
static size_t args_bytes;
static char *arena;
static size_t arena_bytes;
static enum data_set loaded;

static size_t round_up(size_t size_bytes, size_t unit_bytes) {
    return (size_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

unsigned char arena_filler(enum data_set set) {
    /* NaN and -1; a large number in every type. */
    return set == DATA_CHECK ? 0xff : 0x7a;
}

static struct arena_violation violation_at(const struct slot *slot, const char *address) {
    int64_t element_bytes = (int64_t)data_type_size(slot->argument->type);
    int64_t offset = address - slot->array;
    int64_t index = offset < 0 ? -((element_bytes - 1 - offset) / element_bytes)
                               : offset / element_bytes;
    return (struct arena_violation){slot->argument, index};
}

/* The slot whose pages are nearest to an address, NULL without arrays. */
static struct slot *nearest_slot(const char *address) {
    struct slot *nearest = NULL;
    size_t least = SIZE_MAX;
    for (uint32_t i = 0; i < data->argument_count; i++) {
        struct slot *slot = &slots[i];
        const char *end = slot->pages + slot->page_bytes;
        if (slot->pages == NULL)
            continue;
        size_t distance = address < slot->pages ? (size_t)(slot->pages - address)
                          : address >= end      ? (size_t)(address - end) + 1
                                                : 0;
        if (distance < least) {
            least = distance;
            nearest = slot;
        }
    }
    return nearest;
}

static void protect(const struct slot *slot) {
    mprotect(slot->pages, slot->page_bytes, PROT_READ | (slot->restores ? PROT_WRITE : 0));
}

static void protect_args(int access) { mprotect(args, args_bytes, access); }

static void refuse_args(void) {
    static const char sentence[] = "the kernel wrote to the table of its arguments\n";
    ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    _exit(written < 0 ? EXIT_USAGE : EXIT_HELPERS);
}

/* Nothing but the kernel touches the arena while it runs, so this is the kernel's access. */
static void on_fault(int signal_number, siginfo_t *information, void *context) {
    (void)context;
    const char *address = information->si_addr;
    if (address >= (const char *)args && address < (const char *)args + args_bytes)
        refuse_args();
    struct slot *slot = address >= arena && address < arena + arena_bytes ? nearest_slot(address)
                                                                          : NULL;
    if (slot == NULL) { /* its signal says more than we know: let it end the program */
        signal(signal_number, SIG_DFL);
        return;
    }
    bool is_inside = address >= slot->pages && address < slot->pages + slot->page_bytes;
    if (is_inside && !slot->restores) {
        slot->restores = true;
        protect(slot);
        return;
    }
    struct arena_violation violation = violation_at(slot, address);
    report_out_of_bounds(&violation, "fault");
    _exit(EXIT_OUT_OF_BOUNDS);
}

const char *arena_watch_faults(void) {
    stack_t stack = {.ss_size = SIGNAL_STACK_BYTES, .ss_sp = malloc(SIGNAL_STACK_BYTES)};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0 ||
        sigaction(SIGSEGV, &action, NULL) != 0 || sigaction(SIGBUS, &action, NULL) != 0)
        return "the system lets no program watch its own faults";
    return NULL;
}

const char *arena_create(const struct data *file) {
    size_t unit_bytes = getauxval(AT_PAGESZ);
    data = file;
    slots = calloc(data->argument_count + 1, sizeof *slots);
    args_bytes = round_up((data->argument_count + 1) * sizeof *args, unit_bytes);
    args = place_memory(PLACE_ARGUMENTS, 0, args_bytes, PROT_READ | PROT_WRITE);
    if (slots == NULL || args == NULL)
        return "there is too little memory for the table of arguments";
    arena_bytes = 2 * OUTER_GUARD_BYTES + GUARD_BYTES;
    for (uint32_t i = 0; i < data->argument_count; i++)
        arena_bytes += GUARD_BYTES + round_up(data_array_bytes(&data->arguments[i]), unit_bytes);
    arena = place_memory(PLACE_ARENA, 0, arena_bytes, PROT_NONE);
    if (arena == NULL)
        return "the arguments take more memory than there is";
    char *next = (char *)round_up((size_t)arena + OUTER_GUARD_BYTES, GUARD_BYTES);
    for (uint32_t i = 0; i < data->argument_count; i++) {
        struct slot *slot = &slots[i];
        slot->argument = &data->arguments[i];
        if (slot->argument->kind == KIND_SCALAR)
            continue;
        slot->size_bytes = data_array_bytes(slot->argument);
        slot->restores = data_is_output(slot->argument);
        slot->pages = next;
        slot->page_bytes = round_up(slot->size_bytes, unit_bytes);
        next += slot->page_bytes + GUARD_BYTES;
    }
    return arena_watch_faults();
}

/* The bytes of a slot before its array. */
static size_t bytes_before(const struct slot *slot) { return (size_t)(slot->array - slot->pages); }

static size_t bytes_behind(const struct slot *slot) {
    return slot->page_bytes - bytes_before(slot) - slot->size_bytes;
}

static void fill(const struct slot *slot) {
    const struct data_contents *contents = &slot->argument->sets[loaded];
    data_read(data, contents->value_offset, slot->array, slot->size_bytes);
}

void arena_load(enum data_set set) {
    loaded = set;
    protect_args(PROT_READ | PROT_WRITE);
    for (uint32_t i = 0; i < data->argument_count; i++) {
        struct slot *slot = &slots[i];
        args[i] = slot->argument->scalars[set];
        if (slot->pages == NULL)
            continue;
        size_t aligned_bytes = round_up(slot->size_bytes, DATA_ALIGNMENT);
        slot->array = slot->pages + (set == DATA_CHECK ? slot->page_bytes - aligned_bytes : 0);
        args[i] = (uint64_t)(uintptr_t)slot->array;
        mprotect(slot->pages, slot->page_bytes, PROT_READ | PROT_WRITE);
        memset(slot->pages, arena_filler(set), bytes_before(slot));
        memset(slot->array + slot->size_bytes, arena_filler(set), bytes_behind(slot));
        fill(slot);
        protect(slot);
    }
    protect_args(PROT_READ);
}

void arena_touch(void) {
    for (uint32_t i = 0; i < data->argument_count; i++) {
        const volatile char *array = slots[i].array;
        size_t size_bytes = slots[i].pages == NULL ? 0 : slots[i].size_bytes;
        TRITON_RVV_MODEL_RESUME();
        for (size_t at = 0; at < size_bytes; at += DATA_ALIGNMENT)
            (void)array[at];
        TRITON_RVV_MODEL_PAUSE();
    }
}

void arena_restore(void) {
    for (uint32_t i = 0; i < data->argument_count; i++)
        if (slots[i].pages != NULL && slots[i].restores) {
            protect(&slots[i]); /* the kernel may have asked for something else */
            fill(&slots[i]);
        }
}

/* The changed byte of a slot that is nearest to its array, NULL without one. */
static const char *changed_byte(const struct slot *slot) {
    const char filler = (char)arena_filler(loaded);
    const char *behind = slot->array + slot->size_bytes;
    for (size_t i = 0; i < bytes_behind(slot); i++)
        if (behind[i] != filler)
            return behind + i;
    for (size_t i = 1; i <= bytes_before(slot); i++)
        if (slot->array[-(ptrdiff_t)i] != filler)
            return slot->array - i;
    return NULL;
}

struct arena_violation arena_check(void) {
    for (uint32_t i = 0; i < data->argument_count; i++) {
        const char *changed = slots[i].pages == NULL ? NULL : changed_byte(&slots[i]);
        if (changed != NULL)
            return violation_at(&slots[i], changed);
    }
    return (struct arena_violation){NULL, 0};
}

bool arena_keep(void) {
    for (uint32_t i = 0; i < data->argument_count; i++) {
        struct slot *slot = &slots[i];
        if (slot->pages == NULL || !slot->restores || data_is_output(slot->argument))
            continue;
        slot->kept = malloc(slot->size_bytes + 1);
        if (slot->kept == NULL)
            return false;
        memcpy(slot->kept, slot->array, slot->size_bytes);
    }
    return true;
}

bool arena_is_written(uint32_t argument) { return slots[argument].restores; }

const void *arena_kept(uint32_t argument) { return slots[argument].kept; }

const uint64_t *arena_args(void) { return args; }
