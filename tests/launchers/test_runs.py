"""How the launcher calls and times a kernel, and where it refuses to."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from launchers import Argument
from launchers.data_file import write_data_file
from launchers.output import ExitStatus, parse_launcher_output

REGION_START = struct.pack("<I", 0x5A1 << 20 | 0b010 << 12 | 0x13)  # slti x0, x0, 0x5a1
REGION_STOP = struct.pack("<I", 0x5A2 << 20 | 0b010 << 12 | 0x13)

PRINT_PROGRAM = 'fprintf(stderr, "%u%u%u/%u%u%u ", x, y, z, num_x, num_y, num_z);'
PRINT_RUN = 'fprintf(stderr, "run ");'
INCREMENT = "int *a = (int *)args[0]; if (a[0] != 5) abort(); a[0]++;"
SLEEP = "nanosleep(&(struct timespec){0, 20000000}, NULL);"
CRASH = 'printf("half a line"); __asm__ volatile("unimp");'
SLOTS = """
    uint64_t *out = (uint64_t *)args[0];
    for (int i = 0; i < 8; i++) out[i] = args[i + 1];
"""
PLACES = """
    int on_stack;
    void *scratch = triton_rvv_scratch(64);
    fprintf(stderr, "%p %p %p\\n", (void *)&on_stack, (void *)args, scratch);
