/* Finds out, when the program is loaded, whether this machine can run the library's code. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime.h"

uint32_t tuned_machine_vlen;
char tuned_machine_fault[256];

static volatile sig_atomic_t trapped;

/* Goes on behind the instruction, which has 4 bytes. */
static void on_illegal_instruction(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    trapped = 1;
    ((ucontext_t *)context)->uc_mcontext.__gregs[0] += 4; /* the program counter */
}

/* The functions below run an instruction by its code, since an assembler for rv64gc has no name for
 * it: x0 is its target where it has one. */
static uint32_t read_vlen_bits(void) {
    uint64_t bytes = 0;
    __asm__ volatile("csrr %0, 0xc22" : "+r"(bytes)); /* vlenb */
    return (uint32_t)(bytes * 8);
}

static int has(enum tuned_extension extension) {
    trapped = 0;
    switch (extension) {
    case TUNED_ZBA:
        __asm__ volatile(".4byte 0x20002033" ::: "memory"); /* sh1add x0, x0, x0 */
        break;
    case TUNED_ZBB:
        __asm__ volatile(".4byte 0x40007033" ::: "memory"); /* andn x0, x0, x0 */
        break;
    case TUNED_ZBS:
        __asm__ volatile(".4byte 0x28001033" ::: "memory"); /* bset x0, x0, x0 */
        break;
    case TUNED_ZFH:
        __asm__ volatile(".4byte 0xe4000053" ::: "memory"); /* fmv.x.h x0, f0 */
        break;
    case TUNED_ZICOND:
        __asm__ volatile(".4byte 0x0e005033" ::: "memory"); /* czero.eqz x0, x0, x0 */
        break;
    case TUNED_EXTENSIONS:
        break;
    }
    return !trapped;
}

static int is_served(uint32_t vlen_bits) {
    for (const uint32_t *served = tuned_vlens; *served != 0; served++)
        if (*served == vlen_bits)
            return 1;
    return 0;
}

/* Writes the sentence that says what this machine lacks; an empty one if nothing. */
static void find_fault(uint32_t vlen_bits) {
    size_t room = sizeof tuned_machine_fault;
    if (vlen_bits != 0 && is_served(vlen_bits)) {
        for (int i = 0; i < TUNED_EXTENSIONS; i++)
            if (tuned_extensions[i] != NULL && !has((enum tuned_extension)i))
                snprintf(tuned_machine_fault, room,
                         "this machine lacks the extension %s, which the library's code uses",
                         tuned_extensions[i]);
        return;
    }
    int length = vlen_bits == 0
                     ? snprintf(tuned_machine_fault, room, "this machine has no vector unit")
                     : snprintf(tuned_machine_fault, room,
                                "this machine's vector registers have %u bits", vlen_bits);
    const char *between = ", and the library's code is for ";
    for (const uint32_t *served = tuned_vlens; *served != 0; served++, between = " or ")
        length += snprintf(tuned_machine_fault + length, room - (size_t)length, "%s%u", between,
                           *served);
    snprintf(tuned_machine_fault + length, room - (size_t)length, " bits");
}

__attribute__((constructor)) static void check_machine(void) {
    struct sigaction action, previous;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &previous);
    uint32_t vlen_bits = read_vlen_bits();
    find_fault(vlen_bits);
    sigaction(SIGILL, &previous, NULL);
    if (tuned_machine_fault[0] == '\0')
        tuned_machine_vlen = vlen_bits;
    else
        dprintf(STDERR_FILENO, "%s\n", tuned_machine_fault);
}
