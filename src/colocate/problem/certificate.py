"""What lets someone who does not trust the solver confirm a bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from colocate.errors import InputError


class Proof(StrEnum):
    """Why no placement can be below the bound."""

    VOLUME = "volume"
    """All load over all free memory."""
    MODEL = "model"
    """One model, alone on the GPU that suits it best."""
    WEIGHTS = "weights"
    """Every model has a weight; all of them together weigh more than the GPUs can hold."""
    SEARCH = "search"
    """Every way to stay at or below the bound was searched; there is none."""


@dataclass(frozen=True)
class Certificate:
    """A bound on the pressure of any placement, and the reason.

    Parameters
    ----------
    proof
        The kind of reason.
    bound
        No placement has a lower pressure.
    window
        The time window that it looks at (volume and weights).
    model
        The name of the model that it looks at (model).
    weights
        A whole number for each model, in the order of the problem (weights).
    nodes
        How many nodes the search took (search).
    """

    proof: Proof
    bound: float
    window: int = 0
    model: str = ""
    weights: tuple[int, ...] = ()
    nodes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the fields that the proof has."""
        details: dict[Proof, dict[str, Any]] = {
            Proof.VOLUME: {"window": self.window},
            Proof.MODEL: {"model": self.model},
            Proof.WEIGHTS: {"window": self.window, "weights": list(self.weights)},
            Proof.SEARCH: {"nodes": self.nodes},
        }
        return {"proof": self.proof.value, "bound": self.bound, **details[self.proof]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Read plain data again; raises InputError if it is no certificate."""
        try:
            certificate = cls(
                Proof(data["proof"]),
                float(data["bound"]),
                int(data.get("window", 0)),
                str(data.get("model", "")),
                tuple(int(weight) for weight in data.get("weights", ())),
                int(data.get("nodes", 0)),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"certificate: cannot be read, {error!r}") from None
        if certificate.as_dict() != dict(data):
            raise InputError("certificate: has fields or values that no certificate has")
        if not isfinite(certificate.bound) or certificate.bound < 0:
            raise InputError(
                f"certificate: bound={certificate.bound}, must be a finite number >= 0"
            )
        return certificate
