"""The levels of a plan: its pressures from the highest down, each with its own bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.problem.certificate import INFINITY, Certificate

OWNER = Owner("level", None)
"""Whose fields a refusal names."""


@dataclass(frozen=True)
class LevelProof:
    """A bound on a level, for one choice of the GPUs that hold the levels above.

    Parameters
    ----------
    holders
        The names of the GPUs that hold the levels above, the highest first.
    floor
        The pressure below which the level problem does not tell placements apart.
    roof
        The pressure from which on the level problem leaves placements out.
    certificate
        The proof of a bound on the level problem.
    """

    holders: tuple[str, ...]
    floor: float
    roof: float
    certificate: Certificate

    @property
    def bound(self) -> float:
        """What the proof says about the level; 0 where it says nothing."""
        bound = self.certificate.bound
        return min(bound, self.roof) if bound > self.floor else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**self._stated(), "certificate": self.certificate.as_dict()}

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The plain data that the digest of a plan is made from."""
        return {**self._stated(), "certificate": self.certificate.fingerprint}

    def _stated(self) -> dict[str, Any]:
        return {"holders": list(self.holders), "floor": self.floor, "roof": self.roof}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "LevelProof":
        """Read plain data; raises an error if it is no proof."""
        holders = tuple([str(gpu) for gpu in data["holders"]])
        certificate = Certificate.from_dict(data["certificate"])
        return cls(holders, float(data["floor"]), float(data["roof"]), certificate)


@dataclass(frozen=True)
class Level:
    """One of the pressures of a plan: the first is the highest, its peak.

    Parameters
    ----------
    gpu
        The GPU that has this pressure.
    pressure
        The pressure.
    ceiling
        What lower levels allow at this one: the pressure when it was settled, and rounding.
    bound
        No placement is below it at this level, unless it is above a ceiling at a higher level.
    proofs
        The proofs of the bound, one for each choice of GPUs that could hold the levels above. The
        peak has none of its own: the certificate of the plan proves its bound.
    """

    gpu: str
    pressure: float
    ceiling: float
    bound: float = 0.0
    proofs: tuple[LevelProof, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**self._stated(), "proofs": [proof.as_dict() for proof in self.proofs]}

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The plain data that the digest of a plan is made from."""
        return {**self._stated(), "proofs": [proof.fingerprint for proof in self.proofs]}

    def _stated(self) -> dict[str, Any]:
        numbers = {"pressure": self.pressure, "ceiling": self.ceiling, "bound": self.bound}
        stated = {name: INFINITY if isinf(value) else value for name, value in numbers.items()}
        return {"gpu": self.gpu, **stated}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Level":
        """Read plain data; raises InputError if it is no level."""
        try:
            return cls(
                str(data["gpu"]),
                _number(data["pressure"]),
                _number(data["ceiling"]),
                _number(data["bound"]),
                tuple([LevelProof.from_dict(proof) for proof in data["proofs"]]),
            )
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            found = f"cannot be read, {error!r:.200}"
            raise InputError(Fault(found, owner=OWNER)) from None


def _number(value: object) -> float:
    """Read a number, or the text for infinity."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value == INFINITY):
        raise ValueError(f"{value!r:.60} is no number, and not {INFINITY!r}")
    return float(value)
