from collections import Counter
from types import SimpleNamespace

import pytest

from colocate.arena.tasks.start import start_program
from colocate.errors import ProposerError
from colocate.lab.messages import Kind, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import PatchKind, apply_patch
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.program import Program
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.proposers.composer.naming import name_of
from colocate.lab.proposers.composer.source import read_composition, write_program
from tests.lab.answers import PARENT
from tests.lab.compositions import ADRS, RICH, SIMPLE, loaded, pressure_of, program_answer

NO_VERDICT = SimpleNamespace()


def program(source, number=0):
    return Program(number, "a_program", "", source, NO_VERDICT)


START = program(start_program())
SMALL = program(write_program(SIMPLE), 1)
LARGE = program(write_program(RICH), 2)


def taken(request):
    """The patch of the answer to a request, and the child that it makes."""
    answer = Composer().propose(request)
    assert (answer.who, answer.tokens_in, answer.tokens_out, answer.cost) == ("composer", 0, 0, 0)
    assert not answer.cut_off
    patch = read_patch(answer.text)
    return patch, apply_patch(patch, request.parent.source).source


@pytest.mark.parametrize("parent", [START, SMALL, LARGE], ids=["start", "small", "large"])
@pytest.mark.parametrize("kind", Kind)
def test_answers_make_programs_that_differ_from_their_parents(kind, parent):
    for seed in range(3):
        patch, child = taken(Request(kind, parent, (LARGE,), seed=seed))
        composition = read_composition(child)
        assert repr(composition) != repr(read_composition(parent.source))
        assert patch.name == name_of(composition)
        assert patch.description.endswith(".")
        assert pressure_of(ADRS[12], program_answer(loaded(child), ADRS[12])) < 1


def test_the_same_request_has_the_same_answer():
    for kind in Kind:
        request = Request(kind, SMALL, (LARGE,), ("Try Annealing.",), seed=5)
        assert Composer().propose(request) == Composer().propose(request)


def test_another_seed_and_a_refusal_have_another_answer():
    request = Request(Kind.DIFF, LARGE)
    same = Refusal(RefusalCode.KNOWN_PROGRAM, "program 7 is the same, but for its comments")
    refused = Request(Kind.DIFF, LARGE, refusal=same)
    answers = {Composer().propose(Request(Kind.DIFF, LARGE, seed=seed)).text for seed in range(8)}
    assert len(answers) > 5
    assert Composer().propose(refused) != Composer().propose(request)
    assert Composer().propose(refused) == Composer().propose(refused)


@pytest.mark.parametrize(
    ("kind", "told_as"),
    [
        (Kind.DIFF, PatchKind.DIFF),
        (Kind.CROSSING, PatchKind.DIFF),
        (Kind.REWRITE, PatchKind.REWRITE),
    ],
)
def test_each_kind_is_told_in_its_form(kind, told_as):
    patch, _ = taken(Request(kind, SMALL, (LARGE,)))
    assert patch.kind is told_as


def test_a_small_change_is_a_small_patch():
    for seed in range(30):
        patch, child = taken(Request(Kind.DIFF, LARGE, seed=seed))
        if patch.description.startswith("Set "):
            assert len(patch.blocks) == 1
            assert len(child.splitlines()) == len(LARGE.source.splitlines())
            return
    raise AssertionError("no parameter was changed")


@pytest.mark.parametrize("source", [start_program(), PARENT, "def compute_model_placement(): ..."])
def test_a_parent_by_another_hand_is_rewritten_as_a_single_start(source):
    patch, child = taken(Request(Kind.DIFF, program(source)))
    composition = read_composition(child)
    assert patch.kind is PatchKind.REWRITE
    assert len(composition.starts) == 1
    assert not composition.each + composition.finish
    assert child.split("# EVOLVE-BLOCK-START")[0] == source.split("# EVOLVE-BLOCK-START")[0] or (
        "EVOLVE" not in source
    )


def test_a_crossing_by_another_hand_goes_on_from_the_inspiration():
    patch, child = taken(Request(Kind.CROSSING, START, (LARGE, SMALL)))
    assert patch.description.startswith("Go on from the inspiration: ")
    kinds = {type(block) for block in read_composition(child).each}
    assert kinds & {type(block) for block in RICH.each}


def test_a_crossing_has_blocks_of_both():
    seen = Counter()
    for seed in range(12):
        _, child = taken(Request(Kind.CROSSING, SMALL, (LARGE,), seed=seed))
        composition = read_composition(child)
        seen.update(["starts"] * (composition.starts == RICH.starts))
        seen.update(["each"] * (composition.each == RICH.each))
    assert set(seen) == {"starts", "each"}


def test_a_crossing_without_another_composition_changes_the_parent():
    for inspirations in ((), (START,)):
        _, child = taken(Request(Kind.CROSSING, LARGE, inspirations))
        assert read_composition(child) is not None


def test_line_ends_are_kept():
    parent = program(LARGE.source.replace("\n", "\r\n"))
    _, child = taken(Request(Kind.DIFF, parent))
    assert child.count("\r\n") == child.count("\n")
    assert read_composition(child) is not None


def test_a_parent_with_half_a_block_cannot_be_changed():
    broken = program(start_program().replace("# EVOLVE-BLOCK-END", ""))
    with pytest.raises(ProposerError, match="must have one '# EVOLVE-BLOCK-START' and then one"):
        Composer().propose(Request(Kind.DIFF, broken))


def test_recommendations_are_heard():
    def added(*recommendations):
        requests = (
            Request(Kind.REWRITE, SMALL, recommendations=recommendations, seed=seed)
            for seed in range(100)
        )
        return sum("LargeNeighbourhood" in Composer().propose(each).text for each in requests)

    assert added("Try `LargeNeighbourhood`, which no program has.") > 1.5 * added()
