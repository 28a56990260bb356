/* A matrix product, written by hand as the compiler's kernels are: row-major fp32, one tile of 4
 * rows by 32 columns per program (LMUL 4 at VLEN 256), operands read in place.
 *
 * Arguments: A, B, C, M, N, K; M a multiple of 4, N of 32. Grid: N / 32, M / 4. */
#include "kernel_abi.h"

const char triton_rvv_kernel_name[] = "matmul_rvv";
const uint32_t triton_rvv_vlen_bits = 256;

void triton_rvv_kernel(const uint64_t *args, uint32_t x, uint32_t y, uint32_t z, uint32_t num_x,
                       uint32_t num_y, uint32_t num_z) {
    (void)z, (void)num_x, (void)num_y, (void)num_z;
    uint64_t n = args[4], k = args[5];
    const float *a0 = (const float *)args[0] + 4ull * y * k;
    const float *a1 = a0 + k, *a2 = a1 + k, *a3 = a2 + k;
    const float *b = (const float *)args[1] + 32ull * x;
    float *c = (float *)args[2] + 4ull * y * n + 32ull * x;
    uint64_t row_bytes = n * sizeof(float);
    __asm__ volatile(".option push\n"
                     ".option arch, +v\n"
                     "li t0, 32\n"
                     "vsetvli zero, t0, e32, m4, ta, ma\n"
                     "vmv.v.i v8, 0\n"
                     "vmv.v.i v12, 0\n"
                     "vmv.v.i v16, 0\n"
                     "vmv.v.i v20, 0\n"
                     "vle32.v v24, (%[b])\n"
                     "1:\n"
                     "flw ft0, 0(%[a0])\n"
                     "flw ft1, 0(%[a1])\n"
                     "flw ft2, 0(%[a2])\n"
                     "flw ft3, 0(%[a3])\n"
                     "add %[b], %[b], %[row]\n"
                     "vmv4r.v v4, v24\n"
                     "addi %[k], %[k], -1\n"
                     "beqz %[k], 2f\n"
                     "vle32.v v24, (%[b])\n"
                     "2:\n"
                     "vfmacc.vf v8, ft0, v4\n"
                     "vfmacc.vf v12, ft1, v4\n"
                     "vfmacc.vf v16, ft2, v4\n"
                     "vfmacc.vf v20, ft3, v4\n"
                     "addi %[a0], %[a0], 4\n"
                     "addi %[a1], %[a1], 4\n"
                     "addi %[a2], %[a2], 4\n"
                     "addi %[a3], %[a3], 4\n"
                     "bnez %[k], 1b\n"
                     "vse32.v v8, (%[c])\n"
                     "add %[c], %[c], %[row]\n"
                     "vse32.v v12, (%[c])\n"
                     "add %[c], %[c], %[row]\n"
                     "vse32.v v16, (%[c])\n"
                     "add %[c], %[c], %[row]\n"
                     "vse32.v v20, (%[c])\n"
                     ".option pop\n"
                     : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b] "+r"(b),
                       [c] "+r"(c), [k] "+r"(k)
                     : [row] "r"(row_bytes)
                     : "t0", "ft0", "ft1", "ft2", "ft3", "memory");
}
