/* Vector instructions: opcode tables of the V extension 1.0 (its chapter "Vector Instruction
 * Listing") and the register groups each instruction reads and writes. */
#include "decode.h"

/* How the element widths of operands differ from SEW. */
enum shape {
    SAME,          /* all of them SEW */
    WIDEN,         /* destination twice SEW */
    WIDEN_WIDE,    /* destination and vs2 twice SEW */
    NARROW,        /* vs2 twice SEW */
    TO_MASK,       /* destination is a mask: one register */
    MASKS,         /* only masks: one register each */
    REDUCE,        /* vs1 and destination are one register */
    REDUCE_WIDEN,  /* the same, with twice the width */
    EXTEND,        /* vs2 a half, a quarter or an eighth of SEW */
    SCALAR_RESULT, /* destination is an x or f register, vs2 one vector register */
    SCALAR_TO_V,   /* only one register written, from a scalar */
    NO_VECTOR_IN,  /* vs2 is not read: vmv.v, vid */
};

struct encoding {
    uint8_t cost_class; /* 0 is CLASS_alu: not a vector class, so the entry is empty */
    uint8_t shape;
    bool accumulates; /* reads its destination */
};

#define RANGE(low, high, ...) [low... high] = __VA_ARGS__

static const struct encoding integer_ops[64] = {
    RANGE(0x00, 0x07, {CLASS_v_int, SAME, false}),
    RANGE(0x09, 0x0b, {CLASS_v_logic, SAME, false}),
    [0x0c] = {CLASS_v_gather, SAME, false},
    [0x0e] = {CLASS_v_slide_up, SAME, false},
    [0x0f] = {CLASS_v_slide_down, SAME, false},
    [0x10] = {CLASS_v_logic, SAME, false},
    [0x11] = {CLASS_v_compare, TO_MASK, false},
    [0x12] = {CLASS_v_logic, SAME, false},
    [0x13] = {CLASS_v_compare, TO_MASK, false},
    [0x17] = {CLASS_v_logic, SAME, false},
    RANGE(0x18, 0x1f, {CLASS_v_compare, TO_MASK, false}),
    RANGE(0x20, 0x23, {CLASS_v_int, SAME, false}),
    [0x25] = {CLASS_v_shift, SAME, false},
    [0x27] = {CLASS_v_multiply, SAME, false},
    RANGE(0x28, 0x2b, {CLASS_v_shift, SAME, false}),
    RANGE(0x2c, 0x2f, {CLASS_v_shift, NARROW, false}),
    RANGE(0x30, 0x31, {CLASS_v_reduce, REDUCE_WIDEN, false}),
};

static const struct encoding multiply_ops[64] = {
    RANGE(0x00, 0x07, {CLASS_v_reduce, REDUCE, false}),
    RANGE(0x08, 0x0b, {CLASS_v_int, SAME, false}),
    [0x0e] = {CLASS_v_slide_up, SAME, false},
    [0x0f] = {CLASS_v_slide_down, SAME, false},
    [0x10] = {CLASS_v_to_scalar, SCALAR_RESULT, false},
    [0x12] = {CLASS_v_logic, EXTEND, false},
    [0x14] = {CLASS_v_mask_set, MASKS, false},
    [0x17] = {CLASS_v_compress, SAME, false},
    RANGE(0x18, 0x1f, {CLASS_v_mask, MASKS, false}),
    RANGE(0x20, 0x23, {CLASS_v_divide, SAME, false}),
    RANGE(0x24, 0x27, {CLASS_v_multiply, SAME, false}),
    [0x29] = {CLASS_v_multiply, SAME, true},
    [0x2b] = {CLASS_v_multiply, SAME, true},
    [0x2d] = {CLASS_v_multiply, SAME, true},
    [0x2f] = {CLASS_v_multiply, SAME, true},
    RANGE(0x30, 0x33, {CLASS_v_int, WIDEN, false}),
    RANGE(0x34, 0x37, {CLASS_v_int, WIDEN_WIDE, false}),
    RANGE(0x38, 0x3b, {CLASS_v_multiply, WIDEN, false}),
    RANGE(0x3c, 0x3f, {CLASS_v_multiply, WIDEN, true}),
};

