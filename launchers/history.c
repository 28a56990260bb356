#include "history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY UINT32_MAX
#define ACQUIRES(order) ((order) == 2 || (order) == 4)
#define RELEASES(order) ((order) >= 3)

/* Enough for a second of this machine's time, and for 256 MiB. */
#define MOST_CALLS (UINT64_C(30) << 20)
#define MOST_WRITES (UINT32_C(8) << 20)

/* One element's contents, from a write on. Number 0 is what was there before the run. */
struct write {
    uint64_t value;   /* of number 0: in the array's copy */
    uint32_t program; /* of number 0: NOBODY */
    uint32_t epoch;   /* how many releases its program had made */
    uint32_t before;  /* the number of the write before it */
    uint8_t order;    /* of an atomic operation; 0: it was a store */
    /* It and the one before are stores, and its program knows nothing of that one. */
    bool may_be_first;
};

/* An array, and the number of the last write to each of its elements. */
struct array {
    const struct data_argument *argument;
    uintptr_t start, end;
    char *before; /* what it held before the run; NULL as long as nothing was written */
    uint32_t element_bytes;
    uint32_t shift; /* the element's size is 1 << shift */
    uint32_t *last;
};

static enum history_mode mode;
static struct array *arrays;
static uint32_t array_count;
static struct write *writes;
static uint32_t write_count;
static uint64_t calls;
static uint32_t programs, own;
static uint32_t *epochs;
static uint32_t **known; /* of each program, the epochs of each that it knows, plus 1; NULL: none */
static uint64_t *merged; /* of a pair of programs, what the one knew when the other learnt of it */
static uint64_t *learnt; /* how often a program has learnt */
static struct history_race race;

static void *fresh(void *old, size_t count, size_t size_bytes) {
    free(old);
    return calloc(count, size_bytes);
}

static void undecided(void) { _exit(EXIT_UNDECIDED); }

static void forget(void) {
    for (uint32_t i = 0; i < array_count; i++)
        free(arrays[i].last), free(arrays[i].before);
    for (uint32_t i = 0; known != NULL && i < programs; i++)
        free(known[i]);
    array_count = 0;
    write_count = 1; /* 0 is none */
    calls = 0;
    race = (struct history_race){0};
}

bool history_begin(const struct data *data, const uint64_t *args, uint32_t count,
                   enum history_mode wanted) {
    forget();
    mode = wanted;
    programs = count;
    arrays = fresh(arrays, data->argument_count + 1, sizeof *arrays);
    epochs = fresh(epochs, count, sizeof *epochs);
    known = fresh(known, count, sizeof *known);
    learnt = fresh(learnt, count, sizeof *learnt);
    merged = fresh(merged, (size_t)count * count, sizeof *merged);
    if (writes == NULL)
        writes = malloc(MOST_WRITES * sizeof *writes);
    if (!arrays || !epochs || !known || !learnt || !merged || !writes)
        return false;
    writes[0] = (struct write){.program = NOBODY};
    for (uint32_t i = 0; i < data->argument_count; i++) {
        const struct data_argument *argument = &data->arguments[i];
        if (argument->kind == KIND_SCALAR)
            continue;
        struct array *array = &arrays[array_count++];
        uint64_t element_bytes = data_type_size(argument->type);
        *array = (struct array){
            .argument = argument,
            .start = (uintptr_t)args[i],
            .end = (uintptr_t)args[i] + data_array_bytes(argument),
            .element_bytes = (uint32_t)element_bytes,
            .shift = (uint32_t)__builtin_ctzll(element_bytes),
            .last = calloc(argument->element_count + 1, sizeof(uint32_t)),
        };
        if (array->last == NULL)
            return false;
    }
    return true;
}

void history_program(uint32_t program) { own = program; }

struct history_race history_race(void) { return race; }

/* The array of an address; NULL where that is none's. */
static struct array *array_at(uintptr_t address, uint32_t size_bytes) {
    static uint32_t found;
    if (++calls > MOST_CALLS)
        undecided();
    for (uint32_t i = 0; i < array_count; i++) {
        uint32_t number = found + i < array_count ? found + i : found + i - array_count;
        struct array *array = &arrays[number];
        if (address < array->start || address >= array->end)
            continue;
        if (array->element_bytes != size_bytes || ((address - array->start) & (size_bytes - 1)) != 0)
            undecided();
        found = number;
        return array;
    }
    return NULL;
}

static uint32_t *last_of(const struct array *array, uintptr_t address) {
    return &array->last[(address - array->start) >> array->shift];
}

static bool knows(const struct write *write) {
    return write->program == NOBODY || write->program == own ||
           (known[own] != NULL && known[own][write->program] > write->epoch);
}

/* What another program knew when it made a write is known from now on, and the write. What it has
 * learnt since counts as well, so that a race may be missed, and none is made up. */
