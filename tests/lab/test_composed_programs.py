"""Programs written of blocks do what the blocks do, and need nothing but themselves."""

import ast
import builtins
import dis
import sys
from types import CodeType, SimpleNamespace

import pytest

from colocate.arena.tasks.start import start_program
from colocate.lab.proposers.composer.cost_model import LONGEST, milliseconds
from colocate.lab.proposers.composer.definitions import Home, _refuse_namesakes
from colocate.lab.proposers.composer.grammar import IMPROVERS, STARTS, Composition, is_sound
from colocate.lab.proposers.composer.source import read_composition, write_into, write_program
from colocate.solver.improve.descent import Descent
from colocate.solver.strategies import STRATEGIES
from tests.lab.compositions import (
    ADRS,
    BEST_FIT,
    BY_LOAD,
    IDLE,
    RICH,
    SIMPLE,
    composed,
    loaded,
    pressure_of,
    product_answer,
    program_answer,
    public_score,
    quick_blocks,
)

KINDS = pytest.mark.parametrize("kind", [*STARTS, *IMPROVERS])
EVERYTHING = Composition((BY_LOAD, BEST_FIT), tuple(kind() for kind in IMPROVERS))


@KINDS
def test_every_block_does_the_same_as_in_the_product(kind):
    for block in quick_blocks(kind):
        composition = composed(block)
        program = loaded(write_program(composition))
        for problem in (ADRS[12], ADRS[30], IDLE[0]):
            answer = program_answer(program, problem)
            assert answer == product_answer(composition, problem), block
            assert pressure_of(problem, answer) > 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_row_of_the_catalogue_does_the_same_as_in_the_product(name):
    row = STRATEGIES[name]
    composition = Composition(row.starts, row.each, row.finish)
    program = write_program(composition)
    assert read_composition(program) == composition
    assert program_answer(loaded(program), ADRS[12]) == product_answer(composition, ADRS[12])


def test_known_scores():
    assert public_score(start_program()) == pytest.approx(21.891622, abs=5e-7)
    assert public_score(write_program(SIMPLE)) == pytest.approx(21.891622, abs=5e-7)
    packed = BEST_FIT._replace(halvings=50)
    assert public_score(write_program(Composition((packed,)))) == pytest.approx(26.233211, abs=5e-7)


@KINDS
def test_programs_import_only_the_standard_library_and_numpy(kind):
    program = write_program(composed(quick_blocks(kind)[0]))
    assert "numba" not in program
    assert "colocate" not in program
    imported = {
        module.split(".")[0]
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name])
    }
    assert "numpy" in imported
    assert imported - {"numpy"} <= sys.stdlib_module_names


def test_every_name_in_a_program_is_defined_in_it():
    program = write_program(EVERYTHING)
    known = {*loaded(program), *dir(builtins)}
    waiting = [compile(program, "program", "exec")]
    while waiting:
        code = waiting.pop()
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        used = {op.argval for op in dis.get_instructions(code) if op.opname == "LOAD_GLOBAL"}
        assert used <= known


def test_a_program_has_only_what_it_needs():
    program = write_program(SIMPLE)
    assert "class Greedy" in program
    for other in ("class Bisection", "class Descent", "class Order(IntEnum)"):
        assert (other in program) == (other == "class Order(IntEnum)")
    assert len(program) < len(write_program(RICH)) < len(write_program(EVERYTHING))


def test_a_change_of_a_parameter_changes_one_line():
    one, other = (write_program(RICH._replace(seed=seed)).splitlines() for seed in (3, 4))
    assert [pair for pair in zip(one, other, strict=True) if len(set(pair)) > 1] == [
        ("SEED = 3", "SEED = 4")
    ]


def test_the_composition_can_be_read_by_people():
    lines = write_program(RICH).splitlines()
    at = lines.index("STARTS = (")
    assert lines[at : at + 13] == [
        "STARTS = (",
        "    Bisection((Packing(Fit.BEST, Order.VIRTUAL),), halvings=12),",
        "    Greedy(Order.LOAD, Look.CURRENT),",
        ")",
        "EACH = (",
        "    Iterated(descent=Descent(best=True, smooth=True), kick=Kick.RUIN, steps=25),",
        "    Descent(),",
        ")",
        "FINISH = (",
        "    Iterated(kick=Kick.BURST, steps=100),",
        ")",
        "SEED = 3",
        "",
    ]


