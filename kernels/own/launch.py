"""One launch of a user's kernel: the value of each parameter, the grid, the expected outputs."""

from __future__ import annotations

import contextlib
import inspect
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from foundation.strides import copied
from kernels.own.accesses import accesses_of
from kernels.own.caught_launch import caught_launch, refused_launch
from kernels.own.changed_inputs import Change, changed
from kernels.own.entries import entry_of, first_entry
from kernels.own.kernel_file import KernelFile
from kernels.own.module import call_by_name, mistakes_of
from kernels.own.other_kernels import other_kernels_run
from kernels.own.reference_outputs import checked_outputs
from kernels.own.seeded import seeded
from kernels.own.uninitialised import filled_uninitialised
from kernels.spec import Grid
from kernels.values import TORCH_TYPES, current_data_set

__all__ = ["Launch", "descriptors_of", "tensor_of"]

# Numbers that stand for any, while torch traces the file's functions.
_TRACED = torch.SymInt | torch.SymFloat | torch.SymBool


@dataclass(frozen=True)
class Launch:
    """A kernel at one shape, element type and configuration.

    Args:
        file: the kernel and its functions.
        shape: sizes by name.
        dtype: Triton's name of the element type.
        config: the tuned parameters.
        changes: of tensors, by parameter, for the check: its inputs tell more then.
    """

    file: KernelFile
    shape: Mapping[str, int]
    dtype: str
    config: Config
    changes: Mapping[str, Change] = field(default_factory=dict)

    def values(self, fill: int | None = None) -> dict[str, Any]:
        """Tensors, numbers and None by parameter, in the kernel's order; the same in every process.

        The random seed is that of the data set. Of a `TensorDescriptor`, it is the tensor.

        Args:
            fill: what uninitialised memory holds, as in `filled_uninitialised`; None for the data
                set's own.

        Raises:
            UserError: for a parameter without a value, or a descriptor of a tensor that is not
                contiguous.
        """
        return self.values_of(self.given(fill))

    def values_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors of what `given` gave; those of the check's data set have their changes."""
        values = {name: tensor_of(value) for name, value in given.items()}
        return changed(values, self.changes) if current_data_set() == 0 else values

    def given(self, fill: int | None = None) -> dict[str, Any]:
        """The same as the file gives them, unchanged; the blocks of descriptors may be of any
        configuration.

        Raises:
            UserError: like `values`.
        """
        # What a hook does to contents, such as to clear them, it does in every configuration.
        return self._hooked(self.unhooked(fill), first_entry(self.file, self._known()))

    def descriptors(self) -> dict[str, TensorDescriptor]:
        """The parameters that are tensor descriptors, with the blocks of this configuration.

        Raises:
            UserError: like `values`.
        """
        given = self._hooked(self.unhooked(), entry_of(self.file, self._known(), self.config))
        return descriptors_of(given)

    @property
    def kept_inputs(self) -> frozenset[str]:
        """Names of the inputs that the check leaves as the file makes them."""
        return self.file.kept_inputs

    @property
    def is_hooked(self) -> bool:
        """Whether a `pre_hook` of its `triton.Config` runs before the kernel."""
        entry = entry_of(self.file, self._known(), self.config)
        return entry is not None and entry.pre_hook is not None

    def _hooked(self, given: dict[str, Any], entry: Any) -> dict[str, Any]:
        """The values after the pre_hook of a `triton.Config`, which may set descriptors' blocks."""
        if entry is not None and entry.pre_hook is not None:
            with mistakes_of(self.file.path, "fails in pre_hook"):
                entry.pre_hook({**given, **entry.all_kwargs()})
        return given

    def unhooked(self, fill: int | None = None) -> dict[str, Any]:
        """What the file's `arguments` returns or its `call` launches, in the kernel's order, before
        any `pre_hook`."""
        with self._same_each_time(fill):
            given = self._made()
        self._check(given)
        names = self.file.function.arg_names
        return {name: _without_gradient(given[name]) for name in names if name in given}

    @contextlib.contextmanager
    def _same_each_time(self, fill: int | None = None) -> Iterator[None]:
        """Within the block, the file's functions draw and find what they do in every process: how
        many programs run has to follow from the same numbers as the tensors."""
        seed = current_data_set()
        with seeded(seed), filled_uninitialised(seed if fill is None else fill):
            yield

    def _made(self) -> Any:
        make = self.file.maker()
        if make is self.file.optional("call"):
            return caught_launch(self.file, make, self._known()).given
        with other_kernels_run():
            return call_by_name(self.file.path, make, self._known())

    def constants(self, values: Mapping[str, Any]) -> dict[str, ParameterValue | None]:
        """Values of the constexpr parameters that are not in the configuration, and None of every
        parameter whose value it is: Triton compiles a missing pointer as a constant.

        Raises:
            UserError: for a parameter without a value.
        """
        every = {**values, **self.config}
        for name, function in self.file.heuristics.items():
            with mistakes_of(self.file.path, f"fails in the heuristic of {name}"):
                every[name] = function(every)
        constants: dict[str, ParameterValue | None] = {
            name: None for name, value in values.items() if value is None
        }
        for parameter in self.file.function.params:
            if not parameter.is_constexpr or parameter.name in self.config:
                continue
            if parameter.name not in every and not parameter.has_default:
                raise UserError(
                    f"{self.file.path}: {parameter.name} of {self.file.function.__name__} has no "
                    f"value: add it to the configurations, or let {self.file.maker().__name__} "
                    "give it"
                )
            constants[parameter.name] = every.get(parameter.name, parameter.default)
        return constants

    def grid(self, values: Mapping[str, Any]) -> Grid:
        """Programs along x, y and z.

        Raises:
            UserError: if `grid` does not return one to three positive integers.
        """
        sizes = self.programs(values)
        found = tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)
        whole = all(isinstance(size, int) and size > 0 for size in found)
        if not whole or not 1 <= len(found) <= 3:
            raise UserError(
                f"{self.file.path}: grid must return one to three positive integers, not "
                f"{reprlib.repr(sizes)}"
            )
        x, y, z = (*found, 1, 1)[:3]
        return (x, y, z)

    def programs(self, values: Mapping[str, Any]) -> Any:
        """What the file says of the number of programs, as it says it."""
        meta = {**self.shape, **values, **self.constants(values), **self.config}
        with self._same_each_time():
            made = self._grid()
            with mistakes_of(self.file.path, "fails in grid"):
                return made(meta) if callable(made) else made

    def _grid(self) -> Any:
        """The file's function `grid`, or what its `call` launches."""
        call, function = self.file.optional("call"), self.file.optional("grid")
        if function is None and call is not None:
            return caught_launch(self.file, call, self._known()).grid
        return self.file.required("grid", "which gives the number of programs")

    @property
    def has_fixed_grid(self) -> bool:
        """Whether `call` launches numbers of programs that no configuration can change."""
        call = self.file.optional("call")
        takes_one = call is not None and "config" in inspect.signature(call).parameters
        with self._same_each_time():
            return not takes_one and not callable(self._grid())

    def reference(self, values: Mapping[str, Any]) -> dict[str, torch.Tensor | None] | None:
        """Expected contents of the outputs as the file's reference gives them, in any type, or as
        it leaves its copies of what the kernel writes, too, and None of those that are not checked;
        None if there is no reference.

        The random seed is that of the data set, so a reference that draws numbers of its own
        gives the same ones each time.

        Raises:
            UserError: if it does not return a tensor of the right shape for each output it names,
                or launches the kernel.
        """
        function = self.file.optional("reference")
        if function is None:
            return None
        copies = {n: copied(v) if isinstance(v, torch.Tensor) else v for n, v in values.items()}
        versions = {n: c._version for n, c in copies.items() if isinstance(c, torch.Tensor)}
        with refused_launch(self.file), seeded(current_data_set()):
            expected = call_by_name(self.file.path, function, {**self._known(), **copies})
        said = checked_outputs(self.file.path, self.file.maker().__name__, expected, values)
        updated = {n: copies[n] for n, before in versions.items() if copies[n]._version != before}
        if updated.keys() <= said.keys():
            return said
        written = accesses_of(self).written
        return {**{n: copy for n, copy in updated.items() if n in written}, **said}

    def _known(self) -> dict[str, Any]:
        """The values that the file's functions may take, by name."""
        return {**self.shape, "dtype": TORCH_TYPES[self.dtype], "config": self.config}

    def _check(self, given: object) -> None:
        path, function = self.file.path, self.file.function
        if not isinstance(given, Mapping):
            raise UserError(f"{path}: arguments must return a dictionary by parameter name")
        for name in given:
            if name not in function.arg_names:
                raise UserError(f"{path}: {function.__name__} has no parameter {name}")
        for parameter in function.params:
            name = parameter.name
            if parameter.is_constexpr:
                continue
            if name not in given:
                raise UserError(f"{path}: {self.file.maker().__name__} gives no value for {name}")
            value = tensor_of(given[name])
            if getattr(given[name], "round_f32_to_tf32", False):
                raise UserError(f"{path}: {name} has round_f32_to_tf32, which is not supported")
            if not isinstance(value, torch.Tensor | int | float | _TRACED | None):
                raise UserError(
                    f"{path}: {name} is neither a tensor nor a number nor None: {value!r}"
                )
            if isinstance(given[name], TensorDescriptor) and not given[name].base.is_contiguous():
                raise UserError(f"{path}: {name} is not contiguous: use {name}.contiguous()")


def _without_gradient(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def descriptors_of(given: Mapping[str, Any]) -> dict[str, TensorDescriptor]:
    """Those of some values that are tensor descriptors."""
    return {name: value for name, value in given.items() if isinstance(value, TensorDescriptor)}


def tensor_of(value: Any) -> Any:
    """The tensor of a tensor descriptor, or of a package's wrapper around one; any other value as
    it is.

    Triton takes a pointer from whatever has a method data_ptr.
    """
    if isinstance(value, TensorDescriptor):
        return value.base
    if isinstance(value, torch.Tensor) or not callable(getattr(value, "data_ptr", None)):
        return value
    held = [tensor for tensor in vars(value).values() if isinstance(tensor, torch.Tensor)]
    same = (tensor for tensor in held if tensor.data_ptr() == value.data_ptr())
    found = next(same, None)
    return value if found is None else found.detach().view(value.dtype)
