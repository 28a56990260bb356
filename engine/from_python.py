"""Tune from Python with the command's arguments: `engine.tune("matmul", shape={"M": 256})`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from engine.arguments.consumer import consumer_option, for_consumer
from engine.arguments.options import objective_names, sampler_name
from engine.arguments.problem import device_names, kernel_name, on_default_cores, shape_type
from engine.run.request import (
    DEFAULT_TRIALS,
    SearchOptions,
    StudyOptions,
    TuningRequest,
    WorkOptions,
)
from engine.study.location import DEFAULT_STORAGE
from engine.study.objectives import Robust
from engine.workers.devices import boards_by_kind, on_cores, timed
from foundation.command_line import (
    host_and_port,
    natural_number,
    one_of,
    positive_integer,
    positive_number,
)
from foundation.errors import UserError, nearest
from foundation.notebooks import in_notebook
from foundation.shapes import Shape
from gpu_runner.names import TIMINGS, Timing
from rvv_runner.board import BoardError
from rvv_runner.devices import DEFAULT_DEVICE
from search_spaces.registry import space_names

if TYPE_CHECKING:
    from engine.results.shown import ShownResult
    from engine.run.events import Listener

__all__ = ["CallableModule", "tune"]

_T = TypeVar("_T")


def tune(
    kernel: str | Path,
    *,
    shape: Mapping[str, int] | None = None,
    shapes: Sequence[Mapping[str, int]] | None = None,
    dtype: str | None = None,
    device: str = DEFAULT_DEVICE,
    timing: Timing | None = None,
    cores: int | None = None,
    space: str = "",
    consumer: Literal["vllm", "sglang"] | None = None,
    sampler: str = "auto",
    trials: int | None = None,
    until: Literal["converged"] | None = None,
    timeout: float | None = None,
    seed: int = 0,
    storage: str = DEFAULT_STORAGE,
    study: str | None = None,
    objective: Literal["time_s", "time_s,code_bytes"] = "time_s",
    no_history: bool = False,
    robust: Robust | None = None,
    jobs: int | None = None,
    ray_address: str | None = None,
    progress: Listener | None = None,
) -> ShownResult:
    """Tune a kernel, or resume its study, as `python -m engine.tune` does.

    Ctrl-C ends the run early and returns the best so far; a second one is a KeyboardInterrupt.

    Args:
        kernel: a registered name, or the path of a Python file.
        shape: sizes by name; those left out keep the kernel's default.
        shapes: in place of `shape`: one study of several shapes, for the configuration with the
            lowest geometric-mean time over all of them.
        dtype: element type; None for the kernel's first.
        device: the board, or several of one kind, separated by commas.
        space: on a GPU, the name of another tuner's search space: "aiter", "tune_gemm", "vllm".
        consumer: on a GPU, the program to tune for, as --for: search only what its kernel can run,
            in an element type that it reads.
        timing: how kernels are timed: "cold", "warm", or on a GPU "graph"; None for cold on a GPU
            and warm on a processor.
        cores: of the board that run the kernel at once; None for one.
        sampler: how configurations are proposed.
        trials: configurations to try in the study, earlier runs included; None for 50, or with
            `until` for every valid one.
        until: "converged" stops when the surrogate predicts no further improvement.
        timeout: start no new trials after this many seconds.
        seed: of the sampler.
        storage: a journal file or an Optuna storage URL.
        study: its name; None for one made from the problem.
        objective: what to minimise: "time_s", or "time_s,code_bytes" for time and code size.
        no_history: start a new study without a warm start.
        robust: on an emulated board, what to minimise: "mean", "worst" or "off", as --robust.
        jobs: parallel builds; None for one per core.
        ray_address: HOST:PORT of a Ray cluster to build on.
        progress: called with each event of `engine.run.events`. None shows a live line in a
            notebook and if stderr is a terminal, and nothing otherwise.

    Raises:
        UserError: for a mistake in the arguments, in one sentence.
        BoardError: if the board cannot be used.
    """
    name = kernel_name(str(kernel))
    devices = _devices(name, device, timing, cores, ray_address)
    space = _checked("space", one_of("search space", space_names), space) if space else ""
    if consumer is not None:
        dtype, space = for_consumer(consumer_option(consumer), name, dtype, space, devices)
    request = TuningRequest(
        kernel=name,
        shapes=_shapes(shape, shapes),
        dtype=dtype,
        devices=devices,
        space=space,
        search=SearchOptions(
            sampler=sampler_name(sampler),
            trials=_trials(trials, until),
            timeout_s=_optional("timeout", positive_number, timeout),
            seed=_checked("seed", natural_number, seed),
            until_converged=until is not None,
        ),
        study=StudyOptions(
            str(storage),
            study,
            not no_history,
            _checked("objective", objective_names, objective),
            None if robust is None else _checked("robust", _robust_mode, robust),
        ),
        work=_work(jobs, ray_address),
    )
    _check_objectives(request)
    # Ray, Triton and Optuna take seconds to import: mistakes do not wait for them.
    from engine.results.shown import shown
    from engine.run.tuning import tune as run

    with _listeners(progress) as listeners:
        return shown(run(request, listeners, owns_process=False))


class CallableModule(ModuleType):
    """Makes `engine.tune` both the module of `python -m engine.tune` and a function.

    Importing a submodule sets it as the package's attribute, so the first `import engine.tune`
    would hide a function of that name. A callable module works however it is imported.
    """

    def __call__(self, kernel: str | Path, **arguments: Any) -> ShownResult:
        """See `engine.from_python.tune`, which has the arguments with their types."""
        known = inspect.signature(tune).parameters
        unknown = next((name for name in arguments if name not in known), None)
        if unknown is not None:
            raise UserError(f"engine.tune takes no {unknown}: {nearest(unknown, known)}")
        return tune(kernel, **arguments)

    @property
    def __signature__(self) -> inspect.Signature:  # notebooks complete arguments from it
        return inspect.signature(tune)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return importlib.import_module, (self.__name__,)


def _shapes(
    shape: Mapping[str, int] | None, shapes: Sequence[Mapping[str, int]] | None
) -> tuple[Shape, ...]:
    if shapes is None:
        return (_shape({} if shape is None else shape),)
    if shape is not None:
        raise UserError("shape and shapes are both given: leave one of them out")
    if not shapes:
        raise UserError("shapes is empty: give at least one shape, such as {'M': 256}")
    return tuple(_shape(sizes) for sizes in shapes)


def _shape(sizes: Mapping[str, int]) -> Shape:
    if not isinstance(sizes, Mapping):
        raise UserError(
            f"the shape {sizes!r} is not a mapping: write it like {{'M': 256, 'N': 512}}"
        )
    text = ",".join(f"{name}={size}" for name, size in sizes.items())
    return _checked("shape", shape_type, text) if text else {}


def _devices(
    kernel: str, device: str, timing: Timing | None, cores: int | None, ray_address: str | None
) -> Sequence[str]:
    try:
        names = device_names(device)
    except BoardError as error:  # an unknown name
        raise UserError(str(error)) from None
    if timing is not None:
        one_of("way of timing", lambda: list(TIMINGS))(timing)
        names = tuple(timed(name, timing) for name in names)
    count = _optional("cores", positive_integer, cores)
    if count is None:
        names = on_default_cores(names, kernel)
    else:
        names = tuple(on_cores(name, count) for name in names)
    kinds = boards_by_kind(names, ray_address) if len(names) > 1 else {}
    if len(kinds) > 1:
        listed = "; ".join(f"{kind}: {', '.join(of_kind)}" for kind, of_kind in kinds.items())
        raise UserError(
            f"the boards are of different kinds ({listed}), whose times cannot be compared: "
            "name boards of one kind"
        )
    return names


def _trials(trials: int | None, until: str | None) -> int | None:
    if until is not None:
        one_of("way to end", lambda: ["converged"])(until)
    given = _optional("trials", positive_integer, trials)
    return DEFAULT_TRIALS if given is None and until is None else given


def _work(jobs: int | None, ray_address: str | None) -> WorkOptions:
    address = _optional("ray_address", host_and_port, ray_address)
    count = _optional("jobs", positive_integer, jobs)
    return WorkOptions(ray_address=address) if count is None else WorkOptions(count, address)


def _check_objectives(request: TuningRequest) -> None:
    """Refuse several objectives together with options that minimise the time alone."""
    if len(request.study.objectives) == 1:
        return
    from engine.search.samplers.registry import sampler_named

    sampler_named(request.search.sampler, len(request.study.objectives))
    if request.search.until_converged or len(request.shapes) > 1:
        raise UserError("until and shapes minimise the time alone: leave out them or objective")


def _optional(name: str, parse: Callable[[str], _T], value: object) -> _T | None:
    return None if value is None else _checked(name, parse, value)


def _checked(name: str, parse: Callable[[str], _T], value: object) -> _T:
    """Parse the value as the command does, so that both refuse the same values."""
    try:
        return parse(str(value))
    except argparse.ArgumentTypeError as error:
        raise UserError(f"{name}: {error}") from None


def _robust_mode(text: str) -> Robust:
    return cast(Robust, one_of("value of robust", lambda: list(get_args(Robust)))(text))


@contextlib.contextmanager
def _listeners(progress: Listener | None) -> Iterator[list[Listener]]:
    if progress is not None:
        yield [progress]
        return
    if in_notebook():
        from engine.results.notebook_progress import NotebookProgress

        shown = NotebookProgress()
        try:
            yield [shown]
        finally:
            shown.stop()
        return
    if not sys.stderr.isatty():
        yield []
        return
    from engine.results.progress import progress_on

    with progress_on(sys.stderr) as live:
        yield [live]
