"""Makes FlagGems, a library of torch's operators as Triton kernels, run on CPU tensors.

FlagGems knows makers of GPUs by a list of its own. `register` adds this machine to it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from triton_rvv.activation import activate
from triton_rvv.runtime.device_interface import HostDevice

__all__ = ["register", "register_for", "register_if_new"]

VENDOR = "cpu"


def register(target: str = "host") -> None:
    """Run Triton's kernels on CPU tensors, and have FlagGems know of it; call before importing it.

    Its operators then choose from the configurations that it has for NVIDIA's GPUs.

    Args:
        target: as `triton_rvv.activate` takes it.

    Raises:
        ModuleNotFoundError: where FlagGems is not installed.
        RuntimeError: where it has been imported before.
    """
    spec = importlib.util.find_spec("flag_gems") if "flag_gems" not in sys.modules else None
    if "flag_gems" in sys.modules:
        raise RuntimeError("call triton_rvv.flag_gems.register() before flag_gems is imported")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("flag_gems is not installed", name="flag_gems")
    activate(target)
    with _unstarted(Path(spec.submodule_search_locations[0])):
        vendors = importlib.import_module("flag_gems.runtime.common").vendors
        backend = importlib.import_module("flag_gems.runtime.backend")
    known = vendors.get_all_vendors()
    vendors.get_all_vendors = lambda: {**known, VENDOR: VENDOR}
    _describe_this_machine(backend)
    os.environ["GEMS_VENDOR"] = VENDOR


def register_for(source: str) -> None:
    """Register before `source`, of a kernel, is run: where it names FlagGems and no GPU is.

    Where FlagGems is not installed, or cannot be told of this machine, `source` says so itself.
    """
    import torch

    if "flag_gems" in source and "flag_gems" not in sys.modules and not torch.cuda.is_available():
        with contextlib.suppress(ImportError):
            register()


def register_if_new(target: str) -> None:
    """Register before a program imports FlagGems, unless it has done so or there is a GPU.

    Args:
        target: as `triton_rvv.activate` takes it.
    """
    import torch

    if f"_{VENDOR}" not in sys.modules and not torch.cuda.is_available():
        register(target)


@contextlib.contextmanager
def _unstarted(folder: Path) -> Iterator[None]:
    """FlagGems without the code that looks for a GPU as the package is imported."""
    outer = {"flag_gems": folder, "flag_gems.runtime": folder / "runtime"}
    for name, path in outer.items():
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    yield
    for name in outer:
        del sys.modules[name]


def _describe_this_machine(backend: Any) -> None:
    """Fill in what FlagGems would look up in the folder of a maker."""
    vendor = ModuleType(f"_{VENDOR}", "This machine, to FlagGems")
    details = backend.backend_utils.VendorInfoBase(
        vendor_name=VENDOR, device_name="cpu", device_query_cmd=""
    )
    vars(vendor).update(vendor_info=details, CUSTOMIZED_UNUSED_OPS=(), __path__=[])
    sys.modules[vendor.__name__] = vendor
    backend.device_name = "cpu"
    backend.torch_device_object = HostDevice
    backend.vendor_extra_lib_imported = True
    backend.get_tune_config = functools.partial(_tune_config, backend.get_tune_config)
    backend.get_heuristic_config = functools.partial(_heuristics, backend.get_heuristic_config)


def _heuristics(get: Callable[[str], Any], vendor: str) -> Any:
    """Functions that choose block sizes; those for NVIDIA's GPUs ask `torch.cuda` for its size."""
    found = get(vendor)
    import torch

    asked = ModuleType("torch", "Torch, whose GPU is this machine")
    vars(asked).update(vars(torch), cuda=HostDevice)
    sys.modules["_nvidia.heuristics_config_utils"].torch = asked  # type: ignore[attr-defined]
    return found


def _tune_config(get: Callable[[str], dict[str, Any]], vendor: str) -> dict[str, Any]:
    """The configurations that each operator chooses from, by FlagGems' names for both."""
    if vendor != VENDOR:
        return get(vendor)
    return {operator: _distinct(given) for operator, given in get("nvidia").items()}


def _distinct(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Configurations without warps and stages, which mean nothing here, each of them once."""
    kept: list[dict[str, Any]] = []
    for configuration in given:
        names = configuration.get("param_map", {})
        ignored = {names.get(name, name) for name in ("num_warps", "num_stages", "num_ctas")}
        one = {
            name: value[:1] if name in ignored and isinstance(value, list) else value
            for name, value in configuration.items()
            if name not in ignored or name in names.values()
        }
        if one not in kept:
            kept.append(one)
    return kept
