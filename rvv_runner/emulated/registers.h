/* What is in the registers of a thread, where QEMU says so: since version 9. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Find out whether QEMU says so; called when a thread starts. */
void registers_find(void);

/* Whether the functions below may be called. */
bool registers_readable(void);

/* Register x0 to x31 of the thread whose callback this is. */
uint64_t registers_integer(uint32_t reg);

/* Its vl. */
uint64_t registers_vector_length(void);

#endif
