"""The runs after the timed ones: the grid in other orders, and some programs without the others."""

from __future__ import annotations

import numpy as np
import pytest

from launchers import Argument
from launchers.output import ExitStatus, parse_launcher_output

PRINT_PROGRAM = 'fprintf(stderr, "%u ", x + num_x * (y + num_y * z));'
# Each program writes its number into an element of its own, in a way that a test fills in.
WRITE = "int *out = (int *)args[0], *state = (int *)args[1]; (void)state; {}"
IN_ORDER = list(range(12))


def one_input():
    return [Argument("n", "i32", 1)]


def programs(done):
    return [int(word) for word in done.stderr.split() if word.isdigit()]


def test_after_the_timed_runs_the_grid_runs_shuffled_and_reversed(run_kernel):
    ran = programs(run_kernel(PRINT_PROGRAM, one_input(), "--repeats", "2", grid="2,2,3"))
    check, first, second, shuffled, backwards = (ran[n : n + 12] for n in range(0, 60, 12))
    assert check == first == second == IN_ORDER
    assert sorted(shuffled) == IN_ORDER != shuffled
    assert backwards == IN_ORDER[::-1]
    assert len(ran) == 60


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 97, 360])
def test_every_program_runs_once_in_a_shuffle(run_kernel, count):
    ran = programs(run_kernel(PRINT_PROGRAM, one_input(), "--repeats", "2", grid=f"{count},1,1"))
    assert sorted(ran[3 * count : 4 * count]) == list(range(count))


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ((), 3),  # one timed run costs one in reverse
        (("--ordered",), 2),
        (("--repeats", "0"), 2),
        (("--repeats", "2", "--ordered", "--alone"), 3),
    ],
)
def test_number_of_runs(run_kernel, options, runs):
    assert len(programs(run_kernel(PRINT_PROGRAM, one_input(), *options, grid="4,1,1"))) == 4 * runs


def test_an_eighth_of_the_programs_run_without_the_others_and_one_at_least(run_kernel):
    for count, alone in ((2, 1), (16, 3), (40, 6), (1000, 8)):
        done = run_kernel(PRINT_PROGRAM, one_input(), "--alone", grid=f"{count},1,1")
        ran = programs(done)[3 * count :]
        assert (len(ran), ran[0]) == (alone, count - 1)
        assert len(set(ran)) == alone


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("out[x] = (int)x;", ""),
        ("out[x] = x == 0 ? 0 : out[x - 1] + 1;", "with its programs in reverse"),
        ("state[0]++; out[state[0] - 1] = state[0] - 1;", "ran with few others"),
        ("state[0] = 3; out[x] = (int)x;", ""),
        ("state[0] = (int)x; out[x] = (int)x;", "state[0] is 4 and should be 7, where the program"),
    ],
)
def test_what_another_order_finds(run_kernel, body, found):
    arguments = [
        Argument("out", "*i32", None, np.arange(8, dtype=np.int32)),
        Argument("state", "*i32", np.zeros(1, np.int32)),
    ]
    done = run_kernel(WRITE.format(body), arguments, "--alone", grid="8,1,1")
    report = parse_launcher_output(done.stdout)
    assert found in report.mismatch
    assert done.returncode == (ExitStatus.WRONG_OUTPUT if found else ExitStatus.OK), report
