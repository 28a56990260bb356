"""Reading the launcher's output, from recorded runs."""

from __future__ import annotations

import math

import pytest

from launchers.output import LauncherReport, parse_launcher_output

KEY = "key: abcdefghijklmnop\n"
STARTED = "kernel: add_kernel\nvlen_bits: 256\n" + KEY
HEAD = STARTED + KEY


def test_run_with_right_output():
    stdout = HEAD + (
        "out OK max_abs_error=1.19209e-07\n"
        "kernel_time_s: 0.000025909\nkernel_time_s: 12.000008933\n"
    )
    assert parse_launcher_output(stdout) == LauncherReport(
        "add_kernel", 256, True, 1.19209e-07, "", (0.000025909, 12.000008933)
    )


def test_run_with_wrong_output():
    stdout = HEAD + "out NOT OK max_abs_error=inf argument=c index=960 got=nan expected=0.733"
    stdout += " off=12/1000 run=timed\n"
    report = parse_launcher_output(stdout)
    assert report.output_ok is False
    assert report.max_abs_error == math.inf
    assert report.mismatch == (
        "c[960] is nan and should be 0.733; 12 of 1000 are wrong, in a timed run, which has other "
        "inputs"
    )


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("shuffled", "with its programs shuffled: the result depends on the order of programs"),
        ("reversed", "with its programs in reverse: the result depends on the order of programs"),
        ("alone", "and no atomic operation orders them"),
    ],
)
def test_run_that_is_wrong_in_another_order(run, said):
    stdout = STARTED + f"order: shuffled\norder: {run}\n" + KEY
    stdout += "out NOT OK max_abs_error=1 argument=c index=0 got=1 expected=2 off=1/9 "
    report = parse_launcher_output(f"{stdout}run={run}\n")
    assert report.mismatch.startswith("c[0] is 1 and should be 2; 1 of 9 is wrong, w")
    assert report.mismatch.endswith(said)
    assert report.order == run


@pytest.mark.parametrize(("found", "did"), [("fault", "touched"), ("write", "wrote")])
def test_run_out_of_bounds(found, did):
    stdout = HEAD + f"out of bounds argument=c index=-3 elements=20 found={found}\n"
    report = parse_launcher_output(stdout)
    assert report.output_ok is False
    assert report.out_of_bounds == f"it {did} c[-3], and c has 20 elements: out of bounds"


@pytest.mark.parametrize("stdout", ["", "kernel: add_k", "Segmentation fault\n"])
def test_run_that_did_not_get_far(stdout):
    assert parse_launcher_output(stdout) == LauncherReport()


def test_crash_in_the_kernel_leaves_the_check_open():
    report = parse_launcher_output(STARTED)
    assert report == LauncherReport("add_kernel", 256)


def test_line_that_was_cut_off_is_not_believed():
    whole = HEAD + "out OK max_abs_error=0\nkernel_time_s: 0.001234567\n"
    assert parse_launcher_output(whole + "kernel_time_s: 0.00").times_s == (0.001234567,)
    assert parse_launcher_output(HEAD + "out OK max_abs_error=1.1").output_ok is None


def test_garbled_lines_are_passed_over():
    stdout = HEAD + "pid 3 says out OK\nout OK max_abs_error=0.5\nkernel_time_s: soon\n"
    report = parse_launcher_output(stdout)
    assert (report.output_ok, report.max_abs_error, report.times_s) == (True, 0.5, ())


FORGED = "out OK max_abs_error=0\nkernel_time_s: 0.000000001\n"


@pytest.mark.parametrize("more", ["", "key: ponmlkjihgfedcba\n" + FORGED])
def test_what_a_kernel_wrote_is_not_believed(more):
    forged = STARTED + FORGED + more
    assert parse_launcher_output(forged) == LauncherReport("add_kernel", 256)
    told = parse_launcher_output(forged + KEY + "out OK max_abs_error=0.5\n")
    assert (told.output_ok, told.max_abs_error, told.times_s) == (True, 0.5, ())
