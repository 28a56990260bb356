#include "places.h"

#include <sys/mman.h>

#include "cores.h"

void *place_memory(enum place place, uint32_t core, size_t size_bytes, int access) {
    /* Where a program on a core with Sv39 has nothing of its own. */
    static const uint64_t addresses[] = {
        [PLACE_STACK] = UINT64_C(0x0a00000000),
        [PLACE_ARGUMENTS] = UINT64_C(0x0b00000000),
        [PLACE_SCRATCH] = UINT64_C(0x0c00000000),
        [PLACE_FLUSH] = UINT64_C(0x0e00000000),
        [PLACE_ARENA] = UINT64_C(0x1000000000),
    };
    int unused = access == PROT_NONE ? MAP_NORESERVE : 0;
    uint64_t address = addresses[place] + core * PLACE_CORE_STRIDE;
    void *memory = mmap((void *)(uintptr_t)address, size_bytes, access,
                        MAP_PRIVATE | MAP_ANONYMOUS | unused, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

#ifdef __riscv

#define STACK_BYTES ((size_t)8 << 20) /* what Linux gives the first thread */
#define STACK_GUARD_BYTES ((size_t)2 << 20)

static char *stack_ends[CORES_MOST];

/* Keeps the caller's stack pointer in s0 meanwhile. */
void call_on_stack(void (*function)(const void *), const void *argument, char *top);
__asm__(".text\n"
        ".globl call_on_stack\n"
        ".hidden call_on_stack\n"
        ".type call_on_stack, @function\n"
        "call_on_stack:\n"
        "addi sp, sp, -16\n"
        "sd ra, 8(sp)\n"
        "sd s0, 0(sp)\n"
        "mv s0, sp\n"
        "mv sp, a2\n"
        "mv t0, a0\n"
        "mv a0, a1\n"
        "jalr t0\n"
        "mv sp, s0\n"
        "ld s0, 0(sp)\n"
        "ld ra, 8(sp)\n"
        "addi sp, sp, 16\n"
        "ret\n"
        ".size call_on_stack, . - call_on_stack\n");

bool place_stack(uint32_t core) {
    char *guard = place_memory(PLACE_STACK, core, STACK_GUARD_BYTES + STACK_BYTES, PROT_NONE);
    if (guard == NULL)
        return false;
    stack_ends[core] = guard + STACK_GUARD_BYTES + STACK_BYTES;
    return mprotect(guard + STACK_GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) == 0;
}

void place_call(void (*function)(const void *), const void *argument) {
    call_on_stack(function, argument, stack_ends[0]);
}

void place_call_on(uint32_t core, void (*function)(const void *), const void *argument) {
    call_on_stack(function, argument, stack_ends[core]);
}

#else /* runs there are timed, not estimated */

bool place_stack(uint32_t core) {
    (void)core;
    return true;
}

void place_call(void (*function)(const void *), const void *argument) { function(argument); }

void place_call_on(uint32_t core, void (*function)(const void *), const void *argument) {
    (void)core;
    function(argument);
}

#endif
