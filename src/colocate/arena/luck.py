"""What luck was worth to a program: its figures under every seed that it was judged under."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import isfinite, nan
from statistics import fmean
from typing import Any, Self


class Chance(StrEnum):
    """How chance gets into a program."""

    UNKNOWN = "unknown"
    """Nobody has looked: a verdict of an earlier version."""
    NONE = "none"
    """It takes no seed, and nothing else made its answers differ."""
    SEED = "seed"
    """It draws from a generator of random numbers."""
    OTHER = "other"
    """Its answers differ though it takes no seed: the order of sets, the clock, addresses."""


@dataclass(frozen=True)
class SeedResult:
    """The figures of a program under one seed."""

    seed: int
    """The number of the seed: under 0, a program draws as it is written."""
    score: float
    ratio: float
    """The score and the mean ratio on the public cases."""
    hidden_ratio: float
    """The mean ratio on the hidden cases; not a number without any."""
    fitness: float
    """The figure that ranks."""
    valid_cases: int
    """Public cases that did not fail."""
    hidden_valid_cases: int = 0
    """Hidden cases that did not fail; earlier versions counted them among the public ones."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; None for a figure that is not finite."""
        return {name: figure if isfinite(figure) else None for name, figure in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a trial that `as_dict` wrote."""
        figures: dict[str, Any] = {n: nan if f is None else f for n, f in data.items()}
        return cls(**figures)


@dataclass(frozen=True)
class Luck:
    """What luck was worth to a program."""

    chance: Chance = Chance.UNKNOWN
    """How chance gets into it."""
    trials: tuple[SeedResult, ...] = ()
    """Its figures under every seed, in order; a program without chance has one, or equal ones."""
    public_chance: Chance = Chance.UNKNOWN
    """How chance gets into it on the public cases."""
    public_trials: int = 0
    """Seeds that the public cases needed; more trials than that are due to hidden cases."""

    @property
    def public_only(self) -> Self:
        """What the public cases alone tell: nothing in it depends on hidden ones."""
        seen = self.trials[: self.public_trials]
        shown = (
            replace(trial, hidden_ratio=nan, fitness=trial.ratio, hidden_valid_cases=0)
            for trial in seen
        )
        return replace(self, chance=self.public_chance, trials=tuple(shown))

    @property
    def mean(self) -> float:
        """The mean score over all seeds; not a number if nobody has looked."""
        return fmean(trial.score for trial in self.trials) if self.trials else nan

    @property
    def best(self) -> float:
        """The score under the luckiest seed; not a number if nobody has looked."""
        return max((trial.score for trial in self.trials), default=nan)

    @property
    def lowest(self) -> float:
        """The lowest score under any seed; not a number if nobody has looked."""
        return min((trial.score for trial in self.trials), default=nan)

    @property
    def spread(self) -> float:
        """How much the luckiest seed is worth over the unluckiest, in score."""
        return self.best - self.lowest

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, figures first; None for those that are not finite."""
        figures = {"mean": self.mean, "best": self.best, "lowest": self.lowest}
        figures |= {"spread": self.spread}
        finite = {name: f if isfinite(f) else None for name, f in figures.items()}
        trials = [trial.as_dict() for trial in self.trials]
        public = {"public_chance": self.public_chance.value, "public_trials": self.public_trials}
        return {"chance": self.chance.value, **finite, **public, "trials": trials}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `as_dict` wrote; verdicts of earlier versions have nothing of it."""
        trials = tuple(map(SeedResult.from_dict, data.get("trials", ())))
        chance = data.get("chance", Chance.UNKNOWN)
        public = Chance(data.get("public_chance", chance))
        return cls(Chance(chance), trials, public, data.get("public_trials", len(trials)))


def luck_sentence(luck: Luck) -> str:
    """Return what a program's luck was worth in a sentence; empty if it uses none."""
    if len(luck.trials) < 2 or luck.chance in (Chance.NONE, Chance.UNKNOWN):
        return ""
    how = "it uses chance" if luck.chance is Chance.SEED else "its answers differ from run to run"
    if luck.spread == 0:
        return f"{how}: score {luck.mean:.6g} under each of {len(luck.trials)} seeds"
    return (
        f"{how}: score {luck.lowest:.6g} to {luck.best:.6g} under {len(luck.trials)} seeds, "
        f"mean {luck.mean:.6g}; the worst counts, by its ratio"
    )
