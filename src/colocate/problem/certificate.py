"""What lets someone who does not trust the solver confirm a bound."""

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
from colocate.fault import Owner

INFINITY = "Infinity"
"""How JSON, which has no infinite numbers, says it."""
MOST_SYMBOLS = 2**26
"""Bytes of a tree, as they are read; a larger one is refused."""
MOST_TEXT = 2**23
"""Letters of a tree as text; a longer one is refused."""


class Proof(StrEnum):
    """Why no placement can be below the bound."""

    VOLUME = "volume"
    """All load over all free memory."""
    MODEL = "model"
    """One model, alone on the GPU that suits it best."""
    WEIGHTS = "weights"
    """Every model has a weight; all of them together weigh more than the GPUs can hold."""
    TREE = "tree"
    """Every way to stay at or below the bound was searched; the tree of that search is kept."""
    SEARCH = "search"
    """The same, but the tree was too large to keep, so that nobody can walk it again."""
    SOLVERS = "solvers"
    """Two solvers of others found no way to stay at or below the bound."""

    @property
    def checkable(self) -> bool:
        """Whether the independent checker can confirm such a proof."""
        return self not in (Proof.SEARCH, Proof.SOLVERS)


SEARCHES = (Proof.TREE, Proof.SEARCH, Proof.SOLVERS)
OWNER = Owner("certificate", None)
"""Proofs that may say that there is no placement of a finite pressure, though there are some."""


@dataclass(frozen=True)
class Certificate:
    """A bound on the pressure of any placement, and the reason.

    Parameters
    ----------
    proof
        The kind of reason.
    bound
        No placement has a lower pressure. If it is infinite, there is no placement at all.
    window
        The time window that it looks at (volume and weights).
    model
        The name of the model that it looks at (model).
    weights
        A whole number for each item, in the order of the problem (weights).
    nodes
        How many nodes the search took (tree and search).
    order
        The items in the order in which the search takes them (tree).
    tree
        What the search tried, as `problem/checker/walk.py` reads it (tree).
    finite
        Whether an infinite bound says only that no placement has a finite pressure (searches).
    """

    proof: Proof
    bound: float
    window: int = 0
    model: str = ""
    weights: tuple[int, ...] = ()
    nodes: int = 0
    order: tuple[int, ...] = ()
    tree: bytes = b""
    finite: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the fields that the proof has."""
        stated = self._stated()
        if self.proof is Proof.TREE:
            stated["tree"] = b85encode(compress(self.tree)).decode()
        return stated

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The plain data, with a hash for the tree, which can be packed in more than one way."""
        stated = self._stated()
        if self.proof is Proof.TREE:
            stated["tree"] = sha256(self.tree).hexdigest()
        return stated

    def _stated(self) -> dict[str, Any]:
        """Return all fields that the proof has but the tree."""
        details: dict[Proof, dict[str, Any]] = {
            Proof.VOLUME: {"window": self.window},
            Proof.MODEL: {"model": self.model},
            Proof.WEIGHTS: {"window": self.window, "weights": list(self.weights)},
            Proof.TREE: {"nodes": self.nodes, "order": list(self.order)},
            Proof.SEARCH: {"nodes": self.nodes},
            Proof.SOLVERS: {},
        }
        bound = INFINITY if isinf(self.bound) else self.bound
        finite = {"finite": True} if self.finite else {}
        return {"proof": self.proof.value, "bound": bound, **details[self.proof], **finite}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Read plain data again; raises InputError if it is no certificate."""
        try:
            certificate = cls(
                Proof(data["proof"]),
                _bound(data["bound"]),
                int(data.get("window", 0)),
                str(data.get("model", "")),
                tuple([int(weight) for weight in data.get("weights", ())]),
                int(data.get("nodes", 0)),
                tuple([int(item) for item in data.get("order", ())]),
                unpacked(data["tree"]) if "tree" in data else b"",
                bool(data.get("finite", False)),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError(f"certificate: cannot be read, {error!r:.200}") from None
        certificate._check(data)
        return certificate

    def _check(self, data: Mapping[str, Any]) -> None:
        """Refuse fields, values and bounds that no certificate has."""
        stated = {field: value for field, value in data.items() if field != "tree"}
        if self._stated() != stated or ("tree" in data) != (self.proof is Proof.TREE):
            raise InputError("certificate: has fields or values that no certificate has")
        if isnan(self.bound) or self.bound < 0:
            raise InputError.of("bound", self.bound, "a number >= 0", OWNER)
        if isinf(self.bound) and self.proof is Proof.WEIGHTS:
            raise InputError.of("bound", self.bound, "a finite number >= 0", OWNER)
        if self.finite and not (isinf(self.bound) and self.proof in SEARCHES):
            raise InputError("certificate: finite=True, must be so for an infinite bound by search")


def _bound(value: object) -> float:
    """Read a bound; the only text that is one says that it is infinite."""
    if value == INFINITY:
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float) or isinf(value):
        raise ValueError(f"bound={value!r:.60} is no number, and not {INFINITY!r}")
    return float(value)


def unpacked(text: object) -> bytes:
    """Read the symbols of a tree; raises ValueError if it is none, or too large."""
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise ValueError("tree: must be a text that is not too long to be checked")
    reading = decompressobj()
    try:
        symbols = reading.decompress(b85decode(text), MOST_SYMBOLS + 1)
    except ZlibError:
        raise ValueError("tree: is damaged, or no tree") from None
    if len(symbols) > MOST_SYMBOLS:
        raise ValueError("tree: is too large to be checked")
    if not reading.eof or reading.unused_data:
        raise ValueError("tree: is cut off, or something follows it")
    return symbols
