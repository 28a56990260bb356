"""What a file gives is the same at each call, and leaves the kernel something to compute."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from kernel_runs import run_kernel
from own_kernel_files import HEAD, TWICE

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.journal import Outcome
from kernels.own.other_sizes import on_other_sizes
from kernels.registry import load_kernel, make_problem
from kernels.spec import UNTRIED_SIZES

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
    said = made.spec.on_other_sizes(made, Config({"BLOCK": 64, "PLUS": True}))
    assert said.startswith(UNTRIED_SIZES)


def test_a_reference_that_takes_a_tuned_parameter_is_told_what_to_take(problem):
    made = problem(("def reference(x_ptr)", "def reference(x_ptr, BLOCK)"))
    said = "reference takes BLOCK, which is tuned: take `config`, which holds it$"
    with pytest.raises(UserError, match=said):
        made.spec.check(made)


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
    assert made.spec.on_other_sizes(made, fast).startswith(UNTRIED_SIZES)


# As a router sends rows: how many there are is drawn, the tensors have room for all.
_ROUTED = (
    HEAD
    + """
import random

import random

import numpy as np

@triton.jit
def routed_kernel(x_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < tl.load(count_ptr))
    tl.store(out_ptr + at, 2 * x, mask=at < tl.load(count_ptr))

def get_routed_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})]

GENERATOR, kept_inputs = np.random.default_rng(), ["count_ptr"]

def call(N=900):
    n = int(DRAWN)
    x, out = torch.randn(ROOM), torch.zeros(ROOM)
    count = torch.tensor([n], dtype=torch.int32)
    routed_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, count, out)

def reference(x_ptr, count_ptr):
    return {"out_ptr": torch.where(torch.arange(len(x_ptr)) < count_ptr, 2 * x_ptr, 0)}
"""
)


@pytest.mark.parametrize("room", ["n", "N"])
@pytest.mark.parametrize(
    "drawn",
    ["torch.randint(N // 2, N, ())", "np.random.randint(N // 2, N)", "random.randint(1, N)"],
)
def test_as_many_programs_run_as_the_drawn_sizes_of_the_tensors_ask_for(tmp_path, room, drawn):
    (tmp_path / "routed.py").write_text(_ROUTED.replace("DRAWN", drawn).replace("ROOM", room))
    made = make_problem(load_kernel(str(tmp_path / "routed.py")), {})
    for block, seed in [(16, 1), (64, 2)]:
        torch.manual_seed(seed)  # whatever the process drew before
        random.seed(seed)
        np.random.seed(seed)
        config = Config({"BLOCK": block})
        count = np.asarray(made.arguments(config)[1].value)[0]
        assert made.spec.grid(made, config) == (-(-int(count) // block), 1, 1)
        # One grid serves the timed runs, too.
        assert made.timed_arguments(config)[1].value == count
    run_kernel(made, {"BLOCK": block}, tmp_path)
    assert made.spec.check(made)[0].startswith("the timed runs have the same inputs as the check")


def test_another_number_of_programs_at_each_call_is_a_mistake(tmp_path):
    text = _ROUTED.replace("DRAWN", "GENERATOR.integers(N // 2, N)").replace("ROOM", "N")
    (tmp_path / "routed.py").write_text(text.replace("tensor([n]", "tensor([N]"))
    made = make_problem(load_kernel(str(tmp_path / "routed.py")), {})
    what = r"call gives another number of programs \(\d+x1x1, then \d+x1x1\) each time"
    with pytest.raises(UserError, match=what):
        made.spec.check(made)
    with pytest.raises(UserError, match=what):  # whatever asks for it, such as explain
        made.spec.grid(made, made.default_config)


def test_what_a_file_draws_when_it_is_imported_is_the_same_each_time(tmp_path):
    drawn = "COUNT = int(torch.randint(1, 1000, ()))\n\ndef call("
    text = _ROUTED.replace("DRAWN", "COUNT").replace("ROOM", "N").replace("def call(", drawn)
    found = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(text)
        made = make_problem(load_kernel(str(tmp_path / f"{name}.py")), {})
        found.append(made.spec.grid(made, Config({"BLOCK": 16})))
    assert found[0] == found[1]


def test_a_lost_tail_is_looked_for_at_multiples_that_a_reference_takes():
    def run(shape, config):
        if shape["K"] % 32:  # groups of 32 share a scale
            return Outcome(False)
        is_right = shape["K"] % config["BLOCK"] == 0
        return Outcome(is_right, "" if is_right else "y[0] is 1 and should be 2")

    config = Config({"BLOCK": 128})
    said = on_other_sizes({"K": 512}, config, config, run, {"K"}, "reference")
    assert said.startswith("BLOCK=128 is right at K=512 and wrong at K=480")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            [('    return {"out_ptr"', '    assert len(x_ptr) == 200\n    return {"out_ptr"')],
            "the file refuses smaller ones (",
        ),
        (
            [("def arguments(N=200):", "def arguments():\n    N = 200"), ('meta["N"]', "200")],
            "arguments takes no sizes: ",
        ),
    ],
)
def test_where_no_other_size_can_be_tried_it_is_said_why(problem, changes, why):
    made = problem(*changes)
    said = made.spec.on_other_sizes(made, Config({"BLOCK": 64, "PLUS": True}))
    assert said.startswith(f"tried at no other size, since {why}")
    assert said.endswith("BLOCK=64,PLUS=True may be wrong elsewhere")
