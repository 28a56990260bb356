"""What a board file asks of its board's state: a governor, and a temperature to measure below."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rvv_runner.board_file import SshSettings
from rvv_runner.conditions import COOL_IT
from rvv_runner.finding import Finding
from rvv_runner.ssh.facts import BoardFacts
from rvv_runner.ssh.session import Session

__all__ = ["set_governor", "state_findings", "unmet_requests"]


def set_governor(session: Session, governor: str, facts: BoardFacts, system: str) -> None:
    """Set the governor of each processor that shows one.

    Args:
        session: a login on the board.
        governor: which.
        facts: of the board.
        system: folder in which the board's kernel shows its devices.

    Raises:
        LinkLost: if the connection ends.
        ValueError: if this user may not set it.
    """
    if facts.governors in ((), (governor,)):
        return
    files = f"{shlex.quote(system)}/devices/system/cpu/cpu*/cpufreq/scaling_governor"
    script = f'for f in {files}; do echo {shlex.quote(governor)} >"$f" || exit 1; done'
    if session.run(shlex.join(["sh", "-c", script])).status != 0:
        raise ValueError(
            f"this user may not set its governor to {governor}: set it there as root, "
            "and remove governor from the board file"
        )


def unmet_requests(settings: SshSettings, facts: BoardFacts) -> dict[str, str]:
    """What the board cannot do of what is asked of it, by the step of the check that finds it."""
    unmet = {}
    if settings.governor is not None and not facts.governors:
        asked = f'governor = "{settings.governor}"'
        unmet["governor"] = f"it shows no governor, so `{asked}` cannot be set: {_REMOVE}"
    if settings.cool_below_c is not None and facts.temperature_c is None:
        asked = f"cool_below_c = {settings.cool_below_c:g}"
        unmet["temperature"] = f"it shows no temperature, so `{asked}` does nothing: {_REMOVE}"
    return unmet


_REMOVE = "remove that from its board file"


def state_findings(settings: SshSettings, facts: BoardFacts) -> Iterator[Finding]:
    """The steps of the check that are about the board's state."""
    unmet = unmet_requests(settings, facts)
    for step, finding in (("governor", _governor(facts)), ("temperature", _hot(settings, facts))):
        yield Finding(step, "note", unmet[step]) if step in unmet else finding


def _governor(facts: BoardFacts) -> Finding:
    if facts.governors in ((), ("performance",)):
        return Finding("governor", "ok", ", ".join(facts.governors) or "none found")
    advice = "run `sudo cpupower frequency-set -g performance` there for steadier times"
    return Finding("governor", "note", f"{', '.join(facts.governors)}: {advice}")


def _hot(settings: SshSettings, facts: BoardFacts) -> Finding:
    if facts.temperature_c is None:
        return Finding("temperature", "ok", "none found")
    text, limit_c = f"{facts.temperature_c:g} °C", settings.cool_below_c
    if limit_c is None or facts.temperature_c <= limit_c:
        return Finding("temperature", "ok", text)
    return Finding(
        "temperature",
        "note",
        f"{text}, above `cool_below_c = {limit_c:g}`: each measurement waits for up to half of its "
        f"time limit; {COOL_IT}",
    )
