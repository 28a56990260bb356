"""Puts a watcher between a program and the launches of its Triton kernels."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection
from typing import Any, Protocol

from triton_rvv.launches.decorators import has_configurations
from triton_rvv.launches.generated import loaded_kernel
from triton_rvv.launches.in_place import given_back, updated_tensors
from triton_rvv.launches.launch import InductorLaunch, Launch
from triton_rvv.launches.timing import REPEATS, Repeats

__all__ = ["Watcher", "intercept", "with_constants"]


class Watcher(Protocol):
    """What is told of launches before they are made."""

    def leaves(self, launched: Any, tuner: Any) -> bool:
        """Whether it need not be told of launches of a kernel or an autotuner.

        Args:
            launched: the kernel or the autotuner.
            tuner: the autotuner that launches it, or None.
        """

    def launch(self, launch: Launch, run: Callable[[], Any]) -> Any:
        """A kernel is launched; `run` does it."""

    def started(self, launch: Launch, compiled: Any, run: Callable[[], Any]) -> Any:
        """A compiled kernel is started without Triton's own launch; `run` does it."""

    def tuned(self, tuner: Any, args: Any, kwargs: Any, run: Callable[..., Any]) -> Any:
        """A kernel under an autotuner is launched, which may measure first; `run` does it.

        `run` takes the arguments of the launch, which need not be the given ones.
        """

    def benchmarked(self, tuner: Any, updated: Collection[str], run: Callable[[], Any]) -> Any:
        """An autotuner measures a configuration; `run` does it.

        `updated` names the tensors that it changes by that, and does not give back itself.
        """

    def prepared(self, tuner: Any) -> bool:
        """torch.compile is about to compile one of its kernels; whether that was changed."""


class _Thread(threading.local):
    """What one thread is at.

    Attributes:
        benchmarks: how deep it is in benchmarks of autotuners, whose launches are not a program's.
        tuner: the autotuner that is launching a kernel.
    """

    benchmarks = 0
    tuner: Any = None


_thread = _Thread()

# Functions of triton.testing by which packages' own autotuners measure.
_BENCHMARKS = ("do_bench", "do_bench_cudagraph")
# Its autotuner is told apart: see `_when_inductor_is_there`.
_INDUCTOR = "torch._inductor"


def intercept(watcher: Watcher) -> Callable[[], None]:
    """Tell a watcher of all launches of this process from now on.

    Returns:
        What ends it.
    """
    from triton import testing
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction, KernelInterface

    changes = _Changes()
    changes.replace(JITFunction, "run", _launching(watcher, JITFunction.run))
    changes.replace(CompiledKernel, "__getitem__", _starting(watcher, CompiledKernel.__getitem__))
    changes.replace(Autotuner, "__init__", _making(watcher, changes, Autotuner.__init__))
    changes.tuner(watcher, Autotuner)
    changes.tuners_to_come(watcher, KernelInterface)
    for name in _BENCHMARKS:
        changes.replace(testing, name, _benchmarking_for_tuner(vars(testing)[name]))
    _when_inductor_is_there(watcher, changes)
    return changes.undo


class _Changes:
    """Methods that were replaced."""

    def __init__(self) -> None:
        self._undone: list[tuple[Any, str, Any]] = []
        self._tuners: set[type] = set()
        self.is_over = False

    def replace(self, owner: Any, name: str, method: Any) -> None:
        self._undone.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, method)

    def tuner(self, watcher: Watcher, kind: type) -> None:
        """Replace the methods of an autotuner's class, and of all that are derived from it."""
        if kind in self._tuners:
            return
        self._tuners.add(kind)
        for name, made in (("run", _tuning), ("_bench", _benchmarking)):
            if name in vars(kind):
                self.replace(kind, name, made(watcher, vars(kind)[name]))
        derived: list[type] = kind.__subclasses__()
        for one in derived:
            self.tuner(watcher, one)

    def tuners_to_come(self, watcher: Watcher, kind: Any) -> None:
        """Replace the methods of autotuners that packages derive from Triton's base alone."""
        from triton.runtime.jit import JITFunction

        def known(owner: type) -> None:
            if not issubclass(owner, JITFunction) and not owner.__module__.startswith(_INDUCTOR):
                self.tuner(watcher, owner)

        def derived(owner: Any, /, **options: Any) -> None:
            super(kind, owner).__init_subclass__(**options)
            known(owner)

        for owner in kind.__subclasses__():
            known(owner)
        self.replace(kind, "__init_subclass__", classmethod(derived))

    def undo(self) -> None:
        self.is_over = True
        for owner, name, method in reversed(self._undone):
            if method is None:
                delattr(owner, name)
            else:
                setattr(owner, name, method)
        self._undone.clear()


