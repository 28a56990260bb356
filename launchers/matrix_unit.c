#ifdef __riscv

#include "matrix_unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden"), used))
#define SECTION "triton_rvv_matrix_unit" /* of which the linker says where it starts and stops */

enum { PAGE_BYTES = 4096, EXIT_UNUSABLE = 98 };

/* What is in an instruction's place: the instruction, and code that leads back behind it. */
enum { CODE_AT = MATRIX_WORD_BEFORE / 4, CODE_WORDS = 14, SLOT_COUNT = 2048 };
struct slot {
    uint32_t instruction;
    uint32_t unused;
    uint32_t code[CODE_WORDS];
};

HIDDEN __attribute__((aligned(PAGE_BYTES))) struct slot triton_rvv_matrix_slots[SLOT_COUNT];
static uint32_t slots_used;
static volatile bool is_replacing; /* some thread */

/* Adds 4 x 8 times 8 x 4 signed bytes to 4 x 4 integers at VLEN 256, 8 x 16 times 16 x 8 to 8 x 8 at
 * 1024. In front of the integers lie the operands, a register each: rows of A, columns of B. */
__attribute__((section(SECTION))) HIDDEN void triton_rvv_matrix_multiply(uint32_t *totals,
                                                                         uint32_t register_bytes) {
    const int8_t *b = (const int8_t *)totals - register_bytes, *a = b - register_bytes;
    uint32_t side = register_bytes == 128 ? 8 : 4, depth = register_bytes / side;
    for (uint32_t row = 0; row < side; row++)
        for (uint32_t column = 0; column < side; column++) {
            uint32_t sum = totals[row * side + column]; /* wraps around */
            for (uint32_t k = 0; k < depth; k++)
                sum += (uint32_t)(a[row * depth + k] * b[column * depth + k]);
            totals[row * side + column] = sum;
        }
}

/* Called by a slot: t1 is where the totals lie below the stack, t0 where to go on, and both are kept. */
void triton_rvv_matrix_call(void);
__asm__(".pushsection " SECTION ", \"ax\", @progbits\n"
        ".balign 4\n"
        ".globl triton_rvv_matrix_call\n.hidden triton_rvv_matrix_call\n"
        "triton_rvv_matrix_call:\n"
        "addi sp, sp, -688\n"
        "sd ra, 0(sp)\n sd t0, 8(sp)\n sd t1, 16(sp)\n sd t2, 24(sp)\n"
        "sd t3, 32(sp)\n sd t4, 40(sp)\n sd t5, 48(sp)\n sd t6, 56(sp)\n"
        "sd a0, 64(sp)\n sd a1, 72(sp)\n sd a2, 80(sp)\n sd a3, 88(sp)\n"
        "sd a4, 96(sp)\n sd a5, 104(sp)\n sd a6, 112(sp)\n sd a7, 120(sp)\n"
        "mv a0, t1\n"
        "csrr a1, 0xc22\n" /* vlenb */
        "call triton_rvv_matrix_multiply\n"
        "ld ra, 0(sp)\n ld t0, 8(sp)\n ld t1, 16(sp)\n ld t2, 24(sp)\n"
        "ld t3, 32(sp)\n ld t4, 40(sp)\n ld t5, 48(sp)\n ld t6, 56(sp)\n"
        "ld a0, 64(sp)\n ld a1, 72(sp)\n ld a2, 80(sp)\n ld a3, 88(sp)\n"
        "ld a4, 96(sp)\n ld a5, 104(sp)\n ld a6, 112(sp)\n ld a7, 120(sp)\n"
        "addi sp, sp, 688\n"
        "jr t0\n"
        ".popsection\n");

/* "smt.vmadot vd, vs1, vs2": SpacemiT, "AI Matrix Extension", chapter 8; LLVM,
 * RISCVInstrInfoXSpacemiT.td. */
static bool is_vmadot(uint32_t word) { return (word & 0xfe00707f) == 0xe200302b; }
static uint32_t vd_of(uint32_t word) { return word >> 7 & 31; }
static uint32_t vs1_of(uint32_t word) { return word >> 15 & 31; }
static uint32_t vs2_of(uint32_t word) { return word >> 20 & 31; }

static __attribute__((noreturn)) void stop(const char *sentence) {
    fprintf(stderr, "the matrix unit in software: %s\n", sentence);
    _exit(EXIT_UNUSABLE);
}

static uint32_t jump(uint32_t link, uintptr_t from, uintptr_t to) {
    int64_t offset = (int64_t)(to - from);
    if (offset < -(1 << 20) || offset >= 1 << 20)
        stop("the kernel's code is too far away");
    uint32_t bits = (uint32_t)offset;
    return 0x6f | link << 7 | (bits & 0xff000) | (bits >> 11 & 1) << 20 | (bits >> 1 & 0x3ff) << 21 |
           (bits >> 20 & 1) << 31;
}

enum { SP = 2, T0 = 5, T1 = 6 };

