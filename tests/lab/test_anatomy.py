import pytest

from colocate.lab.review.anatomy import anatomy, bare_name, differ_in_one_block
from tests.lab.archives import composed


def blocks(source):
    return sorted(anatomy(source).blocks)


def test_a_composed_program_has_the_blocks_of_its_composition():
    starts = "Bisection((Packing(Fit.BEST, Order.VIRTUAL), Packing(Fit.FIRST, Order.SIZE)))"
    each = "Iterated(Descent(best=True), Kick.BURST, steps=2000),"
    assert blocks(composed(starts, each, "Descent(),")) == [
        "Bisection",
        "Descent",
        "Descent(best=True)",
        "Iterated(Kick.BURST, steps=2000)",
        "Packing(Fit.BEST, Order.VIRTUAL)",
        "Packing(Fit.FIRST, Order.SIZE)",
    ]


def test_definitions_in_a_composed_program_are_no_blocks():
    more = "class Descent:\n    pass\n\n\ndef descend():\n    return Descent()\n"
    assert blocks(composed(each="Descent(),", more=more)) == ["Descent", "Greedy(Order.LOAD)"]


def test_constants_stand_for_what_they_are():
    more = "STEEP: object = Descent(best=True)\nPATIENCE = 30\nLOOP = (LOOP,)\n"
    each = "Iterated(STEEP, patience=PATIENCE, more=LOOP), *tuple(LOOP)"
    found = blocks(composed(each=each, more=more))
    assert found == ["Descent(best=True)", "Greedy(Order.LOAD)", "Iterated(patience=30)"]


@pytest.mark.parametrize(
    ("setting", "spelt"),
    [
        ("weights=" + "+".join(["a"] * 2000), "Ruin(weights=...)"),
        ("seed=0x" + "f" * 5000, "Ruin(seed=...)"),
        (f"name={'x' * 100!r}", f"Ruin(name='{'x' * 56}...)"),
        ("**settings", "Ruin(**settings)"),
    ],
)
def test_settings_are_short(setting, spelt):
    assert spelt in blocks(composed(each=f"Ruin({setting}),"))


FUNCTIONS = """
import random
from math import exp, inf

MEMORY = 80

# EVOLVE-BLOCK-START
def load(model):
    return model.req_rate / model.slo


def forgotten():
    return refined()


def refined():
    return 1


def compute_model_placement(gpu_num, models):
    def warmth(step):
        return exp(-step)

    def idle():
        return forgotten()

    placement = dict(enumerate(sorted(models, key=load)))
    random.shuffle(models)
    models.reverse()
    return Walk(inf, warmth(3)).end
# EVOLVE-BLOCK-END


class Walk:
    def step(self):
        return outside()


def outside():
    return 1
"""


def test_another_program_has_the_functions_that_its_entry_reaches():
    sort = "sort(req_rate / slo, ascending)"
    assert blocks(FUNCTIONS) == ["Walk", "load", "random order", sort, "warmth"]


def test_without_markers_all_lines_count():
    unmarked = "\n".join(line for line in FUNCTIONS.split("\n") if "EVOLVE" not in line)
    sort = "sort(req_rate / slo, ascending)"
    assert blocks(unmarked) == ["Walk", "load", "outside", "random order", sort, "warmth"]


@pytest.mark.parametrize("source", ["x = (", "# EVOLVE-BLOCK-START\nf()\n", ""])
def test_what_cannot_be_read_has_no_blocks(source):
    assert blocks(source) == []


def test_words_for_readers_make_no_other_anatomy():
    assert anatomy(composed()) == anatomy(composed().replace("A program.", "A miracle."))


def test_a_name_without_its_settings():
    assert bare_name("Packing(Fit.BEST, Order.VIRTUAL)") == "Packing"
    assert bare_name("Bisection") == "Bisection"


@pytest.mark.parametrize(
    ("one", "other", "clean"),
    [
        (composed(), composed(each="Descent(),"), True),
        (composed(each="Descent(),"), composed(), True),
        (composed(each="Descent(),"), composed(each="Descent(best=True),"), True),
        (composed(each="Descent(),"), composed(each="PeakRelief(),"), False),
        (composed(), composed(each="Descent(), PeakRelief(),"), False),
        (composed(), composed(each="Descent(), Descent(best=True),"), False),
        (composed(), composed(), False),
        (composed(more="SEED = 1"), composed(each="Descent(),", more="SEED = 2"), False),
        (composed(more="N = 'a'"), composed(each="Descent(),", more="N = 'b'"), False),
        (composed(), composed(each="Descent(),", more="class Descent: pass"), True),
    ],
)
def test_one_block_differs_and_nothing_else(one, other, clean):
    assert differ_in_one_block(one, other) is clean


def test_a_function_that_comes_with_other_changes_is_not_alone():
    refined = FUNCTIONS.replace("models.reverse()", "refined()")
    assert differ_in_one_block(FUNCTIONS, refined)
    changed = refined.replace("req_rate / model.slo", "req_rate * model.slo")
    assert not differ_in_one_block(FUNCTIONS, changed)
