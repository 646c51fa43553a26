"""Less room for requests: shorter ones, or fewer at once, so that a smaller cache is enough."""

from collections.abc import Iterator, Sequence

from colocate.advise.remedies.changed_fleet import problem_with_models
from colocate.advise.what_if import Change, ChangeKind, Combination, Ladder, Options
from colocate.inputs.fleet import Fleet
from colocate.inputs.least_cache import least_cache_gb, longest_request
from colocate.inputs.spec import ModelSpec

SHORTEST_CONTEXT = 1024
"""Tokens that requests may have at least: below that, few prompts of a chat fit."""


def room_options(fleet: Fleet, names: Sequence[str]) -> list[Options]:
    """Return the changes to how long requests may be, and to how many must fit at once.

    One model may have to be cut short; or several, which then keep longer requests.

    Parameters
    ----------
    fleet
        The fleet to change.
    names
        The models to change one at a time.
    """
    ladders = [_fewer_requests(fleet, name) for name in names]
    ladders += [_shorter_requests(fleet, name) for name in names]
    longest = max(map(longest_request, fleet.spec.models))
    lengths = _halvings(longest, SHORTEST_CONTEXT)
    return [Options(ladders), Options([], [_all_shortened(fleet, tokens) for tokens in lengths])]


def _fewer_requests(fleet: Fleet, name: str) -> Ladder:
    """Yield a model with half as many requests at once, a quarter, and so on."""
    model = fleet.models[name]
    for requests in _halvings(model.min_concurrency, 1):
        fewer = model.model_copy(update={"min_concurrency": requests})
        yield from _changed(fleet, [fewer], ChangeKind.CONCURRENCY, requests)


def _shorter_requests(fleet: Fleet, name: str) -> Ladder:
    """Yield a model with requests of half the length, a quarter, and so on."""
    model = fleet.models[name]
    for tokens in _halvings(longest_request(model), _shortest(model)):
        yield from _changed(fleet, [_shortened(model, tokens)], ChangeKind.CONTEXT, tokens)


def _all_shortened(fleet: Fleet, tokens: int) -> Combination:
    """Return one length for all models with longer requests, those that save most first."""
    able = [m for m in fleet.spec.models if _shortest(m) <= tokens < longest_request(m)]
    saved = {
        model.name: least_cache_gb(model) - least_cache_gb(_shortened(model, tokens))
        for model in able
    }
    names = sorted((name for name in saved if saved[name] > 0.0), key=lambda name: -saved[name])

    def change(some: Sequence[str]) -> Change:
        shorter = [_shortened(fleet.models[name], tokens) for name in some]
        return next(_changed(fleet, shorter, ChangeKind.CONTEXT, tokens))

    return Combination(names, change)


def _shortened(model: ModelSpec, tokens: int) -> ModelSpec:
    return model.model_copy(update={"max_model_len": tokens})


def _shortest(model: ModelSpec) -> int:
    """Return how short the longest request may become: a mean one must still be served."""
    return max(SHORTEST_CONTEXT, int((model.prompt_tokens or 0) + (model.output_tokens or 0)) + 1)


def _halvings(number: int, least: int) -> Iterator[int]:
    while (number := number // 2) >= least:
        yield number


def _changed(
    fleet: Fleet, models: Sequence[ModelSpec], kind: ChangeKind, count: int
) -> Iterator[Change]:
    """Yield the change to some models, if it makes a least cache smaller."""
    names = tuple(model.name for model in models)
    before = sum(least_cache_gb(fleet.models[name]) for name in names)
    after = sum(map(least_cache_gb, models))
    problem = problem_with_models(fleet, models) if after < before else None
    if problem is not None:
        yield Change(
            kind,
            problem,
            names,
            count=count,
            gb=before - after,
            before_gb=before,
            after_gb=after,
        )
