// Linked into a kernel's executable, computes SpacemiT's smt.vmadot where the processor does not
// know it, as in QEMU. Exact, slow, and for one thread.
//
// The processor traps at the instruction. The handler goes on at `emulate`, outside of the signal,
// where vector registers are the program's own; another trap at the end leads back behind it.

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { REGISTER_BYTES = 32, SIDE = 4, DEPTH = 8 };
enum { MATCH = 0xe200302b, MASK = 0xfe00707f }; // LLVM, RISCVInstrInfoXSpacemiT.td

uint8_t vmadot_registers[32][REGISTER_BYTES];
static uint64_t trapped_at;

void vmadot_emulate(void);
extern char vmadot_emulated[];

__asm__(".text\n"
        ".option push\n"
        ".option arch, +v\n"
        "vmadot_emulate:\n"
        "addi sp, sp, -128\n"
        "sd ra, 0(sp)\n sd t0, 8(sp)\n sd t1, 16(sp)\n sd t2, 24(sp)\n"
        "sd t3, 32(sp)\n sd t4, 40(sp)\n sd t5, 48(sp)\n sd t6, 56(sp)\n"
        "sd a0, 64(sp)\n sd a1, 72(sp)\n sd a2, 80(sp)\n sd a3, 88(sp)\n"
        "sd a4, 96(sp)\n sd a5, 104(sp)\n sd a6, 112(sp)\n sd a7, 120(sp)\n"
        "la a0, vmadot_registers\n"
        "vs8r.v v0, (a0)\n addi a0, a0, 256\n vs8r.v v8, (a0)\n addi a0, a0, 256\n"
        "vs8r.v v16, (a0)\n addi a0, a0, 256\n vs8r.v v24, (a0)\n"
        "csrr a0, vl\n csrr a1, vtype\n"
        "call vmadot_compute\n"
        "la a0, vmadot_registers\n"
        "vl8re8.v v0, (a0)\n addi a0, a0, 256\n vl8re8.v v8, (a0)\n addi a0, a0, 256\n"
        "vl8re8.v v16, (a0)\n addi a0, a0, 256\n vl8re8.v v24, (a0)\n"
        "ld ra, 0(sp)\n ld t0, 8(sp)\n ld t1, 16(sp)\n ld t2, 24(sp)\n"
        "ld t3, 32(sp)\n ld t4, 40(sp)\n ld t5, 48(sp)\n ld t6, 56(sp)\n"
        "ld a0, 64(sp)\n ld a1, 72(sp)\n ld a2, 80(sp)\n ld a3, 88(sp)\n"
        "ld a4, 96(sp)\n ld a5, 104(sp)\n ld a6, 112(sp)\n ld a7, 120(sp)\n"
        "addi sp, sp, 128\n"
        "vmadot_emulated:\n"
        ".2byte 0\n"
        ".option pop\n");

// What the instruction does: the product of four rows and four columns, which lie like rows.
void vmadot_compute(uint64_t vl, uint64_t vtype) {
    uint32_t instruction;
    memcpy(&instruction, (const void *)trapped_at, sizeof instruction);
    unsigned vd = instruction >> 7 & 31, vs1 = instruction >> 15 & 31, vs2 = instruction >> 20 & 31;
    // The matrix unit needs 8-bit elements, whole registers (LMUL 1), and a pair of registers.
    if (vl != REGISTER_BYTES || (vtype & 63) != 0 || vd % 2 != 0) {
        fprintf(stderr, "vmadot with vl %lu, vtype %lx, vd %u\n", vl, vtype, vd);
        exit(98);
    }
    int32_t totals[SIDE][SIDE];
    memcpy(totals, vmadot_registers[vd], sizeof totals);
    const int8_t(*a)[DEPTH] = (const void *)vmadot_registers[vs1];
    const int8_t(*b)[DEPTH] = (const void *)vmadot_registers[vs2];
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            for (int k = 0; k < DEPTH; k++)
                totals[row][column] += (int32_t)a[row][k] * b[column][k];
    memcpy(vmadot_registers[vd], totals, sizeof totals);
}

static void on_trap(int signal_number, siginfo_t *info, void *context) {
    (void)info;
    unsigned long *pc = &((ucontext_t *)context)->uc_mcontext.__gregs[0];
    uint32_t instruction = 0;
    if (*pc == (unsigned long)vmadot_emulated) {
        *pc = trapped_at + 4;
        return;
    }
    memcpy(&instruction, (const void *)*pc, sizeof instruction);
    if ((instruction & MASK) == MATCH) {
        trapped_at = *pc;
        *pc = (unsigned long)vmadot_emulate;
        return;
    }
    signal(signal_number, SIG_DFL); // comes again, and ends the program
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
}
