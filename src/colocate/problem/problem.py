"""The whole question: which GPUs, which models."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from colocate.errors import InputError
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Instance, instance_of
from colocate.problem.model import ANY_KIND, Model

Item = TypeVar("Item", Gpu, Model)


@dataclass(frozen=True)
class Problem:
    """GPUs and the models to place on them, validated and frozen.

    Parameters
    ----------
    gpus, models
        Any iterables of each; at least one of each, with unique names. The loads of all models
        have the same number of time windows (a single number stands for every window).
    """

    gpus: tuple[Gpu, ...]
    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", _checked_items("gpus", Gpu, self.gpus))
        object.__setattr__(self, "models", _checked_items("models", Model, self.models))
        self._check_windows()
        self._check_sums()
        self._check_uses()

    @cached_property
    def instance(self) -> Instance:
        """The problem as arrays, in the user's units."""
        return instance_of(self.gpus, self.models)

    @cached_property
    def digest(self) -> str:
        """A short hash of every number in the problem; names do not matter."""
        numbers: list[Any] = [
            [gpu.memory_gb for gpu in self.gpus],
            [[model.size_gb, *model.load] for model in self.models],
        ]
        if any(gpu.limits for gpu in self.gpus):
            numbers.append([[gpu.kind, gpu.limits] for gpu in self.gpus])
            numbers.append([model.uses for model in self.models])
        return sha256(json.dumps(numbers).encode()).hexdigest()[:16]

    @property
    def windows(self) -> int:
        """How many time windows the loads have."""
        return max(len(model.load) for model in self.models)

    def _check_sums(self) -> None:
        memory = sum(gpu.memory_gb for gpu in self.gpus)
        for what, total in (
            ("gpus: memory_gb", memory),
            ("models: size_gb", sum(model.size_gb for model in self.models)),
            ("models: load", sum(max(model.load) for model in self.models)),
        ):
            if not math.isfinite(total):
                raise InputError(f"{what} adds up to {total}, must be a finite number")

    def __reduce__(self) -> tuple[type["Problem"], tuple[tuple[Gpu, ...], tuple[Model, ...]]]:
        """Copy what was stated, not what was worked out of it."""
        return Problem, (self.gpus, self.models)

    def _check_uses(self) -> None:
        kinds = {gpu.kind for gpu in self.gpus}
        for model in self.models:
            for resource, by_kind in model.uses:
                known = dict(by_kind)
                for kind in sorted(kinds - known.keys() if ANY_KIND not in known else ()):
                    raise InputError(
                        f"model {model.name!r}: uses[{resource!r}] has no amount for GPU kind "
                        f"{kind!r}, only for {', '.join(known)}"
                    )

    def _check_windows(self) -> None:
        windows = self.windows
        for number, model in enumerate(self.models):
            if len(model.load) not in (1, windows):
                raise InputError(
                    f"models[{number}] {model.name!r}: load has {len(model.load)} windows, "
                    f"must have {windows} like the longest load, or one"
                )


def _checked_items(field: str, kind: type[Item], items: Iterable[Item]) -> tuple[Item, ...]:
    given = tuple(items)
    if not given:
        raise InputError(f"{field}=[], must hold at least one {kind.__name__}")
    for item in given:
        if not isinstance(item, kind):
            raise InputError(f"{field}: found {item!r}, must be a {kind.__name__}")
    name, count = Counter(item.name for item in given).most_common(1)[0]
    if count > 1:
        raise InputError(f"{field}: name={name!r} is used {count} times, must be unique")
    return given
