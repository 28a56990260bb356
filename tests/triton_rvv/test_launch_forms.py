"""What tells one launch of a kernel from another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from triton_rvv.launches.forms import Forms


def test_equal_values_of_other_types_are_other_launches() -> None:
    forms: Forms[str] = Forms([SimpleNamespace(name="SIZES", is_constexpr=True)])
    zeros = (0.0, -0.0, (0.0,), (-0.0,))
    ones = (1, 1.0, True, (1,), (1.0,), (True,), ((1,),), ((True,),))
    for value in (*ones, *zeros, np.float32(2.5)):
        known, form, traits = forms.find((value,), {}, (1,))
        assert known is None
        form.remember(traits, str(value))
        assert forms.find((value,), {}, (1,))[0] == str(value)


def test_integers_that_are_near_are_one_launch_unless_triton_tells_them_apart() -> None:
    parameters = [SimpleNamespace(name="place", is_constexpr=False)]
    forms: Forms[str] = Forms(parameters, frozenset({"place"}), frozenset({100}))
    known, form, traits = forms.find((71,), {}, (1,))
    assert known is None
    form.remember(traits, "from 65 on")
    assert forms.find((127,), {}, (1,))[0] == "from 65 on"
    for other in (100, 112, 1, 0, -71, 63, 129):  # of a task, of 16, a constant, of other sizes
        assert forms.find((other,), {}, (1,))[0] is None
    _, form, traits = forms.find((-(2**31),), {}, (1,))
    form.remember(traits, "the least of 32 bits")
    assert forms.find((-(2**31) - 16,), {}, (1,))[0] is None
