"""perf's outputs: what was recorded is read as it was meant, and nothing is made up."""

from __future__ import annotations

import pytest

from rvv_runner.perf import (
    Count,
    SymbolSamples,
    counts_of_one_run,
    event_argument,
    parse_evlist,
    parse_report,
    parse_reports,
    parse_stat_csv,
    parse_stat_json,
)

# Recorded with perf 6.1.187, as root, on a machine without a performance monitor.
CSV_6_1 = """\
# started on Fri Nov 20 22:40:19 2026

52;;page-faults;634783;100.00;81.918;K/sec
0.63;msec;task-clock;634783;100.00;0.409;CPUs utilized
1;;context-switches;634783;100.00;1.575;K/sec
<not supported>;;r22;0;100.00;;
<not supported>;;cycles;0;100.00;;
"""
JSON_6_1 = """\
# started on Fri Nov 20 22:40:19 2026

{"counter-value" : "50.000000", "unit" : "", "event" : "page-faults", "event-runtime" : 446821, \
"pcnt-running" : 100.00, "metric-value" : 111.901634, "metric-unit" : "K/sec"}
{"counter-value" : "<not supported>", "unit" : "", "event" : "cycles", "event-runtime" : 0, \
"pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : ""}
"""
EVLIST_6_1 = (
    "cpu-clock: type: 1, size: 128, { sample_period, sample_freq }: 4000, "
    "sample_type: IP|TID|TIME|PERIOD, read_format: ID|LOST, disabled: 1, inherit: 1, freq: 1\n"
)
REPORT_6_1 = """\
 50.00% , 1          , 250000     ,[.] handle_amd
 50.00% , 1          , 250000     ,[k] up_write


"""

# Put together by the fields that perf-stat(1) of 5.10 lists: an ordinary user, more events than
# counters, and -r 5 with its spread before the run time.
CSV_5_10 = """\
# started on Mon Jan  3 10:00:00 2022

120034;;r22:u;5003241;100.00;;
8123;;r39:u;2501100;49.99;;
<not counted>;;r3a:u;0;0.00;;
"""
CSV_REPEATED = "120034;;r22:u;0.35%;5003241;100.00;;\n"

# Put together by what later versions changed: the metric's value is a string, and a line may hold a
# metric alone.
JSON_LATER = """\
{"counter-value" : "120034.000000", "unit" : "", "event" : "r22:u", "event-runtime" : 5003241, \
"pcnt-running" : 100.00, "metric-value" : "1.250000", "metric-unit" : "insn per cycle"}
{"metric-value" : "0.300000", "metric-unit" : "stalled cycles per insn"}
"""


def test_counts_of_6_1_are_read():
    counts = parse_stat_csv(CSV_6_1)
    assert counts["page-faults"] == Count("page-faults", 52, 100)
    assert counts["task-clock"].value == 0.63
    assert list(counts) == ["page-faults", "task-clock", "context-switches", "r22", "cycles"]


@pytest.mark.parametrize("counts", [parse_stat_csv(CSV_6_1), parse_stat_json(JSON_6_1)])
def test_what_is_not_supported_has_no_value_though_perf_says_100_percent(counts):
    assert counts["cycles"] == Count("cycles", None, 100)
    assert not counts["cycles"].is_whole
    assert counts["page-faults"].is_whole


def test_an_ordinary_users_modifiers_are_taken_off_and_shared_counters_are_seen():
    counts = parse_stat_csv(CSV_5_10)
    assert counts["r22"] == Count("r22", 120034, 100)
    assert counts["r39"].value == 8123
    assert not counts["r39"].is_whole
    assert counts["r3a"] == Count("r3a", None, 0)


def test_a_spread_over_repetitions_is_passed_over():
    assert parse_stat_csv(CSV_REPEATED)["r22"] == Count("r22", 120034, 100)


def test_json_of_later_versions_is_read():
    assert parse_stat_json(JSON_LATER) == {"r22": Count("r22", 120034, 100)}


@pytest.mark.parametrize("text", ["", "\n", "event syntax error: 'nonsense'\n", "1;2;3\n"])
def test_what_holds_no_counts_gives_none(text):
    assert parse_stat_csv(text) == {}
    assert parse_stat_json(text) == {}


def test_a_line_of_five_fields_is_a_count_and_one_without_its_share_is_not_whole():
    counts = parse_stat_csv("7;;r22;9;100.00\n8;;r39;9;\n9;;r3a;9\n")
    assert counts == {"r22": Count("r22", 7, 100), "r39": Count("r39", 8, 0)}


def test_one_run_is_the_difference_of_whole_counts():
    without = parse_stat_csv("100;;r22;9;100.00;;\n50;;r39;9;100.00;;\n7;;r3a;9;100.00;;\n")
    with_one = parse_stat_csv("260;;r22;9;100.00;;\n80;;r39;5;55.00;;\n7;;r3a;9;100.00;;\n")
    assert counts_of_one_run(without, with_one) == {"r22": 160}


def test_a_sampled_event_that_perf_replaced_is_seen():
    (event,) = parse_evlist(EVLIST_6_1 + "# Tip: use 'perf evlist -F'\nno attributes\n")
    assert event.name == "cpu-clock"
    assert event.attributes["type"] == "1"
    assert event.attributes["sample_freq"] == "4000"


def test_samples_by_symbol_are_read():
    user, kernel = parse_report(REPORT_6_1)
    assert (user.symbol, user.overhead_percent, user.samples, user.period) == (
        "handle_amd",
        50,
        1,
        250000,
    )
    assert kernel.symbol == "up_write"


def test_a_symbol_may_hold_commas_and_other_lines_are_passed_over():
    (line,) = parse_report(" 12.34% , 3 , 7 ,[.] std::pair<int, long>::get\n 99.00%\na,b,c,d\n")
    assert line == SymbolSamples("std::pair<int, long>::get", 12.34, 3, 7)


def test_each_event_of_a_recording_has_its_samples():
    text = (
        "# To display the perf.data header info, please use --header\n"
        "# Samples: 3K of event 'r22:u'\n# Event count (approx.): 3\n"
        " 60.00% , 6 , 60 ,[.] main\n 40.00% , 4 , 40 ,[.] exit\n\n"
        "# Samples: 1  of event 'cycles'\n 100.00% , 1 , 9 ,[k] idle\n"
    )
    assert parse_reports(text) == {
        "r22": [SymbolSamples("main", 60, 6, 60), SymbolSamples("exit", 40, 4, 40)],
        "cycles": [SymbolSamples("idle", 100, 1, 9)],
    }


def test_board_files_name_events_by_code_or_by_perfs_name():
    assert event_argument(0x97) == "r97"
    assert event_argument("page-faults") == "page-faults"
