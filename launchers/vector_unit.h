/* Tells how long this machine's vector registers are. */
#ifndef TRITON_RVV_VECTOR_UNIT_H
#define TRITON_RVV_VECTOR_UNIT_H

#include <stdint.h>

/* Bits in one vector register, or 0 where the machine has no vector unit. */
uint32_t vector_unit_vlen_bits(void);

#endif