static void learn(const struct write *write) {
    uint32_t other = write->program;
    if (other == own || other == NOBODY)
        return;
    if (known[own] == NULL && (known[own] = calloc(programs, sizeof **known)) == NULL)
        undecided();
    if (known[own][other] <= write->epoch) {
        known[own][other] = write->epoch + 1;
        learnt[own]++;
    }
    uint64_t *merged_so_far = &merged[(size_t)own * programs + other];
    if (known[other] == NULL || *merged_so_far == learnt[other])
        return;
    *merged_so_far = learnt[other];
    learnt[own]++;
    for (uint32_t i = 0; i < programs; i++)
        if (known[own][i] < known[other][i])
            known[own][i] = known[other][i];
}

static void add(uint32_t *last, uint64_t value, uint32_t program, uint32_t order) {
    if (write_count == MOST_WRITES)
        undecided();
    const struct write *before = &writes[*last];
    bool may_be_first = order == 0 && before->order == 0 && !knows(before);
    writes[write_count] =
        (struct write){value, program, epochs[program], *last, (uint8_t)order, may_be_first};
    *last = write_count++;
}

/* An element, by instructions for the sizes that there are. */
static void copy(void *to, const void *from, uint32_t size_bytes) {
    switch (size_bytes) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, size_bytes);
    }
}

static uint64_t value_at(const void *address, uint32_t size_bytes) {
    uint64_t value = 0;
    copy(&value, address, size_bytes);
    return value;
}

/* Before the first write to an array. */
static void keep(struct array *array) {
    size_t size_bytes = array->end - array->start;
    if ((array->before = malloc(size_bytes)) == NULL)
        undecided();
    memcpy(array->before, (const void *)array->start, size_bytes);
}

static const void *before_the_run(const struct array *array, uintptr_t address) {
    return array->before + (address - array->start);
}

/* Half of the pairs of an element and a program. */
static bool coin(uintptr_t address) {
    uint64_t mixed = (address / 4 + (uint64_t)own * UINT64_C(0x9e3779b97f4a7c15)) *
                     UINT64_C(0xbf58476d1ce4e5b9);
    return (mixed ^ (mixed >> 31)) >> 40 & 1;
}

void history_load(void *to, const void *from, uint32_t size_bytes, uint32_t is_volatile) {
    copy(to, from, size_bytes);
    const struct array *array = array_at((uintptr_t)from, size_bytes);
    if (array == NULL || array->before == NULL)
        return;
    uint32_t number = *last_of(array, (uintptr_t)from);
    if (number == 0 || is_volatile) {
        for (; is_volatile && writes[number].order >= 3; number = writes[number].before)
            learn(&writes[number]);
        return;
    }
    const struct write *write = &writes[number];
    if (knows(write))
        return;
    if (race.argument == NULL)
        race = (struct history_race){array->argument,
                                     ((uintptr_t)from - array->start) / size_bytes, own,
                                     write->program};
    if (mode == HISTORY_LATEST || (mode == HISTORY_EITHER && coin((uintptr_t)from)))
        return;
    for (; !knows(write); write = &writes[number])
        number = write->before;
    copy(to, number == 0 ? before_the_run(array, (uintptr_t)from) : &write->value, size_bytes);
}

void history_store(void *to, const void *from, uint32_t size_bytes) {
    struct array *array = array_at((uintptr_t)to, size_bytes);
    if (array != NULL) {
        if (array->before == NULL)
            keep(array);
        uint32_t *last = last_of(array, (uintptr_t)to);
        struct write *write = &writes[*last];
        if (write->program == own && write->epoch == epochs[own] && write->order == 0)
            write->value = value_at(from, size_bytes);
        else
            add(last, value_at(from, size_bytes), own, 0);
    }
    copy(to, from, size_bytes);
}

void history_before_atomic(const void *at, uint32_t size_bytes, uint32_t order) {
    struct array *array = array_at((uintptr_t)at, size_bytes);
    if (array == NULL)
        return;
    if (array->before == NULL)
        keep(array);
    if (!ACQUIRES(order))
        return;
    /* Updates that follow a release pass it on, until a store. One that acquired knows those before. */
    for (const struct write *write = &writes[*last_of(array, (uintptr_t)at)]; write->order != 0;
         write = &writes[write->before]) {
        if (RELEASES(write->order))
            learn(write);
        if (write->order == 4)
            break;
    }
}

void history_after_atomic(const void *at, uint32_t size_bytes, uint32_t order, uint32_t is_swap) {
    const struct array *array = array_at((uintptr_t)at, size_bytes);
    if (array == NULL)
        return;
    uint32_t *last = last_of(array, (uintptr_t)at);
    uint64_t value = value_at(at, size_bytes);
    uint64_t before = *last == 0 ? value_at(before_the_run(array, (uintptr_t)at), size_bytes)
                                 : writes[*last].value;
    if (is_swap && value == before)
        return; /* it found something else, and wrote nothing */
    add(last, value, own, order);
    if (RELEASES(order))
        epochs[own]++;
}

void history_settle(void) {
    for (const struct array *array = arrays; array < arrays + array_count; array++) {
        uint64_t count = (array->end - array->start) >> array->shift;
        for (uint64_t i = 0; array->before != NULL && i < count; i++) {
            const struct write *write = &writes[array->last[i]];
            if (write->may_be_first)
                copy((char *)array->start + (i << array->shift), &writes[write->before].value,
                     array->element_bytes);
        }
    }
}
