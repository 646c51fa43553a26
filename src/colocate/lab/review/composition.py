"""The composition of a program: the constants in which it names its blocks."""

import ast
import builtins
from collections.abc import Iterator, Mapping

from colocate.lab.review.code_names import dotted

COMPOSITION = ("STARTS", "EACH", "FINISH")
"""The constants in which a composed program names its blocks."""

LONGEST_SETTING = 60
"""Letters of a setting in the name of a block: sentences hold several of them."""
BUILT_IN = frozenset(dir(builtins))

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Assignment = ast.Assign | ast.AnnAssign


def composed_blocks(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the calls in each constant of the composition, and in constants that it names."""
    constants = _constants(tree)
    seen = set(COMPOSITION)
    for group in COMPOSITION:
        waiting = [constants[group]] if group in constants else []
        held: list[str] = []
        while waiting:
            for node in ast.walk(waiting.pop()):
                if isinstance(node, ast.Name) and node.id in constants and node.id not in seen:
                    seen.add(node.id)
                    waiting.append(constants[node.id])
                elif isinstance(node, ast.Call) and dotted(node.func) not in BUILT_IN | {""}:
                    held.append(_spelt(node, constants))
        if held:
            yield group, tuple(held)


def elements_of(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the text of the elements of each constant of the composition."""
    constants = _constants(tree)
    for group in COMPOSITION:
        value = constants.get(group)
        if isinstance(value, ast.Tuple | ast.List) and value.elts:
            named = (constants.get(e.id, e) if isinstance(e, ast.Name) else e for e in value.elts)
            yield group, tuple(_text(each) for each in named)


def seeds_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the constants that only decide which random numbers come."""
    for name, value in _constants(tree).items():
        if "SEED" in name and isinstance(value, ast.Constant):
            yield name, _text(value)


def _spelt(call: ast.Call, constants: Mapping[str, ast.expr]) -> str:
    settings = [_setting(value, constants) for value in call.args]
    for keyword in call.keywords:
        value = _setting(keyword.value, constants)
        name = f"{keyword.arg}=" if keyword.arg else "**"
        settings.append(value and f"{name}{value}")
    told = ", ".join(filter(None, settings))
    return dotted(call.func) + (f"({told})" if told else "")


def _setting(value: ast.expr, constants: Mapping[str, ast.expr]) -> str:
    """Return a setting as text; empty if it holds blocks, which count separately."""
    if isinstance(value, ast.Name):
        value = constants.get(value.id, value)
    for node in ast.walk(value):
        if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in constants):
            return ""
    text = _text(value)
    return text if len(text) <= LONGEST_SETTING else f"{text[: LONGEST_SETTING - 3]}..."


def _text(value: ast.expr) -> str:
    try:
        return ast.unparse(value)
    except (RecursionError, ValueError):
        # A sum of thousands of terms, or a number of thousands of digits.
        return "..."


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    bound = ((name, node) for name, node in bindings(tree) if isinstance(node, Assignment))
    return {name: node.value for name, node in bound if node.value}


def bindings(tree: ast.Module) -> Iterator[tuple[str, Definition | Assignment]]:
    """Yield the names at the top level, with their definitions."""
    for node in tree.body:
        if isinstance(node, Definition):
            yield node.name, node
        elif isinstance(node, Assignment):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))
