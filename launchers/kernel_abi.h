/* What an object file compiled from a Triton kernel exports. Embed it by calling the entry once
 * for each program of the grid; docs/reference/launcher.md shows a main of one's own. */
#ifndef TRITON_RVV_KERNEL_ABI_H
#define TRITON_RVV_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one program of the grid.
 *
 * args: one 8-byte slot for each argument that is not a constexpr, in the kernel's own order: a
 *   pointer as its address, a signed integer sign-extended, an unsigned one zero-extended, fp64 as
 *   its bits, fp32, fp16 and bf16 as their bits in the low end of the slot.
 * pid_x, pid_y, pid_z: which program: all of the grid run once each where all places are passed.
 *   They are what tl.program_id(0), (1) and (2) give, but in code for one grid alone, which may run
 *   programs along another axis first.
 * num_x, num_y, num_z: what tl.num_programs(0), (1) and (2) give.
 *
 * Programs are independent and may run in any order or at once, unless the kernel uses atomics to
 * order them. */
void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z);

/* The kernel's name, ending in NUL. */
extern const char triton_rvv_kernel_name[];

/* Bits in a vector register that the code was generated for. On a machine with shorter registers
 * the code gives wrong results without a sign: compare with vlenb (CSR 0xc22) * 8 before a call. */
extern const uint32_t triton_rvv_vlen_bits;

/* Called by kernels with a tl.device_assert, and to be defined by the program around them: what to
 * do where one does not hold. The kernel does nothing more for this program if it returns.
 *
 * message: the kernel's line and what it says, ending in NUL.
 * pid_x, pid_y, pid_z: the program. */
void triton_rvv_assertion_failed(const char *message, uint32_t pid_x, uint32_t pid_y,
                                 uint32_t pid_z);

/* Called at the start of a program by kernels whose blocks are too large for the stack, and to be
 * defined by the program around them.
 *
 * size_bytes: the same for all programs of a kernel.
 *
 * Returns memory at a multiple of 64 bytes, whose contents do not matter. No other program may use
 * it before this one has ended. The kernel does nothing for this program if it is NULL. */
void *triton_rvv_scratch(uint64_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif
