from dataclasses import replace

import pytest

from colocate.arena.luck import Chance, Luck, SeedResult
from colocate.errors import InputError
from colocate.lab.messages import Kind, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import PatchKind
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.proposers.openai.prompt import answer_form, messages
from tests.lab.answers import PARENT
from tests.lab.test_openai import case, failed, program


def asked(request):
    system, user = messages(request)
    assert (system["role"], user["role"]) == ("system", "user")
    assert "compute_model_placement(gpu_num, models)" in system["content"]
    return user["content"]


@pytest.mark.parametrize("kind", Kind)
def test_the_form_shown_is_the_form_read(kind):
    patch = read_patch(answer_form(kind))
    assert patch.name == "a_short_name_in_snake_case"
    assert patch.kind is (PatchKind.DIFF if kind is Kind.DIFF else PatchKind.REWRITE)
    text = asked(Request(kind, program(), (program(name="other"),)))
    assert answer_form(kind) in text
    assert ("The other parent: other" in text) == (kind is Kind.CROSSING)


def test_the_parent_is_shown_whole_with_what_the_referee_says():
    traceback = "".join(f"  line {n} of the traceback\n" for n in range(500)) + "KeyError: last"
    results = [case(1, 0.08), case(2, 0.04), case(3, 0.05), failed(4, traceback), failed(5)]
    source = PARENT + "# more\n" * 20_000 + "# ```` the end\n"
    text = asked(Request(Kind.REWRITE, program(source, results=results)))
    assert f"`````python\n{source}`````" in text
    assert "Score 0.6000; mean ratio to the optimum 0.4600" in text
    assert "and 0.8000 on unseen cases; 3 of 5 cases valid" in text
    assert text.index("case-1: ratio 0.5000") < text.index("case-3: ratio")
    assert "case-2:" not in text
    assert "Failed cases, 2 of 2:\n- case-4: crash. KeyError: 'sevenfold'" in text
    assert "line 499 of the traceback\nKeyError: last" in text
    assert "line 300 of the traceback" not in text
    assert "Only what is between `# EVOLVE-BLOCK-START`" in text
    assert "EVOLVE" not in asked(Request(Kind.DIFF, program("a = 1\n")))


def test_the_rest_is_cut():
    long = PARENT + "".join(f"# line {n}\n" for n in range(5_000))
    others = tuple(program(long, name=f"other_{n}") for n in range(20))
    advice = tuple(f"{n} " + 1_000 * "words " for n in range(50))
    refusal = Refusal(RefusalCode.NO_CHANGE, "No block. " * 1_000)
    many = Request(Kind.DIFF, program(), others, advice, refusal=refusal)
    text = asked(many)
    assert len(text) < 30_000
    assert "more lines\n```" in text
    assert "## Your last answer was refused\n\nNo block." in text
    assert "1. 0 words" in text
    crossed = asked(replace(many, kind=Kind.CROSSING))
    assert long in crossed
    assert len(crossed) < 30_000 + len(long)


def test_nothing_is_said_where_there_is_nothing_to_say():
    text = asked(Request(Kind.DIFF, program(results=[case(pressure=0.04)])))
    for words in ("furthest", "Failed", "review", "refused\n", "inspiration", "uses chance"):
        assert words not in text
    trials = (SeedResult(0, 26.0, 1.0, 0.9, 0.9, 2), SeedResult(1, 25.0, 0.9, 0.8, 0.8, 2))
    lucky = Luck(Chance.SEED, trials, Chance.SEED, 2)
    drawn = replace(program(), verdict=replace(program().verdict, luck=lucky))
    said = (
        "It uses chance: score 25 to 26 under 2 seeds, mean 25.5; the worst counts, by its ratio."
    )
    assert said in asked(Request(Kind.DIFF, drawn))
    hidden = replace(lucky, public_chance=Chance.NONE, public_trials=1)
    drawn = replace(program(), verdict=replace(program().verdict, luck=hidden))
    assert "chance" not in asked(Request(Kind.DIFF, drawn))


def test_a_crossing_needs_two():
    with pytest.raises(InputError, match="a crossing has no inspirations"):
        messages(Request(Kind.CROSSING, program()))
