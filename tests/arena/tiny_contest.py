"""A contest of a few small cases, the walls to hold it behind, and programs that take part."""

from functools import cache
from textwrap import dedent, indent

import pytest

from colocate import Gpu, Model, Problem
from colocate.arena.contest import Contest
from colocate.arena.inside import landlock
from colocate.arena.inside.flat_text import ANSWER, ERROR, rows_of, text_of
from colocate.arena.tasks.placement_question import PlacementQuestion
from colocate.arena.walls.enclosure import Enclosure
from colocate.arena.walls.sandbox import Sandbox
from colocate.errors import SandboxError


@cache
def has_landlock():
    try:
        return landlock.version() > 0
    except OSError:
        return False


def question(case="pair", models=2, seed=0, size=20, bound=0.05):
    """Two GPUs of 80 GB. Two models of 20 GB and load 3: apart 3 / 60, together 6 / 40."""
    gpus = [Gpu(f"gpu-{number}", 80) for number in range(2)]
    named = [Model(f"model_{number}", size, 6, 2) for number in range(models)]
    problem = Problem(gpus, named)
    return PlacementQuestion(case=case, problem=problem, optimum=0.05, bound=bound, seed=seed)


CONTEST = Contest("tiny", (question("one"), question("two", seed=1)), (question("hidden", seed=2),))

APART = "{g: [m for n, m in enumerate(models) if n % gpu_num == g] for g in range(gpu_num)}"
"""The best placement of all these cases."""

INITIAL = """
def compute_model_placement(gpu_num, models):
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [80.0] * gpu_num
    load = [0.0] * gpu_num
    for model in sorted(models, key=lambda model: model.req_rate / model.slo, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: load[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        load[best] += model.req_rate / model.slo
    return placement
"""
"""What the public runs start from."""


def program(body="", returns=APART):
    """Return a program that does something, and then places the models."""
    return (
        "def compute_model_placement(gpu_num, models):\n"
        + indent(dedent(body).strip("\n"), "    ")
        + f"\n    return {returns}\n"
    )


def slow_to_compile(depth=16):
    """Return a program that takes seconds to compile: Python writes each end of a block twice."""
    indents = [" " * (level + 1) for level in range(depth)]
    blocks = "".join(f"{space}try: a\n{space}finally:\n" for space in indents)
    return f"def slow():\n{blocks}{' ' * (depth + 1)}{'a.b(1);' * 20}\n{program()}"


def answered(reply):
    """Return what a case has written: the rows of its placement, or the parts of an error."""
    kind, _, body = reply.text.partition(b"\n")
    if kind == ANSWER:
        return [[text_of(field) for field in row] for row in rows_of(body)]
    assert kind == ERROR, reply.text
    called, *words = map(text_of, body.split(b"\n"))
    return dict(zip(("kind", "error", "traceback"), words, strict=True)) | {"called": called == "1"}


@cache
def stands(enclosure):
    """Whether a sandbox starts behind these walls."""
    try:
        with Sandbox(program(), enclosure=Enclosure(enclosure)) as sandbox:
            return sandbox.ask(question().as_data()).code == 0
    except SandboxError:
        return False


needs_bubblewrap = (
    pytest.mark.bubblewrap,
    pytest.mark.skipif(
        not stands(Enclosure.BUBBLEWRAP),
        reason="left out: bubblewrap (bwrap) is not installed or cannot make namespaces here",
    ),
)
needs_namespaces = pytest.mark.skipif(
    not stands(Enclosure.NAMESPACES), reason="left out: nobody may make namespaces here"
)
needs_landlock = pytest.mark.skipif(
    not has_landlock(), reason="left out: this kernel has no Landlock"
)
BUBBLEWRAP = pytest.param(Enclosure.BUBBLEWRAP, marks=needs_bubblewrap)
NAMESPACES = pytest.param(Enclosure.NAMESPACES, marks=needs_namespaces)
LANDLOCK = pytest.param(Enclosure.LANDLOCK, marks=needs_landlock)
behind_each_wall = pytest.mark.parametrize("enclosure", [BUBBLEWRAP, NAMESPACES, LANDLOCK])
behind_walls_that_keep_secrets = pytest.mark.parametrize("enclosure", [BUBBLEWRAP, NAMESPACES])
"""Those that hidden cases may run behind."""
