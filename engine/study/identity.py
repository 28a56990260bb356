"""What a study is about, and its name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engine.study.objectives import TIME_S

__all__ = [
    "FORMAT_VERSION",
    "KERNEL_FILE",
    "OPTUNA_VERSION",
    "SAMPLER",
    "SEED",
    "SPACE_NAME",
    "VERSION",
    "StudyIdentity",
]

# The format of what is stored. Raise it if older code would misread a change.
FORMAT_VERSION = 2

# The attribute of a study whose search space is not its kernel's own: the space's name.
SPACE_NAME = "space_name"

# The attribute of a study of a user's own kernel: the file's path as it was given last.
KERNEL_FILE = "kernel_file"

# The attributes of a study that say what proposed its trials.
SAMPLER = "sampler"
SEED = "seed"

# The attributes of a study that say with which versions it began: this program's, and Optuna's,
# whose samplers a search may use.
VERSION = "tuner_version"
OPTUNA_VERSION = "optuna_version"

# Characters of a study's name for its sizes, such as "M1024-N1024-K1024".
_MOST_OF_SIZES = 40


@dataclass(frozen=True)
class StudyIdentity:
    """What a study is about. Times of studies that differ in this are never mixed.

    Args:
        kernel: the kernel's name.
        shape: size of each dimension.
        dtype: element type.
        device: what measures it.
        sampler: name of the sampler. Any sampler can use the trials of another, but a study's
            own trials are proposed by one, so that it can be quoted.
        made_with: what else determines the times, by name ("board model", "compiler"); each a
            short text that changes with it.
        more_shapes: the other shapes of a study that looks for one configuration for several.
        objectives: names of the objectives to minimise, the time first.
        space_name: of the search space, if it is not the kernel's own.
        kernel_file: of a user's own kernel, as `load_kernel` takes it; it is stored, and another
            place of the same kernel is the same study.
        seed: of the sampler. Another seed is another study; the name says so but for 0, the
            default.
    """

    kernel: str
    shape: Mapping[str, int]
    dtype: str
    device: str
    sampler: str
    made_with: Mapping[str, str]
    more_shapes: tuple[Mapping[str, int], ...] = ()
    objectives: tuple[str, ...] = (TIME_S,)
    space_name: str = ""
    kernel_file: str = ""
    seed: int = 0

    @property
    def shapes(self) -> tuple[Mapping[str, int], ...]:
        """Every shape of the study."""
        return (self.shape, *self.more_shapes)

    @property
    def name(self) -> str:
        """The study's default name: "matmul-M256-fp32-emulated-x60-auto-1f0c2a9b".

        It ends in a digest of `made_with`: another compiler or board model starts a new study
        beside the old one. Many sizes, as of captured kernels, are a digest.
        """
        return self._names()[0]

    def name_among(self, names: Collection[str]) -> str:
        """The name of this study among those that are stored, and of a new one.

        Earlier versions kept the colon of the device's name, or all sizes.
        """
        oldest_first = reversed(self._names())
        return next((name for name in oldest_first if name in names), self.name)

    def other_parts(self, name: str, attributes: Mapping[str, object]) -> tuple[str, ...]:
        """Names of the parts of `made_with` in which alone a study differs from this one; none if
        it differs in something else, or in nothing.

        Args:
            name: of that study.
            attributes: as its storage has them.
        """
        stems = "|".join(map(re.escape, self._stems()))
        if not re.fullmatch(rf"({stems})(-[0-9a-f]{{8}})?", name):
            return ()
        theirs = attributes.get("made_with")
        parts = dict(theirs) if isinstance(theirs, Mapping) else {}
        return tuple(
            part
            for part in sorted({*parts, *self.made_with})
            if parts.get(part) != self.made_with.get(part)
        )

    def _names(self) -> list[str]:
        """Its name, and those of earlier versions."""
        ending = _digest(json.dumps(dict(self.made_with), sort_keys=True))
        return [f"{stem}-{ending}" for stem in self._stems()]

    def _stems(self) -> list[str]:
        sizes = "-".join(f"{name}{size}" for name, size in self.shape.items())
        if self.more_shapes:  # all their sizes would make a name too long for a file
            shapes = json.dumps([dict(shape) for shape in self.shapes])
            sizes = f"{len(self.shapes)}-shapes-{_digest(shapes)}"
        long = self._stem(sizes)
        short = sizes if len(sizes) <= _MOST_OF_SIZES else _digest(sizes)
        return [self._stem(short).replace(":", "-"), long.replace(":", "-"), long]

    def _stem(self, sizes: str) -> str:
        several = self.objectives if len(self.objectives) > 1 else ()
        named = (self.space_name,) if self.space_name else ()
        sized = (sizes,) if sizes else ()
        seeded = (f"seed{self.seed}",) if self.seed else ()
        about = (self.kernel, *named, *sized, self.dtype, self.device, self.sampler)
        return "-".join((*about, *seeded, *several))

    def attributes(self) -> dict[str, object]:
        """What is stored with the study and has to be the same to resume it.

        The shape is a list if there are several, which tells readers that times are joint.
        """
        shapes = [dict(shape) for shape in self.shapes]
        return {
            "format_version": FORMAT_VERSION,
            "kernel": self.kernel,
            "shape": shapes if self.more_shapes else shapes[0],
            "dtype": self.dtype,
            "device": self.device,
            "made_with": dict(self.made_with),
            **({SPACE_NAME: self.space_name} if self.space_name else {}),
        }

    def searched_by(self) -> dict[str, object]:
        """What proposes the study's trials, stored when it begins; the same on resuming.

        Studies of earlier versions do not say it.
        """
        return {SAMPLER: self.sampler, SEED: self.seed}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
