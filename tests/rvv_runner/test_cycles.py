"""The estimate of cycles: the cost of each class of instruction, dependences, overlap."""

from __future__ import annotations

import pytest

# Cycles for each instruction at LMUL 1, 2, 4 and 8 when nothing depends on it, element width 32 and
# VLEN 256: figures published for the X60 by rvv-bench, and by LLVM for divisions and roots, whose
# numbers in rvv-bench are quick ones; written out here a second time on purpose.
# "{d}" is the destination, which changes so that accumulations do not wait for each other.
THROUGHPUT = {
    "vfmacc.vv {d}, v16, v24": (1, 2, 4, 8),
    "vfmacc.vf {d}, fa0, v24": (1, 2, 4, 8),
    "vfadd.vv {d}, v16, v24": (1, 2, 4, 8),
    "vfmul.vv {d}, v16, v24": (1, 2, 4, 8),
    "vadd.vv {d}, v16, v24": (1, 2, 4, 8),
    "vmul.vv {d}, v16, v24": (1, 2, 4, 8),
    "vfadd.vv {d}, v16, v24, v0.t": (2, 4, 8, 16),
    "vadd.vv {d}, v16, v24, v0.t": (2, 4, 8, 16),
    "vand.vv {d}, v16, v24": (2, 4, 8, 16),
    "vsll.vi {d}, v16, 3": (2, 4, 8, 16),
    "vmv.v.v {d}, v16": (2, 4, 8, 16),
    "vmerge.vvm {d}, v16, v24, v0": (2, 4, 8, 16),
    "vfcvt.f.x.v {d}, v16": (2, 4, 8, 16),
    "vslideup.vi {d}, v16, 1": (2, 4, 8, 16),
    "vrgather.vi {d}, v16, 1": (2, 4, 8, 16),
    "vslidedown.vi {d}, v16, 1": (3, 5, 9, 17),
    "vslide1down.vx {d}, v16, t1": (3, 5, 9, 17),
    "vle32.v {d}, (a0)": (2.45, 4.35, 8.6, 16.5),
    "vse32.v {d}, (a0)": (2.75, 4.8, 8.5, 19.7),
    "vlse32.v {d}, (a0), t1": (8, 16, 32, 64),
    "vsse32.v {d}, (a0), t1": (8, 16, 32, 64),
    "vrgather.vv {d}, v16, v24": (4, 16, 64, 256),
    "vcompress.vm {d}, v16, v0": (3, 10, 36, 136),
    "vredsum.vs {d}, v16, v24": (2, 4, 9.5, 35),
    "vfredusum.vs {d}, v16, v24": (6.5, 11, 17, 54),
    "vfredmax.vs {d}, v16, v24": (6.5, 11, 17, 54),
    "vfredosum.vs {d}, v16, v24": (11, 23, 48, 192),
    "vfdiv.vv {d}, v16, v24": (40, 80, 160, 320),
    "vfsqrt.v {d}, v16": (38, 76, 152, 304),
}
LMULS = (1, 2, 4, 8)
TOUCH_BUFFER = "li t1, 4\n" + "\n".join(f"lw t0, {64 * line}(a0)" for line in range(5))


def _copies(instruction: str, lmul: int, count: int) -> str:
    groups = range(8, 16, lmul)
    return "\n".join(instruction.format(d=f"v{groups[i % len(groups)]}") for i in range(count))


def _cycles_each(run_regions, cases, **options):
    """Cycles for each further copy of an instruction: what 40 take beyond 20, by 20."""
    regions = []
    for instruction, sew_bits, lmul in cases:
        before = f"{TOUCH_BUFFER}\nvsetvli t0, zero, e{sew_bits}, m{lmul}, ta, ma"
        regions += [(before, _copies(instruction, lmul, count)) for count in (20, 40)]
    results = run_regions(*regions, **options)
    return [
        (long.cycles - short.cycles) / 20
        for short, long in zip(results[::2], results[1::2], strict=True)
    ]


@pytest.mark.parametrize("instruction", THROUGHPUT)
def test_each_class_costs_what_was_published(run_regions, instruction):
    measured = _cycles_each(run_regions, [(instruction, 32, lmul) for lmul in LMULS])
    assert measured == pytest.approx(THROUGHPUT[instruction], rel=0.06)


