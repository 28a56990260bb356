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