static const struct encoding float_ops[64] = {
    [0x00] = {CLASS_v_fp, SAME, false},
    [0x01] = {CLASS_v_fp_reduce, REDUCE, false},
    [0x02] = {CLASS_v_fp, SAME, false},
    [0x03] = {CLASS_v_fp_reduce_ordered, REDUCE, false},
    [0x04] = {CLASS_v_fp, SAME, false},
    [0x05] = {CLASS_v_fp_reduce, REDUCE, false},
    [0x06] = {CLASS_v_fp, SAME, false},
    [0x07] = {CLASS_v_fp_reduce, REDUCE, false},
    RANGE(0x08, 0x0a, {CLASS_v_fp_slow, SAME, false}),
    [0x0e] = {CLASS_v_slide_up, SAME, false},
    [0x0f] = {CLASS_v_slide_down, SAME, false},
    [0x10] = {CLASS_v_scalar_move, SCALAR_RESULT, false},
    [0x12] = {CLASS_v_fp_slow, SAME, false},
    [0x13] = {CLASS_v_fp_slow, SAME, false},
    [0x17] = {CLASS_v_fp_slow, SAME, false},
    RANGE(0x18, 0x1f, {CLASS_v_fp_compare, TO_MASK, false}),
    RANGE(0x20, 0x21, {CLASS_v_fp_divide, SAME, false}),
    [0x24] = {CLASS_v_fp, SAME, false},
    [0x27] = {CLASS_v_fp, SAME, false},
    RANGE(0x28, 0x2f, {CLASS_v_fma, SAME, true}),
    [0x30] = {CLASS_v_fp, WIDEN, false},
    [0x31] = {CLASS_v_fp_reduce_ordered, REDUCE_WIDEN, false},
    [0x32] = {CLASS_v_fp, WIDEN, false},
    [0x33] = {CLASS_v_fp_reduce_ordered, REDUCE_WIDEN, false},
    /* .w forms take twice the time of the others: rvv-bench, vfwsub.wv */
    [0x34] = {CLASS_v_fp_slow, WIDEN_WIDE, false},
    [0x36] = {CLASS_v_fp_slow, WIDEN_WIDE, false},
    [0x38] = {CLASS_v_fp, WIDEN, false},
    RANGE(0x3c, 0x3f, {CLASS_v_fma, WIDEN, true}),
};

