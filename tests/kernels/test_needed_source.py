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
from triton.runtime.jit import JITFunction

from foundation.errors import UserError
from kernels.captured.kernel_source import loaded_kernel
from kernels.captured.needed_source import NotFoundError, needed_part
from kernels.captured.task import Kernel
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


def made(tmp_path: Path, text: str, name: str = "LAST", **files: str) -> Any:
    """A name of a module, and of modules beside it."""
    for other, source in files.items():
        (tmp_path / f"{other}.py").write_text(source)
    module = needed_part(
        *(text, name),
        file=tmp_path / "first.py",
        module="first",
        package="",
        roots=(tmp_path,),
        known={},
        may_run=lambda statement: True,
    )
    return getattr(module, name)


def test_values_are_those_of_the_whole_module(tmp_path):
    texts = [
        "A = 2\nA = A * 3\nLAST = A",
        "import math as A\nLAST = A.floor(2.5)\nimport math as A",
        "A = {}\nA['x'] = 3\nA.update(y=4)\nLAST = sorted(A.items())",
        "from math import *\nLAST = (lambda: int(ceil(1.5)) + pow(2, 1) / 1)()",
        "try:\n    import not_there\nexcept ImportError:\n    not_there = None\nLAST = not_there",
        "class Sizes:\n    a = 1\n    b = a + 1\nLAST = Sizes.b",
    ]
    for text in texts:
        whole: dict[str, Any] = {}
        exec(text, whole)
        assert made(tmp_path, text) == whole["LAST"], text


def test_of_what_a_package_has_for_a_missing_triton_the_kernel_needs_nothing(tmp_path):
    kept = {
        "kept": "import framework\n"
        "if framework.has_triton():\n    import triton\n    from triton import language as tl\n"
        "    shim = framework.shim()\n"
        "else:\n    triton = tl = shim = None",
    }
    text = "from kept import tl, triton\nLAST = tl, triton.__name__"
    assert made(tmp_path, text, **kept) == (language, "triton")
    kept["listed"] = (
        "from kept import triton\n@triton.autotune(configs=framework.list(), key=[])\n@triton.jit\n"
        "def doubled(x):\n    pass"
    )
    assert isinstance(made(tmp_path, "from listed import doubled as LAST", **kept), JITFunction)
    with pytest.raises(NameError, match="framework"):
        made(tmp_path, "from kept import shim as LAST", **kept)


def test_names_come_through_stars_that_lead_in_a_circle(tmp_path):
    stars = {"left": "from right import *\nLEFT = 1", "right": "from left import *\nRIGHT = 2"}
    assert made(tmp_path, "from left import *\nLAST = LEFT + RIGHT", **stars) == 3
    with pytest.raises(NotFoundError, match="absent"):
        made(tmp_path, "from left import *\ndef LAST(): return absent", **stars)


@pytest.mark.parametrize(
    "text",
    [
        "A = {'x': 1}\nA['x'] = framework.size()\nLAST = A",
        "A = 1\nLAST = A\nA = 2",
        "A = 1\nLAST = A\nimport math as A",
        "A = [1]\nLAST = len(A)\nA.append(2)",
        "import framework\ntry:\n    LAST = framework.size()\nexcept Exception:\n    LAST = 1",
    ],
)
def test_what_depends_on_more_than_the_needed_statements_is_an_error(tmp_path, text):
    with pytest.raises((NotFoundError, NameError)):
        made(tmp_path, text)


CHOOSING = """
import triton
import triton.language as tl
try:
    from .sizes import ALIGNED_TO
except ImportError:
    ALIGNED_TO = 1

@triton.heuristics({"EVEN": lambda args: args["n"] % ALIGNED_TO == 0})
@triton.jit
def doubled(x, n, EVEN: tl.constexpr):
    tl.store(x, 2 * tl.load(x))
"""


def test_a_module_that_tries_an_import_finds_its_own_package(tmp_path):
    folder = tmp_path / "choosing_package"
    folder.mkdir()
    texts = {"__init__.py": "", "sizes.py": "ALIGNED_TO = 16\n", "kernels.py": CHOOSING}
    for name, text in texts.items():
        (folder / name).write_text(text)
    digest = kernel_digest(made(tmp_path, CHOOSING, "doubled").fn)
    place = ("choosing_package.kernels", "doubled", str(folder / "kernels.py"))
    kernel = Kernel(*place, line=11, digest=digest, source="", package=folder.name)
    found = loaded_kernel(kernel, ("EVEN",), whole=False)
    assert not found.heuristics["EVEN"]({"n": 1000})
    assert found.heuristics["EVEN"]({"n": 1024})


@pytest.mark.parametrize("module", ["lacking", "__main__"])
def test_a_kernel_that_needs_what_is_not_here_is_told_from_a_changed_one(tmp_path, module):
    text = CHOOSING.replace(".sizes", "not_here").replace("except ImportError", "except OSError")
    path = tmp_path / "lacking.py"
    path.write_text(text)
    kernel = Kernel(module, "doubled", str(path), 11, "0" * 16, source="", module_source=text)
    with pytest.raises(UserError, match=r"or needs what .* \(ModuleNotFoundError: .*'not_here'"):
        loaded_kernel(kernel, (), whole=False)
