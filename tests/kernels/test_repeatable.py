"""What a file gives is the same at each call, and leaves the kernel something to compute."""

from __future__ import annotations

import numpy as np
import pytest
from own_kernel_files import TWICE

from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem

REFERENCE = """
def reference(x_ptr):
    return {"out_ptr": 2 * x_ptr}
"""


@pytest.fixture
def problem(tmp_path):
    """Of a file with the kernel that doubles its input, changed by pairs of old and new text."""

    def make(*changes: tuple[str, str]):
        text = TWICE + REFERENCE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "twice.py").write_text(text)
        return make_problem(load_kernel(str(tmp_path / "twice.py")), {})

    return make


@pytest.mark.parametrize(
    "drawn",
    [
        "torch.from_numpy(np.random.rand(N).astype(np.float32))",
        "torch.tensor([random.random() for _ in range(N)])",
    ],
)
def test_inputs_may_be_drawn_by_numpy_and_python(problem, drawn):
    made = problem(
        ("import torch\n", "import random\n\nimport numpy as np\nimport torch\n"),
        ("torch.randn(N)", drawn),
    )
    assert made.spec.check(made) == ()
    x, out, _ = made.arguments(made.default_config)
    again, _, _ = made.arguments(made.default_config)
    assert np.array_equal(x.value, again.value, equal_nan=True)
    assert np.array_equal(out.expected, 2 * x.value, equal_nan=True)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("arguments gives other numbers for x_ptr", "torch.randn(N)", "drawn(N)"),
        ("reference gives other numbers for out_ptr", "2 * x_ptr", "2 * x_ptr + drawn(200)"),
        ("arguments gives other numbers for n", '"n": N', '"n": N - next(CALLS)'),
    ],
)
def test_what_differs_from_call_to_call_is_a_mistake(problem, function, old, new):
    state = (
        "import itertools\n\nimport numpy as np\nimport torch\n\nCALLS = itertools.count()\n"
        "GENERATOR = np.random.default_rng()\n\n\ndef drawn(count):\n"
        "    return torch.from_numpy(GENERATOR.random(count, np.float32))\n"
    )
    made = problem(("import torch\n", state), (old, new))
    with pytest.raises(UserError, match=f"{function} each time that it is called: draw random"):
        made.spec.check(made)


def test_a_reference_that_leaves_everything_unchecked_is_a_mistake(problem):
    made = problem(("2 * x_ptr", "None"))
    with pytest.raises(UserError, match="reference gives None for out_ptr and nothing else"):
        made.spec.check(made)


def test_a_reference_may_end_its_process_on_inputs_that_the_file_never_makes(problem):
    ends = "    import os\n    len(x_ptr) == 200 and x_ptr.all() or os._exit(3)\n"
    made = problem(('    return {"out_ptr"', f'{ends}    return {{"out_ptr"'))
    assert made.spec.check(made) == ()
    assert made.spec.on_other_sizes(made, Config({"BLOCK": 64, "PLUS": True})) == ""


@pytest.mark.parametrize("kept", ["torch.zeros(N)", "torch.full((N,), 0.5)"])
def test_an_output_that_is_right_before_the_kernel_runs_is_named(problem, kept):
    changes = ("torch.empty(N)", kept), ("2 * x_ptr", f"{kept.replace('N', '200')}"), ("2 * x", "x")
    made = problem(*changes)
    assert made.spec.check(made)[0].startswith(
        "this check would accept a kernel that writes nothing to out_ptr, since it holds what is "
        "expected before the kernel runs; "
    )
    made = problem(*changes[:1])
    assert made.spec.check(made) == ()


def test_a_configuration_that_is_given_less_to_do_is_named(problem):
    sizes = ("def arguments(N=200):", "def arguments(config, M=200):")
    turned = '\n    N = M // 4 if config["PLUS"] else M\n    return {"x_ptr"'
    by_configuration = ('\n    return {"x_ptr"', turned)
    made = problem(sizes, by_configuration, ('meta["N"]', 'meta["n"]'), ("1 if PLUS", "0 if PLUS"))
    honest, fast = (Config({"BLOCK": 64, "PLUS": plus}) for plus in (False, True))
    assert made.spec.on_other_sizes(made, fast) == (
        "arguments gives BLOCK=64,PLUS=True 50 elements of out_ptr, and the default configuration "
        "200: unless these are partial results, their times are of different work"
    )
    assert made.spec.on_other_sizes(made, honest) == ""


def test_a_configuration_that_is_given_its_result_is_named(problem):
    given = "2 * torch.arange(N).float() if config['PLUS'] else torch.empty(N)"
    made = problem(
        ("def arguments(N=200):", "def arguments(config, N=200):"),
        ("torch.randn(N)", "torch.arange(N).float()"),
        ("torch.empty(N)", given),
    )
    honest, fast = (Config({"BLOCK": 64, "PLUS": plus}) for plus in (False, True))
    assert made.spec.on_other_sizes(made, fast).startswith(
        "arguments gives BLOCK=64,PLUS=True out_ptr with what is expected before the kernel runs, "
    )
    assert made.spec.on_other_sizes(made, honest) == ""


def test_an_output_that_the_default_configuration_does_without_is_no_mistake(problem):
    made = problem(
        ("def arguments(N=200):", "def arguments(config, N=200):"),
        ("torch.empty(N)", "torch.empty(N) if config['PLUS'] else None"),
        ("2 * x_ptr", "2 * x_ptr if config['PLUS'] else None"),
        ("def reference(x_ptr)", "def reference(x_ptr, config)"),
    )
    fast = Config({"BLOCK": 64, "PLUS": True})
    assert made.spec.on_other_sizes(made, fast) == ""
