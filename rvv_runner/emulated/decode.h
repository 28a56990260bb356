/* From an instruction word to what the model needs: cost class, registers, memory, vector group. */
#ifndef DECODE_H
#define DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "costs.h"

/* One register file for all: x0-x31 are 0-31, f0-f31 are 32-63, v0-v31 are 64-95. */
enum { X_BASE = 0, F_BASE = 32, V_BASE = 64, REGISTER_COUNT = 96, MAX_SOURCES = 4 };

struct register_range {
    uint8_t first;
    uint8_t count;
};

/* What vset* leaves behind; unknown before the first one of a region has been seen. */
struct vector_type {
    uint8_t sew_index;  /* e8 0, e16 1, e32 2, e64 3 */
    uint8_t lmul_index; /* mf8 0 to m8 6 */
    bool known;
};

struct instruction {
    struct register_range sources[MAX_SOURCES]; /* of a store, the data last */
    struct register_range destination;          /* count 0 where there is none */
    uint8_t source_count;
    uint8_t cost_class;
    uint8_t sew_index;  /* row of the cost table */
    uint8_t lmul_index; /* column of the cost table, and the LMUL it is counted under */
    uint8_t fields;     /* of a segment access that goes by fields, else 1 */
    uint8_t registers;  /* vector registers worked through, 0 for a scalar instruction */
    bool is_vector;
    bool is_load;
    bool is_store;
    bool is_whole_register; /* whole-register load or store: a spill or a fill */
    bool is_masked;
    bool is_branch;   /* conditional */
    bool sets_length; /* vset* */
    bool is_prefetch;
};

/* A compressed instruction as the 32-bit one it stands for; 0 where it is not a valid one. */
uint32_t expand_compressed(uint16_t half);

/* Describe a 32-bit instruction that runs under `type`. */
void decode_instruction(uint32_t word, struct vector_type type, struct instruction *out);

/* The parts of decode_instruction for the vector opcodes. */
void decode_vector_arithmetic(uint32_t word, struct vector_type type, struct instruction *out);
void decode_vector_memory(uint32_t word, struct vector_type type, struct instruction *out);

/* Whether the word is a vset*, and what its immediate says (known is false for vsetvl). */
bool decode_vset(uint32_t word, struct vector_type *type);
struct vector_type vector_type_from_bits(uint64_t vtype);

/* Whether the word is a scalar or vector load, store or atomic. */
bool accesses_memory(uint32_t word);

/* Whether the word is one of the Zicbop hints prefetch.r and prefetch.w, and what it adds to its
 * register. */
bool is_prefetch(uint32_t word);
int64_t prefetch_offset(uint32_t word);

/* Whether the word touches memory, or hints that it will. */
static inline bool has_site(uint32_t word) { return accesses_memory(word) || is_prefetch(word); }

/* Whether the word is a vector load that ends before its first fault, and shortens vl there. */
bool is_first_fault(uint32_t word);

/* Whether the word is a vector access to all of one stretch of memory that begins at its base
 * register, and how long the stretch is. */
bool is_contiguous(uint32_t word);
uint64_t contiguous_bytes(uint32_t word, uint64_t vector_length, uint64_t vlen_bytes);

static inline uint32_t bits(uint32_t word, int high, int low) {
    return (word >> low) & ((1u << (high - low + 1)) - 1);
}

static inline uint32_t opcode_of(uint32_t word) { return word & 0x7f; }
static inline uint32_t rd_of(uint32_t word) { return bits(word, 11, 7); }
static inline uint32_t rs1_of(uint32_t word) { return bits(word, 19, 15); }
static inline uint32_t rs2_of(uint32_t word) { return bits(word, 24, 20); }
static inline uint32_t funct3_of(uint32_t word) { return bits(word, 14, 12); }
static inline int64_t immediate_i(uint32_t word) { return (int32_t)word >> 20; }
static inline int64_t immediate_s(uint32_t word) {
    return ((int32_t)(word & 0xfe000000) >> 20) | (int32_t)rd_of(word);
}

static inline void add_source(struct instruction *out, uint32_t first, uint32_t count) {
    out->sources[out->source_count++] = (struct register_range){(uint8_t)first, (uint8_t)count};
}

static inline void set_destination(struct instruction *out, uint32_t first, uint32_t count) {
    if (first != X_BASE) { /* x0 is never written */
        out->destination = (struct register_range){(uint8_t)first, (uint8_t)count};
    }
}

/* Registers of a group: a fraction of one counts as one. */
static inline uint32_t group_registers(int lmul_index) {
    return lmul_index <= LMUL_1 ? 1 : 1u << (lmul_index - LMUL_1);
}

static inline int clamp_lmul(int index) {
    return index < 0 ? 0 : index >= LMUL_COUNT ? LMUL_COUNT - 1 : index;
}

enum opcode {
    OPCODE_LOAD = 0x03,
    OPCODE_LOAD_FP = 0x07,
    OPCODE_FENCE = 0x0f,
    OPCODE_IMMEDIATE = 0x13,
    OPCODE_AUIPC = 0x17,
    OPCODE_IMMEDIATE_32 = 0x1b,
    OPCODE_STORE = 0x23,
    OPCODE_STORE_FP = 0x27,
    OPCODE_MATRIX = 0x2b, /* SpacemiT's: custom-1 */
    OPCODE_ATOMIC = 0x2f,
    OPCODE_REGISTER = 0x33,
    OPCODE_LUI = 0x37,
    OPCODE_REGISTER_32 = 0x3b,
    OPCODE_FMADD = 0x43,
    OPCODE_FMSUB = 0x47,
    OPCODE_FNMSUB = 0x4b,
    OPCODE_FNMADD = 0x4f,
    OPCODE_FP = 0x53,
    OPCODE_VECTOR = 0x57,
    OPCODE_BRANCH = 0x63,
    OPCODE_JALR = 0x67,
    OPCODE_JAL = 0x6f,
    OPCODE_SYSTEM = 0x73,
};

/* bits 31 to 27 of OPCODE_ATOMIC */
enum { LOAD_RESERVED = 2, STORE_CONDITIONAL = 3 };

/* funct3 of OPCODE_VECTOR */
enum { OPIVV, OPFVV, OPMVV, OPIVI, OPIVX, OPFVF, OPMVX, OPCFG };

#endif
