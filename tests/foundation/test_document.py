"""YAML and JSON files that nobody wrote for this project."""

from __future__ import annotations

import json
import time

import pytest

from foundation.document import read_document, read_list
from foundation.errors import UserError


@pytest.mark.parametrize("text", ["[" * 40_000, "{a: " * 10_000, "- " * 20_000, "? " * 20_000])
def test_deep_nesting_is_refused_soon(tmp_path, text):
    path = tmp_path / "deep.yaml"
    path.write_text(text)
    start_s = time.process_time()
    with pytest.raises(UserError, match="nested too deeply"):
        read_document(path, "study")
    assert time.process_time() - start_s < 1


def test_brackets_in_texts_are_no_nesting(tmp_path):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"a": "[0, 1) \\" + '"' + "[{" * 300} for _ in range(300)]))
    assert len(read_list(path, "row")) == 300
    path.write_text("".join(f"- {{a: 'it [', b: [{n}, [2]]}} # [\n" for n in range(50)))
    assert len(read_list(path, "row")) == 50
