"""Write the file of a new kernel, ready to tune: python -m engine.new NAME"""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.errors import UserError
from foundation.printing import say
from foundation.programs import python_command

__all__ = ["main"]

_PROG = "engine.new"
_DESCRIPTION = "Writes NAME.py with a working kernel for you to change."
_EPILOG = "Exit status: 0 if the file was written, 2 for a mistake."

_SKELETON = '''"""A matrix times a vector: put a kernel of your own in its place."""

import torch
import triton
import triton.language as tl


# Any name will do if it is the only kernel in the file.
@triton.jit
def NAME_kernel(a_ptr, x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        mask = (rows[:, None] < M) & (columns < N)
        a = tl.load(a_ptr + rows[:, None] * N + columns, mask=mask, other=0.0)
        x = tl.load(x_ptr + columns, mask=columns < N, other=0.0)
        total += tl.sum(a.to(tl.float32) * x.to(tl.float32), axis=1)
    tl.store(y_ptr + rows, total, mask=rows < M)


# The search space. The first configuration is the default, which speed-ups are relative to.
def get_NAME_kernel_autotune_config():
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n})
        for m in (16, 1, 4, 8, 64)
        for n in (16, 32, 64, 128, 256)
    ]


# The value of each of the kernel's parameters, by name. --shape sets the sizes that this function
# takes; their defaults are the default shape. It is called twice, for the check and for the timed
# runs, with different random numbers and different contents of torch.empty.
def arguments(M=256, N=1000, dtype=torch.float32):
    return {
        "a_ptr": torch.randn(M, N).to(dtype),
        "x_ptr": torch.randn(N).to(dtype),
        "y_ptr": torch.empty(M, dtype=dtype),
        "M": M,
        "N": N,
    }


# How many programs to launch; meta holds the configuration, the sizes and the arguments.
def grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]),)


# What the outputs should hold, from whichever of the kernel's parameters and sizes it needs.
# Without it, outputs are compared with what Triton's interpreter computes, which takes longer.
def reference(a_ptr, x_ptr):
    return {"y_ptr": a_ptr.float() @ x_ptr.float()}
'''


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a name that is not an identifier, and a file that already exists.
    """
    name = _parse(argv).name
    path = Path(f"{name}.py")
    try:
        with path.open("x") as file:
            file.write(_SKELETON.replace("NAME", name))
    except FileExistsError:
        raise UserError(f"{path} already exists: give another name") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    say(f"{path} is ready; tune it with: {python_command('engine.tune')} {path}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "name",
        metavar="NAME",
        type=_identifier,
        help="name of the kernel and its file, such as matvec",
    )
    return parser.parse(argv)


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(
            f"{text} cannot name a function: use A to Z, a to z, 0 to 9 and _, not a Python word"
        )
    if _hides_a_module(text):
        raise argparse.ArgumentTypeError(
            f"{text}.py would hide the module {text} from every command run in this folder: "
            "choose another name"
        )
    return text


def _hides_a_module(name: str) -> bool:
    """Whether something else than a file of this folder is imported by this name."""
    if name in sys.stdlib_module_names:
        return True
    elsewhere = [entry for entry in sys.path if Path(entry).resolve() != Path.cwd()]
    return importlib.machinery.PathFinder.find_spec(name, elsewhere) is not None


if __name__ == "__main__":
    run_command(main, _PROG)
