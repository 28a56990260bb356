/* Loads a non-PIE executable's segments at their own addresses and times one of its functions, a
 * GEMM micro-kernel with OpenBLAS' arguments, on packed operands.
 *
 * Arguments: FILE FUNCTION GP KIND M N K LDC WARM_M, with addresses in hexadecimal and KIND "s"
 * (fp32), "d" (fp64) or "i" (int8 into int32). WARM_M rows run first, untimed, so that the panel of
 * B is where a long product leaves it; the rows of A that are timed have never been touched.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void load(const char *path) {
    int file = open(path, O_RDONLY);
    Elf64_Ehdr header;
    if (file < 0 || pread(file, &header, sizeof header, 0) != sizeof header) {
        exit(3);
    }
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        off_t offset = (off_t)(header.e_phoff + (uint64_t)i * sizeof part);
        if (pread(file, &part, sizeof part, offset) != sizeof part) {
            exit(3);
        }
        if (part.p_type != PT_LOAD) {
            continue;
        }
        uint64_t start = part.p_vaddr & ~(uint64_t)(PAGE - 1);
        uint64_t size = part.p_vaddr + part.p_memsz - start;
        void *at = mmap((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (at != (void *)start || pread(file, (void *)part.p_vaddr, part.p_filesz,
                                         (off_t)part.p_offset) != (ssize_t)part.p_filesz) {
            exit(3);
        }
    }
    close(file);
    __asm__ volatile("fence.i" ::: "memory");
}

static void *allocate(size_t size) {
    void *memory =
        mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        exit(4);
    }
    return (char *)memory + 16; /* where malloc would leave a large block */
}

typedef int single_kernel(long, long, long, float, void *, void *, void *, long);
typedef int double_kernel(long, long, long, double, void *, void *, void *, long);
typedef int integer_kernel(long, long, long, int32_t, void *, void *, void *, long);

static void call(char kind, uint64_t function, long m, long n, long k, void *a, void *b, void *c,
                 long ldc) {
    if (kind == 's') {
        ((single_kernel *)function)(m, n, k, 1.0f, a, b, c, ldc);
    } else if (kind == 'd') {
        ((double_kernel *)function)(m, n, k, 1.0, a, b, c, ldc);
    } else {
        ((integer_kernel *)function)(m, n, k, 1, a, b, c, ldc);
    }
}

int main(int argc, char **argv) {
    if (argc != 10) {
        return 2;
    }
    uint64_t function = strtoull(argv[2], NULL, 16), gp = strtoull(argv[3], NULL, 16);
    char kind = argv[4][0];
    long m = atol(argv[5]), n = atol(argv[6]), k = atol(argv[7]), ldc = atol(argv[8]);
    long warm = atol(argv[9]);
    long size = kind == 'd' ? 8 : kind == 's' ? 4 : 1;
    load(argv[1]);
    char *a = allocate((size_t)((m + warm) * k * size));
    void *b = allocate((size_t)(n * k * size));
    char *c = allocate((size_t)(ldc * n * 8));
    uint64_t own_gp;
    __asm__ volatile("mv %0, gp\n\tmv gp, %1" : "=&r"(own_gp) : "r"(gp) : "memory");
    call(kind, function, warm, n, k, a, b, c, ldc);
    __asm__ volatile("slti x0, x0, 0x5a1" ::: "memory");
    call(kind, function, m, n, k, a + warm * k * size, b, c + warm * (kind == 'i' ? 4 : size), ldc);
    __asm__ volatile("slti x0, x0, 0x5a2" ::: "memory");
    __asm__ volatile("mv gp, %0" ::"r"(own_gp) : "memory");
    return 0;
}