def test_segment_loads_cost_about_what_was_published(run_regions):
    measured = _cycles_each(
        run_regions, [("vlseg2e32.v {d}, (a0)", 32, lmul) for lmul in (1, 2, 4)]
    )
    assert measured == pytest.approx((12.5, 24.5, 48.6), rel=0.02)
    stores = _cycles_each(run_regions, [("vsseg4e8.v {d}, (a0)", 8, lmul) for lmul in (1, 2)])
    assert stores == pytest.approx((12.7, 24), rel=0.02)
    many = _cycles_each(run_regions, [("vlseg8e16.v {d}, (a0)", 16, 1)])
    assert many == pytest.approx([128], rel=0.02)  # a cycle an element and field
    strided = _cycles_each(run_regions, [("vlsseg2e8.v {d}, (a0), t1", 8, 1)])
    assert strided == pytest.approx([42], rel=0.02)


def test_arithmetic_costs_the_same_for_every_element_width(run_regions):
    cases = [("vadd.vv {d}, v16, v24", sew_bits, 2) for sew_bits in (8, 16, 32, 64)]
    assert _cycles_each(run_regions, cases) == pytest.approx([2, 2, 2, 2], abs=0.01)


def test_strided_loads_cost_a_cycle_an_element(run_regions):
    cases = [(f"vlse{bits}.v {{d}}, (a0), t1", bits, 1) for bits in (8, 16, 32, 64)]
    assert _cycles_each(run_regions, cases) == pytest.approx([32, 16, 8, 4], abs=0.01)
    longer = _cycles_each(run_regions, cases, vlen_bits=512)
    assert longer == pytest.approx([64, 32, 16, 8], abs=0.01)


@pytest.mark.parametrize(("lmul", "latency"), [(1, 5), (2, 5), (4, 5), (8, 8)])
def test_dependent_multiply_adds_wait_for_each_other(run_regions, lmul, latency):
    case = ("vfmacc.vv v8, v16, v24", 32, lmul)
    assert _cycles_each(run_regions, [case]) == pytest.approx([latency], abs=0.01)


def _cycles_of_loop(run_regions, body: str, lmul: int = 4) -> float:
    """Cycles of each further repetition of a body of straight-line code."""
    before = f"{TOUCH_BUFFER}\nvsetvli t0, zero, e32, m{lmul}, ta, ma"
    short, long = run_regions((before, body * 10), (before, body * 20))
    return (long.cycles - short.cycles) / 10


def test_a_vector_load_overlaps_arithmetic_that_does_not_need_it(run_regions):
    fmas = "vfmacc.vf v8, fa0, v16\nvfmacc.vf v12, fa0, v16\n" * 2
    assert _cycles_of_loop(run_regions, fmas) == pytest.approx(16)
    assert _cycles_of_loop(run_regions, fmas + "vle32.v v24, (a0)\n") == pytest.approx(16)


def test_vectors_of_integers_and_of_floats_share_a_unit(run_regions):
    body = "vfmacc.vf v8, fa0, v16\nvadd.vv v20, v16, v24\n"
    assert _cycles_of_loop(run_regions, body) == pytest.approx(4 + 4)


def test_arithmetic_follows_a_vector_load_register_by_register(run_regions):
    # The first register comes after 3 cycles and the fourth 6.45 later; the multiply-add goes
    # through its four in 4, so it starts after 6.45 and the load's own 8.6 cycles decide.
    body = "vle32.v v16, (a0)\nvfmacc.vf v8, fa0, v16\n"
    assert _cycles_of_loop(run_regions, body) == pytest.approx(8.6)
    # A gather needs the whole group: 3 + 6.45, and 64 of its own.
    body = "vle32.v v16, (a0)\nvrgather.vv v8, v16, v24\nvadd.vv v24, v8, v8\n"
    assert _cycles_of_loop(run_regions, body) == pytest.approx(3 + 6.45 + 64)


