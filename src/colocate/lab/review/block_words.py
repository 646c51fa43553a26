"""What a program does and how, in words, from its blocks."""

import ast
from collections.abc import Iterator, Sequence
from itertools import groupby

from colocate.arena.source.program_tree import expression_tree
from colocate.lab.review.anatomy import Anatomy
from colocate.lab.review.mechanism import Mechanism
from colocate.lab.review.phrases import code, code_list
from colocate.outputs.text.wording import listed

DESCENT = ast.Call(ast.Name("Descent"), [], [])
"""The descent of a block that names none."""
MOST_PHRASES = 6
"""Mechanisms that a sentence tells of one function."""
MOST_FUNCTIONS = 5
"""Functions whose mechanisms are told, those with most of them first."""

ORDERS = {
    "LOAD": "by load",
    "LOAD_THEN_SIZE": "by load, then size",
    "SIZE": "by size",
    "SIZE_THEN_LOAD": "by size, then load",
    "VIRTUAL": "by virtual size",
    "DENSITY": "by load per size",
}
KICKS = {
    "RANDOM_MOVE": "a random move",
    "FORCED_MOVE": "a forced move off the highest GPU",
    "BURST": "a burst of random moves",
    "GROWING": "kicks that grow",
    "RUIN": "ruin and recreate",
}
BLOCKS = {
    "Greedy": "places models {order}, each where the {look} pressure is lowest",
    "Bisection": "bisects the pressure with {packings}{halvings}",
    "Packing": "{fit} fit {order}",
    "Descent": "{best}descends off the highest GPU by {moves}{smooth}{steps}",
    "Iterated": "{descent}, with {kick} when it stalls{steps}{patience}",
    "LargeNeighbourhood": "ruins and recreates GPUs again and again{steps}{patience}",
    "Annealing": "anneals{steps}",
    "PairRebalance": "rebalances the highest GPU with others, pair by pair{rounds}",
    "VariableNeighbourhood": "moves, then swaps, then shuffles pairs",
    "PeakRelief": "moves a few heavy models off the highest GPU{passes}",
    "WorstPairSwaps": "swaps between the two highest GPUs{rounds}",
    "IdleRelief": "moves idle models off the highest GPU",
}
"""What each block of the catalogue does; `Ruin` and `Accept` only set others."""
GROUPS = {
    "STARTS": "start: {}",
    "EACH": "improve each: {}",
    "FINISH": "finish: {}",
}
EFFORTS = {
    "halvings": " ({} halvings)",
    "steps": " ({} steps)",
    "rounds": " ({} rounds)",
    "passes": " ({} passes)",
    "patience": ", patience {}",
}


def implementation(found: Anatomy) -> str:
    """Return what a program does and how; empty if nothing about it is known."""
    if found.groups:
        return "; ".join(
            GROUPS[group].format(
                listed(list(dict.fromkeys(map(block_phrase, texts))), MOST_PHRASES)
            )
            for group, texts in found.elements
        )
    return "; ".join(_by_function(found.mechanisms))


def block_phrase(block: str) -> str:
    """Return what a block of the catalogue does, with the blocks inside it; else its name."""
    call = _call(block)
    return code(block) if call is None or _name(call) not in BLOCKS else _phrase(call)


def block_settings(block: str) -> dict[str, str]:
    """Return the settings of a block by name; those that are enums, by the name of the enum."""
    call = _call(block)
    return _settings(call) if call else {}


def _call(block: str) -> ast.Call | None:
    try:
        found = expression_tree(block)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return None
    if isinstance(found, ast.Name):
        return ast.Call(found, [], [])
    return found if isinstance(found, ast.Call) else None


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _settings(call: ast.Call) -> dict[str, str]:
    enums: dict[str, str] = {}
    named: dict[str, str] = {}
    for place, value in enumerate((*call.args, *(each.value for each in call.keywords))):
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            enums[value.value.id] = value.attr
        elif place >= len(call.args) and isinstance(value, ast.Constant):
            named[str(call.keywords[place - len(call.args)].arg)] = repr(value.value)[:20]
    return enums | named


def _phrase(call: ast.Call, within: bool = False) -> str:
    """Return what a block does; one within another is told without the blocks inside it."""
    given = _settings(call)
    values = {name: text.format(given[name]) for name, text in EFFORTS.items() if name in given}
    moves = [
        name
        for name, setting in (("moves", "relocate"), ("swaps", "swap"))
        if given.get(setting) != "False"
    ]
    inner = [] if within else [each for each in ast.walk(call) if isinstance(each, ast.Call)][1:]
    packings = [_phrase(each, True) for each in inner if _name(each) == "Packing"]
    descents = [_phrase(each, True) for each in inner if _name(each) == "Descent"]
    values |= {
        "order": ORDERS.get(given.get("Order", ""), "in an order"),
        "look": "resulting" if given.get("Look") == "RESULTING" else "current",
        "fit": given.get("Fit", "some").lower(),
        "kick": KICKS.get(given.get("Kick", "RANDOM_MOVE"), "a kick"),
        "best": "steeply " if given.get("best") == "True" else "",
        "smooth": ", smoothing ties" if given.get("smooth") == "True" else "",
        "moves": " and ".join(moves) or "nothing",
        "packings": listed(packings, MOST_PHRASES) if packings else "a packing",
        "descent": next(iter(descents), "" if within else _phrase(DESCENT, True)),
    }
    return BLOCKS[_name(call)].format_map(dict.fromkeys(EFFORTS, "") | values)


def _by_function(mechanisms: Sequence[Mechanism]) -> Iterator[str]:
    """Yield what each function does, in the order of the code."""
    together = sorted(mechanisms, key=lambda each: _first(each, mechanisms))
    spoken = [(where, list(held)) for where, held in groupby(together, key=lambda m: m.where)]
    for where, held in spoken[:MOST_FUNCTIONS]:
        phrases = list(dict.fromkeys(each.phrase for each in held))
        who = code(where) if where else "the top level"
        yield f"{who} {listed(phrases, MOST_PHRASES)}"
    if rest := [where for where, _ in spoken[MOST_FUNCTIONS:] if where]:
        yield f"more in {code_list(rest)}"


def _first(one: Mechanism, all_of_them: Sequence[Mechanism]) -> int:
    """Return the place of the first mechanism in the same function."""
    return next(at for at, each in enumerate(all_of_them) if each.where == one.where)
