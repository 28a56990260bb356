"""The host target across processes: the environment, Triton's cache, code that cannot be linked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from triton.runtime.driver import driver

from triton_rvv.codegen.llvm import generate
from triton_rvv.driver import RVVDriver
from triton_rvv.lowering.control.grid_loop import grid_loop
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.targets.host_target import host_target

# Waits for a line of input, so that several begin together.
CALL = """
import sys, numpy as np, triton
from host_calls import axpy_kernel
hits = []
triton.knobs.compilation.listener = lambda **told: hits.append(told["cache_hit"])
x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2):
    axpy_kernel[(4,)](x, x, out, 1000, 2.0, BLOCK=256)
    assert (out == 3 * x).all()
    axpy_kernel.device_caches.clear()  # so that only the folder has it
import triton_rvv
print(hits, triton_rvv.num_threads())
"""


def call_in_processes(count, cache):
    """Their outputs, where each has ended well."""
    script, here = cache.with_suffix(".py"), str(Path(__file__).parent)
    script.write_text(CALL)
    changes = {"PYTHONPATH": here, "TRITON_CACHE_DIR": str(cache), "TRITON_RVV_TARGET": "host"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env=os.environ | changes | {"TRITON_RVV_THREADS": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        outputs = []
        for process in processes:
            output, errors = process.communicate(timeout=200)
            assert process.returncode == 0, errors
            outputs.append(output)
        return outputs
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.long
def test_many_processes_share_triton_s_cache(tmp_path):
    """Two fill an empty cache at once, and find the kernel there; so the environment says.

    No other module of the back end is imported before the call: the variable alone is enough.
    """
    cache = tmp_path / "cache"
    assert all(output.endswith(" True] 3\n") for output in call_in_processes(2, cache))
    assert len(list(cache.rglob("axpy_kernel.o"))) == 1
    assert not list(cache.rglob("*.tmp*"))


def test_a_target_that_cannot_be_called(monkeypatch):
    monkeypatch.setenv("TRITON_RVV_TARGET", "rv32")
    with pytest.raises(ValueError, match=r"on 'rv32': .* in TRITON_RVV_TARGET"):
        RVVDriver.is_active()
    monkeypatch.delenv("TRITON_RVV_TARGET")
    monkeypatch.setattr(driver, "_active", None)
    assert not RVVDriver.is_active()


@pytest.mark.parametrize("text", ["two", "0", "-1", ""])
def test_a_number_of_threads_that_is_none(text):
    program = "import triton_rvv; triton_rvv.num_threads()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TRITON_RVV_THREADS": text},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    sentence = f"TRITON_RVV_THREADS is {text!r}: set it to a number of threads from 1 on"
    assert done.stderr.splitlines()[-1] == f"ValueError: {sentence}"


KERNEL = """
target triple = "{triple}"
declare float @{name}(float)
define void @triton_rvv_kernel(ptr %args, i32, i32, i32, i32, i32, i32) #0 {{
  %place = load ptr, ptr %args
  %x = load float, ptr %place
  %y = call float @{name}(float %x)
  store float %y, ptr %place
  ret void
}}
attributes #0 = {{ nounwind }}
"""


def test_functions_of_the_c_library_are_found_and_others_are_an_error(capfd):
    target = host_target()

    def load(name):
        llir = KERNEL.format(triple=target.triple, name=name) + grid_loop("triton_rvv_kernel")
        return load_object(generate(llir, target).object)

    assert load("expf").run_programs
    with pytest.raises(RuntimeError, match="Failed to materialize symbols"):
        load("no_such_function")
    assert "no_such_function" in capfd.readouterr().err
