"""Copies of registers that become sums: where lengths tell that they may, and where they do not."""

from __future__ import annotations

import pytest

from triton_rvv.codegen.assembler import assemble_object
from triton_rvv.codegen.elf_file import ElfFile
from triton_rvv.codegen.register_moves import added_moves, with_added_moves
from triton_rvv.codegen.vector_lengths import known_lengths

TWO = "vsetivli zero, 16, e32, m2, ta, ma"
SHORTER = "vsetivli zero, 8, e32, m2, ta, ma"
# What comes in front of a copy, and `1:` where it is in a loop.
WHOLE = [
    [TWO],
    ["vsetvli a0, zero, e8, m2, ta, ma"],
    ["li a1, 64", "vsetvli zero, a1, e8, m2, ta, ma"],
    ["vsetivli zero, 16, e16, m1, ta, ma", "vsetvli zero, zero, e32, m2, ta, ma"],
    [TWO, "1:", "addi a2, a2, -1", "bnez a2, 1b"],
    ["beqz a2, 1f", TWO, "j 2f", "1:", TWO, "2:"],
]
PARTS = [
    [],
    [SHORTER],
    ["vsetivli zero, 16, e16, m1, ta, ma"],
    ["vsetvli zero, a1, e32, m2, ta, ma"],
    ["li a1, 17", "vsetvli zero, a1, e32, m2, ta, ma"],
    ["li a1, 16", "lbu a1, 0(a0)", "vsetvli zero, a1, e32, m2, ta, ma"],
    ["li a1, 16", "lw a1, 0(a0)", "vsetvli zero, a1, e32, m2, ta, ma"],
    ["beqz a2, 1f", TWO, "1:"],
    [TWO, "call g"],
    [TWO, "j 2f", "1:", SHORTER, "2:", "beqz a2, 1b"],
]
# What comes behind a copy of a mask to v0.
MASKS = [
    ["vmerge.vvm v8, v4, v6, v0", "vmseq.vi v0, v8, 1"],
    [SHORTER, "vle32.v v8, (a0), v0.t", TWO, "vmseq.vi v0, v8, 1"],
    ["1:", "vle32.v v8, (a0), v0.t", "vmseq.vi v0, v8, 1", "bnez a0, 1b"],
]
NO_MASKS = [
    ["vmerge.vvm v8, v4, v6, v0"],  # and nobody knows what else it masks
    ["vadd.vv v8, v0, v4", "vmseq.vi v0, v8, 1"],
    ["vmand.mm v1, v0, v4", "vmseq.vi v0, v8, 1"],
    ["vs1r.v v0, (a0)", "vmseq.vi v0, v8, 1"],
    ["vsetivli zero, 31, e32, m4, ta, ma", "vmerge.vvm v8, v4, v16, v0", "vmseq.vi v0, v8, 1"],
    ["vsetvli zero, a1, e32, m2, ta, ma", "vmerge.vvm v8, v4, v6, v0", "vmseq.vi v0, v8, 1"],
    [
        "li a1, -1",
        "vsetvli zero, a1, e8, m2, ta, ma",
        "vmerge.vvm v8, v4, v6, v0",
        "vmseq.vi v0, v8, 1",
    ],
    # Elements of the copy stay below the fourth one, and above the eighth.
    ["vsetivli zero, 8, e32, m1, ta, ma", "vslideup.vi v0, v8, 4", "vs1r.v v0, (a0)"],
    ["vsetivli zero, 4, e32, m1, tu, ma", "vadd.vv v0, v8, v4", "vs1r.v v0, (a0)"],
    ["vsetivli zero, 4, e32, m1, tu, ma", "vle32.v v0, (a0)", "vs1r.v v0, (a0)"],
    ["bnez a0, 1f", "vmseq.vi v0, v8, 1", "1:", "vmerge.vvm v8, v4, v6, v0"],
]
MOVE, SUM = "vmv2r.v v8, v4", "vadd.vi v8, v4, 0"
MOVED_MASK, JOINED_MASK = "vmv1r.v v0, v9", "vmmv.m v0, v9"
# Of functions, the code and what becomes of it.
CASES = [
    (["vmv.v.v v8, v4"], [SUM]),
    (["vmv.v.x v8, a4", "vmv.v.i v8, 4"],) * 2,
    *(([*lines, MOVE], [*lines, SUM]) for lines in WHOLE),
    *(([*lines, MOVE], [*lines, MOVE]) for lines in PARTS),
    *(([TWO, MOVED_MASK, *lines], [TWO, JOINED_MASK, *lines]) for lines in MASKS),
    *(([TWO, MOVED_MASK, *lines], [TWO, MOVED_MASK, *lines]) for lines in NO_MASKS),
]


def functions(bodies: list[list[str]]) -> str:
    lines = [".option arch, rv64gcv_zvl256b_zcb", ".option norelax"]
    for number, body in enumerate(bodies):
        lines += [f".type f{number}, @function", f"f{number}:", *body, "ret"]
    return "".join(f"{'' if line.endswith(':') else chr(9)}{line}\n" for line in lines)


def code(compiled: bytes) -> bytes:
    file = ElfFile(compiled)
    return b"".join(file.data(section) for section in file.sections() if section.flags & 4)


def test_copies_become_sums_where_lengths_tell_that_they_may():
    before, after = ([case[side] for case in CASES] for side in (0, 1))
    compiled, expected = (assemble_object(functions(each)) for each in (before, after))
    assert code(with_added_moves(compiled, 256)) == code(expected)
    assert added_moves(functions(before), compiled, 256) == functions(after)
    # Where a jump leads to what only the run tells, any length may be there.
    jump = assemble_object(functions([[TWO, "jr a0", MOVE], [TWO, MOVE]]))
    assert with_added_moves(jump, 256) == jump


def test_nothing_is_known_where_jumps_within_a_function_look_like_those_to_others():
    for end, known in ((8, True), (1 << 20, False)):
        words = [(0, 0xCD187057), (4, 0x8082), (end, 0x8082)]  # `TWO`, and returns
        assert (known_lengths(words, [0], 256)[1] is not None) == known


@pytest.mark.parametrize("other", [["vmv2r.v v10, v4"], ["vmv1r.v v8, v4"], [], [MOVE, MOVE]])
def test_assembly_of_another_object_is_refused(other: list[str]):
    compiled = assemble_object(functions([[MOVE]]))
    with pytest.raises(RuntimeError, match="other moves"):
        added_moves(functions([other]), compiled, 256)
