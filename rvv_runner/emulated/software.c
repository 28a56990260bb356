#include "software.h"

#include <stddef.h>
#include <string.h>

#include "decode.h"

enum { SOFTWARE_MARK = 0x5a702013 }; /* slti x0, x0, 0x5a7 */
enum { ADDRESSES_AT = 8, WORD_BEFORE = 8 };

/* Where code in an instruction's place lies, and where the jumps lead, which is such code too. */
static struct {
    uint64_t code, code_end, slots, slots_end;
} software;

bool software_announced(uint32_t word, const void *code) {
    if (word != SOFTWARE_MARK) {
        return false;
    }
    memcpy(&software, (const char *)code + ADDRESSES_AT, sizeof software);
    return true;
}

static bool is_slot(uint64_t pc) { return pc >= software.slots && pc < software.slots_end; }

bool software_holds(uint64_t pc) {
    return (pc >= software.code && pc < software.code_end) || is_slot(pc);
}

bool software_is_missing(uint32_t word) {
    return software.slots_end != 0 && opcode_of(word) == OPCODE_MATRIX;
}

static int64_t jump_offset(uint32_t word) {
    uint32_t offset = bits(word, 30, 21) << 1 | bits(word, 20, 20) << 11 | bits(word, 19, 12) << 12;
    return (int64_t)offset - (bits(word, 31, 31) ? 1 << 20 : 0);
}

uint32_t software_replaced(uint32_t word, uint64_t pc, const void *code) {
    if (opcode_of(word) != OPCODE_JAL || rd_of(word) != 0) {
        return word;
    }
    int64_t offset = jump_offset(word);
    if (!is_slot(pc + (uint64_t)offset)) {
        return word;
    }
    uint32_t replaced;
    memcpy(&replaced, (const char *)code + offset - WORD_BEFORE, sizeof replaced);
    return replaced;
}
