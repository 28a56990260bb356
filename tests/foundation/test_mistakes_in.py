"""Sentences that say what to change."""

from foundation.errors import nearest


def test_a_sentence_ends_with_near_names_else_with_all_else_with_that_there_is_none() -> None:
    assert nearest("matmull", ["matmul", "softmax"]) == "did you mean matmul?"
    assert nearest("x", ["matmul", "softmax"]) == "choose one of matmul, softmax"
    assert nearest("x", ["matmul"]) == "choose matmul"
    assert nearest("x", []) == "there is none"
