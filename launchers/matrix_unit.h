/* SpacemiT's matrix instructions in software, for emulators that lack them. A program asks for it by
 * TRITON_RVV_MATRIX_UNIT=software in its environment; without, or on a processor that has the
 * instructions, nothing happens.
 *
 * An instruction traps the first time. Then a jump to code that computes the same takes its place, so
 * that each later time costs about as much as 400 other instructions. An emulator that counts sees
 * from the mark below where that code lies, and counts it as the one instruction that it replaces:
 * the word at MATRIX_WORD_BEFORE bytes in front of the jump's target. */
#ifndef TRITON_RVV_MATRIX_UNIT_H
#define TRITON_RVV_MATRIX_UNIT_H

/* slti x0, x0, 0x5a7, a hint as those of region.h, with a jump behind it and then four addresses: where
 * code that runs in an instruction's place begins and ends, and where the jumps to it lead. */
#define MATRIX_UNIT_MARK "slti x0, x0, 0x5a7"
#define MATRIX_WORD_BEFORE 8

#endif
