/* Marks for an emulator around the code that is timed, and around what its caches do not see: the
 * launcher's own work, which differs from launcher to launcher. At the first pause they become empty.
 * Behind the end an emulator need look at nothing more. Each portion of a grid that several cores run
 * begins with a mark of its own: an emulator lets that core run it which is free first. Another stands
 * where all portions are done: what follows runs when the last core is. Where fewer cores than all run
 * a grid, or other work came before it, one mark for each of them stands in front: they begin together.
 * A real core does nothing at any of these marks.
 *
 * slti with the destination x0 is a hint of the base instruction set, open to any use (RISC-V
 * unprivileged specification, "HINT Instructions"); the immediates are this project's own. */
#ifndef TRITON_RVV_REGION_H
#define TRITON_RVV_REGION_H

#ifdef __riscv
#define TRITON_RVV_REGION_START() __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory")
#define TRITON_RVV_REGION_STOP() __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory")
#define TRITON_RVV_MODEL_PAUSE() __asm__ volatile("slti x0, x0, 0x5a3" ::: "memory")
#define TRITON_RVV_MODEL_RESUME() __asm__ volatile("slti x0, x0, 0x5a4" ::: "memory")
#define TRITON_RVV_MODEL_END() __asm__ volatile("slti x0, x0, 0x5a5" ::: "memory")
#define TRITON_RVV_NEXT_PORTION() __asm__ volatile("slti x0, x0, 0x5a6" ::: "memory")
#define TRITON_RVV_ALL_PORTIONS() __asm__ volatile("slti x0, x0, 0x5a8" ::: "memory")
#define TRITON_RVV_ONE_MORE_CORE() __asm__ volatile("slti x0, x0, 0x5a9" ::: "memory")
#else /* nobody emulates another machine */
#define TRITON_RVV_REGION_START() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_REGION_STOP() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_MODEL_PAUSE() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_MODEL_RESUME() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_MODEL_END() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_NEXT_PORTION() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_ALL_PORTIONS() __asm__ volatile("" ::: "memory")
#define TRITON_RVV_ONE_MORE_CORE() __asm__ volatile("" ::: "memory")
#endif

#endif
