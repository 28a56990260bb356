"""Finds a kernel in a Python file, compiles it, and writes every text on its way."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triton_rvv.targets.target import Target
from triton_rvv.targets.target_names import named_target

__all__ = ["Mistake", "compile_to_files", "read_target"]

_INTEGERS = {f"{sign}{bits}" for sign in "iu" for bits in (1, 8, 16, 32, 64)}
_FLOATS_8 = {"fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16", "fp8e4b15"}
_TYPES = _INTEGERS | _FLOATS_8 | {"fp16", "bf16", "fp32", "fp64"}


class Mistake(Exception):
    """Something in the command that has to be changed; the message is one sentence."""


def compile_to_files(
    file: Path,
    kernel: str,
    signature: str,
    constants: str,
    target: Target,
    out: Path,
    disjoint_arguments: bool = False,
    print_after: Sequence[str] = (),
    print_changed: bool = False,
    skipped_passes: Sequence[str] = (),
) -> list[Path]:
    """Compile a kernel and write it as `KERNEL.ttir`, `.llir`, `.s` and `.o`.

    Args:
        file: Python source with the kernel.
        kernel: name of the `@triton.jit` function.
        signature: Triton's types of the arguments that are no constants, in order, with commas.
        constants: "NAME=VALUE" with commas; Python literals, or names in `tl` such as tl.float32.
        target: what code is made for.
        out: the folder, made where it is missing.
        disjoint_arguments: as in `triton_rvv.compile_kernel`.
        print_after: passes after which the IR is printed.
        print_changed: whether what each pass changes is printed.
        skipped_passes: passes that do not run, and rules that are not followed.

    Raises:
        Mistake: where something in the command has to be changed.
        CompileError: where the kernel does not compile.
    """
    from triton_rvv.pass_printer import PassPrinter
    from triton_rvv.pipeline import compile_kernel

    _check_passes(print_after, skipped_passes)
    printer = PassPrinter(print_after, print_changed, print)
    function = _find_kernel(file, kernel)
    defaults = {
        param.name: param.default
        for param in function.params
        if param.is_constexpr and param.has_default
    }
    values = defaults | _read_constants(constants, function.arg_names)
    types = _read_signature(signature, function, values)
    compiled = compile_kernel(
        function,
        types,
        values,
        target,
        source_lines=True,
        disjoint_arguments=disjoint_arguments,
        watch=printer if print_after or print_changed else None,
        skipped_passes=skipped_passes,
    )
    contents = {
        f"{kernel}.ttir": compiled.ttir.encode(),
        f"{kernel}.llir": compiled.llir.encode(),
        f"{kernel}.s": compiled.assembly.encode(),
        f"{kernel}.o": compiled.object,
    }
    return _written(out, contents)


def _check_passes(print_after: Sequence[str], skipped_passes: Sequence[str]) -> None:
    from triton_rvv.pass_printer import printed_names, skipped_names

    for names, valid in ((print_after, printed_names()), (skipped_passes, skipped_names())):
        for name in names:
            if name not in valid:
                raise Mistake(f"there is no pass {name}: {_nearest(name, valid)}")


def _written(out: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """The paths of files in a folder, once they are written."""
    paths = [out / name for name in contents]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_bytes(content)
    except OSError as error:
        raise Mistake(f"{out} cannot be written to ({error}): give another with --out") from error
    return paths


def read_target(name: str) -> Target:
    """The target that a name stands for.

    Args:
        name: "host", "rvv256" for any core of that vector length, or a core or a profile, with
            another vector length after a colon where wanted: "x60", "rva23:128".

    Raises:
        Mistake: for any other name.
    """
    try:
        return named_target(name)
    except ValueError as error:
        raise Mistake(str(error)) from None


def _find_kernel(file: Path, name: str) -> Any:
    from triton.runtime import JITFunction

    module = _load(file)
    kernels = {}
    for key, value in vars(module).items():
        while not isinstance(value, JITFunction) and hasattr(value, "fn"):
            value = value.fn  # noqa: PLW2901 # tuned and heuristic kernels wrap the kernel itself
        if isinstance(value, JITFunction):
            kernels[key] = value
    if name not in kernels:
        raise Mistake(f"{file} has no kernel {name}: {_nearest(name, kernels)}")
    return kernels[name]


def _load(file: Path) -> Any:
    if not file.is_file():
        raise Mistake(f"there is no file {file}: give the path of the kernel's source")
    if file.suffix != ".py":
        raise Mistake(f"{file} is not a Python file: give the path of the kernel's source")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.resolve().parent))  # as where Python runs the file itself
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the file's author has written
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise Mistake(f"{file} cannot be imported ({what}): mend it, or run it to see") from error
    return module


def _read_constants(text: str, names: Sequence[str]) -> dict[str, object]:
    values = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise Mistake(f"the constant {item} has no value: write it as NAME=VALUE")
        if name not in names:
            raise Mistake(f"the kernel has no argument {name}: {_nearest(name, names)}")
        values[name] = _read_value(name, value)
    return values


def _read_value(name: str, text: str) -> object:
    import triton.language as tl

    if text.startswith("tl.") and hasattr(tl, text[3:]):
        return getattr(tl, text[3:])
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise Mistake(
            f"the value {text} of {name} cannot be read: write a Python literal, or tl.NAME"
        ) from None


def _read_signature(text: str, function: Any, constants: Mapping[str, object]) -> dict[str, str]:
    missing = [
        param.name
        for param in function.params
        if param.is_constexpr and param.name not in constants
    ]
    if missing:
        raise Mistake(f"--constants lacks a value for {', '.join(missing)}: write NAME=VALUE")
    passed = [name for name in function.arg_names if name not in constants]
    types = [item.strip() for item in text.split(",") if item.strip()]
    for type_ in types:
        if type_.removeprefix("*") not in _TYPES:
            star = "*" if type_.startswith("*") else ""
            valid = [star + name for name in _TYPES]
            raise Mistake(f"there is no type {type_}: {_nearest(type_, valid)}")
    if len(types) != len(passed):
        raise Mistake(
            f"the signature has {len(types)} types and the kernel takes {len(passed)} arguments "
            f"({', '.join(passed)}): give one type for each, or add arguments to --constants"
        )
    return dict(zip(passed, types, strict=True))


def _nearest(word: str, valid: Iterable[str]) -> str:
    """The valid names nearest to `word`, to end a sentence; all of them where none is near."""
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"choose one of {', '.join(names)}" if names else "it has none at all"
