/* Runs a kernel over its grid under QEMU, on the memory of the Python process that called it.
 *
 *   program CHANNEL MEMORY
 *
 * CHANNEL is the number of a socket that keeps messages apart, MEMORY that of a file. The kernel
 * works with the caller's own addresses. Where it touches one that is not mapped yet, this program
 * asks for the memory around it; the caller puts a copy into the file, which is mapped at the very
 * address, and in the end takes back the bytes that have changed. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* The kernel, and what it calls (launchers/kernel_abi.h). */
void triton_rvv_kernel(const uint64_t *args, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z,
                       uint32_t num_x, uint32_t num_y, uint32_t num_z);
void triton_rvv_assertion_failed(const char *text, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z);
void *triton_rvv_scratch(uint64_t size_bytes);

/* Kernels print to standard output, as those that run in the caller's own process do. */
extern int triton_rvv_print_descriptor;
int triton_rvv_print_descriptor = STDOUT_FILENO;

/* What a message to the caller begins with; process.py has the same numbers. */
enum message_kind { READY = 0, FAULT = 1, ASSERTION = 2, OCCUPIED = 3 };

enum { MAX_TEXT_BYTES = 4096 };

struct message {
    uint64_t kind;
    uint64_t address;
    uint32_t pid[3];
    char text[MAX_TEXT_BYTES];
};

/* What READY is answered with. */
struct start {
    uint32_t grid[3];
    uint32_t slot_count;
    uint64_t slots[];
};

/* What FAULT is answered with: a part of the file and where it belongs. Size 0 if nowhere. */
struct memory {
    uint64_t start;
    uint64_t size_bytes;
    uint64_t offset;
    uint64_t is_writable;
};

static int channel;
static int memory_file;

static void send(const struct message *message, size_t text_bytes) {
    size_t size_bytes = offsetof(struct message, text) + text_bytes;
    if (write(channel, message, size_bytes) != (ssize_t)size_bytes)
        _exit(EXIT_FAILURE); /* the caller is gone */
}

static void receive(void *answer, size_t size_bytes) {
    if (read(channel, answer, size_bytes) <= 0)
        _exit(EXIT_FAILURE);
}

static bool map_around(uint64_t address) {
    struct message fault = {.kind = FAULT, .address = address};
    send(&fault, 0);
    struct memory answer;
    receive(&answer, sizeof answer);
    if (answer.size_bytes == 0)
        return false;
    void *wanted = (void *)(uintptr_t)answer.start;
    int protection = answer.is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    /* A wish, since QEMU lets MAP_FIXED destroy its own memory. */
    void *mapped = mmap(wanted, answer.size_bytes, protection, MAP_SHARED, memory_file,
                        (off_t)answer.offset);
    if (mapped == wanted)
        return true;
    struct message occupied = {.kind = OCCUPIED, .address = answer.start};
    send(&occupied, 0);
    _exit(EXIT_FAILURE);
}

/* Gathers: vector loads whose addresses are in a vector register (RISC-V "V", section 7.2). */
static bool is_gather(uint32_t instruction) {
    enum { LOAD_FP = 0x07 };
    uint32_t width = instruction >> 12 & 7;
    bool is_vector = width == 0 || width >= 5;
    return (instruction & 0x7f) == LOAD_FP && is_vector && (instruction >> 26 & 1);
}

/* Carries out what is left of a gather, whose first address is `base`, by a copy of it that takes
 * its base from the register of a function's first argument. */
static void finish_gather(uint32_t gather, uint64_t base) {
    enum { FIRST_ARGUMENT = 10, RETURN = 0x00008067 };
    static uint32_t *code;
    if (code == NULL)
        code = mmap(NULL, 2 * sizeof *code, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        abort();
    uint32_t copy = (gather & ~(31u << 15)) | FIRST_ARGUMENT << 15;
    if (code[0] != copy) {
        code[0] = copy;
        code[1] = RETURN;
        __asm__ volatile("fence.i" ::: "memory");
    }
    ((void (*)(uint64_t))(uintptr_t)code)(base);
}

/* The instruction is carried out anew after a return, or ends the program for good.
 *
 * A vector instruction starts again at its first element: QEMU 7.2 takes what follows one that goes
 * on in the middle (vstart, by its number) for illegal. A gather cannot start again, since its
 * result may lie over its addresses; the rest of it is carried out here, where no other vector
 * instruction follows, and may come here again for its next address. */
static void on_fault(int signal_number, siginfo_t *info, void *context) {
    if (!map_around((uint64_t)(uintptr_t)info->si_addr)) {
        signal(signal_number, SIG_DFL);
        return;
    }
    unsigned long *registers = ((ucontext_t *)context)->uc_mcontext.__gregs; /* first the pc's */
    uint16_t halves[2]; /* an instruction need not lie at a multiple of four bytes */
    memcpy(halves, (const void *)registers[0], sizeof halves);
    uint32_t instruction = halves[0] | (uint32_t)halves[1] << 16;
    if (is_gather(instruction)) {
        uint32_t base = instruction >> 15 & 31;
        sigset_t again;
        sigemptyset(&again);
        sigaddset(&again, signal_number);
        sigprocmask(SIG_UNBLOCK, &again, NULL);
        finish_gather(instruction, base == 0 ? 0 : registers[base]);
        registers[0] += sizeof instruction;
    } else {
        __asm__ volatile("csrw 0x008, zero");
    }
}

void triton_rvv_assertion_failed(const char *text, uint32_t pid_x, uint32_t pid_y, uint32_t pid_z) {
    struct message message = {.kind = ASSERTION, .pid = {pid_x, pid_y, pid_z}};
    size_t text_bytes = strnlen(text, MAX_TEXT_BYTES);
    memcpy(message.text, text, text_bytes);
    send(&message, text_bytes);
}

/* One program runs at a time, and each needs as much as the one before. */
void *triton_rvv_scratch(uint64_t size_bytes) {
    static void *scratch;
    if (scratch == NULL)
        scratch = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    if (scratch == NULL)
        abort();
    return scratch;
}

static void run_grid(const struct start *start) {
    uint32_t num_x = start->grid[0], num_y = start->grid[1], num_z = start->grid[2];
    for (uint32_t z = 0; z < num_z; z++)
        for (uint32_t y = 0; y < num_y; y++)
            for (uint32_t x = 0; x < num_x; x++)
                triton_rvv_kernel(start->slots, x, y, z, num_x, num_y, num_z);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return EXIT_FAILURE;
    channel = atoi(argv[1]);
    memory_file = atoi(argv[2]);
    struct message ready = {.kind = READY};
    send(&ready, 0);
    enum { MAX_START_BYTES = 1 << 16 };
    struct start *start = malloc(MAX_START_BYTES);
    if (start == NULL)
        return EXIT_FAILURE;
    receive(start, MAX_START_BYTES);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    run_grid(start);
    return EXIT_SUCCESS;
}
