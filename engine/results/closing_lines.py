"""The closing lines of a study for scripts: key=value fields separated by tabs."""

from __future__ import annotations

import shlex
from importlib.util import find_spec

from engine.results.advice import advice
from engine.results.busy import busy_line
from engine.results.fields import yes_no
from engine.results.front import front_lines
from engine.results.joint_table import shape_lines
from engine.results.leaders import leader_lines
from engine.results.paste import measure_command, triton_config
from engine.results.robust_table import robust_lines
from engine.run.counters import CYCLES, CounterChange, counters_of
from engine.run.summary import Summary
from engine.run.tuning import TuningResult
from engine.study.location import artifacts_dir, shown_storage
from engine.study.stored_trial import StoredTrial
from foundation.programs import program

__all__ = ["closing_lines", "other_studies", "places"]

# Of a study's identity; the digest of a file of one's own covers its functions.
_PARTS = {"kernel source": "kernel, reference or other function of its file"}
_SHOWN_STUDIES = 3


def places(result: TuningResult) -> dict[str, str]:
    """Where everything was written, by label."""
    past = result.warm_started_from
    found = {
        "study": result.study,
        **({} if past is None else {"warm_started_from": past}),
        "storage": shown_storage(result.storage),
        "builds": str(result.builds / result.problem.spec.name),
        "dashboard": _dashboard_command(result.storage),
    }
    winner = result.summary.winner
    if winner is not None and "run_command" in winner.attributes:
        found["winner"] = str(winner.attributes["run_command"])
    return found


def _dashboard_command(storage: str) -> str:
    """The command that shows this storage in the dashboard, or how to install that."""
    if find_spec("optuna_dashboard") is None:
        return "not installed: pip install optuna-dashboard"
    artifacts = str(artifacts_dir(storage))
    return shlex.join(
        [program("optuna-dashboard"), shown_storage(storage), "--artifact-dir", artifacts]
    )


def other_studies(result: TuningResult) -> list[str]:
    """The last of the same problem, which explain why the same command started a new one."""
    studies = [
        f"{name} (another {', '.join(_PARTS.get(part, part) for part in parts)})"
        for name, parts in result.other_studies.items()
    ]
    older = len(studies) - _SHOWN_STUDIES
    return [*studies[-_SHOWN_STUDIES:], *([f"{older} older"] if older > 0 else [])]


def closing_lines(result: TuningResult) -> list[str]:
    """All that a run found, one line each."""
    summary = result.summary
    lines = [f"ended={result.ended.reason}\ttried={result.ended.tried}"]
    lines += [] if result.cores is None else [f"cores={result.cores}"]
    lines += [_trial_line(summary, n, trial) for n, trial in enumerate(summary.best, start=1)]
    lines += shape_lines(summary.shapes)
    lines += front_lines(summary)
    lines += [] if summary.comparison is None else leader_lines(summary.comparison)
    lines += map(_counter_line, summary.changes)
    lines += [
        f"board={record.board}\tmeasured={record.measured}\tfaults={record.faults}"
        f"\tbusy_s={record.busy_s:.3f}"
        for record in result.ended.boards
    ]
    lines += _robustness_lines(result)
    lines += busy_line(result.ended)
    lines += [f"status={status}\tcount={count}" for status, count in summary.statuses.items()]
    lines += [
        f"first_reason={status}\treason={' '.join(reason.split())}"
        for status, reason in summary.first_reasons.items()
    ]
    lines += [f"pruned_by_rule={rule}\tcount={count}" for rule, count in result.pruned.items()]
    lines += [f"note={note}" for note in result.notes]
    lines += [f"other_study={study}" for study in other_studies(result)]
    lines += [f"{what}={place}" for what, place in places(result).items()]
    if summary.winner is not None and summary.to_use is not None:
        use = "default" if summary.to_use is summary.default else "winner"
        lines.append(f"measure_command={measure_command(result, summary.winner.config)}")
        lines.append(f"use={use}\tconfig={summary.to_use.config}\tadvice={advice(summary)}")
        if result.problem.spec.callable_file is None:
            lines.append(f"triton_config={triton_config(summary.to_use.config)}")
    return lines


def _trial_line(summary: Summary, rank: int, trial: StoredTrial) -> str:
    fields = [f"best={rank}", f"time_s={summary.time_s(trial):.9f}"]
    fields.append(f"estimated={yes_no(summary.estimated)}")
    fields += ["tied=yes"] if summary.tied(trial) else []
    cycles = counters_of(trial).get(CYCLES)
    if cycles is not None:
        fields.append(f"cycles={cycles:.0f}")
    speedup = summary.speedup(trial)
    if speedup is not None:
        fields.append(f"speedup={speedup:.3f}")
    if summary.comparison is not None:
        fields.append(f"compared_in_turns={yes_no(summary.is_compared(trial))}")
    return "\t".join([*fields, f"config={trial.config}"])


def _robustness_lines(result: TuningResult) -> list[str]:
    robustness = result.summary.robustness
    if robustness is None:
        return []
    return [
        *robust_lines(robustness),
        *(
            f"measure_on_board={measure_command(result, trial.config, device='BOARD')}"
            for trial in robustness.to_measure
        ),
    ]


def _counter_line(change: CounterChange) -> str:
    fields = [f"counter={change.name}", f"default={change.default:.0f}"]
    fields.append(f"winner={change.winner:.0f}")
    if change.ratio is not None:
        fields.append(f"ratio={change.ratio:.3f}")
    return "\t".join([*fields, f"cycles_estimated={change.cycles:.0f}"])
