"""Tasks in the form of the public benchmark: equal GPUs of 80 GB, and the lowest peak pressure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice, takewhile

from numpy.random import default_rng

from colocate.arena.best_known import read_best_known
from colocate.arena.contest import Contest
from colocate.arena.suites import SUITES, Case, Suite, load_suite, unseen_problems
from colocate.arena.tasks.frame import Frame
from colocate.arena.tasks.placement_question import ENTRY_POINT, PlacementQuestion
from colocate.arena.tasks.start import start_program
from colocate.arena.tasks.task import Task
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.problem import Problem

CLASSIC = ("adrs", "idle", "tight", "longtail", "scale")
"""The suites that programs can be judged on, the public benchmark first."""
HIDDEN = "-hidden"
"""Suffix of a suite's name for its hidden cases."""
HIDDEN_SEED = 20_260
"""A seed that no suite uses."""
HIDDEN_CASES = 25
"""Half as many as in a suite: enough to see what a program learned by heart."""
MOST_HIDDEN_MODELS = 100
"""Hidden cases end before the first one with more models: programs take long on those."""
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
    from another seed, in random order and with shuffled names.
    """
    loaded = load_suite(suite)
    if any(gpu.memory_gb != GPU_MEMORY_GB for case in loaded.cases for gpu in case.problem.gpus):
        found = f"has GPUs that do not have {GPU_MEMORY_GB} GB, but programs cannot know that"
        raise InputError(Fault(found, advice="take another one", value=suite, path=("suite",)))
    return Contest(suite, tuple(_public_questions(loaded)), tuple(_hidden_questions(suite)))


def _public_questions(suite: Suite) -> Iterator[PlacementQuestion]:
    known = read_best_known(suite)
    for number, case in enumerate(suite.cases):
        names = [f"model_{place}" for place in range(len(case.problem.models))]
        record = known[case.name]
        renamed = _renamed(case.problem, names)
        yield _question(case.name, renamed, record.value, record.bound, number)


def hidden_suite(suite: str, seed: int = HIDDEN_SEED) -> Suite:
    """Return problems like a suite's, from another seed, with shuffled order and names."""
    rng = default_rng(seed)
    problems = takewhile(
        lambda problem: len(problem.models) <= MOST_HIDDEN_MODELS,
        unseen_problems(suite, seed),
    )
    cases = []
    for number, problem in enumerate(islice(problems, HIDDEN_CASES)):
        count = len(problem.models)
        order = rng.permutation(count).tolist()
        shuffled = Problem(problem.gpus, tuple(problem.models[place] for place in order))
        names = [f"model_{place}" for place in rng.permutation(count).tolist()]
        cases.append(Case(f"hidden-{number:02d}", _renamed(shuffled, names)))
    return Suite(f"{suite}{HIDDEN}", f"never seen, like {suite}", tuple(cases))


def _hidden_questions(suite: str) -> Iterator[PlacementQuestion]:
    hidden = hidden_suite(suite)
    known = read_best_known(hidden)
    for number, case in enumerate(hidden.cases):
        record = known[case.name]
        yield _question(case.name, case.problem, record.value, record.bound, number)


def _question(
    case: str, problem: Problem, optimum: float, bound: float, seed: int
) -> PlacementQuestion:
    return PlacementQuestion(case=case, problem=problem, optimum=optimum, bound=bound, seed=seed)


def _renamed(problem: Problem, names: Sequence[str]) -> Problem:
    pairs = zip(problem.models, names, strict=True)
    return Problem(problem.gpus, tuple(replace(model, name=name) for model, name in pairs))
