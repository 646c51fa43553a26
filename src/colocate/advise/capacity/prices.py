"""The price of a GPU per hour: as given, or from the catalogue."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from shlex import quote

from colocate.advise.capacity.fleet_sizes import FleetSizes, GpuKind
from colocate.errors import InputError, UnknownNameError
from colocate.inputs.compute import known_accelerator

HIGHEST = 1e9
"""The highest price per hour accepted, in US dollars: beyond any GPU, so it is a slip."""


def parse_prices(texts: Sequence[str]) -> dict[str, Fraction]:
    """Read prices such as `H100=2.5`, by name."""
    prices: dict[str, Fraction] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            amount = float(number)
        except ValueError:
            amount = -1.0
        if not name or not 0.0 <= amount <= HIGHEST:
            expected = "KIND=PRICE with a price per hour >= 0, such as H100=2.5"
            raise InputError.of("price", text, expected)
        prices[name] = Fraction(str(amount))
    return prices


def prices_of(sizes: FleetSizes, told: Mapping[str, Fraction]) -> list[Fraction | None]:
    """Return the price per hour of one GPU of each kind; None where it is unknown.

    Raises
    ------
    UnknownNameError
        If a price is given for a name that no kind, entry or node of the fleet has.
    """
    names = [_names(sizes, kind) for kind in sizes.kinds]
    known = list(dict.fromkeys(name for of_kind in names for name in of_kind))
    for name in told:
        if name not in known:
            raise UnknownNameError.among("price of GPU", name, known)
    return [
        next((told[name] for name in of_kind if name in told), _listed(sizes, kind))
        for of_kind, kind in zip(names, sizes.kinds, strict=True)
    ]


def needed_prices(sizes: FleetSizes, told: Mapping[str, Fraction]) -> list[Fraction]:
    """Return the price per hour of one GPU of each kind; raises InputError if one is unknown."""
    prices = prices_of(sizes, told)
    missing = [k.label for k, price in zip(sizes.kinds, prices, strict=True) if price is None]
    if missing:
        raise InputError(
            f"the price of {', '.join(f'{name!r}' for name in missing)} is not known, give it: "
            + " ".join(f"--price {quote(name)}=..." for name in missing)
            + " (US dollars per hour), or ask for the fewest GPUs: --by gpus"
        )
    return [price for price in prices if price is not None]


def _names(sizes: FleetSizes, kind: GpuKind) -> list[str]:
    """Return the names by which a price can refer to a kind, most specific first."""
    entries = sizes.entries(kind)
    names = [kind.label, *(entry.stated_name for entry in entries)]
    names += [name for entry in entries for name in (entry.node, entry.kind) if name]
    return list(dict.fromkeys(names))


def _listed(sizes: FleetSizes, kind: GpuKind) -> Fraction | None:
    row = known_accelerator(sizes.entries(kind)[0].kind)
    if row is None or row.price_per_hour is None:
        return None
    return Fraction(str(row.price_per_hour))
