/* Expands the C extension of RV64 (unprivileged specification, chapter "C"): one decoder then does
 * for both lengths. */
#include "decode.h"

enum { ZERO = 0, RA = 1, SP = 2 };

static uint32_t encode_i(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t imm) {
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (uint32_t)imm << 20;
}

static uint32_t encode_s(uint32_t opcode, uint32_t funct3, uint32_t rs1, uint32_t rs2,
                         uint32_t imm) {
    return opcode | (imm & 0x1f) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5) << 25;
}

static uint32_t encode_r(uint32_t opcode, uint32_t funct3, uint32_t funct7, uint32_t rd,
                         uint32_t rs1, uint32_t rs2) {
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25;
}

static int32_t sign_extend(uint32_t value, int width) {
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

static int32_t immediate_6(uint32_t c) {
    return sign_extend(bits(c, 12, 12) << 5 | bits(c, 6, 2), 6);
}

static uint32_t offset_word(uint32_t c) {
    return bits(c, 12, 10) << 3 | bits(c, 6, 6) << 2 | bits(c, 5, 5) << 6;
}

static uint32_t offset_double(uint32_t c) { return bits(c, 12, 10) << 3 | bits(c, 6, 5) << 6; }

static uint32_t quadrant_0(uint32_t c) {
    uint32_t narrow_rd = 8 + bits(c, 4, 2);
    uint32_t narrow_rs1 = 8 + bits(c, 9, 7);
    uint32_t wide =
        bits(c, 10, 7) << 6 | bits(c, 12, 11) << 4 | bits(c, 5, 5) << 3 | bits(c, 6, 6) << 2;
    switch (bits(c, 15, 13)) {
    case 0: /* c.addi4spn */
        return wide == 0 ? 0 : encode_i(OPCODE_IMMEDIATE, 0, narrow_rd, SP, (int32_t)wide);
    case 1: /* c.fld */
        return encode_i(OPCODE_LOAD_FP, 3, narrow_rd, narrow_rs1, (int32_t)offset_double(c));
    case 2: /* c.lw */
        return encode_i(OPCODE_LOAD, 2, narrow_rd, narrow_rs1, (int32_t)offset_word(c));
    case 3: /* c.ld */
        return encode_i(OPCODE_LOAD, 3, narrow_rd, narrow_rs1, (int32_t)offset_double(c));
    case 5: /* c.fsd */
        return encode_s(OPCODE_STORE_FP, 3, narrow_rs1, narrow_rd, offset_double(c));
    case 6: /* c.sw */
        return encode_s(OPCODE_STORE, 2, narrow_rs1, narrow_rd, offset_word(c));
    case 7: /* c.sd */
        return encode_s(OPCODE_STORE, 3, narrow_rs1, narrow_rd, offset_double(c));
    default:
        return 0;
    }
}

static uint32_t narrow_arithmetic(uint32_t c) {
    uint32_t rd = 8 + bits(c, 9, 7);
    uint32_t rs2 = 8 + bits(c, 4, 2);
    uint32_t shift = bits(c, 12, 12) << 5 | bits(c, 6, 2);
    static const uint8_t funct3[4] = {0, 4, 6, 7}; /* sub xor or and */
    switch (bits(c, 11, 10)) {
    case 0: /* c.srli */
        return encode_i(OPCODE_IMMEDIATE, 5, rd, rd, (int32_t)shift);
    case 1: /* c.srai */
        return encode_i(OPCODE_IMMEDIATE, 5, rd, rd, (int32_t)(shift | 0x400));
    case 2: /* c.andi */
        return encode_i(OPCODE_IMMEDIATE, 7, rd, rd, immediate_6(c));
    default:
        if (bits(c, 12, 12) == 0) {
            return encode_r(OPCODE_REGISTER, funct3[bits(c, 6, 5)], bits(c, 6, 5) == 0 ? 0x20 : 0,
                            rd, rd, rs2);
        }
        /* c.subw, c.addw */
        return encode_r(OPCODE_REGISTER_32, 0, bits(c, 6, 5) == 0 ? 0x20 : 0, rd, rd, rs2);
    }
}

static uint32_t quadrant_1(uint32_t c) {
    uint32_t rd = bits(c, 11, 7);
    int32_t stack = sign_extend(bits(c, 12, 12) << 9 | bits(c, 4, 3) << 7 | bits(c, 5, 5) << 6 |
                                    bits(c, 2, 2) << 5 | bits(c, 6, 6) << 4,
                                10);
    switch (bits(c, 15, 13)) {
    case 0: /* c.addi, c.nop */
        return encode_i(OPCODE_IMMEDIATE, 0, rd, rd, immediate_6(c));
    case 1: /* c.addiw */
        return encode_i(OPCODE_IMMEDIATE_32, 0, rd, rd, immediate_6(c));
    case 2: /* c.li */
        return encode_i(OPCODE_IMMEDIATE, 0, rd, ZERO, immediate_6(c));
    case 3: /* c.addi16sp, c.lui */
        return rd == SP ? encode_i(OPCODE_IMMEDIATE, 0, SP, SP, stack)
                        : OPCODE_LUI | rd << 7 | (uint32_t)immediate_6(c) << 12;
    case 4:
        return narrow_arithmetic(c);
    case 5: /* c.j: where it goes does not matter to the model */
        return OPCODE_JAL;
    default: /* c.beqz, c.bnez */
        return OPCODE_BRANCH | bits(c, 13, 13) << 12 | (8 + bits(c, 9, 7)) << 15;
    }
}

static uint32_t quadrant_2(uint32_t c) {
    uint32_t rd = bits(c, 11, 7);
    uint32_t rs2 = bits(c, 6, 2);
    uint32_t load_word = bits(c, 12, 12) << 5 | bits(c, 6, 4) << 2 | bits(c, 3, 2) << 6;
    uint32_t load_double = bits(c, 12, 12) << 5 | bits(c, 6, 5) << 3 | bits(c, 4, 2) << 6;
    uint32_t store_word = bits(c, 12, 9) << 2 | bits(c, 8, 7) << 6;
    uint32_t store_double = bits(c, 12, 10) << 3 | bits(c, 9, 7) << 6;
    switch (bits(c, 15, 13)) {
    case 0: /* c.slli */
        return encode_i(OPCODE_IMMEDIATE, 1, rd, rd, (int32_t)(bits(c, 12, 12) << 5 | rs2));
    case 1: /* c.fldsp */
        return encode_i(OPCODE_LOAD_FP, 3, rd, SP, (int32_t)load_double);
    case 2: /* c.lwsp */
        return encode_i(OPCODE_LOAD, 2, rd, SP, (int32_t)load_word);
    case 3: /* c.ldsp */
        return encode_i(OPCODE_LOAD, 3, rd, SP, (int32_t)load_double);
    case 4:
        if (rs2 == 0) { /* c.jr, c.jalr, c.ebreak */
            return encode_i(OPCODE_JALR, 0, bits(c, 12, 12) ? RA : ZERO, rd, 0);
        }
        /* c.mv, c.add */
        return encode_r(OPCODE_REGISTER, 0, 0, rd, bits(c, 12, 12) ? rd : ZERO, rs2);
    case 5: /* c.fsdsp */
        return encode_s(OPCODE_STORE_FP, 3, SP, rs2, store_double);
    case 6: /* c.swsp */
        return encode_s(OPCODE_STORE, 2, SP, rs2, store_word);
    default: /* c.sdsp */
        return encode_s(OPCODE_STORE, 3, SP, rs2, store_double);
    }
}

uint32_t expand_compressed(uint16_t half) {
    switch (half & 3) {
    case 0:
        return quadrant_0(half);
    case 1:
        return quadrant_1(half);
    default:
        return quadrant_2(half);
    }
}