def test_a_vector_length_from_a_register_takes_five_cycles(run_regions):
    dependent = "vsetvli t1, t1, e32, m1, ta, ma\n"
    assert _cycles_of_loop(run_regions, dependent) == pytest.approx(5)
    kept = "".join(
        f"vsetvli zero, zero, e32, m1, ta, ma\nvadd.vv v{written}, v9, v10\n"
        for written in range(12, 16)
    )
    assert _cycles_of_loop(run_regions, kept, lmul=1) == pytest.approx(4, abs=0.1)
    assert _cycles_of_loop(run_regions, dependent + "vadd.vv v8, v9, v10\n") == pytest.approx(5)


def test_arithmetic_waits_for_what_it_overwrites(run_regions):
    twice = "vadd.vv v8, v9, v10\nvadd.vv v8, v11, v12\n"
    assert _cycles_of_loop(run_regions, twice, lmul=1) == pytest.approx(8, abs=0.1)
    dependent = "vadd.vv v8, v8, v12\n"  # in groups of four: published as 5, the unit's time is 4
    assert _cycles_of_loop(run_regions, dependent, lmul=4) == pytest.approx(5, abs=0.1)


def test_scalar_code_runs_ahead_of_one_waiting_vector_instruction(run_regions):
    # The second addition waits for the first, whose result takes four cycles; the integer code
    # behind it does not wait, but a third vector instruction would.
    chain = "vadd.vv v8, v9, v10\nvadd.vv v9, v8, v10\n"
    alone = _cycles_of_loop(run_regions, chain, lmul=1)
    assert alone == pytest.approx(8)
    integer = "addi t3, t3, 1\n" * 6
    assert _cycles_of_loop(run_regions, chain + integer, lmul=1) == pytest.approx(8)


def test_reading_a_csr_waits_for_vector_work(run_regions):
    work = "vfmacc.vf v8, fa0, v16\n"  # m4: 5 cycles until it could be repeated
    read = "csrr t3, vlenb\n"
    assert _cycles_of_loop(run_regions, work) == pytest.approx(5)
    assert _cycles_of_loop(run_regions, work + read) == pytest.approx(4 + 8, abs=1)


def test_a_load_waits_until_a_vector_store_has_written_its_lines(run_regions):
    store, load = "vse32.v v8, (a0)\n", "lw t1, 1024(a0)\n"
    assert _cycles_of_loop(run_regions, store + load) >= 8.7 + 2 * 3.4
    assert _cycles_of_loop(run_regions, store) == pytest.approx(8.7)


def test_scalar_loads_issue_beside_vector_arithmetic(run_regions):
    pair = "vfmacc.vf v{d}, fa0, v16\nflw fa{f}, 0(a0)\n"
    body = "".join(pair.format(d=8 + i, f=1 + i % 4) for i in range(8))
    assert _cycles_of_loop(run_regions, body, lmul=1) == pytest.approx(8)


def test_two_scalar_instructions_issue_a_cycle_unless_they_depend(run_regions):
    independent = "addi t1, t2, 1\naddi t3, t4, 1\n"
    assert _cycles_of_loop(run_regions, independent) == pytest.approx(1)
    assert _cycles_of_loop(run_regions, "addi t1, t1, 1\naddi t1, t1, 1\n") == pytest.approx(2)


def test_a_loop_costs_a_mispredicted_branch_at_its_end(run_regions):
    loop = "li t1, {rounds}\n{label}:\naddi t1, t1, -1\nbnez t1, {label}b\n"
    short, long = run_regions(
        ("", loop.format(rounds=50, label=1)), ("", loop.format(rounds=150, label=2))
    )
    assert short.counters["branch_misses"] == long.counters["branch_misses"] == 3
    assert long.cycles - short.cycles == pytest.approx(100)


def test_each_mispredicted_branch_costs_nine_cycles(run_regions):
    # A branch that is seen for the first time is foreseen not to be taken.
    taken = "".join(f"beq zero, zero, {i}f\nnop\n{i}:\n" for i in range(10, 50))
    not_taken = taken.replace("beq", "bne")
    missed, foreseen = run_regions(("", taken + "nop\n"), ("", not_taken + "nop\n"))
    assert (missed.counters["branch_misses"], foreseen.counters["branch_misses"]) == (40, 0)
    assert missed.cycles == pytest.approx(40 * 9 + 1)
    assert foreseen.cycles == pytest.approx(40 + 0.5, abs=1)
