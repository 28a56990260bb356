/* Replays the integer instructions that compilers use for addresses and counters. */
#include "tracker.h"

#include <string.h>

#include "decode.h"

static void set(struct tracker *tracker, uint32_t reg, uint64_t value) {
    if (reg != 0) {
        tracker->value[reg] = value;
        tracker->known |= 1u << reg;
    }
}

static void forget(struct tracker *tracker, uint32_t reg) {
    if (reg != 0) {
        tracker->known &= ~(1u << reg);
    }
}

static int64_t as_word(uint64_t value) { return (int32_t)(uint32_t)value; }

static bool immediate_operation(uint32_t word, uint64_t a, uint64_t *result) {
    uint64_t imm = (uint64_t)immediate_i(word);
    uint32_t shift = bits(word, 25, 20);
    switch (funct3_of(word)) {
    case 0:
        *result = a + imm;
        return true;
    case 1:
        *result = a << shift;
        return bits(word, 31, 26) == 0;
    case 2:
        *result = (int64_t)a < (int64_t)imm;
        return true;
    case 3:
        *result = a < imm;
        return true;
    case 4:
        *result = a ^ imm;
        return true;
    case 5:
        *result = bits(word, 30, 30) ? (uint64_t)((int64_t)a >> shift) : a >> shift;
        return (bits(word, 31, 26) & ~0x10u) == 0;
    case 6:
        *result = a | imm;
        return true;
    default:
        *result = a & imm;
        return true;
    }
}

static bool immediate_operation_32(uint32_t word, uint64_t a, uint64_t *result) {
    uint32_t shift = rs2_of(word);
    switch (funct3_of(word)) {
    case 0:
        *result = (uint64_t)as_word(a + (uint64_t)immediate_i(word));
        return true;
    case 1:
        if (bits(word, 31, 26) == 2) { /* slli.uw */
            *result = (uint64_t)(uint32_t)a << bits(word, 25, 20);
            return true;
        }
        *result = (uint64_t)as_word(a << shift);
        return bits(word, 31, 25) == 0;
    case 5:
        *result =
            (uint64_t)(bits(word, 30, 30) ? as_word(a) >> shift : as_word((uint32_t)a >> shift));
        return (bits(word, 31, 25) & ~0x20u) == 0;
    default:
        return false;
    }
}

/* What the M extension defines: dividing by zero gives all ones and leaves the dividend; the one
 * quotient that does not fit is the dividend. */
static uint64_t divide(uint32_t funct3, uint64_t a, uint64_t b) {
    bool is_signed = (funct3 & 1) == 0;
    bool remainder = (funct3 & 2) != 0;
    if (b == 0) {
        return remainder ? a : UINT64_MAX;
    }
    if (is_signed && b == UINT64_MAX) {
        return remainder ? 0 : -a; /* never overflows in unsigned arithmetic */
    }
    if (is_signed) {
        int64_t quotient = (int64_t)a / (int64_t)b;
        return remainder ? a - (uint64_t)quotient * b : (uint64_t)quotient;
    }
    return remainder ? a % b : a / b;
}

/* The same for words: extended operands, and a result that is extended from its low half. */
static uint64_t divide_word(uint32_t funct3, uint64_t a, uint64_t b) {
    bool is_signed = (funct3 & 1) == 0;
    uint64_t wide_a = is_signed ? (uint64_t)as_word(a) : (uint32_t)a;
    uint64_t wide_b = is_signed ? (uint64_t)as_word(b) : (uint32_t)b;
    return (uint64_t)as_word(divide(funct3, wide_a, wide_b));
}

/* sh1add to sh3add and add.uw to sh3add.uw: funct3 is twice the shift. */
static uint64_t shift_and_add(uint32_t word, uint64_t a, uint64_t b) {
    return (a << (funct3_of(word) / 2)) + b;
}

