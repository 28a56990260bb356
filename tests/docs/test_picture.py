"""The front page's figures are those of its picture."""

from __future__ import annotations

import html
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = 2 * 256 * 512 * 256


def test_the_front_page_has_the_speeds_of_its_picture() -> None:
    picture = html.unescape((ROOT / "docs" / "pictures" / "tune.svg").read_text()).replace(
        "\xa0", " "
    )
    rows = re.findall(r"> +(1|default) +M=[^<]*? ([\d.]+) ms", picture)
    speeds = {row: f"{OPERATIONS / float(time_ms) / 1e6:.1f} GFLOP/s" for row, time_ms in rows}
    text = (ROOT / "README.md").read_text()
    assert f"The winner is estimated at {speeds['1']}" in text
    assert f"the default at {speeds['default']}" in text
