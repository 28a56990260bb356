/* Scalar instructions, and the questions asked of every instruction. */
#include "decode.h"

#include <string.h>

static bool is_vector_width(uint32_t funct3) { return funct3 == 0 || funct3 >= 5; }

bool accesses_memory(uint32_t word) {
    switch (opcode_of(word)) {
    case OPCODE_LOAD:
    case OPCODE_LOAD_FP:
    case OPCODE_STORE:
    case OPCODE_STORE_FP:
    case OPCODE_ATOMIC:
        return true;
    default:
        return false;
    }
}

bool is_prefetch(uint32_t word) {
    return opcode_of(word) == OPCODE_IMMEDIATE && funct3_of(word) == 6 && rd_of(word) == 0 &&
           (rs2_of(word) == 1 || rs2_of(word) == 3);
}

int64_t prefetch_offset(uint32_t word) {
    return immediate_i(word & 0xfe0fffff); /* the low five bits are its kind */
}

/* A vector load or store of one stretch of memory, but for what its mask leaves out. */
static bool is_unit_stride(uint32_t word) {
    uint32_t opcode = opcode_of(word);
    return (opcode == OPCODE_LOAD_FP || opcode == OPCODE_STORE_FP) &&
           is_vector_width(funct3_of(word)) && bits(word, 27, 26) == 0;
}

bool is_first_fault(uint32_t word) { return is_unit_stride(word) && rs2_of(word) == 16; }

bool is_contiguous(uint32_t word) {
    return is_unit_stride(word) && bits(word, 25, 25) && !is_first_fault(word);
}

uint64_t contiguous_bytes(uint32_t word, uint64_t vector_length, uint64_t vlen_bytes) {
    static const uint8_t element_bytes[8] = {1, 0, 0, 0, 0, 2, 4, 8};
    enum { WHOLE_REGISTERS = 8, MASK = 11 };
    uint64_t fields = bits(word, 31, 29) + 1;
    switch (rs2_of(word)) {
    case WHOLE_REGISTERS:
        return fields * vlen_bytes;
    case MASK:
        return (vector_length + 7) / 8;
    default:
        return vector_length * fields * element_bytes[funct3_of(word)];
    }
}

struct vector_type vector_type_from_bits(uint64_t vtype) {
    static const uint8_t lmul_index[8] = {3, 4, 5, 6, 0, 0, 1, 2};
    bool legal = (vtype >> 8) == 0 && (vtype & 7) != 4 && ((vtype >> 3) & 7) < SEW_COUNT;
    return (struct vector_type){
        .sew_index = (uint8_t)((vtype >> 3) & 3),
        .lmul_index = lmul_index[vtype & 7],
        .known = legal,
    };
}

bool decode_vset(uint32_t word, struct vector_type *type) {
    if (opcode_of(word) != OPCODE_VECTOR || funct3_of(word) != OPCFG) {
        return false;
    }
    if (bits(word, 31, 31) == 0) {
        *type = vector_type_from_bits(bits(word, 30, 20)); /* vsetvli */
    } else if (bits(word, 30, 30) == 1) {
        *type = vector_type_from_bits(bits(word, 29, 20)); /* vsetivli */
    } else {
        type->known = false; /* vsetvl takes it from a register */
    }
    return true;
}

static void decode_load(uint32_t word, struct instruction *out) {
    out->cost_class = CLASS_load;
    out->is_load = true;
    add_source(out, X_BASE + rs1_of(word), 1);
    uint32_t base = opcode_of(word) == OPCODE_LOAD_FP ? F_BASE : X_BASE;
    set_destination(out, base + rd_of(word), 1);
}

static void decode_store(uint32_t word, struct instruction *out) {
    out->cost_class = CLASS_store;
    out->is_store = true;
    add_source(out, X_BASE + rs1_of(word), 1);
    uint32_t base = opcode_of(word) == OPCODE_STORE_FP ? F_BASE : X_BASE;
    add_source(out, base + rs2_of(word), 1);
}

static void decode_atomic(uint32_t word, struct instruction *out) {
    out->cost_class = CLASS_atomic;
    out->is_load = bits(word, 31, 27) != STORE_CONDITIONAL;
    out->is_store = bits(word, 31, 27) != LOAD_RESERVED;
    add_source(out, X_BASE + rs1_of(word), 1);
    add_source(out, X_BASE + rs2_of(word), 1);
    set_destination(out, X_BASE + rd_of(word), 1);
}

static uint8_t register_class(uint32_t word) {
    bool word_form = opcode_of(word) == OPCODE_REGISTER_32;
    uint32_t funct7 = bits(word, 31, 25);
    if (funct7 == 1) { /* M */
        if (funct3_of(word) < 4) {
            return CLASS_multiply;
        }
        return word_form ? CLASS_divide_word : CLASS_divide;
    }
    /* sh1add to sh3add, and add.uw and its kin */
    bool shift_add = funct7 == 0x10 || (word_form && funct7 == 0x04);
    return shift_add ? CLASS_alu_slow : CLASS_alu;
}

static uint8_t fp_class(uint32_t word) {
    bool is_double = bits(word, 26, 25) == 1;
    switch (bits(word, 31, 27)) {
    case 0x00: /* fadd */
    case 0x01: /* fsub */
    case 0x02: /* fmul */
        return is_double ? CLASS_fp_add_double : CLASS_fp_add;
    case 0x03: /* fdiv */
    case 0x0b: /* fsqrt */
        return is_double ? CLASS_fp_divide_double : CLASS_fp_divide;
    case 0x14: /* feq, flt, fle */
        return CLASS_fp_compare;
    case 0x08: /* fcvt between float formats */
    case 0x18: /* fcvt to integer */
    case 0x1a: /* fcvt from integer */
        return CLASS_fp_convert;
    case 0x1c: /* fmv.x, fclass */
    case 0x1e: /* fmv from x */
        return CLASS_fp_move;
    default: /* fsgnj, fmin, fmax */
        return CLASS_fp_add;
    }
}

