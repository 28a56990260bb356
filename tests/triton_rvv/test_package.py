"""The package by itself: what it imports, what Triton sees of it, and that it is deterministic."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import triton_rvv
from kernels.registry import load_kernel
from triton_rvv import RVVTarget, compile_kernel

PACKAGE = Path(triton_rvv.__file__).parent
REST_OF_THE_PROJECT = {"engine", "kernels", "launchers", "rvv_runner", "search_spaces"}
TIMEOUT_S = 200


def imported_by(path):
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            imported.add((node.module or "").partition(".")[0])
    return imported


def test_imports_nothing_of_the_rest():
    paths = [*PACKAGE.rglob("*.py")]
    assert len(paths) > 200
    assert [path for path in paths if imported_by(path) & REST_OF_THE_PROJECT] == []


def python(code, folder, **environment):
    """What a fresh interpreter prints, started in `folder`."""
    done = subprocess.run(
        [sys.executable, *code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_triton_finds_the_back_end(tmp_path):
    code = "import triton, triton.backends as b; print(b.backends['rvv'].compiler.__module__)"
    assert python(["-c", code], tmp_path) == "triton_rvv.compiler"


def test_importing_the_package_first(tmp_path):
    code = "import triton_rvv, triton; print(triton_rvv.compile_kernel.__name__)"
    assert python(["-c", code], tmp_path) == "compile_kernel"


SCRIPT = """
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def scale_kernel(x_ptr, factor, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * factor)


if __name__ == "__main__":
    signature = {"x_ptr": "*fp32", "factor": "fp32"}
    own = compile_kernel(scale_kernel, signature, {"N": 64}, RVVTarget(vlen_bits=512)).object
    source = ASTSource(scale_kernel, {**signature, "N": "constexpr"}, {"N": 64})
    by_triton = triton.compile(source, target=GPUTarget("rvv", "generic-rv64", 512))
    print(own[:4] == b"\\x7fELF", by_triton.asm["o"][:4] == b"\\x7fELF")
    print(sorted(set(sys.modules) & {"engine", "launchers", "kernels", "rvv_runner"}))
"""


def test_plain_script(tmp_path):
    script = tmp_path / "plain_script.py"
    script.write_text(SCRIPT)
    cache = str(tmp_path / "cache")
    assert python([str(script)], tmp_path, TRITON_CACHE_DIR=cache) == "True True\n[]"


MATMUL_SIGNATURE = {
    **dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp32"),
    **dict.fromkeys(("M", "N", "K", "stride_am", "stride_ak", "stride_bk"), "i32"),
    **dict.fromkeys(("stride_bn", "stride_cm", "stride_cn"), "i32"),
}
MATMUL_BLOCK = {"BLOCK_SIZE_M": 4, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 8, "GROUP_SIZE_M": 8}


def matmul_digest():
    kernel = load_kernel("matmul").kernel
    known = {"K": 256, "stride_bn": 1, "stride_ak": 1, "stride_cn": 1}
    compiled = compile_kernel(kernel, MATMUL_SIGNATURE, MATMUL_BLOCK, RVVTarget(), known)
    texts = (compiled.ttir, compiled.llir, compiled.assembly)
    return hashlib.sha256(compiled.object + "".join(texts).encode()).hexdigest()


@pytest.mark.long
def test_same_object_twice_in_one_process():
    assert matmul_digest() == matmul_digest()


@pytest.mark.usefixtures("faster_order")
def test_same_object_whatever_the_hash_seed(tmp_path):
    code = "from test_package import matmul_digest; print(matmul_digest())"
    folders = [str(Path(__file__).parent), str(PACKAGE.parent), os.environ["PYTHONPATH"]]
    path = os.pathsep.join(folders)
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    digest = python(["-c", code], tmp_path, PYTHONHASHSEED=seed, PYTHONPATH=path)
    assert digest == matmul_digest()
