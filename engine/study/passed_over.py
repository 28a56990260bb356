"""Says which studies were passed over since what they hold makes no sense."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from foundation.printing import printable
from foundation.shapes import as_shape

__all__ = ["is_odd", "note_passed_over"]

_log = logging.getLogger("triton_rvv_tuner")


def is_odd(attributes: Mapping[str, object]) -> bool:
    """Whether a study's attributes name neither a shape nor several."""
    shape = attributes.get("shape")
    shapes = shape if isinstance(shape, list) and shape else [shape]
    return any(as_shape(one) is None for one in shapes)


def note_passed_over(study: str) -> None:
    """Log a sentence for the user, which Python prints on stderr unless told otherwise."""
    _log.warning(
        "the study %s was passed over, since its sizes are none: another program may have "
        "written it",
        printable(study),
    )
