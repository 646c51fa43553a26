"""A bound with its proof, which anyone can check without trusting the solver."""

from base64 import b85decode, b85encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from math import inf, isinf, isnan
from typing import Any
from zlib import compress, decompressobj
from zlib import error as ZlibError  # noqa: N812

from colocate.errors import InputError
from colocate.fault import Fault, Owner

INFINITY = "Infinity"
"""How a certificate writes infinity, since JSON has no infinite numbers."""
FORMER_NAME = "weights"
"""What plans of earlier versions call multipliers, as a proof and as its field."""
MOST_SYMBOLS = 2**26
"""The largest tree that is read, in bytes; larger ones are refused."""
MOST_TEXT = 2**23
"""The longest text of a tree, in letters; longer ones are refused."""


class Proof(StrEnum):
    """Why no placement can be below the bound."""

    VOLUME = "volume"
    """All load over all free memory."""
    MODEL = "model"
    """One model alone on the GPU that suits it best."""
    MULTIPLIERS = "multipliers"
    """Every model has a multiplier; at the bound the models outweigh what the GPUs can carry."""
    TREE = "tree"
    """Every way to stay at or below the bound was searched; the tree of that search is kept."""
    SEARCH = "search"
    """The same, but the tree was too large to keep, so nobody can walk it again."""
    SOLVERS = "solvers"
    """Two outside solvers found no way to stay at or below the bound."""
    ALONE = "alone"
    """One model has at least this ratio on any GPU, even alone."""
    GROUPS = "groups"
    """Every model has a multiplier; all of them outweigh the groups that keep the ratio."""
    COVER = "cover"
    """No choice of groups that keep the ratio takes all models; the checker searches again."""

    @property
    def checkable(self) -> bool:
        """Whether the independent checker can confirm such a proof."""
        return self not in (Proof.SEARCH, Proof.SOLVERS)


OF_RATIOS = (Proof.ALONE, Proof.GROUPS, Proof.COVER)
"""Proofs about the worst ratio of latency to target; all others are about the pressure."""
SEARCHES = (Proof.TREE, Proof.SEARCH, Proof.SOLVERS)
"""Proofs that may show that no placement has a finite pressure, though placements exist."""
WITH_MULTIPLIERS = (Proof.MULTIPLIERS, Proof.GROUPS, Proof.COVER)
"""Proofs that cannot show that there is no placement at all."""
OWNER = Owner("certificate", None)
"""Whose fields a refusal names."""