static uint32_t add_immediate(uint32_t rd, uint32_t rs1, int32_t value) {
    return 0x13 | rd << 7 | rs1 << 15 | (uint32_t)value << 20;
}
static uint32_t load(uint32_t rd, int32_t offset) { /* from below the stack */
    return 0x3003 | rd << 7 | SP << 15 | (uint32_t)offset << 20;
}
static uint32_t store(uint32_t rs2, int32_t offset) {
    uint32_t bits = (uint32_t)offset;
    return 0x3023 | (bits & 31) << 7 | SP << 15 | rs2 << 20 | (bits >> 5 & 127) << 25;
}
/* Whole registers at (t1): vs1r.v and vs2r.v, vl1re8.v and vl2re8.v. */
static uint32_t store_registers(uint32_t first, uint32_t count) {
    return 0x02800027 | first << 7 | T1 << 15 | (count - 1) << 29;
}
static uint32_t load_registers(uint32_t first, uint32_t count) {
    return 0x02800007 | first << 7 | T1 << 15 | (count - 1) << 29;
}

static void write_slot(struct slot *slot, uint32_t word, uintptr_t place, int32_t register_bytes) {
    uint32_t *code = slot->code;
    uintptr_t at = (uintptr_t)code;
    slot->instruction = word;
    code[0] = store(T0, -16);
    code[1] = store(T1, -8);
    code[2] = add_immediate(T1, SP, -16 - 4 * register_bytes);
    code[3] = store_registers(vs1_of(word), 1);
    code[4] = add_immediate(T1, T1, register_bytes);
    code[5] = store_registers(vs2_of(word), 1);
    code[6] = add_immediate(T1, T1, register_bytes);
    code[7] = store_registers(vd_of(word), 2);
    code[8] = jump(T0, at + 8 * 4, (uintptr_t)triton_rvv_matrix_call);
    code[9] = load_registers(vd_of(word), 2);
    code[10] = load(T1, -8);
    code[11] = load(T0, -16);
    code[12] = jump(0, at + 12 * 4, place + 4);
}

static void make_writable(uintptr_t start, size_t size) {
    uintptr_t page = start & ~(uintptr_t)(PAGE_BYTES - 1);
    if (mprotect((void *)page, start + size - page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        stop("the kernel's code cannot be changed");
}

static uint64_t read_vl(void) {
    uint64_t vl;
    __asm__ volatile("csrr %0, 0xc20" : "=r"(vl));
    return vl;
}
static uint64_t read_vtype(void) {
    uint64_t vtype;
    __asm__ volatile("csrr %0, 0xc21" : "=r"(vtype));
    return vtype;
}
static uint64_t read_vlenb(void) {
    uint64_t vlenb;
    __asm__ volatile("csrr %0, 0xc22" : "=r"(vlenb));
    return vlenb;
}

/* Put a jump in an instruction's place. */
static void replace(uintptr_t place, uint32_t word) {
    uint64_t vlenb = read_vlenb();
    /* Elements of a byte, in whole registers (LMUL 1), all of them; see the specification, 2.3. */
    if (read_vl() != vlenb || (read_vtype() & 63) != 0 || (vlenb != 32 && vlenb != 128))
        stop("vmadot runs under another vector length or type than it needs");
    if (vd_of(word) % 2 != 0)
        stop("the result of vmadot has to begin with an even register");
    if (slots_used == SLOT_COUNT)
        stop("the kernel has more than 2048 of its instructions");
    struct slot *slot = &triton_rvv_matrix_slots[slots_used++];
    write_slot(slot, word, place, (int32_t)vlenb);
    make_writable(place, sizeof word);
    uint32_t leads_there = jump(0, place, (uintptr_t)slot->code);
    __asm__ volatile("sw %0, 0(%1)\n.4byte 0x0000100f" /* fence.i */
                     :
                     : "r"(leads_there), "r"(place)
                     : "memory");
}

static void on_illegal_instruction(int number, siginfo_t *info, void *context) {
    (void)info;
    uintptr_t place = ((ucontext_t *)context)->uc_mcontext.__gregs[0];
    while (__atomic_exchange_n(&is_replacing, true, __ATOMIC_ACQUIRE))
        ;
    uint32_t word;
    memcpy(&word, (const void *)place, sizeof word);
    if (is_vmadot(word))
        replace(place, word);
    else if ((word & 0xfff) != 0x6f)  /* not replaced by another thread meanwhile */
        signal(number, SIG_DFL); /* comes again, and ends the program */
    __atomic_store_n(&is_replacing, false, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void install(void) {
    const char *asked = getenv("TRITON_RVV_MATRIX_UNIT");
    if (asked == NULL || strcmp(asked, "software") != 0)
        return;
    __asm__ volatile(".option push\n.option norvc\n" MATRIX_UNIT_MARK "\n"
                     "j 1f\n"
                     ".dword __start_" SECTION ", __stop_" SECTION "\n"
                     ".dword triton_rvv_matrix_slots, triton_rvv_matrix_slots + %0\n"
                     "1:\n.option pop\n"
                     :
                     : "i"(sizeof triton_rvv_matrix_slots));
    make_writable((uintptr_t)triton_rvv_matrix_slots, sizeof triton_rvv_matrix_slots);
    struct sigaction action = {.sa_sigaction = on_illegal_instruction, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
}

#endif
