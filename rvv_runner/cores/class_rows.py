"""Which instructions stand for each class of the cost table, as `decode_vector.c` sorts them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ARITHMETIC", "MEMORY", "OF_ONE_REGISTER", "SCALAR", "ClassRows"]


@dataclass(frozen=True)
class ClassRows:
    """The instructions whose cost is that of a class.

    Args:
        mnemonics: a regular expression for the whole mnemonic.
        fields: of a segment, if the class has its cost for each field.
    """

    mnemonics: str
    fields: int = 1

    def takes(self, mnemonic: str) -> bool:
        """Whether the instruction stands for the class."""
        return re.fullmatch(self.mnemonics, mnemonic) is not None


# Forms with a scalar operand are left out: on some cores their rows show the way between the
# register files rather than the unit.
ARITHMETIC: Mapping[str, ClassRows] = {
    "v_int": ClassRows(r"v(add|sub|minu?|maxu?)\.vv"),
    "v_logic": ClassRows(r"v(and|or|xor)\.vv|vmerge\.vvm"),
    "v_shift": ClassRows(r"v(sll|srl|sra)\.vv"),
    "v_multiply": ClassRows(r"v(mul|mulh|macc|madd)\.vv"),
    "v_divide": ClassRows(r"v(div|divu|rem)\.vv"),
    "v_compare": ClassRows(r"vms(eq|ne|lt|le)\.vv"),
    "v_fp": ClassRows(r"vf(add|sub|mul|min|max)\.vv"),
    "v_fma": ClassRows(r"vfmacc\.vv"),
    "v_fp_slow": ClassRows(r"vfsgnjn?\.vv|vfcvt\.(x\.f|f\.x)\.v"),
    "v_fp_compare": ClassRows(r"vmf(eq|lt|le)\.vv"),
    "v_fp_divide": ClassRows(r"vfdiv\.vv"),
    "v_fp_sqrt": ClassRows(r"vfsqrt\.v"),
    "v_reduce": ClassRows(r"vred(sum|max|min)\.vs"),
    "v_fp_reduce": ClassRows(r"vfred(u?sum|max|min)\.vs"),
    "v_fp_reduce_ordered": ClassRows(r"vfredosum\.vs"),
    "v_slide_up": ClassRows(r"vslideup\.vi|vslide1up\.vx|vrgather\.vi|vid\.v"),
    "v_slide_down": ClassRows(r"vslidedown\.vx|vslide1down\.vx"),
    "v_gather": ClassRows(r"vrgather\.vv"),
    "v_compress": ClassRows(r"vcompress\.vm"),
    "v_mask": ClassRows(r"vm(and|or|xor|nand)\.mm"),
    "v_mask_set": ClassRows(r"vms[bio]f\.m"),
    "v_mask_count": ClassRows(r"v(cpop|first)\.m"),
    "v_to_scalar": ClassRows(r"vmv\.x\.s"),
    "v_scalar_move": ClassRows(r"vmv\.s\.x|vfmv\.s\.f|vfmv\.f\.s"),
}

# Classes that read and write one register at any LMUL. rvv-bench has fewer of them under way, the
# longer the groups: its longer columns show the latency, as a core waits for what it overwrites.
OF_ONE_REGISTER = frozenset({"v_mask_set", "v_to_scalar", "v_scalar_move"})

# "{eew}" stands for the width of the elements in memory.
MEMORY: Mapping[str, ClassRows] = {
    "v_load": ClassRows(r"vle{eew}\.v"),
    "v_store": ClassRows(r"vse{eew}\.v"),
    "v_load_first_fault": ClassRows(r"vle{eew}ff\.v"),
    "v_load_mask": ClassRows(r"vlm\.v"),
    "v_store_mask": ClassRows(r"vsm\.v"),
    "v_load_strided": ClassRows(r"vlse{eew}\.v"),
    "v_store_strided": ClassRows(r"vsse{eew}\.v"),
    "v_load_indexed": ClassRows(r"vluxei{eew}\.v"),
    "v_store_indexed": ClassRows(r"vsuxei{eew}\.v"),
    **{f"v_load_segment{n}": ClassRows(rf"vlseg{n}e{{eew}}\.v") for n in (2, 3, 4)},
    **{f"v_store_segment{n}": ClassRows(rf"vsseg{n}e{{eew}}\.v") for n in (2, 3, 4)},
    "v_load_segment_many": ClassRows(r"vlseg6e{eew}\.v", fields=6),
    "v_store_segment_many": ClassRows(r"vsseg6e{eew}\.v", fields=6),
    **{f"v_load_strided_segment{n}": ClassRows(rf"vlsseg{n}e{{eew}}\.v") for n in (2, 3, 4)},
    **{f"v_store_strided_segment{n}": ClassRows(rf"vssseg{n}e{{eew}}\.v") for n in (2, 3, 4)},
}

SCALAR: Mapping[str, ClassRows] = {"alu": ClassRows("add"), "multiply": ClassRows("mul")}
