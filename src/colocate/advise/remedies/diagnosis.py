"""Find out what would make a problem fit: try changes, and confirm each by a placement."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from colocate.advise.relaxations import relaxations
from colocate.advise.remedies.any_placement import ONE_SEARCH, any_placement
from colocate.advise.remedies.conflict import CacheNeed, Conflict, any_placement_of, find_conflict
from colocate.advise.remedies.fleet_changes import options_for
from colocate.advise.remedies.missed_targets import TargetSummary, missed_targets
from colocate.advise.what_if import Change, ChangeKind, Combination, Ladder, Options
from colocate.inputs.fleet import Fleet
from colocate.inputs.huggingface import ModelConfig
from colocate.inputs.least_cache import least_cache_gb, longest_request
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.interrupt import stopping_on_interrupt

SECONDS = 6.0
"""Seconds for a whole diagnosis."""
FEW = 3
"""Things that a person changes without much thought."""
EASIEST_FIRST = (
    ChangeKind.SHARING,
    ChangeKind.RAISED_TARGET,
    ChangeKind.CONCURRENCY,
    ChangeKind.CONTEXT,
    ChangeKind.COMPUTE_LIMIT,
    ChangeKind.REPLICAS,
    ChangeKind.SHARDS,
    ChangeKind.QUANTISE,
    ChangeKind.GPUS,
    ChangeKind.RATE,
    ChangeKind.SLEEP,
)
"""What people try first: settings, then what uses the GPUs there are, then smaller weights, then
money, and last what nobody can use any more."""
OF_MODELS = (
    ChangeKind.APART,
    ChangeKind.TOGETHER,
    ChangeKind.ONLY,
    ChangeKind.NEVER,
    ChangeKind.REPLICAS,
    ChangeKind.ONE_NODE,
)
"""Changes that affect only the models that they name."""


@dataclass(frozen=True)
class Remedy:
    """A change, and where the models are after it.

    Parameters
    ----------
    change
        What is changed.
    placement
        A placement that the independent checker has confirmed; empty if time ran out before it
        was known whether the change helps.
    """

    change: Change
    placement: Placement

    @property
    def confirmed(self) -> bool:
        """Whether the change is proven to help."""
        return bool(self.placement)


@dataclass(frozen=True)
class Diagnosis:
    """Why models do not fit and what would help.

    Parameters
    ----------
    fits
        Whether a placement was found after all.
    conflict
        The models that cannot be placed together, None if none are known.
    constraints
        Constraints that each keep the models from fitting: without any one of them all fits.
    remedies
        Other changes that help, the easiest first.
    undecided
        Changes that may help, but time ran out before that was known.
    complete
        Whether there was time to try everything.
    targets
        How close all models come to their latency targets, where no conflict is known and the
        models fit without targets.
    """

    fits: bool = False
    conflict: Conflict | None = None
    constraints: tuple[Remedy, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    undecided: tuple[Change, ...] = ()
    complete: bool = True
    targets: TargetSummary | None = None


def diagnose_fleet(fleet: Fleet, configs: Mapping[str, ModelConfig], seconds: float) -> Diagnosis:
    """Find out why the models of a fleet do not fit, and what would help.

    Parameters
    ----------
    fleet
        A problem without a known placement.
    configs
        Hugging Face configs of the models that are sized by one, by model name.
    seconds
        Time for the whole diagnosis. An interrupt ends it earlier.
    """
    found = diagnose(fleet.problem, partial(options_for, fleet, configs=configs), seconds)
    if found.conflict is None:
        return found
    caches = _least_caches(fleet, found.conflict.models)
    return replace(found, conflict=replace(found.conflict, caches=caches))


def _least_caches(fleet: Fleet, names: Sequence[str]) -> tuple[CacheNeed, ...]:
    """Return what the least caches of some models are for, largest first."""
    models = [fleet.models[name] for name in names]
    caches = [
        CacheNeed(m.name, least_cache_gb(m), m.min_concurrency, longest_request(m)) for m in models
    ]
    return tuple(sorted(caches, key=lambda cache: -cache.gb))


def diagnose(
    problem: Problem,
    options_for: Callable[[Sequence[str], bool], Sequence[Options]] = lambda names, targets: (),
    seconds: float = SECONDS,
) -> Diagnosis:
    """Find the models in conflict, the constraint that is to blame, and changes that help.

    Parameters
    ----------
    problem
        A problem without a known placement.
    options_for
        Returns the changes to try, sort by sort, given the names of the models in conflict, and
        whether latency targets are what they cannot keep. A change that leaves all of these models
        as they are cannot help.
    seconds
        Time for the whole diagnosis. An interrupt ends it earlier.
    """
    watch = Deadline(seconds)
    with stopping_on_interrupt(watch.stop):
        if any_placement(problem, watch.part(2 * ONE_SEARCH))[0] is Outcome.FOUND:
            return Diagnosis(fits=True)
        conflict = find_conflict(problem, watch.part(watch.left / 3))
        names = conflict.models if conflict else ()
        targets = None if conflict else _missed(problem, watch)
        constraints, complete = _constraints(problem, names, watch.part(watch.left / 3))
        remedies: list[Remedy] = []
        for_targets = (conflict.targets if conflict else targets) is not None
        everyone = tuple(model.name for model in problem.models)
        options = options_for(names or everyone, for_targets)
        for number, sort in enumerate(options):
            trial = Trial(names, watch.part(watch.left / (len(options) - number)))
            remedies += trial.of_options(sort)
            complete &= trial.complete
    return Diagnosis(
        conflict=conflict,
        constraints=_confirmed(constraints),
        remedies=_confirmed(sorted(_once(remedies), key=_effort)),
        undecided=tuple(r.change for r in (*constraints, *remedies) if not r.confirmed),
        complete=complete and not watch.over,
        targets=targets,
    )


def _missed(problem: Problem, watch: Deadline) -> TargetSummary | None:
    """Return how close the models that must be awake come to their targets."""
    awake = problem.awake({model.name for model in problem.sleepers})
    return missed_targets(awake, watch) if awake is not None else None


def _constraints(
    problem: Problem, names: Sequence[str], watch: Deadline
) -> tuple[list[Remedy], bool]:
    """Drop the constraints one by one; return whether there was time for all.

    A constraint on models outside the conflict cannot be to blame.
    """
    trial, found, in_conflict = Trial(names, watch), list[Remedy](), frozenset(names)
    for change in relaxations(problem, in_conflict):
        if watch.over:
            return found, False
        about_others = change.kind in OF_MODELS and in_conflict.isdisjoint(change.names)
        if not (names and about_others):
            found += trial.of(change)
    return found, True


def _confirmed(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    return tuple(remedy for remedy in remedies if remedy.confirmed)


def _once(remedies: Iterable[Remedy]) -> Iterable[Remedy]:
    """Return remedies without those that come to the same as an earlier one."""
    found: dict[Hashable, Remedy] = {}
    for remedy in remedies:
        change = remedy.change
        key = change.kind, frozenset(change.names), change.to, change.count, change.node
        found.setdefault(key, remedy)
    return found.values()


def _effort(remedy: Remedy) -> tuple[bool, int, int, float]:
    """Return how much a change asks of people: what it is, of how many things, how much memory.

    A change to many things comes after any change to a few.
    """
    change = remedy.change
    buys = change.kind is ChangeKind.GPUS or change.gpus > 0
    things = len(change.names) + change.gpus or change.count
    kind = EASIEST_FIRST.index(ChangeKind.GPUS if buys else change.kind)
    return things > FEW, kind, things, 0.0 if buys else change.gb


@dataclass
class Trial:
    """Tries changes out.

    Parameters
    ----------
    models
        The models in conflict. A change helps only if they can be placed after it.
    watch
        When to stop. Changes that it leaves no time for are undecided.
    """

    models: Sequence[str]
    watch: Deadline
    complete: bool = field(default=True, init=False)
    """Whether there was time for every change."""

    def of(self, change: Change) -> list[Remedy]:
        """Return a change as a remedy, confirmed or undecided; nothing if it cannot help."""
        outcome, placement = self._outcome(change)
        return [] if outcome is Outcome.NONE else [Remedy(change, placement)]

    def of_options(self, options: Options) -> list[Remedy]:
        """Return the changes of one sort that help, and those that are undecided."""
        found = [remedy for ladder in options.ladders for remedy in self._of_ladder(ladder)]
        for combination in options.otherwise:
            if not any(remedy.confirmed for remedy in found):
                found += self._of_combination(combination)
        return found

    def _of_ladder(self, ladder: Ladder) -> list[Remedy]:
        """Return the first change that helps, or all that are undecided if none does."""
        undecided: list[Remedy] = []
        if self.watch.over:  # making a change to a large fleet takes seconds itself
            self.complete = False
            return undecided
        for change in ladder:
            for remedy in self.of(change):
                if remedy.confirmed:
                    return [remedy]
                undecided.append(remedy)
            if self.watch.over:
                self.complete = False
                break
        return undecided

    def _of_combination(self, combination: Combination) -> list[Remedy]:
        """Return a change of as few things as possible: leaving any one out makes it fail."""
        names = list(combination.names)
        best = self._fitting(combination, names)
        if best is None:
            return []
        enough, too_few = len(names), 0
        while enough - too_few > 1 and not self.watch.over:
            middle = (enough + too_few) // 2
            if found := self._fitting(combination, names[:middle]):
                enough, best = middle, found
            else:
                too_few = middle
        needed = names[:enough]
        for name in reversed(names[:enough]):
            rest = [other for other in needed if other != name]
            if found := self._fitting(combination, rest):
                needed, best = rest, found
        return [best]

    def _fitting(self, combination: Combination, names: Sequence[str]) -> Remedy | None:
        """Return the change of some things if it is confirmed."""
        if not names or self.watch.over:
            return None
        change = combination.change(names)
        outcome, placement = self._outcome(change)
        return Remedy(change, placement) if outcome is Outcome.FOUND else None

    def _outcome(self, change: Change) -> tuple[Outcome, Placement]:
        if self.watch.over:
            return Outcome.UNDECIDED, Placement()
        if self.models and self._still_in_conflict(change.problem):
            return Outcome.NONE, Placement()
        return any_placement(change.problem, self.watch.part(ONE_SEARCH))

    def _still_in_conflict(self, problem: Problem) -> bool:
        return any_placement_of(problem, self.models, self.watch) is Outcome.NONE
