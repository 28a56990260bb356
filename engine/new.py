"""Write the file of a new kernel, ready to tune: python -m engine.new NAME"""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Sequence
from pathlib import Path

from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.errors import UserError

__all__ = ["main"]

_PROG = "engine.new"
_DESCRIPTION = "Writes NAME.py with a working kernel for you to change."
_EPILOG = "Exit status: 0 if the file was written, 2 for a mistake."

_SKELETON = '''"""A vector plus a multiple of another: put a kernel of your own in its place."""

import torch
import triton
import triton.language as tl


# Called like the file, with the ending "_kernel".
@triton.jit
def NAME_kernel(x_ptr, y_ptr, output_ptr, factor, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, factor * x + y, mask=mask)


# What may be tried. The first is the default, which every speed-up is against.
def get_NAME_kernel_autotune_config():
    return [triton.Config({"BLOCK_SIZE": size}) for size in (1024, 16, 64, 256, 4096)]


# The value of each parameter of the kernel, by its name. The sizes that this function takes are
# what --shape gives, and its defaults are the default shape. Random numbers start from a fixed
# seed, and torch.empty is filled with NaN, so that nothing passes that the kernel did not write.
def arguments(N=65536, dtype=torch.float32):
    return {
        "x_ptr": torch.randn(N).to(dtype),
        "y_ptr": torch.randn(N).to(dtype),
        "output_ptr": torch.empty(N, dtype=dtype),
        "factor": 2.5,
        "n_elements": N,
    }


# How many programs are run; meta holds the configuration, the sizes and the arguments.
def grid(meta):
    return (triton.cdiv(meta["n_elements"], meta["BLOCK_SIZE"]),)


# What the outputs should hold. It takes those of the kernel's parameters and sizes that it needs.
# Without it, outputs are compared with what Triton's interpreter computes, which takes longer.
def reference(x_ptr, y_ptr, factor):
    return {"output_ptr": factor * x_ptr + y_ptr}
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
    print(f"{path} is ready; tune it with: python -m engine.tune {path}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "name",
        metavar="NAME",
        type=_identifier,
        help="name of the kernel and its file, such as axpy",
    )
    return parser.parse(argv)


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text} is not a valid name for a Python function")
    return text


if __name__ == "__main__":
    run_command(main, _PROG)
