/* C = A B for float32, M x K by K x N, as a plain loop nest i-k-j that a C compiler vectorises. */
#include "kernel_abi.h"

const char triton_rvv_kernel_name[] = "matmul_loops";
const uint32_t triton_rvv_vlen_bits = 256;

static void multiply(const float *restrict a, const float *restrict b, float *restrict c, long m,
                     long n, long k) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (long p = 0; p < k; p++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
}

void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z) {
    (void)pid_x, (void)pid_y, (void)pid_z, (void)num_x, (void)num_y, (void)num_z;
    multiply((const float *)args[0], (const float *)args[1], (float *)args[2], (int32_t)args[3],
             (int32_t)args[4], (int32_t)args[5]);
}