static void decode_fp(uint32_t word, struct instruction *out) {
    uint32_t funct5 = bits(word, 31, 27);
    bool from_integer = funct5 == 0x1a || funct5 == 0x1e;
    bool to_integer = funct5 == 0x14 || funct5 == 0x18 || funct5 == 0x1c;
    bool one_operand = funct5 == 0x0b || funct5 == 0x08 || funct5 >= 0x18;
    out->cost_class = fp_class(word);
    add_source(out, (from_integer ? X_BASE : F_BASE) + rs1_of(word), 1);
    if (!one_operand) {
        add_source(out, F_BASE + rs2_of(word), 1);
    }
    set_destination(out, (to_integer ? X_BASE : F_BASE) + rd_of(word), 1);
}

static void decode_fma(uint32_t word, struct instruction *out) {
    out->cost_class = bits(word, 26, 25) == 1 ? CLASS_fp_fma_double : CLASS_fp_fma;
    add_source(out, F_BASE + rs1_of(word), 1);
    add_source(out, F_BASE + rs2_of(word), 1);
    add_source(out, F_BASE + bits(word, 31, 27), 1);
    set_destination(out, F_BASE + rd_of(word), 1);
}

static void decode_vset_registers(uint32_t word, struct instruction *out) {
    bool length_in_word = bits(word, 31, 30) == 3; /* vsetivli */
    out->sets_length = true;
    bool keeps_length = rs1_of(word) == 0 && rd_of(word) == 0;
    out->cost_class = length_in_word || keeps_length ? CLASS_vset_constant : CLASS_vset;
    if (!length_in_word) {
        add_source(out, X_BASE + rs1_of(word), 1);
    }
    if (bits(word, 31, 30) == 2) {
        out->cost_class = CLASS_vset;
        add_source(out, X_BASE + rs2_of(word), 1);
    }
    set_destination(out, X_BASE + rd_of(word), 1);
}

static void decode_integer(uint32_t word, struct instruction *out) {
    uint32_t opcode = opcode_of(word);
    out->cost_class = CLASS_alu;
    out->is_prefetch = is_prefetch(word);
    switch (opcode) {
    case OPCODE_REGISTER:
    case OPCODE_REGISTER_32:
        out->cost_class = register_class(word);
        add_source(out, X_BASE + rs2_of(word), 1);
        break;
    case OPCODE_SYSTEM:
        out->cost_class = CLASS_csr;
        break;
    case OPCODE_JAL:
    case OPCODE_JALR:
        out->cost_class = CLASS_jump;
        break;
    default:
        break;
    }
    bool no_operand = opcode == OPCODE_LUI || opcode == OPCODE_AUIPC || opcode == OPCODE_JAL;
    if (!no_operand) {
        add_source(out, X_BASE + rs1_of(word), 1);
    }
    set_destination(out, X_BASE + rd_of(word), 1);
}

static void decode_branch(uint32_t word, struct instruction *out) {
    out->cost_class = CLASS_branch;
    out->is_branch = true;
    add_source(out, X_BASE + rs1_of(word), 1);
    add_source(out, X_BASE + rs2_of(word), 1);
}

/* SpacemiT's vmadot: a register of rows and one of columns to the sums of two registers. */
static void decode_matrix(uint32_t word, struct instruction *out) {
    enum { E8 = 0, SUM_REGISTERS = 2 };
    out->cost_class = CLASS_v_matrix;
    out->is_vector = true;
    out->sew_index = E8;
    out->registers = 1;
    add_source(out, V_BASE + rs1_of(word), 1);
    add_source(out, V_BASE + rs2_of(word), 1);
    add_source(out, V_BASE + rd_of(word), SUM_REGISTERS);
    set_destination(out, V_BASE + rd_of(word), SUM_REGISTERS);
}

void decode_instruction(uint32_t word, struct vector_type type, struct instruction *out) {
    memset(out, 0, sizeof *out);
    out->lmul_index = LMUL_1;
    out->fields = 1;
    uint32_t opcode = opcode_of(word);
    bool vector_width = is_vector_width(funct3_of(word));
    switch (opcode) {
    case OPCODE_LOAD_FP:
    case OPCODE_STORE_FP:
        if (vector_width) {
            decode_vector_memory(word, type, out);
            return;
        }
        (opcode == OPCODE_LOAD_FP ? decode_load : decode_store)(word, out);
        return;
    case OPCODE_LOAD:
        decode_load(word, out);
        return;
    case OPCODE_STORE:
        decode_store(word, out);
        return;
    case OPCODE_ATOMIC:
        decode_atomic(word, out);
        return;
    case OPCODE_FMADD:
    case OPCODE_FMSUB:
    case OPCODE_FNMSUB:
    case OPCODE_FNMADD:
        decode_fma(word, out);
        return;
    case OPCODE_FP:
        decode_fp(word, out);
        return;
    case OPCODE_BRANCH:
        decode_branch(word, out);
        return;
    case OPCODE_MATRIX:
        decode_matrix(word, out);
        return;
    case OPCODE_VECTOR:
        (funct3_of(word) == OPCFG ? decode_vset_registers(word, out)
                                  : decode_vector_arithmetic(word, type, out));
        return;
    default:
        decode_integer(word, out);
    }
}
