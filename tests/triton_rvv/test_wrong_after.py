"""Which pass or rule is to blame for a wrong kernel."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest

from triton_rvv.pass_printer import skipped_names
from triton_rvv.wrong_after import wrong_after


@pytest.mark.parametrize("name", [skipped_names()[0], "infer-access", skipped_names()[-1]])
def test_the_one_that_makes_a_kernel_wrong(name):
    asked = list[Collection[str]]()

    def is_wrong(skipped: Collection[str]) -> bool:
        asked.append(skipped)
        return name not in skipped

    assert wrong_after(is_wrong) == f"It is wrong after {name}."
    assert len(asked) <= 2 + math.ceil(math.log2(len(skipped_names())))  # halves, and all or none


def test_none_is_to_blame():
    assert wrong_after(lambda _: True).startswith("It is wrong without any pass or rule")
    assert wrong_after(lambda _: False) == "It is right this time."