"""
ADDRESSES = "for (int i = 0; i < 3; i++) ((uint64_t *)args[0])[i] = args[i] % 64;"


def one_input():
    return [Argument("n", "i32", 1)]


def test_programs_run_with_x_fastest(run_kernel):
    done = run_kernel(PRINT_PROGRAM, one_input(), "--repeats", "0", grid="2,2,3")
    expected = [f"{x}{y}{z}/223" for z in range(3) for y in range(2) for x in range(2)]
    assert done.stderr.split() == expected * 2  # once for each set of data


@pytest.mark.parametrize(
    ("options", "runs", "times"),
    [
        ((), 2, 1),
        (("--repeats", "0"), 2, 0),
        (("--repeats", "3", "--warmup", "2"), 6, 3),
        (("--repeats", "3", "--warmup", "2", "--flush", "100000"), 6, 3),
    ],
)
def test_number_of_runs(run_kernel, options, runs, times):
    done = run_kernel(PRINT_RUN, one_input(), *options)
    assert done.stderr.count("run ") == runs
    assert len(parse_launcher_output(done.stdout).times_s) == times


def test_wrong_output_is_run_once_and_not_timed(run_kernel):
    arguments = [Argument("out", "*i32", None, np.zeros(4, np.int32))]
    done = run_kernel(PRINT_RUN, arguments, "--repeats", "3", "--warmup", "2")
    assert done.returncode == ExitStatus.WRONG_OUTPUT
    assert done.stderr == "run "
    assert "kernel_time_s" not in done.stdout


def test_in_out_buffers_are_restored_before_each_run(run_kernel):
    a = np.array([5, 7], np.int32)
    arguments = [Argument("a", "*i32", a, np.array([6, 7], np.int32))]
    done = run_kernel(INCREMENT, arguments, "--repeats", "3", "--warmup", "2")
    assert done.returncode == ExitStatus.OK, done


def test_times_are_those_of_the_kernel(run_kernel):
    done = run_kernel(SLEEP, one_input(), "--repeats", "3")
    times_s = parse_launcher_output(done.stdout).times_s
    assert len(times_s) == 3
    assert all(0.02 <= time_s < 2 for time_s in times_s)
    mean_s = float(done.stderr.removeprefix("Running Triton Kernel Time: ").removesuffix(" s\n"))
    assert mean_s == pytest.approx(sum(times_s) / 3, abs=2e-9)


def test_scalars_arrive_in_the_slots_that_the_abi_describes(run_kernel):
    expected = np.array(
        [
            2**64 - 3,
            2**32 - 3,
            1,
            0x3FC00000,
            0x3FF8000000000000,
            0x3E00,
            0x3FC0,
            2**64 - 128,
        ],
        np.uint64,
    )
    arguments = [
        Argument("out", "*u64", None, expected),
        Argument("a", "i32", -3),
        Argument("b", "u32", 2**32 - 3),
        Argument("c", "i1", 1),
        Argument("d", "fp32", 1.5),
        Argument("e", "fp64", 1.5),
        Argument("f", "fp16", 1.5),
        Argument("g", "bf16", 1.5),
        Argument("h", "i8", -128),
    ]
    done = run_kernel(SLOTS, arguments)
    assert done.returncode == ExitStatus.OK, done.stdout


def test_arrays_are_aligned_to_64_bytes(run_kernel):
    arguments = [
        Argument("out", "*u64", None, np.zeros(3, np.uint64)),
        Argument("a", "*u8", np.zeros(3, np.uint8)),
        Argument("b", "*u8", np.ones(5, np.uint8), np.ones(5, np.uint8)),
    ]
    assert run_kernel(ADDRESSES, arguments).returncode == ExitStatus.OK


def test_what_a_kernel_uses_lies_at_the_same_addresses(run_kernel, monkeypatch):
    said = set()
    for padding in ("", "x" * 5000):
        monkeypatch.setenv("PADDING", padding)  # lies on the first stack, as all variables do
        done = run_kernel(PLACES, one_input())
        assert done.returncode == ExitStatus.OK, done.stderr
        said.add(done.stderr.splitlines()[0])
    assert len(said) == 1


def test_crash_of_the_kernel_keeps_its_signal_and_the_first_lines(run_kernel):
    done = run_kernel(CRASH, one_input())
    assert done.returncode < 0
    report = parse_launcher_output(done.stdout)
    assert (report.kernel, report.output_ok) == ("tiny_kernel", None)


@pytest.mark.parametrize(
    ("cpu", "sentence"),
    [
        (
            "rv64,v=true,vlen=128,vext_spec=v1.0",
            "this machine's vector registers have 128 bits and the kernel was built for 256\n",
        ),
        (
            "rv64,v=true,vlen=512,vext_spec=v1.0",
            "this machine's vector registers have 512 bits and the kernel was built for 256\n",
        ),
        (
            "rv64,v=false",
            "this machine has no vector unit and the kernel was built for one of 256 bits\n",
        ),
    ],
)
def test_other_vector_length_is_refused(build_elf, run, tmp_path, cpu, sentence):
    write_data_file(tmp_path / "data", one_input())
    done = run(build_elf(PRINT_RUN), str(tmp_path / "data"), "--grid", "1,1,1", cpu=cpu)
    assert done.returncode == ExitStatus.WRONG_MACHINE
    assert (done.stdout, done.stderr) == ("", sentence)


def test_marks_stand_directly_around_the_timed_run(build_elf):
    """On one core, and where one thread runs the portions of several."""
    code = build_elf(PRINT_RUN).read_bytes()
    _, *timed = code.split(REGION_START)
    assert len(timed) == code.count(REGION_STOP) == 2
    for part in timed:
        between_bytes = part.index(REGION_STOP)
        assert 4 <= between_bytes <= 20, "only the arguments and the call of the grid's loop fit"


@pytest.mark.parametrize(
    "arguments",
    [
        ["DATA"],
        ["DATA", "--grid", "1,2"],
        ["DATA", "--grid", "1,2,3,4"],
        ["DATA", "--grid", "0,1,1"],
        ["DATA", "--grid", "1,0,1"],
        ["DATA", "--grid", "1,1,0"],
        ["DATA", "--grid", "1,-1,1"],
        ["DATA", "--grid", "4294967297,1,1"],
        ["DATA", "--grid", "1,1,1", "--repeats", "many"],
        ["DATA", "--grid", "1,1,1", "--warmup", "-1"],
        ["DATA", "--grid", "1,1,1", "--speed"],
        ["DATA", "--grid"],
        ["DATA", "DATA", "--grid", "1,1,1"],
        ["--grid", "1,1,1"],
    ],
    ids=" ".join,
)
def test_mistake_in_the_command_is_one_sentence(build_elf, run, tmp_path, arguments):
    data_path = tmp_path / "data"
    write_data_file(data_path, one_input())
    done = run(build_elf(PRINT_RUN), *(str(data_path) if a == "DATA" else a for a in arguments))
    assert done.returncode == ExitStatus.USAGE
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "usage is" in done.stderr
