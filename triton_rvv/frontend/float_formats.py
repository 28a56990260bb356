"""The formats of 8- and 16-bit floats, and numbers in them."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["SMALL_FLOATS", "SmallFloat"]


@dataclass(frozen=True)
class SmallFloat:
    """A binary floating-point format with a sign bit on top.

    Args:
        name: MLIR's.
        exponent_bits, mantissa_bits: the fields below the sign.
        largest: the code of the largest finite number.
        nan: a code of "not a number".
        zero_has_sign: whether there is a negative zero; where not, its code is that of NaN, and
            the bias is one more.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    largest: int
    nan: int
    zero_has_sign: bool = True

    @property
    def bits(self) -> int:
        """Width of a number."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What the exponent field of 1.0 holds."""
        return (1 << (self.exponent_bits - 1)) - self.zero_has_sign

    @property
    def magnitude_mask(self) -> int:
        """Every bit but the sign."""
        return (1 << (self.bits - 1)) - 1

    def encode(self, value: float) -> int:
        """The code of the nearest number, ties to even; infinity or the largest beyond the range.

        Formats without infinity take the largest number for it.
        """
        sign = (1 << (self.bits - 1)) if math.copysign(1.0, value) < 0 else 0
        if math.isnan(value):
            return sign | self.nan
        beyond = min(self.largest + 1, self.nan - 1)
        if math.isinf(value):
            return sign | beyond
        exponent = max(math.frexp(value)[1] - 1, 1 - self.bias) if value else 1 - self.bias
        count = round(math.ldexp(abs(value), self.mantissa_bits - exponent))
        code = count + ((exponent + self.bias - 1) << self.mantissa_bits)
        if code == 0 and not self.zero_has_sign:
            return 0
        return sign | min(code, beyond)

    def decode(self, code: int) -> float:
        """The number that a code stands for."""
        if code == self.nan:
            return math.nan
        sign = -1.0 if code >> (self.bits - 1) else 1.0
        magnitude = code & self.magnitude_mask
        if magnitude > self.largest:
            is_infinity = magnitude == self.largest + 1 and self.largest + 1 < self.nan
            return sign * math.inf if is_infinity else math.nan
        exponent, fraction = divmod(magnitude, 1 << self.mantissa_bits)
        if exponent:
            fraction += 1 << self.mantissa_bits
        return sign * math.ldexp(fraction, max(exponent, 1) - self.bias - self.mantissa_bits)


# IEEE 754's half; Google's bfloat16; "FP8 Formats for Deep Learning" (Micikevicius et al., 2022),
# of which E4M3 has no infinity and one NaN; and "8-bit Numerical Formats for Deep Neural Networks"
# (Noune et al., 2022), in which the code of a negative zero is the only one that is no number.
SMALL_FLOATS = {
    small.name: small
    for small in (
        SmallFloat("f16", 5, 10, largest=0x7BFF, nan=0x7E00),
        SmallFloat("bf16", 8, 7, largest=0x7F7F, nan=0x7FC0),
        SmallFloat("f8E5M2", 5, 2, largest=0x7B, nan=0x7E),
        SmallFloat("f8E4M3FN", 4, 3, largest=0x7E, nan=0x7F),
        SmallFloat("f8E5M2FNUZ", 5, 2, largest=0x7F, nan=0x80, zero_has_sign=False),
        SmallFloat("f8E4M3FNUZ", 4, 3, largest=0x7F, nan=0x80, zero_has_sign=False),
    )
}
