"""What a user's file launches at any sizes, found by running its functions with symbols."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
import torch
import triton
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental import _config as symbolic_shapes_config
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
)

from foundation.c_expressions import power_above
from foundation.config import Config
from foundation.errors import UserError
from kernels.own.kernel_file import KernelFile
from kernels.own.launch import Launch, descriptors_of, tensor_of
from kernels.traced.formulas import Formula
from kernels.values import TORCH_TYPES

__all__ = ["TracedArray", "TracedLaunch", "traced_launch"]

_TYPES = {torch_type: name for name, torch_type in TORCH_TYPES.items()}
_SYMBOLIC = (torch.SymInt, torch.SymBool)


@dataclass(frozen=True)
class TracedArray:
    """A tensor as rows of elements that are next to each other in memory.

    Args:
        dtype: Triton's name of the element type.
        shape: its sizes, in the order of memory.
        stride: elements from the start of a row to the start of the next.
        same_as: the parameter before it that has the same tensor; "" if there is none.
    """

    dtype: str
    shape: tuple[Formula, ...]
    stride: Formula
    same_as: str = ""


@dataclass(frozen=True)
class TracedLaunch:
    """A launch, as far as conditions hold.

    Args:
        sizes: names of the sizes that the file's function takes.
        arrays: by parameter, in the kernel's order.
        integers: by parameter; formulas, or what the file gives whatever the sizes, True and
            False among it.
        floats: by parameter, what the file gives, in words.
        constants: of parameters that are compiled in: formulas, or any other value.
        grid: programs along x, y and z.
        conditions: formulas that are not 0 where all of this holds.
    """

    sizes: tuple[str, ...]
    arrays: Mapping[str, TracedArray]
    integers: Mapping[str, Formula | int]
    floats: Mapping[str, str]
    constants: Mapping[str, Any]
    grid: tuple[Formula, ...]
    conditions: tuple[Formula, ...]

    def elements(self, sizes: Mapping[str, int]) -> int:
        """Of all arrays together."""
        shapes = [array.shape for array in self.arrays.values() if not array.same_as]
        return sum(math.prod(size.at(sizes) for size in shape) for shape in shapes)


def traced_launch(
    file: KernelFile, shape: Mapping[str, int], dtype: str, config: Config
) -> TracedLaunch:
    """What a file launches at sizes that stand for any.

    Args:
        file: the user's.
        shape: sizes for which each decision is taken as the file takes it.
        dtype: Triton's name of the element type.
        config: the configuration.

    Raises:
        UserError: if a function of the file fails, or what it does has no equal in C.
    """
    if Launch(file, shape, dtype, config).is_hooked:
        raise UserError(
            f"{file.path}: a pre_hook runs before {file.function.__name__}, and a C function has "
            "the kernel alone: let the kernel do what it does"
        )
    # Sizes that stand for any are compared only where the file's functions compare them.
    with symbolic_shapes_config.patch(backed_size_oblivious=True):  # type: ignore[attr-defined] # torch adds it
        tracer = _Tracer(file, shape)
        launch = Launch(file, tracer.sizes, dtype, config)
        with (
            # Tensors that the file made when it was imported are as good as others.
            FakeTensorMode(shape_env=tracer.environment, allow_non_fake_inputs=True),
            tracer.functions_replaced(),
            _contents_unknown(file),
        ):
            given = launch.unhooked()
            _refuse_descriptors(file, given)
            values = {name: tensor_of(value) for name, value in given.items()}
            constants = {**launch.constants(values), **config}
            programs = launch.programs(values)
        return tracer.launch(values, constants, programs)


def _refuse_descriptors(file: KernelFile, given: Mapping[str, Any]) -> None:
    for name in descriptors_of(given):
        raise UserError(
            f"{file.path}: {name} is a tensor descriptor, and a C function passes pointers: give "
            "the kernel the tensor and its sizes"
        )


@contextlib.contextmanager
def _contents_unknown(file: KernelFile) -> Iterator[None]:
    """Within the block, a decision by what a tensor holds is a mistake of one sentence."""
    try:
        yield
    except UserError as error:
        cause = error.__cause__
        if not isinstance(cause, GuardOnDataDependentSymNode | DataDependentOutputException):
            raise
        raise UserError(
            f"{file.path}: what {file.maker().__name__} passes, or how many programs run, depends "
            "on what a tensor holds, and a C function has only the sizes: take it as a size"
        ) from error


class _Tracer:
    """The symbols of one trace, and what their formulas mean."""

    def __init__(self, file: KernelFile, shape: Mapping[str, int]) -> None:
        self._file = file
        self.environment = ShapeEnv(specialize_zero_one=False, duck_shape=False)
        self._names: dict[Any, str] = {}
        self._powers: dict[Any, Formula] = {}
        self._nodes: dict[Any, Any] = {}
        self._values: dict[Any, Any] = {}
        self._conditions: list[Any] = []
        self.sizes: dict[str, Any] = {}
        for name, size in shape.items():
            symbol, self.sizes[name] = self._symbol(name, size)
            self._names[symbol] = name

    def _symbol(self, name: str, value: int) -> tuple[Any, Any]:
        # It comes with all of torch._dynamo, a second of every process that exports a library.
        from torch._dynamo.source import ConstantSource

        source = ConstantSource(name)
        symbol = self.environment.create_symbol(
            value, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None, positive=True
        )
        self._values[symbol] = sympy.Integer(value)
        return symbol, self.environment.create_symintnode(symbol, hint=value, source=source)

    @contextlib.contextmanager
    def functions_replaced(self) -> Iterator[None]:
        """Within the block, Triton's next_power_of_2 takes sizes that stand for any."""
        before = triton.next_power_of_2
        own = vars(self._file.module)
        places = [vars(triton), *([own] if own.get("next_power_of_2") is before else [])]
        for place in places:
            place["next_power_of_2"] = self._power_above
        try:
            yield
        finally:
            for place in places:
                place["next_power_of_2"] = before

    def _power_above(self, size: Any) -> Any:
        if not isinstance(size, torch.SymInt):
            return power_above(int(size))
        inner = self._formula(size)
        for symbol, known in self._powers.items():
            if known.expression == inner.expression:
                return self._nodes[symbol]
        hint = max(1, int(power_above(size.node.hint)))
        symbol, node = self._symbol(f"next_power_of_2_{len(self._powers)}", hint)
        self._powers[symbol], self._nodes[symbol] = inner, node
        return node

    def launch(
        self, values: Mapping[str, Any], constants: Mapping[str, Any], programs: Any
    ) -> TracedLaunch:
        """What was found, in formulas."""
        passed = {name: value for name, value in values.items() if name not in constants}
        tensors = {n: v for n, v in passed.items() if isinstance(v, torch.Tensor)}
        numbers = {n: v for n, v in passed.items() if n not in tensors}
        is_float = {n: isinstance(v, float | torch.SymFloat) for n, v in numbers.items()}
        grid = programs if isinstance(programs, tuple | list) else (programs,)
        arrays = self._arrays(tensors)
        guards = [guard.expr for guard in self.environment.guards] + self._conditions
        return TracedLaunch(
            tuple(self.sizes),
            arrays,
            {n: self._number(v) for n, v in numbers.items() if not is_float[n]},
            {n: self._in_words(v) for n, v in numbers.items() if is_float[n]},
            {name: self._constant(name, value) for name, value in constants.items()},
            tuple(self._formula(size) for size in (*grid, 1, 1)[:3]),
            tuple(self._of_expression(guard) for guard in dict.fromkeys(guards)),
        )

    def _constant(self, name: str, value: Any) -> Any:
        if isinstance(value, torch.SymFloat):
            raise UserError(
                f"{self._file.path}: the constant {name} is {self._in_words(value)}, and a C "
                "function has code for whole numbers only: pass it at run time"
            )
        if isinstance(value, tuple | list) and any(isinstance(one, _SYMBOLIC) for one in value):
            raise UserError(
                f"{self._file.path}: the constant {name} is several numbers that follow from "
                "sizes: give the kernel one parameter for each"
            )
        return self._formula(value) if isinstance(value, _SYMBOLIC) else value

    def _number(self, value: Any) -> Formula | int:
        return self._formula(value) if isinstance(value, _SYMBOLIC) else value

    def _in_words(self, value: Any) -> str:
        if not isinstance(value, torch.SymFloat):
            return repr(value)
        return str(self._of_expression(value.node.expr).in_words())

    def _formula(self, value: Any) -> Formula:
        is_symbolic = isinstance(value, _SYMBOLIC)
        return self._of_expression(value.node.expr if is_symbolic else sympy.Integer(value))

    def _of_expression(self, expression: sympy.Basic) -> Formula:
        return Formula(expression, self._names, self._powers)

    def _arrays(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, TracedArray]:
        arrays: dict[str, TracedArray] = {}
        for name, tensor in tensors.items():
            sharing = [n for n in arrays if _memory(tensors[n]) == _memory(tensor)]
            same = [n for n in sharing if _layout(tensors[n]) == _layout(tensor)]
            if sharing and not same:
                raise UserError(
                    f"{self._file.path}: {name} and {sharing[0]} are different parts of one "
                    "tensor, and a C function takes arrays that share no memory: give the kernel "
                    "tensors of their own"
                )
            shape, stride = self._rows(name, tensor)
            arrays[name] = TracedArray(self._type(name, tensor), shape, stride, *same[:1])
        return arrays

    def _type(self, name: str, tensor: torch.Tensor) -> str:
        found = _TYPES.get(tensor.dtype, "i1")
        if found == "i1":
            raise UserError(
                f"{self._file.path}: {name} is a tensor of {tensor.dtype}, which C functions have "
                "no type for: pass it as another one, such as torch.uint8"
            )
        return found

    def _rows(self, name: str, tensor: torch.Tensor) -> tuple[tuple[Formula, ...], Formula]:
        """The sizes of a tensor in the order of memory, and how far its rows are apart."""
        steps = [_expression(step) for step in tensor.stride()]
        sizes = [self._unclamped(_expression(size)) for size in tensor.shape]
        hints = [_hint(step) for step in tensor.stride()]
        order = sorted(range(len(sizes)), key=lambda d: (-hints[d], d))
        sizes, steps = [sizes[d] for d in order], [steps[d] for d in order]
        row = sizes[-1] if sizes else sympy.Integer(1)
        stride = steps[-2] if len(steps) > 1 else row
        expected, step = [sympy.Integer(1)], stride
        for size in reversed(sizes[1:-1]):
            expected.append(step)
            step = step * size
        expected += [step] if len(sizes) > 1 else []
        if any(s != e for s, e in zip(reversed(steps), expected, strict=False)):
            raise UserError(
                f"{self._file.path}: {name} has the sizes {tuple(tensor.shape)} and strides "
                f"{tensor.stride()}, and a C function takes rows that are equally far apart: "
                "make it contiguous"
            )
        shape = tuple(self._of_expression(size) for size in sizes or [sympy.Integer(1)])
        return shape, self._of_expression(stride)

    def _unclamped(self, size: sympy.Basic) -> sympy.Basic:
        """A size where slices lie within their tensors, which is then a condition."""
        for least in [part for part in sympy.preorder_traversal(size) if _is(part, "Min")]:
            chosen = min(least.args, key=self._value)
            self._conditions += [chosen <= other for other in least.args if other != chosen]
            size = size.xreplace({least: chosen})
        return size

    def _value(self, expression: sympy.Basic) -> int:
        """What a formula is at the shape that is traced."""
        return int(expression.xreplace(self._values))


def _expression(value: Any) -> sympy.Basic:
    """Of a size or a stride of a tensor: torch keeps strides of empty ones from being 0."""
    found = value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(value)
    return found.xreplace(
        {p: _without_one(p) for p in sympy.preorder_traversal(found) if _is(p, "Max")}
    )


def _is(part: sympy.Basic, function: str) -> bool:
    return type(part).__name__ == function


def _without_one(part: sympy.Basic) -> sympy.Basic:
    others = [operand for operand in part.args if operand != 1]
    return others[0] if len(others) == 1 else part


def _hint(value: Any) -> int:
    return int(value.node.hint if isinstance(value, torch.SymInt) else value)


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _layout(tensor: torch.Tensor) -> tuple[str, ...]:
    numbers = (tensor.storage_offset(), *tensor.shape, *tensor.stride())
    return (str(tensor.dtype), *(str(_expression(number)) for number in numbers))
