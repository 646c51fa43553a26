"""Docstrings explain what a name cannot: parameters, and why a number has its value."""

import ast
import re
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "colocate"
ROOMS = (
    *("machine_code", "problem", "solver", "inputs", "simulate", "advise", "outputs", "arena"),
    *("lab", "cli"),
)
"""The rooms in which both rules hold already."""
MANY = 3
"""From so many parameters on, a function explains them."""
EXPLAINED_ONCE = {
    "improve",  # of every block that improves: by `Improver`
    "judge",  # here or on Ray: by `Evaluation`
    *(
        "emit_compose",
        "emit_kubernetes",
        "emit_kvcached",
        "emit_ray",
        "emit_scripts",
        "emit_systemd",
    ),  # by `emit`
}
"""Functions with parameters that one place explains for all of their kind."""
OPTIONS = {
    *("AsJson", "CaseMemory", "CaseSeconds", "Compute", "Download", "DrainSeconds"),
    *("EngineVersion", "Folder", "HiddenSeed", "LoadSpeed", "LoadsAtOnce", "ModelLabel"),
    *("NameMap", "NamesFile", "PageFile", "PlacedPlan", "PlacementFile", "ReadySeconds", "Seed"),
    *("TotalSeconds", "TotalSpeed", "Where", "Workers"),
}
"""Options that several commands share; each carries its help."""
PROGRAMS = SOURCES / "arena" / "tasks" / "start"
"""Programs that a lab starts from: proposers see every letter of them."""
MODULES = [
    path
    for room in ROOMS
    for path in sorted((SOURCES / room).rglob("*.py"))
    if PROGRAMS not in path.parents
]


def named(path: Path) -> str:
    return path.relative_to(SOURCES).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_functions_with_many_parameters_explain_them(path):
    missing = [
        f"{name} (line {function.lineno}) has {len(_parameters(function))} parameters"
        for name, function, explained in _public_functions(ast.parse(path.read_text("utf-8")))
        if len(_parameters(function)) >= MANY
        and "Parameters\n" not in explained
        and function.name not in EXPLAINED_ONCE
    ]
    assert not missing, (
        f"{named(path)}: explain the parameters in a numpydoc section, 'Parameters' underlined "
        "with '----------', one name and one sentence each"
    )


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_parameters_that_exist_are_explained(path):
    stale = [
        f"{name} (line {function.lineno}) explains {unknown!r}"
        for name, function, _ in _public_functions(ast.parse(path.read_text("utf-8")))
        for unknown in _explained(_docstring(function)) - set(_every_parameter(function))
    ]
    assert not stale, f"{named(path)}: name the parameters as the function does"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_numeric_constants_have_a_reason(path):
    body = ast.parse(path.read_text("utf-8")).body
    missing = [
        f"{ast.unparse(statement)} (line {statement.lineno})"
        for place, statement in enumerate(body)
        if _is_numeric_constant(statement) and not _is_explained(body[place + 1 :])
    ]
    assert not missing, (
        f"{named(path)}: write a docstring under the constant that says its unit, its reason or "
        "where the number comes from"
    )


def _public_functions(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield public functions and methods with the docstrings that may explain their parameters."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node, _docstring(node)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not _is_exempt(part):
                    of_class = _docstring(node) if part.name == "__init__" else ""
                    yield f"{node.name}.{part.name}", part, of_class + _docstring(part)


def _is_exempt(method: ast.FunctionDef) -> bool:
    """Whether a method is private, a property, or a stub of a protocol, which has no code."""
    decorators = {ast.unparse(each).rpartition(".")[2] for each in method.decorator_list}
    code = [each for each in method.body if not _is_text(each)]
    stub = not code or ast.unparse(code[0]) == "..."
    private = method.name.startswith("_") and method.name != "__init__"
    return private or stub or bool(decorators & {"property", "cached_property"})


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [name for name, each in _every_parameter(function).items() if not _explains_itself(each)]


def _every_parameter(function: ast.FunctionDef) -> dict[str, ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {each.arg: each for each in every if each}


def _explained(docstring: str) -> set[str]:
    """Return the names that the section of parameters explains."""
    _, _, section = docstring.partition("Parameters\n----------\n")
    section = re.split(r"\n\n", section)[0]
    rows = (line.partition(" : ")[0] for line in section.splitlines() if line[:1].strip())
    return {name.strip().lstrip("*") for row in rows for name in row.split(",")}


def _explains_itself(parameter: ast.arg) -> bool:
    """Whether it is the object itself, or an option of a command, which carries its help."""
    if parameter.arg in ("self", "cls"):
        return True
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    return annotation.startswith("Annotated[") or annotation in OPTIONS


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""


def _is_numeric_constant(statement: ast.stmt) -> bool:
    """Whether a statement gives a number, or several, to names in capitals."""
    if isinstance(statement, ast.AnnAssign):
        targets, value = [statement.target], statement.value
    elif isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    else:
        return False
    names = [
        each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
    ]
    if value is None or not all(name.isupper() for name in names):
        return False
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(_is_number(part) for part in parts)


def _is_explained(following: list[ast.stmt]) -> bool:
    """Whether a text follows, below the constant or below the last one of its group."""
    rest = dropwhile(lambda statement: isinstance(statement, ast.Assign), following)
    return _is_text(next(rest, None))


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is made of numbers and signs alone."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return all(
            isinstance(part, ast.Name) or _is_number(part) for part in (value.left, value.right)
        )
    return False


def _is_text(statement: ast.stmt | None) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
