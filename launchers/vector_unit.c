#ifdef __riscv

#include "vector_unit.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf no_vector_unit;

static void on_illegal_instruction(int signal_number) { siglongjmp(no_vector_unit, signal_number); }

uint32_t vector_unit_vlen_bits(void) {
    struct sigaction action = {.sa_handler = on_illegal_instruction};
    struct sigaction previous;
    sigaction(SIGILL, &action, &previous);
    uint32_t vlen_bits = 0;
    if (sigsetjmp(no_vector_unit, 1) == 0) {
        uint64_t vlenb;
        /* By number, since an assembler for plain rv64gc does not know the name vlenb. */
        __asm__ volatile("csrr %0, 0xc22" : "=r"(vlenb));
        vlen_bits = (uint32_t)(vlenb * 8);
    }
    sigaction(SIGILL, &previous, NULL);
    return vlen_bits;
}

#endif
