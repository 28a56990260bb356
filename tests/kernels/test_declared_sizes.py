"""What a kernel's source declares is what its import gives; mistakes get the same sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.errors import UserError
from kernels.own.declared_sizes import sizes_of_file, sizes_of_spec
from kernels.registry import check_declared, kernel_names, load_kernel, make_problem

FOLDER = Path(__file__).parents[2] / "kernels"
OWN = """
import torch, triton
import triton.language as tl

LEAST = 4

@triton.jit
def {kernel}(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < N), mask=offsets < N)

configs = [{{"BLOCK": 16}}]

def {maker}(N, M=3, K=LEAST, *, dtype=torch.float32, config=None):
    x = torch.zeros(N, dtype=dtype)
    return {{"x_ptr": x, "y_ptr": torch.empty_like(x), "N": N}}

def grid(N, config):
    return (triton.cdiv(N, config["BLOCK"]),)
"""


@pytest.mark.parametrize("name", kernel_names())
def test_the_source_of_a_kernel_declares_its_sizes(name):
    declared, spec = sizes_of_spec(FOLDER / f"{name}.py", name), load_kernel(name)
    assert declared is not None
    assert declared.kernel == spec.name
    assert list(declared.default_shape.items()) == list(spec.default_shape.items())
    assert declared.dtypes == spec.dtypes


@pytest.mark.parametrize(
    ("kernel", "maker"), [("copy_kernel", "arguments"), ("copy_kernel", "copy_arguments")]
)
@pytest.mark.parametrize("shape", [{}, {"n": 4}, {"N": 0}, {"N": 2**31}])
def test_mistakes_get_the_sentence_that_an_import_gives(tmp_path, kernel, maker, shape):
    path = tmp_path / "own.py"
    path.write_text(OWN.format(kernel=kernel, maker=maker))
    with pytest.raises(UserError) as early:
        check_declared(str(path), shape)
    with pytest.raises(UserError) as late:
        make_problem(load_kernel(str(path)), shape)
    assert str(early.value) == str(late.value)
    check_declared(str(path), {"N": 8})


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import SPEC",
        "import triton\n@triton.jit\ndef a(): ...\n@triton.jit\ndef b(): ...\n"
        "def arguments(N): ...\n",
        "import triton\n@triton.jit\ndef a(): ...\ndef arguments(**sizes): ...\n",
    ],
)
def test_what_a_file_does_not_show_is_left_to_its_import(tmp_path, text):
    path = tmp_path / "own.py"
    path.write_text(text)
    assert sizes_of_file(path, None) is None
    check_declared(str(path), {"anything": -1})


def test_what_is_no_python_is_refused_at_once(tmp_path):
    path = tmp_path / "own.py"
    path.write_text("def f(:")
    with pytest.raises(UserError, match="cannot be imported: SyntaxError: invalid syntax"):
        sizes_of_file(path, None)


@pytest.mark.parametrize(
    ("given", "said"), [("bfloat", "did you mean bfloat16"), ("bf61", "did you mean bf16")]
)
def test_an_unknown_element_type_is_refused_before_imports(tmp_path, given, said):
    path = tmp_path / "copy.py"
    path.write_text(OWN.format(kernel="copy_kernel", maker="arguments"))
    with pytest.raises(UserError, match=rf"copy does not take {given}: {said}"):
        check_declared(str(path), {"N": 3}, given)
    check_declared(str(path), {"N": 3}, "bfloat16")
