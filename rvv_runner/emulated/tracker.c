/* Replays the integer instructions that compilers use for addresses and counters. */
#include "tracker.h"

#include <string.h>

#include "arithmetic.h"
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

static void step_arithmetic(struct tracker *tracker, uint32_t word) {
    uint32_t opcode = opcode_of(word);
    bool two_registers = opcode == OPCODE_REGISTER || opcode == OPCODE_REGISTER_32;
    uint64_t result = 0;
    bool known = tracker_knows(tracker, rs1_of(word)) &&
                 (!two_registers || tracker_knows(tracker, rs2_of(word)));
    if (known) {
        uint64_t a = tracker->value[rs1_of(word)];
        uint64_t b = tracker->value[rs2_of(word)];
        known = integer_result(word, a, b, &result);
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
    if (observed->has_loaded) {
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
    case OPCODE_MATRIX: /* registers of vectors only */
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
