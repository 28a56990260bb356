"""The launcher's comparison of outputs, for every element type."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from launchers import STORAGE_TYPES, Argument
from launchers.output import ExitStatus, parse_launcher_output

COPY = "memcpy((void *)args[1], (void *)args[0], args[2]);"
NOTHING = ""
ALL_BUT_LAST_BYTE = "memcpy((void *)args[1], (void *)args[0], args[2] - 1);"

INTEGER_TYPES = ["i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
FLOAT_TYPES = ["fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5"]
# Types that NumPy does not have: theirs in torch, and the bits of a NaN.
ONLY_TORCH = {
    "bf16": (torch.bfloat16, 0x7FC0),
    "fp8e4nv": (torch.float8_e4m3fn, 0x7F),
    "fp8e5": (torch.float8_e5m2, 0x7E),
}
TYPES = INTEGER_TYPES + FLOAT_TYPES


def contents(kind: str) -> np.ndarray:
    """64 values of a type: integers with its extremes, floating point with zero at both ends."""
    storage = np.dtype(STORAGE_TYPES[kind])
    if kind in FLOAT_TYPES:
        values = np.concatenate([[0], np.linspace(-300, 300, 62), [0]]).astype(np.float32)
        return bits_of(values, kind) if kind in ONLY_TORCH else values.astype(storage)
    if kind == "i1":
        return (np.arange(64) % 3 == 0).astype(storage)
    limits = np.iinfo(storage)
    spread = np.random.default_rng(7).integers(limits.min, limits.max, 62, storage, endpoint=True)
    return np.concatenate([spread, np.array([limits.min, limits.max], storage)])


def bits_of(values: np.ndarray, kind: str) -> np.ndarray:
    """`values` rounded to a type that only torch has, as bits."""
    rounded = torch.from_numpy(values).to(ONLY_TORCH[kind][0])
    return rounded.view(torch.uint8).numpy().view(STORAGE_TYPES[kind])


def copy_arguments(kind, value, expected, atol=0.0, rtol=0.0):
    return [
        Argument("source", f"*{kind}", value),
        Argument("out", f"*{kind}", None, expected, atol, rtol),
        Argument("size_bytes", "i64", value.nbytes),
    ]


@pytest.mark.parametrize("kind", TYPES)
def test_right_output_passes(run_kernel, kind):
    value = contents(kind)
    done = run_kernel(COPY, copy_arguments(kind, value, value))
    assert done.returncode == ExitStatus.OK, done
    report = parse_launcher_output(done.stdout)
    assert report.output_ok is True
    assert report.max_abs_error == 0.0
    assert report.kernel == "tiny_kernel"
    assert report.vlen_bits == 256


@pytest.mark.parametrize("kind", TYPES)
def test_one_wrong_element_is_found(run_kernel, kind):
    value = contents(kind)
    expected = value.copy()
    expected[17] = contents(kind)[18] if value[17] != value[18] else value[17] ^ 1
    done = run_kernel(COPY, copy_arguments(kind, value, expected), "--repeats", "3")
    assert done.returncode == ExitStatus.WRONG_OUTPUT, done
    report = parse_launcher_output(done.stdout)
    assert report.output_ok is False
    assert report.mismatch.startswith("out[17] is ")
    assert report.times_s == ()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("body", "index"), [(NOTHING, 0), (ALL_BUT_LAST_BYTE, 63)])
def test_output_left_unwritten_is_wrong(run_kernel, kind, body, index):
    value = contents(kind)
    done = run_kernel(body, copy_arguments(kind, value, value))
    assert done.returncode == ExitStatus.WRONG_OUTPUT, done
    assert parse_launcher_output(done.stdout).mismatch.startswith(f"out[{index}] is ")


@pytest.mark.parametrize("kind", FLOAT_TYPES)
def test_unwritten_output_is_wrong_where_nan_is_expected(run_kernel, kind):
    value = contents(kind)
    expected = value.copy()
    expected[:] = ONLY_TORCH[kind][1] if kind in ONLY_TORCH else np.nan
    assert run_kernel(COPY, copy_arguments(kind, expected, expected)).returncode == ExitStatus.OK
    done = run_kernel(NOTHING, copy_arguments(kind, value, expected))
    assert done.returncode == ExitStatus.WRONG_OUTPUT, done


@pytest.mark.parametrize(
    ("got", "expected", "right"),
    [
        (1.5, 1.0, True),
        (1.5000002, 1.0, False),
        (-11.5, -10.0, True),
        (-11.6, -10.0, False),
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (1.0, np.inf, False),
        (np.inf, 1.0, False),
        (np.nan, np.inf, False),
    ],
)
def test_tolerance_and_special_values(run_kernel, got, expected, right):
    """atol .5 and rtol .1, on both sides of the limit and with what has no difference."""
    rtol = 0.0 if abs(expected) == 1.0 else 0.1
    done = run_kernel(
        COPY,
        copy_arguments(
            "fp32", np.array([got], np.float32), np.array([expected], np.float32), 0.5, rtol
        ),
    )
    assert done.returncode == (ExitStatus.OK if right else ExitStatus.WRONG_OUTPUT), done
    report = parse_launcher_output(done.stdout)
    both_finite = np.isfinite(got) and np.isfinite(expected)
    difference = abs(np.float32(got) - np.float32(expected)) if both_finite else np.inf
    assert report.max_abs_error == pytest.approx(0.0 if right and not both_finite else difference)


@pytest.mark.parametrize("kind", ["bf16", "fp8e4nv", "fp8e5"])
def test_every_value_is_read_as_torch_reads_it(run_kernel, kind):
    """Against the same values as fp32: equal bits are no proof that they were understood."""
    bits = np.arange(1 << 8 * np.dtype(STORAGE_TYPES[kind]).itemsize, dtype=np.int64)
    bits = bits[:: 1 if bits.size == 256 else 251].astype(STORAGE_TYPES[kind])
    values = torch.from_numpy(bits.view(np.uint8)).view(ONLY_TORCH[kind][0]).double().numpy()
    finite = np.isfinite(values)
    zeros = np.zeros_like(bits[finite])
    done = run_kernel(COPY, copy_arguments(kind, zeros, bits[finite], atol=1e9))
    largest = parse_launcher_output(done.stdout).max_abs_error
    assert largest == pytest.approx(np.abs(values[finite]).max(), rel=1e-5)
    for index in np.flatnonzero(finite & (values != 0))[::17]:
        done = run_kernel(COPY, copy_arguments(kind, zeros[:1], bits[index : index + 1]))
        assert f"got=0 expected={values[index]:.9g} " in done.stdout


@pytest.mark.parametrize("kind", INTEGER_TYPES[1:])
def test_wrong_integer_is_printed_as_its_type_has_it(run_kernel, kind):
    limits = np.iinfo(STORAGE_TYPES[kind].__name__)
    lowest, highest = (np.array([limit], STORAGE_TYPES[kind]) for limit in (limits.min, limits.max))
    done = run_kernel(COPY, copy_arguments(kind, highest, lowest))
    assert f" index=0 got={limits.max} expected={limits.min} " in done.stdout
    error = float(limits.max - limits.min)
    assert parse_launcher_output(done.stdout).max_abs_error == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("kind", ["i64", "u64"])
def test_large_integers_are_compared_exactly(run_kernel, kind):
    value = np.array([2**62], STORAGE_TYPES[kind])
    done = run_kernel(COPY, copy_arguments(kind, value, value + value.dtype.type(1)))
    assert done.returncode == ExitStatus.WRONG_OUTPUT, done
    assert f"got={2**62} expected={2**62 + 1} " in done.stdout


def test_largest_error_is_over_all_outputs(run_kernel):
    one, half = np.ones(3, np.float32), np.array([1, 1.5, 1], np.float32)
    arguments = [
        Argument("first", "*fp32", one, half, atol=1),
        Argument("second", "*fp32", one, np.array([1, 1, 1.25], np.float32), atol=0.25),
    ]
    report = parse_launcher_output(run_kernel(NOTHING, arguments).stdout)
    assert (report.max_abs_error, report.max_share) == (0.5, 1.0)


def test_kernel_without_outputs_has_no_error(run_kernel):
    done = run_kernel(NOTHING, [Argument("n", "i32", 3)])
    assert "out OK max_abs_error=0 max_share=0\n" in done.stdout