@dataclass(frozen=True)
class Certificate:
    """A bound on the pressure, or on the worst ratio, of any placement, and the reason.

    Parameters
    ----------
    proof
        The kind of reason.
    bound
        No placement has a lower pressure, or a lower ratio. If it is infinite, there is no
        placement at all.
    window
        The time window that the proof looks at (volume and multipliers), or begins with (groups
        and cover).
    model
        The name of the model that the proof looks at (model and alone).
    multipliers
        A whole number for each item, in the order of the problem (multipliers); for each choice
        of `problem/checker/latency/companies.py` (groups and cover).
    carried
        What no group on one GPU of each kind exceeds, a whole number (groups and cover).
    nodes
        How many nodes the search took (tree and search).
    order
        The items in the order in which the search takes them (tree).
    tree
        What the search tried, as `problem/checker/walk.py` reads it (tree).
    finite
        Whether an infinite bound excludes only finite pressures or ratios, not all placements
        (searches and alone).
    binding
        Whether only targets that a placement must keep count (alone, groups and cover). Then a
        bound above 1 shows that no placement keeps them all.
    """

    proof: Proof
    bound: float
    window: int = 0
    model: str = ""
    multipliers: tuple[int, ...] = ()
    nodes: int = 0
    order: tuple[int, ...] = ()
    tree: bytes = b""
    finite: bool = False
    binding: bool = False
    carried: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the fields that the proof has."""
        stated = self._stated()
        if self.proof is Proof.TREE:
            stated["tree"] = b85encode(compress(self.tree)).decode()
        return stated

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The plain data that the digest of a plan is made from.

        A hash stands for the tree, which can be packed in more than one way. Multipliers have their
        former name, so that plans of all versions have the same digest.
        """
        stated = self._stated()
        if self.proof is Proof.TREE:
            stated["tree"] = sha256(self.tree).hexdigest()
        if self.proof is Proof.MULTIPLIERS:
            stated |= {"proof": FORMER_NAME, FORMER_NAME: stated.pop("multipliers")}
        return stated

    def _stated(self) -> dict[str, Any]:
        """Return the fields that a proof of this kind has, except the tree."""
        of_groups: dict[str, Any] = {"multipliers": list(self.multipliers)}
        of_groups |= {"carried": list(self.carried)}
        of_groups |= {"window": self.window} if self.window else {}
        details: dict[Proof, dict[str, Any]] = {
            Proof.VOLUME: {"window": self.window},
            Proof.MODEL: {"model": self.model},
            Proof.MULTIPLIERS: {"window": self.window, "multipliers": list(self.multipliers)},
            Proof.TREE: {"nodes": self.nodes, "order": list(self.order)},
            Proof.SEARCH: {"nodes": self.nodes},
            Proof.SOLVERS: {},
            Proof.ALONE: {"model": self.model},
            Proof.GROUPS: of_groups,
            Proof.COVER: of_groups,
        }
        bound = INFINITY if isinf(self.bound) else self.bound
        marks = {
            **({"finite": True} if self.finite else {}),
            **({"binding": True} if self.binding else {}),
        }
        return {"proof": self.proof.value, "bound": bound, **details[self.proof], **marks}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Read plain data; raises InputError if it is no certificate."""
        try:
            data = in_todays_words(data)
            certificate = cls(
                Proof(data["proof"]),
                _bound(data["bound"]),
                int(data.get("window", 0)),
                str(data.get("model", "")),
                tuple([int(number) for number in data.get("multipliers", ())]),
                int(data.get("nodes", 0)),
                tuple([int(item) for item in data.get("order", ())]),
                unpacked(data["tree"]) if "tree" in data else b"",
                bool(data.get("finite", False)),
                bool(data.get("binding", False)),
                tuple([int(number) for number in data.get("carried", ())]),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            found = f"cannot be read, {error!r:.200}"
            raise InputError(Fault(found, owner=OWNER)) from None
        certificate._check(data)
        return certificate

    def _check(self, data: Mapping[str, Any]) -> None:
        """Refuse fields, values and bounds that a proof of this kind cannot have."""
        stated = {field: value for field, value in data.items() if field != "tree"}
        if self._stated() != stated or ("tree" in data) != (self.proof is Proof.TREE):
            found = "has fields or values that a proof of its kind does not have"
            raise InputError(Fault(found, owner=OWNER))
        if isnan(self.bound) or self.bound < 0:
            raise InputError.of("bound", self.bound, "a number >= 0", OWNER)
        if isinf(self.bound) and self.proof in WITH_MULTIPLIERS:
            raise InputError.of("bound", self.bound, "a finite number >= 0", OWNER)
        if self.finite and not (isinf(self.bound) and self.proof in (*SEARCHES, Proof.ALONE)):
            expected = "False but for an infinite bound by a search"
            raise InputError.of("finite", True, expected, OWNER)
        if self.binding and self.proof not in OF_RATIOS:
            raise InputError.of("binding", True, "False but for a bound on ratios", OWNER)


def in_todays_words(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Translate the plain data of a certificate that an earlier version wrote."""
    if data.get("proof") != FORMER_NAME or "multipliers" in data:
        return data
    others = {field: value for field, value in data.items() if field != FORMER_NAME}
    multipliers = {"multipliers": data[FORMER_NAME]} if FORMER_NAME in data else {}
    return {**others, "proof": Proof.MULTIPLIERS.value, **multipliers}


def _bound(value: object) -> float:
    """Read a bound: a number, or the text for infinity."""
    if value == INFINITY:
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float) or isinf(value):
        raise ValueError(f"bound={value!r:.60} is no number, and not {INFINITY!r}")
    return float(value)


def unpacked(text: object) -> bytes:
    """Read the symbols of a tree; raises ValueError if they are damaged or too many."""
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise ValueError(f"tree: must be a text of at most {MOST_TEXT} letters")
    reading = decompressobj()
    try:
        symbols = reading.decompress(b85decode(text), MOST_SYMBOLS + 1)
    except ZlibError:
        raise ValueError("tree: is damaged, or no tree") from None
    if len(symbols) > MOST_SYMBOLS:
        raise ValueError("tree: is too large to check")
    if not reading.eof or reading.unused_data:
        raise ValueError("tree: is cut off, or followed by something else")
    return symbols
