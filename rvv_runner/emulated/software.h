/* Instructions that QEMU lacks and the program computes in software: launchers/matrix_unit.h. */
#ifndef SOFTWARE_H
#define SOFTWARE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the word is the mark with which a program says where such software lies; where it is, read
 * that. `code` is the mark in this process's memory. */
bool software_announced(uint32_t word, const void *code);

/* Whether the address is in code that runs in the place of an instruction, which has been counted. */
bool software_holds(uint64_t pc);

/* The instruction that a jump at `pc` stands for; otherwise the word itself. `code` is where the word
 * is in this process's memory. */
uint32_t software_replaced(uint32_t word, uint64_t pc, const void *code);

/* Whether QEMU traps at this word, so that it does not run. */
bool software_is_missing(uint32_t word);

#endif
