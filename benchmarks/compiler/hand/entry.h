/* What the kernels in intrinsics share: their entry, which calls KERNEL, and their arguments. */
#ifndef HAND_ENTRY_H
#define HAND_ENTRY_H

#include "kernel_abi.h"

#include <riscv_vector.h>
#include <string.h>

#define NAME_(kernel) #kernel
#define NAME(kernel) NAME_(kernel)
const char triton_rvv_kernel_name[] = NAME(KERNEL);
const uint32_t triton_rvv_vlen_bits = VLEN;

/* The problem's, in the order of its shape. */
static const long sizes[] = {SIZES};

#define INT(slot) ((long)(int32_t)args[slot])
#define IN(type, slot) ((const type *restrict)args[slot])
#define OUT(type, slot) ((type *restrict)args[slot])

static inline void ahead(const void *start, long size_bytes) {
#ifdef AHEAD
    for (long at = 0; at < size_bytes; at += 64)
        __builtin_prefetch((const char *)start + at, 0);
#else
    (void)start, (void)size_bytes;
#endif
}

static inline float as_float(uint64_t slot) {
    float value;
    memcpy(&value, &slot, sizeof value);
    return value;
}

static inline void KERNEL(const uint64_t *args);

void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z, uint32_t nx,
                       uint32_t ny, uint32_t nz) {
    (void)x, (void)y, (void)z, (void)nx, (void)ny, (void)nz;
    KERNEL(args);
}

#endif
