"""Compositions as programs: one file each that needs nothing but the standard library and numpy."""

import ast
from collections.abc import Collection

from colocate.arena.tasks.frame import Frame
from colocate.arena.tasks.placement import FRAME
from colocate.lab.patches.evolve_block import END, START, sections
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import same_program, syntax_tree
from colocate.lab.proposers.composer.definitions import definitions_for
from colocate.lab.proposers.composer.grammar import IMPROVERS, STARTS, Composition
from colocate.lab.proposers.composer.notation import text_of, value_of
from colocate.problem.instance import Instance
from colocate.solver.strategy import Strategy

HEADER = '"""Places models on GPUs by a composition of blocks."""\n'

IMPORTS = """\
from dataclasses import dataclass
from enum import IntEnum
from math import exp, inf, isinf
from typing import NamedTuple

import numpy as np"""

NAMES = ("STARTS", "EACH", "FINISH", "SEED")
"""The names of a composition's fields in a program, in order."""


def write_program(composition: Composition, frame: Frame = FRAME) -> str:
    """Return a composition as a whole program."""
    return write_into(f"{HEADER}\n{START}\n{END}\n", composition, frame)


def write_into(program: str, composition: Composition, frame: Frame = FRAME) -> str:
    """Return a program with a composition in place of its evolve block.

    Parameters
    ----------
    program
        The program; all of it is replaced if it has no evolve block.
    composition
        What to write.
    frame
        The frame of the task; by default that of the public benchmark.
    """
    own = sections(program.replace("\r\n", "\n").split("\n"), "the parent")
    end = own.after or ("",)
    return "\n".join([*own.before, *_inside(composition, frame).split("\n"), *end])


def read_composition(program: str, frame: Frame = FRAME) -> Composition | None:
    """Return the composition that a program was written from, or None.

    Blocks that someone changed by hand are no longer the product's, so the result is None too.
    """
    try:
        inside = "\n".join(sections(program.split("\n"), "the program").inside)
        composition = _told(syntax_tree(inside))
        own = _inside(composition, frame)
        is_own = inside == own or same_program(inside, own)
    except (PatchRefused, ValueError):
        return None
    return composition if is_own else None


def _inside(composition: Composition, frame: Frame) -> str:
    texts = definitions_for({Instance, Strategy, *_classes(composition)}, frame)
    told = "\n".join(map(_assignment, NAMES, composition))
    return "\n\n\n".join([IMPORTS, *texts, told, frame.entry])


def _classes(value: object) -> set[type]:
    """Return the classes of the product in a composition, at any depth."""
    own = {type(value)} if type(value).__module__.startswith("colocate.solver") else set()
    return own.union(*map(_classes, value)) if isinstance(value, tuple) else own


def _assignment(name: str, value: object) -> str:
    if not isinstance(value, tuple) or not value:
        return f"{name} = {value!r}"
    return "\n".join([f"{name} = (", *(f"    {text_of(block)}," for block in value), ")"])


def _told(tree: ast.Module) -> Composition:
    """Read the composition; raise ValueError if there is none or the grammar does not allow it."""
    assigned = {
        target.id: part.value
        for part in tree.body
        if isinstance(part, ast.Assign)
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    if not assigned.keys() >= set(NAMES):
        raise ValueError(f"found no {', '.join(NAMES)} in the program")
    starts, each, finish, seed = (value_of(assigned[name]) for name in NAMES)
    if not (starts and _are(starts, STARTS) and _are(each, IMPROVERS) and _are(finish, IMPROVERS)):
        raise ValueError("found a block where it cannot be, or no start")
    if type(seed) is not int or seed < 0:
        raise ValueError(f"SEED={seed!r}, must be a whole number, at least 0")
    return Composition(starts, each, finish, seed)


def _are(blocks: object, kinds: Collection[type]) -> bool:
    return isinstance(blocks, tuple) and all(type(block) in kinds for block in blocks)
