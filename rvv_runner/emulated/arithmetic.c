/* The integer instructions that compilers use for addresses and counters: RV64IM, Zba, Zbb, Zbs and
 * Zicond. */
#include "arithmetic.h"

#include "decode.h"

static int64_t as_word(uint64_t value) { return (int32_t)(uint32_t)value; }

static uint64_t rotated_right(uint64_t a, uint32_t shift) {
    return a >> (shift & 63) | a << (-shift & 63);
}

static uint64_t rotated_right_word(uint64_t a, uint32_t shift) {
    uint32_t low = (uint32_t)a;
    return (uint64_t)as_word(low >> (shift & 31) | low << (-shift & 31));
}

/* clz, ctz and cpop of the low `width` bits, and the two that extend a sign. */
static bool unary_operation(uint32_t function, uint32_t width, uint64_t a, uint64_t *result) {
    uint64_t low = width == 32 ? (uint32_t)a : a;
    switch (function) {
    case 0:
        *result = low == 0 ? width : (uint64_t)__builtin_clzll(low) - (64 - width);
        return true;
    case 1:
        *result = low == 0 ? width : (uint64_t)__builtin_ctzll(low);
        return true;
    case 2:
        *result = (uint64_t)__builtin_popcountll(low);
        return true;
    case 4:
        *result = (uint64_t)(int64_t)(int8_t)a;
        return width == 64;
    case 5:
        *result = (uint64_t)(int64_t)(int16_t)a;
        return width == 64;
    default:
        return false;
    }
}

/* orc.b: each byte becomes all ones unless it is zero. */
static uint64_t ones_in_bytes(uint64_t a) {
    uint64_t result = 0;
    for (uint32_t at = 0; at < 64; at += 8) {
        result |= (a >> at & 0xff) != 0 ? (uint64_t)0xff << at : 0;
    }
    return result;
}

/* What funct3 1 and 5 of OP-IMM define, by the six bits above the shift. */
static bool immediate_shift(uint32_t word, uint64_t a, uint64_t *result) {
    uint32_t shift = bits(word, 25, 20);
    switch (bits(word, 31, 26) << 3 | funct3_of(word)) {
    case 0x00 << 3 | 1:
        *result = a << shift;
        return true;
    case 0x0a << 3 | 1: /* bseti, bclri, binvi */
        *result = a | (uint64_t)1 << shift;
        return true;
    case 0x12 << 3 | 1:
        *result = a & ~((uint64_t)1 << shift);
        return true;
    case 0x1a << 3 | 1:
        *result = a ^ (uint64_t)1 << shift;
        return true;
    case 0x18 << 3 | 1:
        return unary_operation(shift, 64, a, result);
    case 0x00 << 3 | 5:
        *result = a >> shift;
        return true;
    case 0x10 << 3 | 5:
        *result = (uint64_t)((int64_t)a >> shift);
        return true;
    case 0x12 << 3 | 5: /* bexti */
        *result = a >> shift & 1;
        return true;
    case 0x18 << 3 | 5:
        *result = rotated_right(a, shift);
        return true;
    case 0x0a << 3 | 5:
        *result = ones_in_bytes(a);
        return shift == 7;
    case 0x1a << 3 | 5: /* rev8 */
        *result = __builtin_bswap64(a);
        return shift == 56;
    default:
        return false;
    }
}

static bool immediate_operation(uint32_t word, uint64_t a, uint64_t *result) {
    uint64_t imm = (uint64_t)immediate_i(word);
    switch (funct3_of(word)) {
    case 0:
        *result = a + imm;
        return true;
    case 1:
    case 5:
        return immediate_shift(word, a, result);
    case 2:
        *result = (int64_t)a < (int64_t)imm;
        return true;
    case 3:
        *result = a < imm;
        return true;
    case 4:
        *result = a ^ imm;
        return true;
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
        if (bits(word, 31, 25) == 0x30) {
            return unary_operation(shift, 32, a, result);
        }
        *result = (uint64_t)as_word(a << shift);
        return bits(word, 31, 25) == 0;
    case 5:
        if (bits(word, 31, 25) == 0x30) { /* roriw */
            *result = rotated_right_word(a, shift);
            return true;
        }
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
    case 0x20 << 3 | 4:
        *result = ~(a ^ b);
        return true;
    case 0x20 << 3 | 6:
        *result = a | ~b;
        return true;
    case 0x14 << 3 | 1: /* bset, bclr, binv, bext */
        *result = a | (uint64_t)1 << (b & 63);
        return true;
    case 0x24 << 3 | 1:
        *result = a & ~((uint64_t)1 << (b & 63));
        return true;
    case 0x34 << 3 | 1:
        *result = a ^ (uint64_t)1 << (b & 63);
        return true;
    case 0x24 << 3 | 5:
        *result = a >> (b & 63) & 1;
        return true;
    case 0x30 << 3 | 1: /* rol, ror */
        *result = rotated_right(a, -(uint32_t)b);
        return true;
    case 0x30 << 3 | 5:
        *result = rotated_right(a, (uint32_t)b);
        return true;
    case 0x07 << 3 | 5: /* czero.eqz, czero.nez */
        *result = b == 0 ? 0 : a;
        return true;
    case 0x07 << 3 | 7:
        *result = b != 0 ? 0 : a;
        return true;
    case 0x01 << 3 | 0:
        *result = a * b;
        return true;
    case 0x01 << 3 | 1: /* mulh, mulhsu, mulhu */
        *result = (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
        return true;
    case 0x01 << 3 | 2:
        *result = (uint64_t)((__int128)(int64_t)a * (__int128)b >> 64);
        return true;
    case 0x01 << 3 | 3:
        *result = (uint64_t)((unsigned __int128)a * b >> 64);
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
    case 0x30 << 3 | 1: /* rolw, rorw */
        *result = rotated_right_word(a, -(uint32_t)b);
        return true;
    case 0x30 << 3 | 5:
        *result = rotated_right_word(a, (uint32_t)b);
        return true;
    case 0x04 << 3 | 4: /* zext.h */
        *result = (uint16_t)a;
        return rs2_of(word) == 0;
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

bool integer_result(uint32_t word, uint64_t a, uint64_t b, uint64_t *result) {
    switch (opcode_of(word)) {
    case OPCODE_IMMEDIATE:
        return immediate_operation(word, a, result);
    case OPCODE_IMMEDIATE_32:
        return immediate_operation_32(word, a, result);
    case OPCODE_REGISTER:
        return register_operation(word, a, b, result);
    case OPCODE_REGISTER_32:
        return register_operation_32(word, a, b, result);
    default:
        return false;
    }
}
