"""Tasks in the form of the public benchmark: equal GPUs of 80 GB, and the lowest peak pressure."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from tempfile import TemporaryFile

from colocate.arena.best_known import read_best_known
from colocate.arena.contest import Contest
from colocate.arena.suites import SUITES, Suite, load_suite
from colocate.arena.tasks.frame import Frame
from colocate.arena.tasks.hidden_cases import hidden_suite, renamed
from colocate.arena.tasks.placement_question import ENTRY_POINT, PlacementQuestion
from colocate.arena.tasks.solved_cases import tell_solved
from colocate.arena.tasks.start import start_program
from colocate.arena.tasks.task import Task
from colocate.errors import InputError, TaskError
from colocate.fault import Fault
from colocate.problem.problem import Problem

CLASSIC = ("adrs", "idle", "tight", "longtail", "scale")
"""The suites that programs can be judged on, the public benchmark first."""
SOLVES = "colocate.arena.tasks.fresh_optima"
"""The module that solves fresh cases, in another process: the referee loads no solver."""
GPU_MEMORY_GB = 80
"""The memory that programs may assume in the public benchmark."""
FACTS = """\
You improve a Python program that places language models on GPUs.

The program defines `compute_model_placement(gpu_num, models)`:
- `gpu_num` GPUs, numbered from 0, have 80 GB each.
- A model has the attributes `model_name`, `model_size` (GB), `req_rate`, `slo` and `cur_gpu_id`. \
Do not change the objects, and do not count on them being hashable.
- It returns a dict from the number of a GPU to the list of the models on it.

The pressure of a GPU is sum(req_rate / slo) / (80 - sum(model_size)) over the models on it; \
0 if it is empty. Make the highest pressure over the GPUs as low as you can.

Every model is placed on exactly one GPU, and the sizes on a GPU stay below 80. A model that is \
lost, doubled or made up fails the case.
"""

ENTRY = '''\
def compute_model_placement(gpu_num, models):
    """Return the models of every GPU; each model is in one place."""
    models = list(models)
    instance = Instance(
        size=[float(model.model_size) for model in models],
        load=[float(model.req_rate / model.slo) for model in models],
        capacity=[80.0] * gpu_num,
        use=[],
        limit=[],
        kind=[],
        rules=None,
    )
    strategy = Strategy("composition", "", STARTS, EACH, FINISH)
    gpu_of = strategy.run(instance, np.random.default_rng(SEED))
    if gpu_of is None:
        raise ValueError(f"found no room for all of {len(models)} models on {gpu_num} GPUs")
    placement = {gpu: [] for gpu in range(gpu_num)}
    for model, gpu in zip(models, gpu_of):
        placement[gpu].append(model)
    return placement'''
"""How composed programs begin and end."""
FRAME = Frame(ENTRY)


def placement_task(suite: str) -> Task:
    """Return the task of placing the models of a suite."""
    return Task(
        name=suite,
        summary=SUITES[suite].summary,
        entry_point=ENTRY_POINT,
        facts=FACTS,
        start_program=start_program(),
        goal="the lowest peak pressure",
        value="pressure",
        place=suite,
        open_contest=partial(open_contest, suite),
        frame=FRAME,
    )


@cache
def open_contest(suite: str, hidden_seed: int | None = None) -> Contest:
    """Return the contest on a suite.

    Public cases keep the published order, since programs may break ties by it. Hidden cases come
    from another seed, in random order and with shuffled names. For a seed that nobody has used
    before, the solver finds out what can be reached; that takes some seconds.
    """
    loaded = load_suite(suite)
    if any(gpu.memory_gb != GPU_MEMORY_GB for case in loaded.cases for gpu in case.problem.gpus):
        found = f"has GPUs that do not have {GPU_MEMORY_GB} GB, but programs cannot know that"
        raise InputError(Fault(found, advice="take another one", value=suite, path=("suite",)))
    hidden = _hidden_questions(suite, hidden_seed)
    return Contest(suite, tuple(_public_questions(loaded)), tuple(hidden))


def _public_questions(suite: Suite) -> Iterator[PlacementQuestion]:
    known = read_best_known(suite)
    for number, case in enumerate(suite.cases):
        names = [f"model_{place}" for place in range(len(case.problem.models))]
        record = known[case.name]
        problem = renamed(case.problem, names)
        yield _question(case.name, problem, record.value, record.bound, number)


def _hidden_questions(suite: str, seed: int | None) -> Iterator[PlacementQuestion]:
    if seed is None:
        hidden = hidden_suite(suite)
        records = read_best_known(hidden).items()
        known = {name: (record.value, record.bound) for name, record in records}
    else:
        hidden = hidden_suite(suite, seed)
        known = _fresh_optima(suite, seed)
    for number, case in enumerate(hidden.cases):
        yield _question(case.name, case.problem, *known[case.name], number)


def _fresh_optima(suite: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return the best values and bounds of fresh cases; the solver runs in another process."""
    # -P: a program in the folder where this runs may have the name of a module
    command = [sys.executable, "-P", "-m", SOLVES, suite, str(seed)]
    count = len(hidden_suite(suite, seed).cases)
    found: dict[str, tuple[float, float]] = {}
    tell_solved(0, count)
    with (
        TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as solving,
        _ended(solving),
    ):
        for line in solving.stdout or ():
            row = json.loads(line)
            found[row["case"]] = (row["value"], row["bound"])
            tell_solved(len(found), count)
        if solving.wait():
            complaints.seek(0)
            reason = (complaints.read().strip().splitlines() or ["it gave no reason"])[-1]
            raise TaskError(f"the hidden cases of seed {seed} could not be solved: {reason}")
    return found


@contextmanager
def _ended(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Let no process outlive an interrupt."""
    try:
        yield
    finally:
        process.kill()


def _question(
    case: str, problem: Problem, optimum: float, bound: float, seed: int
) -> PlacementQuestion:
    return PlacementQuestion(case=case, problem=problem, optimum=optimum, bound=bound, seed=seed)
