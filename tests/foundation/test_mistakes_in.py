"""Sentences that say what to change."""

from foundation.errors import nearest


def test_a_sentence_ends_with_near_names_else_with_all_else_with_that_there_is_none() -> None:
    assert nearest("matmull", ["matmul", "softmax"]) == "did you mean matmul?"
    assert nearest("x", ["matmul", "softmax"]) == "choose one of matmul, softmax"
    assert nearest("x", ["matmul"]) == "choose matmul"
    assert nearest("x", []) == "there is none"


def test_long_names_have_lines_of_their_own() -> None:
    long = [f"matmul-M{m}-N4096-K1024-fp32-emulated-x60-auto-8b059983" for m in (1, 2)]
    assert nearest("", ["one", "two"]) == "choose one of one, two"
    assert nearest("", long).splitlines()[1:] == [f"  {name}" for name in long]
    assert nearest(long[0][:-1], long).splitlines()[0] == "did you mean one of these?"
