"""Random state as torch keeps it for a GPU: the seed and the offset of a Philox generator."""

from __future__ import annotations

from typing import Any

__all__ = ["HostGenerator", "HostGenerators"]


class HostGenerator:
    """A generator whose state is a seed and an offset, for kernels that draw with `tl.rand`.

    Torch's own generator for the CPU (a Mersenne twister) has no such state. Each state read is a
    fresh seed drawn from it, so that `torch.manual_seed` decides on what kernels draw; a state that
    was set, or a seed, stays until the next `torch.manual_seed`.
    """

    def __init__(self) -> None:
        self._drawn = 0
        self._chosen: Any = None
        self._torch_seed = 0

    def get_state(self) -> Any:
        """The state: a `uint8` tensor of 16 bytes, an `int64` seed and an `int64` offset."""
        import torch

        if self._chosen is not None and torch.initial_seed() == self._torch_seed:
            return self._chosen.clone()
        self._chosen = None
        self._drawn = int(torch.randint(1 << 62, ()))
        return torch.tensor([self._drawn, 0], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: Any) -> None:
        """Go on from `state`; a drawn one that only moved forward is drawn anew next time."""
        import torch

        if self._chosen is None and int(state.view(torch.int64)[0]) == self._drawn:
            return
        self._chosen = state.clone()
        self._torch_seed = torch.initial_seed()

    def manual_seed(self, seed: int) -> HostGenerator:
        """Start anew from `seed`."""
        import torch

        self.set_state(torch.tensor([seed, 0], dtype=torch.int64).view(torch.uint8))
        return self

    def initial_seed(self) -> int:
        """The seed that the next state has, or torch's where it will be drawn."""
        import torch

        if self._chosen is None:
            return torch.initial_seed()
        return int(self._chosen.view(torch.int64)[0])


class HostGenerators:
    """`torch.cuda.default_generators`: one, by whatever number or name it is asked for."""

    def __init__(self) -> None:
        self._only = HostGenerator()

    def __getitem__(self, device: object) -> HostGenerator:
        return self._only

    def __len__(self) -> int:
        return 1
