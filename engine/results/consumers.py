"""The programs that studies are tuned for: what their kernels take, and which files they read.

vLLM's kernels and SGLang's, which come from them, lack some of what is tuned here. A search for
one of them (`--for`) and an export to it ask the same `Consumer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.results.sglang_files import sglang_file
from engine.results.vllm_files import EXPERTS, SCALED_PRODUCT, unusable, vllm_file_name
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import Shape
from search_spaces.registry import kernels_in_space

__all__ = ["CONSUMERS", "Consumer", "consumer_named"]

_SPACE = "vllm"  # the search space that holds only what both programs' kernels can run


@dataclass(frozen=True)
class Consumer:
    """A program that reads tuned configurations for kernels of its own, on GPUs.

    Args:
        option: its name on the command line, and that of its export format.
        name: as it writes itself.
        product_types: element types of `SCALED_PRODUCT` whose configurations it reads.
        file: the path of the file below its folder, from the kernel, the GPU's name, the element
            type, the shape and the version of Triton; None where it reads none for the type.
    """

    option: str
    name: str
    product_types: tuple[str, ...]
    file: Callable[[str, str, str, Shape, str], Path | None]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels whose configurations it reads."""
        return (EXPERTS, SCALED_PRODUCT)

    def lacks(self, config: Config) -> str:
        """What its kernel cannot do of a configuration, such as "NUM_KSPLIT=4"; "" if nothing."""
        return unusable(config)

    def space_name(self, kernel: str) -> str:
        """The search space that holds only what its kernel can run; "" for the kernel's own."""
        return _SPACE if kernel in kernels_in_space(_SPACE) else ""

    def dtype(self, kernel: str, given: str | None) -> str | None:
        """The element type to tune in, as the kernel's problem takes it.

        Args:
            kernel: one of `kernels`.
            given: by the user; None for the first that the consumer reads.

        Raises:
            UserError: for a type that it does not read.
        """
        if kernel != SCALED_PRODUCT:
            return given
        if given is not None and given not in self.product_types:
            raise UserError(self.unread(kernel, given))
        return given or self.product_types[0]

    def unread(self, kernel: str, dtype: str) -> str:
        """That it reads no configurations of a kernel in this element type, and what to change."""
        return (
            f"{self.name} reads configurations of {kernel} in "
            f"{' and '.join(self.product_types)} only, not in {dtype}: tune it with --dtype "
            + " or ".join(self.product_types)
        )


def _vllm_file(kernel: str, device: str, dtype: str, shape: Shape, _triton: str) -> Path | None:
    name = vllm_file_name(kernel, device, dtype, shape)
    return None if name is None else Path(name)


CONSUMERS: Sequence[Consumer] = (
    Consumer("vllm", "vLLM", ("fp8e4nv",), _vllm_file),
    Consumer("sglang", "SGLang", ("fp8e4nv", "i8"), sglang_file),
)


def consumer_named(option: str) -> Consumer:
    """The consumer of that name on the command line; there is one."""
    return next(consumer for consumer in CONSUMERS if consumer.option == option)
