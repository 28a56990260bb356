/* Times inverse transforms of dav1d, as its checkasm does: each again and again on two blocks.
 *
 * Arguments: pairs of a function's place in FUNCTIONS and the position of the last coefficient.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { WARMUPS = 2, RUNS = 8, STRIDE = 64 };

typedef void Transform(uint8_t *pixels, ptrdiff_t stride, int16_t *coefficients, int last);
#define DECLARE(name) Transform name;
#define ADDRESS(name) name,
FUNCTIONS(DECLARE)

int main(int argc, char **argv) {
    static Transform *const functions[] = {FUNCTIONS(ADDRESS)};
    static uint8_t pixels[2][STRIDE * 64] __attribute__((aligned(64)));
    static int16_t coefficients[2][32 * 32] __attribute__((aligned(64)));
    for (int i = 1; i + 1 < argc; i += 2) {
        Transform *transform = functions[atoi(argv[i])];
        int last = atoi(argv[i + 1]);
        for (int run = 0; run < WARMUPS + RUNS; run++) {
            if (run == WARMUPS) {
                __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory");
            }
            transform(pixels[run % 2], STRIDE, coefficients[run % 2], last);
        }
        __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory");
    }
    return 0;
}
