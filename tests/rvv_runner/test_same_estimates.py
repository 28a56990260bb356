"""Estimates that may not change unnoticed, since studies hold them and are compared with new ones.

They are the same with QEMU 7.2, which says nothing of registers, and 10, which does.

If this fails, a change to the model changed estimates. If it was meant to, give MODEL_VERSION in
rvv_runner/emulated/plugin.py another value, so that new studies start, and put
the new figures here.
"""

from __future__ import annotations

from rvv_runner.emulated.plugin import MODEL_VERSION

# Loads and stores through all levels, dependent and independent arithmetic, reductions, gathers,
# strides, segments, masks, mispredicted branches, a length from a register, prefetches, spills.
LOOP = "li t0, {count}\n1:\n{body}\naddi t0, t0, -1\nbnez t0, 1b"
START = """
.option arch, +zicbop
vsetvli t1, x0, e32, m2, ta, ma
li t3, 4096
mv t2, a0
vid.v v8
vmv.v.i v0, 5
"""
REGIONS = {
    "streams": "vle32.v v8, (t2)\nvfadd.vv v8, v8, v8\nvse32.v v8, (t2)\naddi t2, t2, 64",
    "strides": "vlse32.v v8, (t2), t3\nvadd.vi v10, v8, 3\nvsse32.v v10, (t2), t3\naddi t2, t2, 4",
    "gathers": "vrgather.vv v16, v12, v8\nvluxei32.v v20, (a0), v8\nvcompress.vm v24, v16, v0",
    "sums": "vfmacc.vv v12, v8, v8\nvfredusum.vs v20, v12, v20\nvfmv.f.s fa0, v20\nfneg.s fa1, fa0",
    "segments": "vlseg2e32.v v8, (t2)\nvsseg2e32.v v8, (t2)\naddi t2, t2, 128",
    "masks": "vmslt.vx v0, v8, t0\nvadd.vi v12, v8, 1, v0.t\nvcpop.m t4, v0\nvse8.v v8, (t2), v0.t",
    "branches": "mul t4, t0, t3\nxor t4, t4, t0\nandi t4, t4, 9\nbeqz t4, 2f\ndiv t5, t3, t0\n2:",
    "lengths": "andi t4, t0, 7\nvsetvli t4, t4, e16, mf2, ta, ma\nvle16.v v8, (t2)\nadd t2, t2, t4",
    "prefetches": "ld t4, 0(t2)\nli t3, 4096\nadd t2, t2, t3\nprefetch.r 0(t2)\nsd t4, 64(t2)\n"
    "csrr t5, vlenb",
    "spills": "vs2r.v v8, (t2)\nvl2re32.v v10, (t2)\nvfmul.vv v10, v10, v8\nflw fa0, 8(t2)",
}
COUNT = 800
_ESTIMATES = {
    "streams": 11718.0,
    "strides": 740195.56,
    "gathers": 20835.0,
    "sums": 22428.0,
    "segments": 40487.0,
    "masks": 9627.0,
    "branches": 12025.0,
    "lengths": 5629.0,
    "prefetches": 100153.74,
    "spills": 7291.4,
}
_VERSION = "e2b85d174f6c903a"


def test_the_estimates_are_those_of_this_model_version(run_regions):
    programs = [(START, LOOP.format(count=COUNT, body=body)) for body in REGIONS.values()]
    found = {
        name: region.raw["cycles"]
        for name, region in zip(REGIONS, run_regions(*programs), strict=True)
    }
    assert (MODEL_VERSION, found) == (_VERSION, _ESTIMATES)
