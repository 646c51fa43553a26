from io import StringIO

import pytest
from rich.console import Console

from colocate import Gpu, Model, Problem, place, solve
from colocate.outputs.plan.table import improvement_line, plan_table
from colocate.outputs.plan.words import shown_gap
from colocate.solver.plan import Improvement
from tests.outputs.made_plans import small


def drawn(problem, width=120):
    console = Console(file=StringIO(), width=width)
    console.print(plan_table(place(problem), width))
    return console.file.getvalue()


def test_one_line_a_gpu_then_the_peak():
    problem = Problem(
        [Gpu("big", 80), Gpu("small", 40), Gpu("spare", 24)],
        [Model("hot", 20, 9, 3), Model("cool", 20, 1, 10), Model("[red]name", 36, 0, 1)],
    )
    lines = [line.split() for line in drawn(problem).splitlines() if line.strip()]
    long, short, none = "█" * 14 + "░" * 6, "█" * 10 + "░" * 10, "░" * 20
    assert lines[2] == ["big", long, "56", "/", "80", "0.125000", "◀", "hot,", "[red]name"]
    assert lines[3] == ["small", short, "20", "/", "40", "0.00500000", "cool"]
    assert lines[4] == ["spare", none, "0", "/", "24", "0.00000", "-"]
    assert lines[5] == ["peak", "pressure", "0.125000", "on", "big"]
    assert " ".join(lines[6]).startswith("(feasible, by initial_program, seed 0")


def test_a_full_gpu_and_an_infinite_peak():
    text = drawn(Problem([Gpu("g", 40)], [Model("m", 40, 1, 1)]))
    assert "█" * 20 in text
    assert "peak pressure ∞ on g" in text


def test_nothing_is_lost_on_a_narrow_screen():
    models = [Model(f"model-number-{n}", 1, 1, 1) for n in range(12)]
    text = drawn(Problem([Gpu("g", 80)], models), width=60)
    assert all(f"model-number-{n}" in text for n in range(12))
    assert max(map(len, text.splitlines())) <= 60


def test_what_cannot_be_placed_is_a_sentence():
    text = drawn(Problem([Gpu("g", 40)], [Model("m", 41, 1, 1)]))
    assert text.startswith("INFEASIBLE: models[0] 'm': size_gb=41, must be at most 40")


def test_long_gpu_names_are_folded_and_models_stay_readable():
    gpus = [Gpu("node-with-a-very-long-host-name.cluster.example/" + "gpu-" * 20 + "0", 80)]
    text = drawn(Problem(gpus, [Model("a-model", 1, 1, 1)]), width=80)
    assert "a-model" in text
    assert max(map(len, text.splitlines())) <= 80


def test_many_empty_gpus_are_only_counted():
    text = drawn(Problem([Gpu(f"g{n}", 80) for n in range(40)], [Model("m", 1, 1, 1)]))
    assert "and 39 GPUs without a model" in text
    assert len(text.splitlines()) < 10


def test_what_is_proven_stands_below_the_peak():
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], [Model("m", 10, load=1), Model("n", 9, load=1)])
    console = Console(file=StringIO(), width=100)
    console.print(plan_table(solve(problem)))
    lines = console.file.getvalue().splitlines()
    assert lines[-3] == "peak pressure 0.0142857 on a"
    assert lines[-2] == "proven optimal, by one model alone on its GPU"
    assert lines[-1].startswith("(optimal, by solve, seed 0, ")


def test_what_sleeps_stands_below_the_proof():
    console = Console(file=StringIO(), width=100)
    console.print(plan_table(small()[1], 100))
    assert console.file.getvalue().splitlines()[-2] == "asleep: dozing; demand lost 4"


def test_a_line_on_how_far_a_solve_is():
    line = improvement_line(Improvement(0.1, 0.11, 0.1, "regrouping"))
    assert line == "peak pressure 0.110000, at most 10% above the optimum"


def test_a_line_on_how_far_a_solve_is_before_anything_is_proven():
    line = improvement_line(Improvement(0.1, 0.36, 0.0, "start"), "latency")
    assert line == "worst latency 0.36 of its target, no bound yet"


def test_bars_give_way_to_names_on_a_usual_screen():
    models = [Model(f"a-model-with-a-name-{n}", 1, 1, 1) for n in range(9)]
    text = drawn(Problem([Gpu("a-gpu-with-a-name", 80)], models), width=80)
    assert all(f"a-model-with-a-name-{n}" in text for n in range(9))
    assert "on a wider screen also: memory" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "█" in drawn(Problem([Gpu("a-gpu-with-a-name", 80)], models), width=100)


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (3e-8, "less than 0.0001% above the optimum"),
        (2e-6, "at most 0.0002% above the optimum"),
        (0.25, "at most 25% above the optimum"),
        (1.5, "at most 2.5 times the optimum"),
    ],
)
def test_a_gap_is_told_with_as_many_digits_as_a_reader_takes_in(gap, words):
    assert shown_gap(gap) == words
