"""Add floats without any rounding, for the checkers."""

from collections.abc import Iterable, Sequence
from fractions import Fraction


def whole_numbers(values: Sequence[float]) -> tuple[list[int], int]:
    """Return floats as whole numbers over a common power of two, and its exponent: all exact."""
    ratios = [value.as_integer_ratio() for value in values]
    bits = max([denominator for _, denominator in ratios], default=1).bit_length()
    return [n << (bits - denominator.bit_length()) for n, denominator in ratios], bits - 1


def exact_sum(amounts: Iterable[tuple[float, int]]) -> Fraction:
    """Add numbers, each divided by a whole number, without any rounding."""
    by_divisor: dict[int, list[float]] = {}
    for amount, divisor in amounts:
        by_divisor.setdefault(divisor, []).append(amount)
    total = Fraction()
    for divisor, values in by_divisor.items():
        numbers, bits = whole_numbers(values)
        total += Fraction(sum(numbers), divisor << bits)
    return total
