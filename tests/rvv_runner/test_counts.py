"""What the plug-in counts: instructions by kind and LMUL, and the lines that accesses touch."""

from __future__ import annotations

import pytest

VSET = "vsetvli t0, zero, e32, m1, ta, ma"


@pytest.mark.parametrize(
    ("vtype", "counter"),
    [
        ("e8, mf8", "vector_mf8"),
        ("e8, mf4", "vector_mf4"),
        ("e16, mf2", "vector_mf2"),
        ("e32, m1", "vector_m1"),
        ("e32, m2", "vector_m2"),
        ("e64, m4", "vector_m4"),
        ("e64, m8", "vector_m8"),
    ],
)
def test_vector_instructions_are_counted_by_lmul(run_regions, vtype, counter):
    body = f"vsetvli t0, zero, {vtype}, ta, ma\nvadd.vv v8, v16, v24\nvadd.vv v8, v16, v24"
    (region,) = run_regions(("", body))
    lmuls = {name: count for name, count in region.counters.items() if name.startswith("vector_m")}
    del lmuls["vector_micro_op"]
    assert {name for name, count in lmuls.items() if count} == {counter}
    assert lmuls[counter] == region.counters["vector_inst"] == 2
    assert region.counters["instructions"] == 3


def test_micro_operations_are_the_registers_worked_through(run_regions):
    body = (
        "vsetvli t0, zero, e32, m4, ta, ma\nvadd.vv v8, v16, v24\n"
        "vsetvli t0, zero, e16, mf2, ta, ma\nvadd.vv v8, v16, v24\nvfwadd.vv v8, v16, v24"
    )
    (region,) = run_regions(("", body))
    assert region.counters["vector_micro_op"] == 4 + 1 + 1


def test_a_compressed_loop_counts_like_any_other(run_regions):
    body = (
        ".option rvc\nc.li a2, 10\nc.mv a3, a0\n"
        "1: c.lw a4, 0(a3)\nc.sw a4, 4(a3)\nc.addi a3, 8\nc.addi a2, -1\nc.bnez a2, 1b\n"
        ".option norvc"
    )
    (region,) = run_regions(("", body))
    assert region.counters["instructions"] == 2 + 10 * 5
    assert region.counters["scalar_loads"] == region.counters["scalar_stores"] == 10


# At VLEN 256 m1 holds eight elements of 32 bits; a line is 64 bytes and the buffer starts at one.
@pytest.mark.parametrize(
    ("access", "loads", "stores"),
    [
        ("vle32.v v8, (a0)", 1, 0),
        ("addi a1, a0, 48\nvle32.v v8, (a1)", 2, 0),
        ("addi a1, a0, 2\nvle16.v v8, (a1)", 1, 0),
        ("li t1, 64\nvlse32.v v8, (a0), t1", 8, 0),
        ("li t1, 128\nvsse32.v v8, (a0), t1", 0, 8),
        ("li t1, 0\nvlse32.v v8, (a0), t1", 1, 0),
        ("li t1, 0x0f\nvmv.s.x v0, t1\nli t1, 64\nvlse32.v v8, (a0), t1, v0.t", 4, 0),
        ("vmv.v.i v0, 0\nvle32.v v8, (a0), v0.t", 0, 0),
        ("vid.v v8\nvsll.vi v8, v8, 6\nvluxei32.v v16, (a0), v8", 8, 0),
        ("vid.v v8\nvsll.vi v8, v8, 6\nvsuxei32.v v16, (a0), v8", 0, 8),
        ("vlseg4e32.v v8, (a0)", 2, 0),
        ("vsseg2e32.v v8, (a0)", 0, 1),
        ("vsetvli t0, zero, e32, m4, ta, ma\nvse32.v v8, (a0)", 0, 2),
        ("vsetvli t0, zero, e32, mf2, ta, ma\nvle32.v v8, (a0)", 1, 0),
        ("vl4re32.v v8, (a0)", 2, 0),
        ("vs8r.v v8, (a0)", 0, 4),
        ("lw t1, 62(a0)", 2, 0),
        ("ld t1, 0(a0)\nsd t1, 8(a0)", 1, 1),
        ("amoadd.w t1, t2, (a0)", 0, 1),
    ],
)
def test_an_access_counts_the_lines_it_touches(run_regions, access, loads, stores):
    (region,) = run_regions((VSET, access))
    assert region.counters["l1d_load_access"] == loads
    assert region.counters["l1d_access"] - region.counters["l1d_load_access"] == stores


def test_whole_register_accesses_are_counted_as_spills(run_regions):
    (region,) = run_regions((VSET, "vs2r.v v8, (a0)\nvl2re32.v v8, (a0)\nvl1r.v v8, (a0)"))
    assert region.counters["whole_register_stores"] == 1
    assert region.counters["whole_register_loads"] == 2
    assert region.counters["vector_m2"] == 2


def test_vsetvl_takes_the_type_from_a_register(run_regions):
    vtype_e32_m4 = 0xD2
    body = f"li t1, {vtype_e32_m4}\nvsetvl t0, zero, t1\nvadd.vv v8, v16, v24"
    (region,) = run_regions((VSET, body))
    assert region.unresolved == {}
    assert region.counters["vector_m4"] == 1
    assert region.counters["vector_m1"] == 0


def test_a_type_that_cannot_be_known_is_reported(run_regions):
    (region,) = run_regions((f"{VSET}\ncsrr t1, vtype", "vsetvl t0, zero, t1\nvadd.vv v8, v8, v8"))
    assert region.unresolved == {"unknown_vector_type": 1}


def test_the_type_set_before_a_region_holds_in_it(run_regions):
    (region,) = run_regions(("vsetvli t0, zero, e32, m8, ta, ma", "vadd.vv v8, v16, v24"))
    assert region.unresolved == {}
    assert region.counters["vector_m8"] == 1
