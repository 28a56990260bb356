/* Times a kernel over arrays of ELEMENT: KERNEL(count, input, output, parameters), where the count
 * is in units of ELEMENT or, with COUNTS_BYTES, in bytes. veclibm's kernels take no parameters. With
 * SLOPE, there is a second input behind the first, of slopes of which the first is SLOPE.
 *
 * Arguments: ELEMENTS WARMUPS; inputs lie between LOW and HIGH.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef SLOPE
void KERNEL(size_t count, const ELEMENT *input, const ELEMENT *slopes, ELEMENT *output,
            const void *parameters);
#define CALL() KERNEL(count, input, slopes, output, &quantized)
/* xnn_qs8_vprelu_scalar_params: zero points, multipliers, limits. */
static const struct {
    int32_t zero_points[3];
    float multipliers[3];
    int32_t least, most;
} quantized = {{0, 0, 0}, {1, 1, 1}, LOW, HIGH};
#else
void KERNEL(size_t count, const ELEMENT *input, ELEMENT *output, const void *parameters);
#define CALL() KERNEL(count, input, output, parameters)
#endif

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
    size_t elements = strtoul(argv[1], NULL, 10);
    unsigned long warmups = strtoul(argv[2], NULL, 10);
    size_t bytes = (elements * sizeof(ELEMENT) + 63) / 64 * 64;
    ELEMENT *input = aligned_alloc(64, bytes);
    ELEMENT *output = aligned_alloc(64, bytes);
    ELEMENT *slopes = aligned_alloc(64, bytes);
    if (input == NULL || output == NULL || slopes == NULL) {
        return 3;
    }
    uint64_t state = 1;
    for (size_t i = 0; i < elements; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
        input[i] = (ELEMENT)(LOW + (HIGH - LOW) * ((double)(state >> 11) / (double)(1ull << 53)));
        slopes[i] = input[i];
    }
#ifdef SLOPE
    slopes[0] = SLOPE;
#endif
    float parameters[] = {1, 1, 1, 1}; /* elu's prescale, alpha and beta */
#ifdef COUNTS_BYTES
    size_t count = elements * sizeof(ELEMENT);
#else
    size_t count = elements;
#endif
    for (unsigned long run = 0; run < warmups; run++) {
        CALL();
    }
    __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory");
    CALL();
    __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory");
    return 0;
}