/* Encodings that share a funct6 and are told apart by the operand fields. */
static struct encoding refine(uint32_t word, struct encoding entry) {
    uint32_t funct3 = funct3_of(word);
    uint32_t funct6 = bits(word, 31, 26);
    uint32_t vs1 = rs1_of(word);
    bool is_integer = funct3 == OPIVV || funct3 == OPIVX || funct3 == OPIVI;
    bool is_multiply = funct3 == OPMVV || funct3 == OPMVX;
    if (is_integer && funct6 == 0x0c && funct3 != OPIVV) {
        entry.cost_class = CLASS_v_slide_up; /* vrgather.vx, .vi: one element for all */
    } else if (is_integer && funct6 == 0x0e && funct3 == OPIVV) {
        entry.cost_class = CLASS_v_gather; /* vrgatherei16 */
    } else if (is_integer && funct6 == 0x27 && funct3 == OPIVI) {
        entry.cost_class = CLASS_v_move_whole;
    } else if (is_integer && funct6 == 0x17 && bits(word, 25, 25)) {
        entry.shape = NO_VECTOR_IN; /* vmv.v */
    } else if (is_multiply && funct6 == 0x10 && funct3 == OPMVX) {
        entry = (struct encoding){CLASS_v_scalar_move, SCALAR_TO_V, false};
    } else if (is_multiply && funct6 == 0x10 && vs1 >= 0x10) {
        entry.cost_class = CLASS_v_mask_count; /* vcpop, vfirst */
    } else if (is_multiply && funct6 == 0x14 && vs1 >= 0x10) {
        entry.cost_class = CLASS_v_slide_up; /* viota, vid */
        entry.shape = vs1 == 0x11 ? NO_VECTOR_IN : SAME;
    } else if (funct3 == OPFVF && funct6 == 0x10) {
        entry = (struct encoding){CLASS_v_scalar_move, SCALAR_TO_V, false};
    } else if (funct3 == OPFVF && funct6 == 0x17 && bits(word, 25, 25)) {
        entry.shape = NO_VECTOR_IN; /* vfmv.v.f */
    } else if (funct3 == OPFVV && funct6 == 0x12) {
        entry.shape = vs1 >= 0x10 ? NARROW : vs1 >= 0x08 ? WIDEN : SAME; /* vfcvt */
    } else if (funct3 == OPFVV && funct6 == 0x13 && vs1 == 0) {
        entry.cost_class = CLASS_v_fp_sqrt;
    }
    return entry;
}

static struct encoding lookup(uint32_t word) {
    static const struct encoding *const tables[8] = {
        [OPIVV] = integer_ops,  [OPIVI] = integer_ops,  [OPIVX] = integer_ops,
        [OPMVV] = multiply_ops, [OPMVX] = multiply_ops, [OPFVV] = float_ops,
        [OPFVF] = float_ops,
    };
    struct encoding entry = tables[funct3_of(word)][bits(word, 31, 26)];
    if (entry.cost_class == 0) {
        entry.cost_class = CLASS_v_int; /* an extension of V that the tables do not know */
    }
    return refine(word, entry);
}

static void add_group(struct instruction *out, uint32_t first, uint32_t count) {
    add_source(out, V_BASE + first, first + count > 32 ? 32 - first : count);
}

static void set_group(struct instruction *out, uint32_t first, uint32_t count) {
    set_destination(out, V_BASE + first, first + count > 32 ? 32 - first : count);
}

static int half_of_extension(uint32_t word) {
    uint32_t vs1 = rs1_of(word); /* 2, 3: eighth; 4, 5: quarter; 6, 7: half */
    return vs1 <= 3 ? 3 : vs1 <= 5 ? 2 : 1;
}

/* vs1, rs1 or fs1: the operand that the form names. */
static void add_first_operand(uint32_t word, struct encoding entry, uint32_t count,
                              struct instruction *out) {
    uint32_t funct3 = funct3_of(word);
    bool unary = (funct3 == OPFVV && (bits(word, 31, 26) == 0x12 || bits(word, 31, 26) == 0x13)) ||
                 (funct3 == OPMVV && (bits(word, 31, 26) == 0x12 || bits(word, 31, 26) == 0x14));
    if (unary || funct3 == OPIVI || entry.shape == SCALAR_RESULT) {
        return;
    }
    if (funct3 == OPIVX || funct3 == OPMVX) {
        add_source(out, X_BASE + rs1_of(word), 1);
    } else if (funct3 == OPFVF) {
        add_source(out, F_BASE + rs1_of(word), 1);
    } else {
        add_group(out, rs1_of(word), count);
    }
}

static void whole_register_move(uint32_t word, struct instruction *out) {
    uint32_t count = rs1_of(word) + 1; /* vmv1r 0, vmv2r 1, vmv4r 3, vmv8r 7 */
    out->lmul_index = (uint8_t)(count >= 8 ? 6 : count >= 4 ? 5 : count >= 2 ? 4 : LMUL_1);
    out->registers = (uint8_t)count;
    add_group(out, rs2_of(word), count);
    set_group(out, rd_of(word), count);
}

