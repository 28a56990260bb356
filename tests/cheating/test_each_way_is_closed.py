"""Ways to be accepted wrongly, or to be blamed wrongly, that were open once: the test of each.

The table is for readers who ask where such a fault is tested. What it names has to be there.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ONE_CORE = "cheating/test_written_for_one_core.py::test_here"
IN_TRITON = "cheating/test_written_in_triton.py::test_on_the_emulated_board"
UNNAMED = "cheating/test_unnamed_outputs.py::test_on_the_emulated_board"
TOLERANCE = "kernels/test_own_tolerance.py::"
MEMORY_ORDER = "triton_rvv/test_memory_order.py::"
REPAIR = "engine/test_repair.py::"
HOSTILE = "engine/test_hostile_texts.py::"

# Kernels that are accepted, or right by luck.
KERNELS = {
    "a running sum through memory, in the order of programs": ONE_CORE,
    "a sum onto an output without an atomic operation": ONE_CORE,
    "a last program that adds up what the others wrote": ONE_CORE,
    "atomic operations that order nothing": "cheating/test_races.py::test_a_race_is_named",
    "clocks and numbers of cores": ONE_CORE,
    "an output that the reference does not name": UNNAMED,
    "an input that is destroyed": UNNAMED,
    "tensors that share memory": (
        "cheating/test_dull_inputs.py::test_tensors_that_lie_over_each_other_are_named"
    ),
    "a constant, or half of a sum": (
        f"{TOLERANCE}test_sums_of_positive_factors_might_be_a_constant"
    ),
    "what cancels, by half": f"{TOLERANCE}test_half_of_what_cancels_is_accepted",
    "zeros beside rows of a larger scale": (
        f"{TOLERANCE}test_rows_beside_larger_ones_have_a_tolerance_of_their_own"
    ),
    "zeros for fp64 beyond fp32": (
        f"{TOLERANCE}test_fp64_beyond_the_range_of_fp32_has_to_be_right"
    ),
    "writes to the table of arguments": IN_TRITON,
    "a scalar of the check's data": (
        "cheating/test_timed_inputs.py::test_a_floating_point_scalar_of_the_data_is_of_its_own_set"
    ),
    "constants of the check's data": (
        "cheating/test_timed_inputs.py::test_what_code_is_made_for_keeps_the_inputs"
    ),
    "lanes that share places by a run-time stride": (
        f"{MEMORY_ORDER}test_places_that_lanes_share_by_run_time_strides"
    ),
    "random strides, zero and negative too": f"{MEMORY_ORDER}test_places_by_random_strides",
    "windows that overlap": "triton_rvv/test_shared_places.py::test_three_dimensions",
    "inputs that do not tell": "cheating/test_dull_inputs.py::test_what_is_left_out_is_found",
    "shortcuts for usual inputs": "cheating/test_shortcuts.py::test_a_shortcut_is_found",
    "a size in place of an equal one": (
        "cheating/test_shortcuts.py::test_an_equal_size_or_a_literal_that_stands_for_a_number_is_named"
    ),
    "the last of a row, or an epsilon, where there are few rows": (
        "cheating/test_dull_inputs.py::"
        "test_of_few_rows_one_is_small_one_is_zero_and_one_has_its_largest_at_the_rim"
    ),
    "what only captured programs do": "cheating/test_written_as_programs.py::test_on_the_host",
}

# What befalls the tuner, and not the configuration.
FAULTS = {
    "more trials than two tuners were to try": (
        "engine/test_loop.py::test_the_last_trial_may_be_another_tuners"
    ),
    "an empty journal, and a line nested deeply": (
        f"{REPAIR}test_a_file_without_a_line_of_a_journal_is_refused"
    ),
    "a journal with a byte order mark": f"{REPAIR}test_a_byte_order_mark_is_left_out",
    "a trial of number -1": f"{REPAIR}test_a_trial_that_is_counted_from_the_end_is_damage",
    "a full disk": "foundation/test_output_streams.py::test_a_file_on_a_full_disk_is_named",
    "a wall clock that is set": (
        "engine/test_spans.py::test_a_clock_that_is_set_back_makes_no_time_negative"
    ),
    "no files may be written": (
        "rvv_runner/test_emulated_board.py::"
        "test_a_report_that_cannot_be_written_is_not_the_kernels_fault"
    ),
    "a megabyte of garbage": (
        "rvv_runner/test_verdict.py::test_each_ending_has_its_status_and_reason"
    ),
    "a machine on which Ray starts slowly": (
        "engine/test_ray_is_private.py::test_a_slow_start_is_waited_for"
    ),
    "a machine that goes with its builders": (
        "engine/test_machine_faults.py::test_a_run_whose_own_ray_ends_says_so_and_blames_no_build"
    ),
}

# What others may do on purpose.
SECURITY = {
    "another user's folder in torch's place": (
        "kernels/test_own_choice.py::test_torch_keeps_what_it_compiles_in_this_users_folder"
    ),
    "a board with 120,000,001 processors": (
        "rvv_runner/ssh/test_preflight.py::test_a_list_of_processors_that_no_board_has"
    ),
    "a board's status that is no number": (
        "rvv_runner/ssh/test_shell.py::test_a_status_that_is_none_ends_the_connection"
    ),
    "formulas in tables": f"{HOSTILE}test_formulas_reach_no_spreadsheet",
    "names longer than files may have": f"{HOSTILE}test_names_longer_than_a_file_may_have",
    "files without an end": f"{HOSTILE}test_a_file_without_an_end",
    "YAML nested deeply": "foundation/test_document.py::test_deep_nesting_is_refused_soon",
}


@cache
def functions_of(file: str) -> frozenset[str]:
    statements = ast.parse((TESTS / file).read_text()).body
    return frozenset(one.name for one in statements if isinstance(one, ast.FunctionDef))


@pytest.mark.parametrize("table", [KERNELS, FAULTS, SECURITY], ids=["kernels", "faults", "others"])
def test_what_the_table_names_is_a_test(table: dict[str, str]) -> None:
    named = {tuple(place.split("::")) for place in table.values()}
    assert not [one for one in named if one[1] not in functions_of(one[0])]
