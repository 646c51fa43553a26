"""Programs written of blocks for fleet tasks do what the blocks do, and answer every case."""

import numpy as np
import pytest

from colocate.arena.tasks.fleets.fleet import FLEETS, fleet_cases
from colocate.arena.tasks.start import start_program
from colocate.lab.proposers.composer.choices import Draw
from colocate.lab.proposers.composer.cost_model import LONGEST, milliseconds
from colocate.lab.proposers.composer.grammar import IMPROVERS, STARTS
from colocate.lab.proposers.composer.mutation import mutated
from colocate.lab.proposers.composer.source import read_composition, write_into, write_program
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from tests.lab.compositions import RICH, SIMPLE, composed, loaded, product_answer, quick_blocks

WINDOWS = [made.problem for made in fleet_cases("fleet-windows", "public").values()]


def placed(task, program, problem):
    """Return the GPUs of every model, by a program."""
    found = program["place_models"](*FLEETS[task].shown(problem))
    return {name: [gpus] if isinstance(gpus, str) else gpus for name, gpus in found.items()}


@pytest.mark.parametrize("kind", [*STARTS, *IMPROVERS])
def test_blocks_with_windows_do_the_same_as_in_the_product(kind):
    problem = WINDOWS[0]
    for block in quick_blocks(kind)[:4]:
        composition = composed(block)
        program = loaded(write_program(composition, FLEETS["fleet-windows"].frame))
        found = placed("fleet-windows", program, problem)
        names = [gpu.name for gpu in problem.gpus]
        gpu_of = [names.index(found[model.name][0]) for model in problem.models]
        assert gpu_of == product_answer(composition, problem), block


@pytest.mark.parametrize("task", FLEETS)
def test_programs_for_fleets_answer_with_valid_placements(task):
    frame = FLEETS[task].frame
    source = write_program(RICH, frame)
    assert read_composition(source, frame) == RICH
    program = loaded(source)
    for made in list(fleet_cases(task, "hidden").values())[:2]:
        problem = made if isinstance(made, Problem) else made.problem
        verdict = verify(problem, placed(task, program, problem))
        assert verdict.valid, verdict.faults


def test_a_program_for_one_task_is_none_for_another():
    source = write_program(SIMPLE, FLEETS["fleet-windows"].frame)
    assert read_composition(source) is None
    assert read_composition(source, FLEETS["fleet-copies"].frame) is None


@pytest.mark.parametrize("task", FLEETS)
def test_compositions_go_into_the_start_program(task):
    source = write_into(start_program(task.replace("-", "_")), SIMPLE, FLEETS[task].frame)
    assert read_composition(source, FLEETS[task].frame) == SIMPLE
    assert "place_models" in loaded(source)


def test_slower_tasks_get_shorter_compositions():
    draw = Draw(np.random.default_rng(0), slower=20.0)
    parent = SIMPLE
    for _ in range(60):
        parent = mutated(parent, draw).child
        assert milliseconds(parent) <= LONGEST / 20.0