void decode_vector_arithmetic(uint32_t word, struct vector_type type, struct instruction *out) {
    struct encoding entry = lookup(word);
    int wide_index = clamp_lmul(type.lmul_index + 1);
    uint32_t same = group_registers(type.lmul_index);
    uint32_t wide = group_registers(wide_index);
    bool uses_wide = entry.shape == WIDEN || entry.shape == WIDEN_WIDE || entry.shape == NARROW;

    out->is_vector = true;
    out->cost_class = entry.cost_class;
    out->sew_index = type.sew_index;
    if (entry.cost_class == CLASS_v_move_whole) {
        whole_register_move(word, out);
        return;
    }
    out->lmul_index = (uint8_t)(uses_wide ? wide_index : type.lmul_index);
    bool is_float = funct3_of(word) == OPFVV || funct3_of(word) == OPFVF;
    if (uses_wide && is_float && type.sew_index < SEW_COUNT - 1) {
        out->sew_index++; /* the unit works on the wider numbers */
    }
    out->registers = (uint8_t)group_registers(out->lmul_index);
    bool gathers_by_16 = entry.cost_class == CLASS_v_gather && bits(word, 31, 26) == 0x0e;
    if (gathers_by_16 && type.sew_index == 0) {
        out->cost_class = CLASS_v_gather_wide_index; /* indices take twice the registers of data */
    }
    /* vadc and vmerge take v0 as an operand, and are no slower for it */
    bool carry_or_merge = bits(word, 31, 26) >= 0x10 && bits(word, 31, 26) <= 0x17;
    bool reads_mask = bits(word, 25, 25) == 0;
    out->is_masked = reads_mask && !carry_or_merge;

    static const struct {
        uint8_t vs1, vs2, vd;
    } groups[] = {
        /* 0 one register, 1 a group of SEW, 2 a group of twice SEW */
        [SAME] = {1, 1, 1},          [WIDEN] = {1, 1, 2},        [WIDEN_WIDE] = {1, 2, 2},
        [NARROW] = {1, 2, 1},        [TO_MASK] = {1, 1, 0},      [MASKS] = {0, 0, 0},
        [REDUCE] = {0, 1, 0},        [REDUCE_WIDEN] = {0, 1, 0}, [EXTEND] = {0, 1, 1},
        [SCALAR_RESULT] = {0, 0, 0}, [SCALAR_TO_V] = {0, 0, 0},  [NO_VECTOR_IN] = {1, 0, 1},
    };
    const uint32_t sizes[] = {1, same, wide};
    add_first_operand(word, entry, sizes[groups[entry.shape].vs1], out);
    if (entry.shape == EXTEND) {
        int narrow = clamp_lmul(type.lmul_index - half_of_extension(word));
        add_group(out, rs2_of(word), group_registers(narrow));
    } else if (entry.shape != NO_VECTOR_IN && entry.shape != SCALAR_TO_V) {
        add_group(out, rs2_of(word), sizes[groups[entry.shape].vs2]);
    }
    if (entry.accumulates) {
        add_group(out, rd_of(word), sizes[groups[entry.shape].vd]);
    }
    if (reads_mask) {
        add_group(out, 0, 1);
    }
    if (entry.shape == SCALAR_RESULT) {
        uint32_t base = funct3_of(word) == OPFVV ? F_BASE : X_BASE;
        set_destination(out, base + rd_of(word), 1);
    } else {
        set_group(out, rd_of(word), sizes[groups[entry.shape].vd]);
    }
}

enum { UNIT_STRIDE = 0, INDEXED_UNORDERED = 1, STRIDED = 2, INDEXED_ORDERED = 3 };
enum { WHOLE_REGISTER = 0x08, MASK = 0x0b, FIRST_FAULT = 0x10 };
enum { MAX_FIELDS = 8 };