static bool register_operation(uint32_t word, uint64_t a, uint64_t b, uint64_t *result) {
    switch (bits(word, 31, 25) << 3 | funct3_of(word)) {
    case 0x00 << 3 | 0:
        *result = a + b;
        return true;
    case 0x20 << 3 | 0:
        *result = a - b;
        return true;
    case 0x00 << 3 | 1:
        *result = a << (b & 63);
        return true;
    case 0x00 << 3 | 2:
        *result = (int64_t)a < (int64_t)b;
        return true;
    case 0x00 << 3 | 3:
        *result = a < b;
        return true;
    case 0x00 << 3 | 4:
        *result = a ^ b;
        return true;
    case 0x00 << 3 | 5:
        *result = a >> (b & 63);
        return true;
    case 0x20 << 3 | 5:
        *result = (uint64_t)((int64_t)a >> (b & 63));
        return true;
    case 0x00 << 3 | 6:
        *result = a | b;
        return true;
    case 0x00 << 3 | 7:
        *result = a & b;
        return true;
    case 0x20 << 3 | 7:
        *result = a & ~b;
        return true;
    case 0x01 << 3 | 0:
        *result = a * b;
        return true;
    case 0x01 << 3 | 4:
    case 0x01 << 3 | 5:
    case 0x01 << 3 | 6:
    case 0x01 << 3 | 7:
        *result = divide(funct3_of(word), a, b);
        return true;
    case 0x10 << 3 | 2:
    case 0x10 << 3 | 4:
    case 0x10 << 3 | 6:
        *result = shift_and_add(word, a, b);
        return true;
    case 0x05 << 3 | 4:
        *result = (int64_t)a < (int64_t)b ? a : b;
        return true; /* min to maxu */
    case 0x05 << 3 | 5:
        *result = a < b ? a : b;
        return true;
    case 0x05 << 3 | 6:
        *result = (int64_t)a > (int64_t)b ? a : b;
        return true;
    case 0x05 << 3 | 7:
        *result = a > b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool register_operation_32(uint32_t word, uint64_t a, uint64_t b, uint64_t *result) {
    switch (bits(word, 31, 25) << 3 | funct3_of(word)) {
    case 0x00 << 3 | 0:
        *result = (uint64_t)as_word(a + b);
        return true;
    case 0x20 << 3 | 0:
        *result = (uint64_t)as_word(a - b);
        return true;
    case 0x00 << 3 | 1:
        *result = (uint64_t)as_word(a << (b & 31));
        return true;
    case 0x00 << 3 | 5:
        *result = (uint64_t)as_word((uint32_t)a >> (b & 31));
        return true;
    case 0x20 << 3 | 5:
        *result = (uint64_t)(as_word(a) >> (b & 31));
        return true;
    case 0x01 << 3 | 0:
        *result = (uint64_t)as_word(a * b);
        return true;
    case 0x01 << 3 | 4:
    case 0x01 << 3 | 5:
    case 0x01 << 3 | 6:
    case 0x01 << 3 | 7:
        *result = divide_word(funct3_of(word), a, b);
        return true;
    case 0x04 << 3 | 0:
    case 0x10 << 3 | 2:
    case 0x10 << 3 | 4:
    case 0x10 << 3 | 6:
        *result = shift_and_add(word, (uint32_t)a, b);
        return true;
    default:
        return false;
    }
}

static void step_arithmetic(struct tracker *tracker, uint32_t word) {
    uint32_t opcode = opcode_of(word);
    bool two_registers = opcode == OPCODE_REGISTER || opcode == OPCODE_REGISTER_32;
    uint64_t result = 0;
    bool known = tracker_knows(tracker, rs1_of(word)) &&
                 (!two_registers || tracker_knows(tracker, rs2_of(word)));
    if (known) {
        uint64_t a = tracker->value[rs1_of(word)];
        uint64_t b = tracker->value[rs2_of(word)];
        switch (opcode) {
        case OPCODE_IMMEDIATE:
            known = immediate_operation(word, a, &result);
            break;
        case OPCODE_IMMEDIATE_32:
            known = immediate_operation_32(word, a, &result);
            break;
        case OPCODE_REGISTER:
            known = register_operation(word, a, b, &result);
            break;
        default:
            known = register_operation_32(word, a, b, &result);
            break;
        }
    }
    if (known) {
        set(tracker, rd_of(word), result);
    } else {
        forget(tracker, rd_of(word));
    }
}

/* Only scalar and unit-stride accesses reveal their base: the first address is base plus offset. */
static void step_memory(struct tracker *tracker, uint32_t word, const struct observed *observed) {
    uint32_t opcode = opcode_of(word);
    bool fp_or_vector = opcode == OPCODE_LOAD_FP || opcode == OPCODE_STORE_FP;
    bool vector = fp_or_vector && (funct3_of(word) == 0 || funct3_of(word) >= 5);
    bool unit_stride_unmasked = bits(word, 27, 26) == 0 && bits(word, 25, 25);
    if (observed->any && (!vector || unit_stride_unmasked)) {
        bool store = opcode == OPCODE_STORE || opcode == OPCODE_STORE_FP;
        int64_t offset = vector || opcode == OPCODE_ATOMIC ? 0
                         : store                           ? immediate_s(word)
                                                           : immediate_i(word);
        set(tracker, rs1_of(word), observed->address - (uint64_t)offset);
    }
    if (opcode == OPCODE_LOAD && observed->any) {
        set(tracker, rd_of(word), observed->loaded);
    } else if (opcode == OPCODE_LOAD || opcode == OPCODE_ATOMIC) {
        forget(tracker, rd_of(word));
    }
}

/* vsetvli and vsetivli: the vector length they return, as QEMU and the X60 choose it. */
static void step_vset(struct tracker *tracker, uint32_t word) {
    struct vector_type type = {0};
    decode_vset(word, &type);
    bool immediate_length = bits(word, 31, 30) == 3;
    bool longest = !immediate_length && rs1_of(word) == 0;
    if (!type.known || !(immediate_length || tracker_knows(tracker, rs1_of(word))) ||
        (longest && rd_of(word) == 0)) {
        forget(tracker, rd_of(word));
        return;
    }
    uint64_t vlmax = tracker->vlen_bytes << type.lmul_index >> LMUL_1 >> type.sew_index;
    uint64_t wanted = immediate_length ? rs1_of(word)
                      : longest        ? vlmax
                                       : tracker->value[rs1_of(word)];
    set(tracker, rd_of(word), wanted < vlmax ? wanted : vlmax);
}

static void step_system(struct tracker *tracker, uint32_t word) {
    enum { CSR_VLENB = 0xc22, A0 = 10 };
    if (funct3_of(word) == 0) {
        forget(tracker, A0); /* an ecall returns there */
    } else if (bits(word, 31, 20) == CSR_VLENB) {
        set(tracker, rd_of(word), tracker->vlen_bytes);
    } else {
        forget(tracker, rd_of(word));
    }
}

void tracker_step(struct tracker *tracker, uint32_t word, uint64_t pc, uint32_t length,
                  const struct observed *observed) {
    switch (opcode_of(word)) {
    case OPCODE_LOAD:
    case OPCODE_LOAD_FP:
    case OPCODE_STORE:
    case OPCODE_STORE_FP:
    case OPCODE_ATOMIC:
        step_memory(tracker, word, observed);
        return;
    case OPCODE_IMMEDIATE:
    case OPCODE_IMMEDIATE_32:
    case OPCODE_REGISTER:
    case OPCODE_REGISTER_32:
        step_arithmetic(tracker, word);
        return;
    case OPCODE_LUI:
        set(tracker, rd_of(word), (uint64_t)(int64_t)(int32_t)(word & 0xfffff000));
        return;
    case OPCODE_AUIPC:
        set(tracker, rd_of(word), pc + (uint64_t)(int64_t)(int32_t)(word & 0xfffff000));
        return;
    case OPCODE_JAL:
    case OPCODE_JALR:
        set(tracker, rd_of(word), pc + length);
        return;
    case OPCODE_BRANCH:
    case OPCODE_FENCE:
    case OPCODE_FMADD:
    case OPCODE_FMSUB:
    case OPCODE_FNMSUB:
    case OPCODE_FNMADD:
        return;
    case OPCODE_FP:
        if (bits(word, 31, 27) == 0x14 || bits(word, 31, 27) == 0x18 ||
            bits(word, 31, 27) == 0x1c) {
            forget(tracker, rd_of(word)); /* the result is an integer register */
        }
        return;
    case OPCODE_VECTOR:
        if (funct3_of(word) == OPCFG) {
            step_vset(tracker, word);
        } else if (funct3_of(word) == OPMVV && bits(word, 31, 26) == 0x10) {
            forget(tracker, rd_of(word)); /* vmv.x.s, vcpop, vfirst */
        }
        return;
    case OPCODE_SYSTEM:
        step_system(tracker, word);
        return;
    default:
        forget(tracker, rd_of(word)); /* an extension that is not replayed */
    }
}

uint64_t tracker_loaded_value(uint32_t word, const void *host) {
    int8_t byte;
    int16_t half;
    int32_t full;
    uint64_t whole;
    switch (funct3_of(word)) {
    case 0:
        memcpy(&byte, host, 1);
        return (uint64_t)(int64_t)byte;
    case 1:
        memcpy(&half, host, 2);
        return (uint64_t)(int64_t)half;
    case 2:
        memcpy(&full, host, 4);
        return (uint64_t)(int64_t)full;
    case 4:
        memcpy(&byte, host, 1);
        return (uint8_t)byte;
    case 5:
        memcpy(&half, host, 2);
        return (uint16_t)half;
    case 6:
        memcpy(&full, host, 4);
        return (uint32_t)full;
    default:
        memcpy(&whole, host, 8);
        return whole;
    }
}
