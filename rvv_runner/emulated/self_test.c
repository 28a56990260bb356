/* Checks what the plug-in counts on: run by Python once for each QEMU, with known answers.
 *
 * Four regions: an empty one, a scalar loop of ten rounds, vector accesses element by element, and
 * whole registers. The plug-in's report must say exactly what stands here.
 */
#define REGION_START "slti x0, x0, 0x5a1\n"
#define REGION_STOP "slti x0, x0, 0x5a2\n"

static char buffer[4096] __attribute__((aligned(64)));

static void exit_with(long status) {
    register long a0 __asm__("a0") = status;
    register long a7 __asm__("a7") = 94; /* exit_group */
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
    __builtin_unreachable();
}

static void empty_region(void) { __asm__ volatile(REGION_START REGION_STOP); }

/* 1 + 10 x 4 instructions, 10 of them loads and 10 stores. */
static void scalar_region(void) {
    __asm__ volatile(".option push\n.option norvc\n" REGION_START "li t0, 10\n"
                     "1:\n"
                     "lw t1, 0(%0)\n"
                     "sw t1, 64(%0)\n"
                     "addi t0, t0, -1\n"
                     "bnez t0, 1b\n" REGION_STOP ".option pop\n" ::"r"(buffer)
                     : "t0", "t1", "memory");
}

/* 8 instructions, 4 of them of vectors: a load of m1, a masked one with 4 active elements, a
 * multiply-add and a store of m2. */
static void vector_region(void) {
    __asm__ volatile(".option push\n.option arch, +v\n.option norvc\n"
                     "vsetvli t0, zero, e8, m1, ta, ma\n"
                     "li t1, 0x55\n"
                     "vmv.v.x v0, t1\n" REGION_START "li t1, 8\n"
                     "vsetvli t0, t1, e32, m1, ta, ma\n"
                     "vle32.v v8, (%0)\n"
                     "vle32.v v9, (%0), v0.t\n"
                     "vfmacc.vv v10, v8, v9\n"
                     "li t1, 16\n"
                     "vsetvli t0, t1, e32, m2, ta, ma\n"
                     "vse32.v v12, (%0)\n" REGION_STOP ".option pop\n" ::"r"(buffer)
                     : "t0", "t1", "memory", "v0", "v8", "v9", "v10");
}

static void whole_register_region(void) {
    __asm__ volatile(".option push\n.option arch, +v\n.option norvc\n" REGION_START
                     "vs1r.v v8, (%0)\n"
                     "vl1re32.v v8, (%0)\n" REGION_STOP ".option pop\n" ::"r"(buffer)
                     : "memory", "v8");
}

__attribute__((used)) void start_in_c(void) {
    empty_region();
    scalar_region();
    vector_region();
    whole_register_region();
    exit_with(0);
}

__asm__(".globl _start\n_start:\n"
        ".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
        "andi sp, sp, -16\n"
        "call start_in_c\n");