/* Up to four fields have classes of their own; more go element by element. */
static uint8_t segment_class(bool load, bool strided, uint32_t fields) {
    if (fields > 4) {
        return load ? CLASS_v_load_segment_many : CLASS_v_store_segment_many;
    }
    uint32_t first = strided
                         ? (load ? CLASS_v_load_strided_segment2 : CLASS_v_store_strided_segment2)
                         : (load ? CLASS_v_load_segment2 : CLASS_v_store_segment2);
    return (uint8_t)(first + fields - 2);
}

static uint8_t memory_class(uint32_t word, bool load) {
    uint32_t mode = bits(word, 27, 26);
    uint32_t kind = rs2_of(word);
    uint32_t fields = bits(word, 31, 29) + 1;
    if (mode == UNIT_STRIDE && kind == WHOLE_REGISTER) {
        return load ? CLASS_v_load_whole : CLASS_v_store_whole;
    }
    if (mode == UNIT_STRIDE && kind == MASK) {
        return load ? CLASS_v_load_mask : CLASS_v_store_mask;
    }
    if (fields > 1) {
        bool indexed = mode == INDEXED_UNORDERED || mode == INDEXED_ORDERED;
        return segment_class(load, mode == STRIDED, indexed ? MAX_FIELDS : fields);
    }
    switch (mode) {
    case UNIT_STRIDE:
        return !load                 ? CLASS_v_store
               : kind == FIRST_FAULT ? CLASS_v_load_first_fault
                                     : CLASS_v_load;
    case STRIDED:
        return load ? CLASS_v_load_strided : CLASS_v_store_strided;
    default:
        return load ? CLASS_v_load_indexed : CLASS_v_store_indexed;
    }
}

void decode_vector_memory(uint32_t word, struct vector_type type, struct instruction *out) {
    static const uint8_t width_index[8] = {0, 0, 0, 0, 0, 1, 2, 3};
    bool load = opcode_of(word) == OPCODE_LOAD_FP;
    uint32_t mode = bits(word, 27, 26);
    bool indexed = mode == INDEXED_UNORDERED || mode == INDEXED_ORDERED;
    uint8_t width = width_index[funct3_of(word)];
    int scaled = clamp_lmul(type.lmul_index + width - type.sew_index); /* EMUL of `width` */
    uint32_t fields = bits(word, 31, 29) + 1;
    uint8_t cost_class = memory_class(word, load);

    out->is_vector = true;
    out->is_load = load;
    out->is_store = !load;
    out->cost_class = cost_class;
    out->is_masked = bits(word, 25, 25) == 0;
    out->sew_index = indexed ? type.sew_index : width;
    out->lmul_index = (uint8_t)(indexed ? type.lmul_index : scaled);
    uint32_t registers = group_registers(out->lmul_index) * fields;
    if (cost_class == CLASS_v_load_whole || cost_class == CLASS_v_store_whole) {
        out->is_whole_register = true;
        out->lmul_index = (uint8_t)(fields >= 8 ? 6 : fields >= 4 ? 5 : fields >= 2 ? 4 : LMUL_1);
        registers = fields;
    } else if (cost_class == CLASS_v_load_mask || cost_class == CLASS_v_store_mask) {
        out->lmul_index = LMUL_1;
        registers = 1;
    } else if (cost_class == CLASS_v_load_segment_many ||
               cost_class == CLASS_v_store_segment_many) {
        out->fields = (uint8_t)fields;
    }
    out->registers = (uint8_t)registers;

    add_source(out, X_BASE + rs1_of(word), 1);
    if (mode == STRIDED) {
        add_source(out, X_BASE + rs2_of(word), 1);
    } else if (indexed) {
        add_group(out, rs2_of(word), group_registers(scaled));
    }
    if (out->is_masked) {
        add_group(out, 0, 1);
    }
    if (load) {
        set_group(out, rd_of(word), registers);
    } else {
        add_group(out, rd_of(word), registers);
    }
}
