"""A grid on several cores: its programs, its memory and its faults, on threads that are bound."""

from __future__ import annotations

import os

import numpy as np
import pytest

from launchers import Argument
from launchers.data_file import write_data_file
from launchers.output import ExitStatus, parse_launcher_output

PROGRAMS = 100
# Each program once, whatever order they run in: its own element, and a sum that all add to. Kernels
# that are told of one thread go without atomic instructions.
COUNTED = """
    extern uint32_t triton_rvv_one_thread(void);
    if (triton_rvv_one_thread()) abort();
    uint32_t *runs = (uint32_t *)args[0], *sum = (uint32_t *)args[1];
    runs[x + num_x * y]++;
    __atomic_fetch_add(sum, x + num_x * y, __ATOMIC_RELAXED);
"""
# Programs that wait until as many run at once as there are cores, and note their processors.
TOGETHER = """
    uint32_t *there = (uint32_t *)args[0];
    cpu_set_t allowed;
    __atomic_fetch_add(&there[0], 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&there[0], __ATOMIC_RELAXED) < num_x) sched_yield();
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (CPU_COUNT(&allowed) != 1) abort();
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) __atomic_fetch_or(&there[1], 1u << i, __ATOMIC_RELAXED);
"""
# Two programs that run at once: where each has its stack and its memory for large blocks, by core.
PLACES = """
    uint32_t *there = (uint32_t *)args[0];
    uint64_t stack = ((uint64_t)&there - 0xa00000000) >> 26;
    uint64_t blocks = ((uint64_t)triton_rvv_scratch(64) - 0xc00000000) >> 26;
    __atomic_fetch_add(&there[0], 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&there[0], __ATOMIC_RELAXED) < num_x) sched_yield();
    if (stack != blocks) abort();
    __atomic_fetch_or(&there[1], 1u << stack, __ATOMIC_RELAXED);
"""
OUTSIDE = "((volatile int *)args[0])[x == 7 ? 1 << 20 : 0] = 0;"

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two processors")


def counted() -> list[Argument]:
    numbers = np.ones(PROGRAMS, np.uint32)
    total = np.full(1, PROGRAMS * (PROGRAMS - 1) // 2, np.uint32)
    return [
        Argument("runs", "*u32", np.zeros_like(numbers), numbers),
        Argument("sum", "*u32", np.zeros_like(total), total),
    ]


@two_cores
@pytest.mark.parametrize("options", [(), ("--in-turn",)])
def test_each_program_runs_once_in_each_run(run_kernel, options):
    repeats = ("--warmup", "1", "--repeats", "3")
    done = run_kernel(COUNTED, counted(), "--cores", "2", *options, *repeats, grid="20,5,1")
    assert done.returncode == ExitStatus.OK, done.stderr
    times_s = parse_launcher_output(done.stdout).times_s
    assert len(times_s) == 3
    assert min(times_s) > 0


@two_cores
def test_programs_run_at_once_each_on_a_processor_of_its_own(run_kernel):
    processors = sum(1 << number for number in sorted(os.sched_getaffinity(0))[-2:])
    expected = np.array([2, processors], np.uint32)
    there = [Argument("there", "*u32", np.zeros(2, np.uint32), expected)]
    done = run_kernel(TOGETHER, there, "--cores", "2", "--ordered", grid="2,1,1")
    assert done.returncode == ExitStatus.OK, done.stderr


@two_cores
def test_each_core_has_its_stack_and_its_memory_for_blocks(run_kernel):
    there = [Argument("there", "*u32", np.zeros(2, np.uint32), np.array([2, 0b11], np.uint32))]
    done = run_kernel(PLACES, there, "--cores", "2", "--ordered", grid="2,1,1")
    assert done.returncode == ExitStatus.OK, done.stderr


@two_cores
def test_an_access_outside_on_any_core_is_told(run_kernel):
    out = [Argument("out", "*i32", None, np.zeros(4, np.int32))]
    done = run_kernel(OUTSIDE, out, "--cores", "2", grid="8,1,1")
    assert done.returncode == ExitStatus.OUT_OF_BOUNDS
    assert parse_launcher_output(done.stdout).out_of_bounds


def test_too_few_processors_are_told_before_anything_runs(build_elf, run, tmp_path):
    write_data_file(tmp_path / "data", counted())
    one = str(min(os.sched_getaffinity(0)))
    elf = build_elf(COUNTED)
    arguments = [str(tmp_path / "data"), "--grid", "20,5,1", "--cores", "3"]
    done = run(elf, *arguments, before=("taskset", "-c", one))
    assert done.returncode == ExitStatus.WRONG_MACHINE
    assert done.stderr == "3 cores are wanted and this program may use 1\n"
    assert done.stdout == ""


@pytest.mark.parametrize("cores", ["0", "65", "x"])
def test_a_number_of_cores_is_from_1_to_64(run_kernel, cores):
    done = run_kernel(COUNTED, counted(), "--cores", cores, grid="20,5,1")
    assert done.returncode == ExitStatus.USAGE
    assert done.stderr.startswith("--cores takes a number of cores from 1 to 64")
