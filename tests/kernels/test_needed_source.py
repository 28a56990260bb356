"""What a kernel needs of its module, found without importing the package."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from triton import language

from kernels.captured.needed_source import NotFoundError, needed_part
from kernels.own.other_kernels import other_kernels_run
from triton_rvv.launches.source import kernel_digest

FILES = {
    "__init__.py": "raise ImportError('a framework that is not installed')\n",
    "decorators.py": "def counted(kernel): raise RuntimeError('called')\n",
    "sizes.py": "import framework\nfrom .more import *\nBLOCK = 64 if 'x' else framework.size()\n",
    "more.py": "import triton.language as tl\nSHIFT = tl.constexpr(3)\n",
    "activations.py": """
import triton
import triton.language as tl
from heavy.sizes import SHIFT

@triton.jit
def shifted(x):
    return x + SHIFT

def unused(): return framework.anything()
""",
    "operators.py": """
from __future__ import annotations
import framework
import triton
import triton.language as tl
from triton import jit
from heavy import activations as act
from .decorators import counted
from heavy.sizes import BLOCK

WIDE: tl.constexpr = tl.constexpr(2 * BLOCK)
LISTED = [framework.config(BLOCK)]
if BLOCK > 32:
    SIGN = tl.constexpr(-1.0)
else:
    SIGN = framework.sign()
CHOSEN = framework.choose()

@counted
@triton.autotune(configs=LISTED, key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % BLOCK == 0})
@jit
def operator(x, out, n, EVEN: tl.constexpr, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    value = act.shifted(tl.load(x + at, mask=at < n)) * SIGN + CHOSEN + WIDE
    tl.store(out + at, value, mask=at < n)

@triton.jit
def other(x, EVEN: tl.constexpr):
    framework.load(x)
""",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "heavy"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def part(package: Path, name: str, **options: Any) -> ModuleType:
    file = package / "operators.py"
    given: dict[str, Any] = {
        "known": {"CHOSEN": language.constexpr(5)},
        "may_run": lambda statement: True,
    }
    return needed_part(
        *(file.read_text(), name),
        file=file,
        module="heavy.operators",
        package="heavy",
        roots=(package.parent,),
        **{**given, **options},
    )


def test_a_kernel_is_made_without_its_package(package):
    module = part(package, "operator")
    assert not {"heavy", "heavy.operators", "framework"} & set(sys.modules)
    kernel = module.operator
    assert kernel.values["EVEN"]({"n": 128})
    assert not kernel.values["EVEN"]({"n": 100})
    x, out = torch.arange(4.0), torch.empty(4)
    with other_kernels_run():
        kernel.fn[(1,)](x, out, 4, EVEN=False, SIZE=4)
    assert out.tolist() == [-3 - n + 5 + 128 for n in range(4)]
    before = kernel_digest(kernel.fn)
    (package / "more.py").write_text("import triton.language as tl\nSHIFT = tl.constexpr(4)\n")
    assert kernel_digest(part(package, "operator").operator.fn) != before


def test_what_is_missing_or_may_not_run_is_an_error(package):
    with pytest.raises(NameError, match="framework"):
        part(package, "operator", known={})
    with pytest.raises(NotFoundError, match="nothing"):
        part(package, "nothing")
    with pytest.raises(NotFoundError, match="SIGN"):
        part(package, "operator", may_run=lambda statement: "SIGN =" not in ast.unparse(statement))