@KINDS
def test_what_is_written_can_be_read_back(kind):
    for block in quick_blocks(kind):
        assert repr(read_composition(write_program(composed(block)))) == repr(composed(block))


def test_what_is_written_into_another_program_keeps_what_is_around():
    program = write_into(start_program(), RICH)
    assert program.startswith(start_program().split("# EVOLVE-BLOCK-START")[0])
    assert read_composition(program) == RICH
    assert read_composition(program.replace("\n", "\r\n")) == RICH
    assert read_composition(write_into("def compute_model_placement(): ...", RICH)) == RICH


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SEED = 3", "SEED = -3"),
        ("SEED = 3", "SEED = 3.0"),
        ("SEED = 3", "SEED = int('3')"),
        ("SEED = 3", ""),
        ("Order.VIRTUAL", "Order.BEAUTY"),
        ("halvings=12", "halvings=12.0"),
        ("halvings=12", "turns=12"),
        ("Bisection((Packing(Fit.BEST, Order.VIRTUAL),)", "Bisection((Descent(),)"),
        ("Greedy(Order.LOAD, Look.CURRENT),", "Descent(),"),
        ("steps=100", "steps='100'"),
        ("EACH = (", "EACH = list("),
        ("return value < other * (1.0 - TIE)", "return value < other"),
        ("SEED = 3", "SEED = (3"),
        ("# EVOLVE-BLOCK-END", ""),
    ],
)
def test_what_was_changed_by_others_has_no_composition(old, new):
    program = write_program(RICH)
    assert old in program
    assert read_composition(program.replace(old, new)) is None


def test_no_start_and_no_composition():
    assert read_composition(write_program(Composition(()))) is None
    assert read_composition(start_program()) is None


def test_comments_and_docstrings_do_not_matter():
    program = write_program(SIMPLE).replace("SEED = 0", "SEED = 0  # any will do")
    assert (
        read_composition(program.replace("Take every model off", "Remove every one off")) == SIMPLE
    )


def test_no_models_and_no_room():
    program = loaded(write_program(EVERYTHING))
    place = program["compute_model_placement"]
    assert place(2, []) == {0: [], 1: []}
    large = SimpleNamespace(model_name="large", model_size=50, req_rate=1, slo=1)
    with pytest.raises(ValueError, match="no room for all of 3 models on 2 GPUs"):
        place(2, [large, large, large])
    begin = loaded(start_program())["compute_model_placement"]
    full = SimpleNamespace(model_name="full", model_size=80, req_rate=1, slo=1)
    empty = SimpleNamespace(model_name="empty", model_size=0, req_rate=0, slo=1)
    assert begin(2, [full, empty]) == {0: [full], 1: [empty]}
    with pytest.raises(ValueError, match="model_size=50, more than is free on each of 2 GPUs"):
        begin(2, [large, large, large])


def test_namesakes_are_refused():
    homes = [Home("one", "STRICT"), Home("other", "STRICT")]
    with pytest.raises(AssertionError, match="STRICT is defined in one and in other"):
        _refuse_namesakes(homes)


def test_soundness():
    assert is_sound(RICH)
    assert not is_sound(Composition(()))
    assert not is_sound(Composition((BY_LOAD, BY_LOAD)))
    assert not is_sound(Composition((BEST_FIT._replace(packings=BEST_FIT.packings * 2),)))
    assert not is_sound(Composition((BY_LOAD,), (Descent(relocate=False, swap=False),)))
    assert not is_sound(Composition((BY_LOAD,), (Descent(), Descent())))
    assert not is_sound(Composition((BY_LOAD,), tuple(kind() for kind in IMPROVERS)))


def test_more_blocks_take_longer():
    assert milliseconds(SIMPLE) < milliseconds(RICH) < LONGEST < milliseconds(EVERYTHING)
