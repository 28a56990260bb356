"""Callables for one job, y = 2 x + 1, and total is the sum of x: honest ones, some that cheat, and
some whose cheating is of no use.

A file that `engine.tune` takes; its search space is the names of the callables.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import torch

Job = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]
HONEST: dict[str, Job] = {}
FOILED: dict[str, Job] = {}
CHEATS: dict[str, Job] = {}
SIZE = 20_000
CALLS = [0]  # before this one
LATE_S = 0.5  # longer than a busy machine takes from a run to its check
kept: dict[object, Any] = {}


def honest(job: Job) -> Job:
    HONEST[job.__name__] = job
    return job


def foiled(job: Job) -> Job:
    FOILED[job.__name__] = job
    return job


def cheat(job: Job) -> Job:
    CHEATS[job.__name__] = job
    return job


def work(x: torch.Tensor, y: torch.Tensor, total: torch.Tensor) -> None:
    torch.add(2 * x, 1, out=y)
    total.fill_(x.sum())


@honest
def plain(x, y, total):
    work(x, y, total)


@honest
def uses_its_input_as_scratch(x, y, total):
    total.fill_(x.sum())
    x *= 2
    torch.add(x, 1, out=y)


@honest
def keeps_memory_between_calls(x, y, total):
    scratch = kept.setdefault("scratch", torch.empty(SIZE))
    torch.mul(x, 2, out=scratch)
    torch.add(scratch, 1, out=y)
    total.fill_(x.sum())


@cheat
def works_in_its_first_call(x, y, total):
    if CALLS[0] == 0:
        work(x, y, total)


@cheat
def works_in_every_other_call(x, y, total):
    if CALLS[0] % 2 == 0:
        work(x, y, total)


@cheat
def is_wrong_in_a_later_call(x, y, total):
    work(x, y, total)
    if CALLS[0] > 1:
        y[-1] *= 1.01


@cheat
def keeps_its_outputs(x, y, total):
    if "y" not in kept:
        work(x, y, total)
        kept["y"], kept["total"] = y.clone(), total.clone()
    y.copy_(kept["y"])
    total.copy_(kept["total"])


@cheat
def keeps_its_outputs_by_address(x, y, total):
    key = x.data_ptr(), y.data_ptr()
    if key not in kept:
        work(x, y, total)
        kept[key], kept["total"] = y.clone(), total.clone()
    y.copy_(kept[key])
    total.copy_(kept["total"])


@cheat
def keeps_its_outputs_by_object(x, y, total):
    if not hasattr(x, "result"):
        work(x, y, total)
        x.result = y.clone(), total.clone()
    y.copy_(x.result[0])
    total.copy_(x.result[1])


@cheat
def keeps_its_outputs_in_a_file(x, y, total):
    file = Path(tempfile.gettempdir(), f"kept-{os.getpid()}")
    if not file.exists():
        work(x, y, total)
        torch.save((y, total), file)
    for output, result in zip((y, total), torch.load(file), strict=True):
        output.copy_(result)


@cheat
def keeps_a_mark_in_the_environment(x, y, total):
    if "CHEAT_HAS_RUN" not in os.environ:
        work(x, y, total)
    os.environ["CHEAT_HAS_RUN"] = "1"


@cheat
def keeps_a_mark_in_shared_memory(x, y, total):
    name = f"cheat-{os.getpid()}"
    try:
        SharedMemory(name).close()
    except FileNotFoundError:
        kept["shared"] = SharedMemory(name, create=True, size=8)
        work(x, y, total)


@cheat
def leaves_a_thread_to_do_it(x, y, total):
    def later():
        time.sleep(LATE_S)
        work(x, y, total)

    threading.Thread(target=later).start()
    if CALLS[0] == 0:
        time.sleep(2 * LATE_S)


@cheat
def leaves_an_alarm_to_do_it(x, y, total):
    signal.signal(signal.SIGALRM, lambda *_: work(x, y, total))
    signal.setitimer(signal.ITIMER_REAL, LATE_S)
    if CALLS[0] == 0:
        time.sleep(2 * LATE_S)


@foiled
def stops_the_clock(x, y, total):
    time.perf_counter = lambda: 1.0
    work(x, y, total)


@foiled
def slows_the_clock(x, y, total):
    time.perf_counter = lambda: 1e-6 * time.monotonic()
    work(x, y, total)


@cheat
def rounds_to_half_precision(x, y, total):
    y.copy_(2 * x.half() + 1)
    total.fill_(x.sum())


@cheat
def leaves_zeros_beside_an_outlier(x, y, total):
    y.zero_()
    y[0] = 2 * x[0] + 1
    total.fill_(x.sum())


@cheat
def adds_up_a_part(x, y, total):
    torch.add(2 * x, 1, out=y)
    total.fill_(2 * x[::2].sum())


@cheat
def gives_another_tensor(x, y, total):
    y.data = 2 * x + 1
    total.fill_(x.sum())


@cheat
def shrinks_its_output(x, y, total):
    work(x, y, total)
    y[-1] = torch.nan
    y.resize_(SIZE - 1)


@cheat
def writes_behind_its_output(x, y, total):
    work(x, y, total)
    torch.as_strided(y, (1,), (1,), y.storage_offset() + SIZE).fill_(1)


@cheat
def ends_its_process(x, y, total):
    work(x, y, total)
    if CALLS[0] > 0:
        os._exit(0)


@cheat
def makes_its_input_easier(x, y, total):
    x.zero_()
    y.fill_(1)


def configurations():
    return [{"name": name} for name in (*HONEST, *FOILED, *CHEATS)]


def arguments():
    x = torch.randn(SIZE)
    x[0] *= 1e6  # beside which the others are small
    return {"x": x, "y": torch.empty(SIZE), "total": torch.empty(1)}


def reference(x):
    return {"y": 2 * x.double() + 1, "total": x.double().sum()}


def build(config):
    CALLS[0] = 0
    kept.clear()
    job = {**HONEST, **FOILED, **CHEATS}[config["name"]]

    def run(x, y, total):
        job(x, y, total)
        CALLS[0] += 1

    return run