def _launching(watcher: Watcher, run: Callable[..., Any]) -> Callable[..., Any]:
    def launching(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup or _thread.benchmarks or watcher.leaves(self, _thread.tuner):
            return run(self, *args, grid=grid, warmup=warmup, **kwargs)
        repeats: Repeats | None = self.__dict__.get(REPEATS)
        if repeats is not None and repeats.left > 0:
            repeats.left -= 1
            try:
                return run(self, *args, grid=grid, warmup=False, **kwargs)
            except BaseException:
                repeats.left += 1  # it was counted, and not launched
                raise
        launch = Launch(self, args, kwargs, grid, _thread.tuner)
        return watcher.launch(
            launch,
            lambda: run(self, *launch.args, grid=launch.grid, warmup=False, **launch.kwargs),
        )

    # By this, the host's driver sees that its short way is not to be put around this one.
    launching.__wrapped__ = run  # type: ignore[attr-defined]
    return launching


def _starting(watcher: Watcher, getitem: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(getitem)
    def starting(self: Any, grid: Any) -> Any:
        runner = getitem(self, grid)
        if _thread.benchmarks or not hasattr(self.src, "fn"):
            return runner

        def started(*args: Any, **kwargs: Any) -> Any:
            values = with_constants(self.src, args)
            options = {n: getattr(self.metadata, n, None) for n in ("num_warps", "num_stages")}
            given = {name: value for name, value in options.items() if value is not None}
            launch = Launch(self.src.fn, values, given, grid, _thread.tuner)
            return watcher.started(launch, self, lambda: runner(*args, **kwargs))

        return started

    return starting


def with_constants(source: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """One value for each parameter: programs may leave out the constants of a compiled kernel.

    Args:
        source: of the compiled kernel.
        args: what it is started with.
    """
    constants = {key[0]: v for key, v in source.constants.items() if len(key) == 1}
    parameters = source.fn.params
    if len(args) == len(parameters):
        return tuple(constants.get(n, v) for n, v in enumerate(args))
    given = iter(args)
    return tuple(
        constants.get(n) if parameter.is_constexpr else next(given, None)
        for n, parameter in enumerate(parameters)
    )


def _making(watcher: Watcher, changes: _Changes, init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def making(self: Any, *args: Any, **kwargs: Any) -> None:
        # Packages derive classes of their own, after Triton was imported.
        if not changes.is_over:
            changes.tuner(watcher, type(self))
        init(self, *args, **kwargs)

    return making


def _tuning(watcher: Watcher, run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def tuning(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = _thread.tuner
        is_inner = before is self or _thread.benchmarks
        if is_inner or watcher.leaves(self, None) or not has_configurations(self):
            return run(self, *args, **kwargs)
        _thread.tuner = self
        try:
            return watcher.tuned(self, args, kwargs, functools.partial(run, self))
        finally:
            _thread.tuner = before

    return tuning


def _benchmarking(watcher: Watcher, bench: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(bench)
    def benchmarking(self: Any, *args: Any, **kwargs: Any) -> Any:
        _thread.benchmarks += 1
        try:
            # Measurements within others may be of what copies tensors.
            tensors = updated_tensors(self, args, kwargs) if _thread.benchmarks == 1 else {}
            with given_back(tensors.values()):
                return watcher.benchmarked(self, tensors, lambda: bench(self, *args, **kwargs))
        finally:
            _thread.benchmarks -= 1

    return benchmarking


def _benchmarking_for_tuner(bench: Callable[..., Any]) -> Callable[..., Any]:
    """A program that measures by itself launches; what an autotuner measures does not count."""

    @functools.wraps(bench)
    def benchmarking(*args: Any, **kwargs: Any) -> Any:
        is_for_tuner = _thread.tuner is not None
        _thread.benchmarks += is_for_tuner
        try:
            return bench(*args, **kwargs)
        finally:
            _thread.benchmarks -= is_for_tuner

    return benchmarking


def _when_inductor_is_there(watcher: Watcher, changes: _Changes) -> None:
    """Replace Inductor's methods, once a program imports them."""
    from triton_rvv.imports import when_imported

    def replace(module: Any) -> None:
        if changes.is_over:
            return
        kind = module.CachingAutotuner
        changes.replace(kind, "run", _launching_generated(watcher, kind.run))
        changes.replace(kind, "precompile", _preparing(watcher, kind.precompile))
        for name in ("bench", "benchmark_all_configs", "autotune_to_one_config"):
            if name in vars(kind):
                changes.replace(kind, name, _benchmarking(watcher, vars(kind)[name]))

    when_imported("torch._inductor.runtime.triton_heuristics", replace)


def _launching_generated(watcher: Watcher, run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def launching(self: Any, *args: Any, stream: Any, **kwargs: Any) -> Any:
        if _thread.benchmarks or kwargs:
            return run(self, *args, stream=stream, **kwargs)
        repeats: Repeats | None = self.__dict__.get(REPEATS)
        if repeats is not None and repeats.left > 0:
            repeats.left -= 1
            try:
                return run(self, *args, stream=stream)
            except BaseException:
                repeats.left += 1  # it was counted, and not launched
                raise
        if len(self.launchers) == 0:
            self.precompile()
        if len(self.launchers) > 1:
            self.autotune_to_one_config(*args)
        loaded_kernel(self)
        launch = InductorLaunch(self, args)
        return watcher.launch(launch, lambda: run(self, *args, stream=stream))

    return launching


def _preparing(watcher: Watcher, precompile: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(precompile)
    def preparing(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("reload_kernel") is not None:
            self._reload_kernel = kwargs["reload_kernel"]
        if watcher.prepared(self):
            # Else Inductor keeps the code for runs of the program that are not watched.
            kwargs.pop("static_triton_bundle_key", None)
        return precompile(self, *args, **kwargs)

    return preparing
