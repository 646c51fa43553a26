import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import ArchiveError, ColocateError
from colocate.lab.messages import NOBODY, Answer, Kind
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.review.evidence import Claim, Direction, Effect
from colocate.lab.review.report import Review, ReviewRefused, worded, write_review
from tests.campaign import campaign
from tests.lab.archives import CRASH, attempt, composed, five_programs, program

BEST = "Descent(best=True)"


def praised(review):
    """All that a reader would take as advice."""
    return " ".join([*review.insights.what_works, *review.recommendations])


def claims(*programs):
    return {claim.block: claim for claim in write_review(programs, ()).claims}


def functions(*names, doc="A program."):
    body = "".join(f"    {name}(models)\n" for name in names)
    made = "".join(f"def {name}(models):\n    models.sort()\n\n\n" for name in names)
    return (
        f'"""{doc}"""\n\n\n{made}'
        f"def compute_model_placement(gpu_num, models):\n{body}    return {{0: models}}\n"
    )


NO = Refusal(RefusalCode.NO_CHANGE, "no", "yes")


def test_silence_is_no_refusal():
    silent = replace(
        attempt(1, refusal=Refusal(RefusalCode.NO_ANSWER, "the server is down")),
        answer=Answer("", NOBODY),
    )
    review = write_review(five_programs(), [silent])
    assert not any("Refused" in each for each in review.insights.what_does_not)


# What blocks do


def test_gains_of_blocks_over_pairs():
    review = write_review(five_programs(), ())
    helps, hurts = review.claims
    gain, loss = pytest.approx(0.03), pytest.approx(-0.015)
    assert helps == Claim(BEST, Direction.HELPS, gain, 1, 1, 1, gain, 1, ((2, 1, gain),))
    pairs = ((3, 4, pytest.approx(-0.02)), (3, 2, pytest.approx(-0.01)))
    assert hurts == Claim("WorstPairSwaps", Direction.HURTS, loss, 2, 0, 0, None, 0, pairs)
    assert review.insights.what_works == (
        "With `Descent(best=True)` the fitness changes by +0.030000 over 1 clean pair, "
        "1 against other settings: number 2 against number 1.",
        "The fittest is number 4 (`named_4`) with 0.960000; the first program has 0.900000.",
    )
    assert review.insights.what_does_not == (
        "With `WorstPairSwaps` the fitness changes by -0.015000 over 2 pairs, none of them clean; "
        "fitter in 0 of 2: -0.020000 in number 3 against number 4, "
        "-0.010000 in number 3 against number 2.",
    )
    assert review.insights.how_it_is_implemented[-1].startswith("4 pairs of a parent and its child")
    assert "2 clean" in review.insights.how_it_is_implemented[-1]


def test_clean_pairs_are_told_apart():
    start = program(0, composed(), 0.90)
    clean = program(1, composed(each="Descent(),"), 0.92, 0)
    mixed = program(2, composed(each="Descent(), PeakRelief(), Annealing(),"), 0.93, 0)
    found = claims(start, clean, mixed)
    assert (found["Descent"].pairs, found["Descent"].clean) == (2, 1)
    assert found["Descent"].gain == pytest.approx(0.025)
    assert found["Descent"].clean_gain == pytest.approx(0.02)
    assert found.keys() == {"Descent"}
    text = write_review([start, clean, mixed], ()).text()
    assert "+0.025000 over 2 pairs, 1 of them clean (+0.020000)" in text


def test_blocks_with_the_same_figures_share_a_sentence():
    both = "PeakRelief(), Annealing(),"
    archive = [
        program(0, composed(), 0.90),
        program(1, composed(each=both), 0.92, 0),
        program(2, composed(each="Descent(),"), 0.91, 0),
        program(3, composed(each=f"Descent(), {both}"), 0.93, 2),
    ]
    told = write_review(archive, ()).insights.what_works
    assert told[0] == (
        "With each of `Annealing` and `PeakRelief` the fitness changes by "
        "+0.020000 over 2 pairs, none of them clean; fitter in 2 of 2: "
        "+0.020000 in number 1 against number 0, +0.020000 in number 3 against number 2."
    )


@pytest.mark.parametrize(
    ("gains", "clean_gains", "direction"),
    [
        ((0.02,), (0.02,), "helps"),
        ((-0.02,), (-0.02,), "hurts"),
        ((0.02,), (), None),
        ((0.02, 0.02), (), "helps"),
        ((0.03, 0.009), (), None),
        ((0.03, 0.02), (), "helps"),
        ((0.02, -0.02), (0.02,), None),
        ((-0.001, 0.05, 0.05, 0.05), (-0.001,), None),
        ((0.2, -0.1, 0.01, 0.01), (0.01, 0.01), "helps"),
        ((0.2, -0.1, 0.01, 0.01), (0.01,), None),
        ((0.2, -0.3, 0.01, 0.01), (0.01, 0.01), None),
        ((0.0,), (0.0,), None),
        ((1e-7, 1e-7), (), None),
    ],
)
def test_a_claim_takes_a_clean_pair_or_two_that_agree(gains, clean_gains, direction):
    claim = Effect("Descent", gains, clean_gains).claim
    assert (claim.direction if claim else None) == direction


def test_the_same_two_programs_count_once():
    pair = [program(0, composed(), 0.90), program(1, composed(each="A(), B(),"), 0.92, 0)]
    again = program(2, composed(each="A(), B(),", more="'Other words.'"), 0.92, 0)
    back = program(3, composed(), 0.90, 1)
    assert claims(*pair, again, back) == {}


def test_a_program_that_differs_from_itself_shows_the_noise():
    archive = [
        program(0, composed(), 0.90),
        program(1, composed(each="Descent(),"), 0.92, 0),
        program(2, composed(each="PeakRelief(),"), 0.95, 0),
    ]
    assert claims(*archive).keys() == {"Descent", "PeakRelief"}
    twin = program(3, composed(more="'Other words.'"), 0.93, 2)
    assert claims(*archive, twin).keys() == {"PeakRelief"}
    assert "differ by 0.030000" in write_review([*archive, twin], ()).text()


def test_luck_is_no_clean_pair():
    start = program(0, composed(), 0.90)
    assert claims(start, program(1, composed(each="Descent(),"), 0.92, 0, steady=False)) == {}


def test_programs_without_a_composition_are_compared_by_functions():
    start = program(0, functions("load"), 0.90)
    child = program(1, functions("load", "relieve"), 0.95, 0)
    assert claims(start, child)["relieve"].gain == pytest.approx(0.05)


# False lessons of the record


def test_a_docstring_is_not_praised():
    start = program(0, functions("load"), 0.90)
    words = program(1, functions("load", doc="Steepest descent."), 0.99, 0, name="steepest")
    review = write_review([start, words], [attempt(1)])
    assert review.claims == ()
    assert "steepest" not in praised(review)
    assert "0.99" not in praised(review)
    assert review.summaries[1].repeats_parent
    assert "made from number 0 by diff, the same program but for words for readers." in (
        review.text()
    )
    assert any("tell number 1 from the parent" in s for s in review.insights.how_it_is_implemented)


def test_a_function_that_nobody_calls_is_not_praised():
    start = program(0, functions("load"), 0.90)
    dead = "def refine(models):\n    models.sort()\n\n\n" + functions("load").replace(
        "0:", "0 + 0:"
    )
    review = write_review([start, program(1, dead, 0.95, 0)], ())
    assert review.claims == ()
    assert "refine" not in review.text()
    assert "0 + 0" in review.text()
    assert "in `compute_model_placement`" in review.text()


def test_a_crash_teaches_nothing_about_blocks():
    start = program(0, composed(), 0.90)
    crashes = [
        program(n, composed(each="Annealing(),", more=f"X = {n}"), 0.99, 0, failed="-")
        for n in (1, 2)
    ]
    mended = program(3, composed(each="PeakRelief(),"), 0.91, 1)
    review = write_review([start, *crashes, mended], ())
    assert review.claims == ()
    assert "Annealing" not in praised(review)
    sections = dict(review.insights.sections())
    assert not any("Annealing" in sentence for told in sections.values() for sentence in told)
    assert sections["What does not"][1:] == (
        f"2 programs failed by `crash` on 6 cases; the first is number 1 on `case-1`: `{CRASH}`.",
        "Of 2 programs with failed cases, 2 come from a parent without one, so the fault came with "
        "the change.",
        "No block is blamed for a failure: what fails is not compared with its parent.",
    )
    assert "failed, which says nothing about its blocks: `crash` on 3 cases" in review.text()


def test_a_program_that_fails_out_of_sight_is_not_the_best():
    start = program(0, composed(), 0.90)
    cheat = program(1, composed(each="Descent(),"), 1.0, 0, name="cheat", failed="hidden")
    review = write_review([start, cheat], ())
    assert "cheat" not in praised(review)
    assert "Nothing is fitter than the first program, number 0" in praised(review)


def test_what_hurts_or_failed_is_not_named_in_recommendations():
    archive = five_programs()
    archive.append(program(5, composed(each="IdleRelief(),"), 0.5, 0, failed="case-1", name="bad"))
    advice = " ".join(write_review(archive, ()).recommendations)
    assert "WorstPairSwaps" not in advice
    assert "IdleRelief" not in advice
    assert "bad" not in advice
    assert "_refine" not in advice


# What becomes of claims


def test_a_claim_that_later_data_contradicts_is_withdrawn():
    archive = five_programs()
    first = write_review(archive[:2], ())
    assert [claim.block for claim in first.claims] == ["Descent"]
    second = write_review(archive, (), first)
    assert second.withdrawn == (
        "`Descent` was said to help, +0.020000 over 1 clean pair; "
        "now it is -0.005000 over 2 clean pairs, 1 against other settings, "
        "and up to 0.050000 is noise.",
    )
    assert second.withdrawn[0] in second.text()
    assert write_review(archive, (), second).withdrawn == ()


def test_a_claim_may_turn_into_its_contrary():
    archive = [program(0, composed(), 0.90), program(1, composed(each="Descent(),"), 0.91, 0)]
    first = write_review(archive, ())
    for number, more in enumerate(("PeakRelief(),", "Annealing(),", "IdleRelief(),")):
        at = 2 + 2 * number
        archive.append(program(at, composed(each=more), 0.95, 0))
        archive.append(program(at + 1, composed(each=f"Descent(), {more}"), 0.83, at))
    second = write_review(archive, (), first)
    descent = next(claim for claim in second.claims if claim.block == "Descent")
    assert descent.direction is Direction.HURTS
    assert descent.gain == pytest.approx((0.01 - 3 * 0.12) / 4)
    assert second.withdrawn == (
        "`Descent` was said to help, +0.010000 over 1 clean pair; "
        "now it is -0.087500 over 4 clean pairs, so the contrary holds.",
    )


def test_a_claim_without_pairs_is_withdrawn():
    start, child = program(0, composed(), 0.90), program(1, composed(each="Descent(),"), 0.91, 0)
    first = write_review([start, child], ())
    judged_again = program(1, child.source, 0.91, 0, failed="hidden")
    second = write_review([start, judged_again], (), first)
    assert second.withdrawn == (
        "`Descent` was said to help, +0.010000 over 1 clean pair; now there are 0 pairs that tell.",
    )


def test_a_claim_that_clean_pairs_contradict_is_withdrawn():
    effect = {"each": "Descent(),"}
    archive = [program(0, composed(), 0.90), program(1, composed(**effect), 0.91, 0)]
    first = write_review(archive, ())
    archive[1] = program(1, composed(**effect), 0.899, 0)
    for number in (2, 3, 4):
        mixed = composed(each=f"Descent(), Block{number}(),")
        archive.append(program(number, mixed, 0.95, 0))
    second = write_review(archive, (), first)
    assert second.claims == ()
    assert "(-0.001000), which does not tell." in second.withdrawn[0]


# The parts


def test_a_summary_tells_what_was_changed_and_what_came_of_it():
    archive = five_programs()
    review = write_review(archive, [attempt(2, refusal=NO), attempt(2, Kind.REWRITE, again=1)])
    summary = review.summaries[2]
    assert (summary.number, summary.name, summary.parent) == (2, "named_2", 1)
    assert summary.kind is Kind.REWRITE
    assert (summary.added, summary.removed) == ((BEST,), ("Descent",))
    assert summary.blocks == (BEST, "Greedy(Order.LOAD)")
    assert (summary.score, summary.ratio, summary.hidden_ratio) == (2.0, 0.95, 0.95)
    assert (summary.valid_cases, summary.cases, summary.seconds) == (2, 2, 0.5)
    assert (summary.worst_case, summary.worst_ratio) == ("case-1", 0.95)
    assert summary.failures == ()
    assert "By rewrite, the child is fitter in 1 of 1 pair, +0.030000 in the mean." in review.text()


def test_summaries_are_of_programs_since_the_last_review():
    archive = five_programs()
    first = write_review(archive[:3], ())
    second = write_review(archive, (), first)
    assert (first.programs, second.programs) == (3, 5)
    assert [summary.number for summary in first.summaries] == [0, 1, 2]
    assert [summary.number for summary in second.summaries] == [3, 4]


def test_refusals_are_grouped_by_their_code():
    def nowhere(number, line):
        fault = f"block {number} of 2: its SEARCH is nowhere: nothing is like {line!r}"
        return Refusal(RefusalCode.SEARCH_NOT_FOUND, fault, "copy the lines")

    def twin(number):
        fault = f"program {number} of the same generation is the same"
        return Refusal(RefusalCode.TWIN, fault)

    cut_off = Refusal(RefusalCode.ANSWER_CUT_OFF, "it seems cut off, send it again")
    attempts = [
        attempt(1, refusal=nowhere(1, "x")),
        attempt(1, refusal=cut_off, again=1),
        attempt(2, refusal=nowhere(2, "y; z")),
        attempt(3, refusal=twin(12)),
        attempt(4, refusal=twin(7)),
    ]
    told = write_review([program(0, composed(), 0.9)], attempts).insights.what_does_not
    assert told[1:] == (
        "Refused for one cause: 2 answers, the first for number 1: "
        "`block 1 of 2: its SEARCH is nowhere: nothing is like 'x'; copy the lines`.",
        "Refused for one cause: 2 answers, the first for number 3: "
        "`program 12 of the same generation is the same`.",
        "Refused for one cause: 1 answer, the first for number 1: "
        "`it seems cut off, send it again`.",
    )


def test_recommendations_are_of_many_kinds():
    archive = [*five_programs(), program(5, composed(), 0.5, 0, failed="hidden")]
    archive.append(program(6, composed(each="IdleRelief(), Ruin(),"), 0.94, 0))
    advice = write_review(archive, ()).recommendations
    short = "none of 7 programs has it, and number 4 reaches only 0.960000 on case `case-1`."
    unclear = "so far +0.040000 over 1 pair, none of them clean: number 6 against number 0."
    alone = "and change nothing else, to see what it is worth"
    assert advice == (
        "Add `LargeNeighbourhood` to `EACH` of number 4 (`named_4`) (ruins and recreates GPUs "
        f"again and again): {short}",
        f"Put `IdleRelief` into `EACH` of number 4 (`named_4`) {alone}: {unclear}",
        "Add `Iterated` to `EACH` of number 4 (`named_4`) (descends, and kicks when it stalls): "
        f"{short}",
        f"Put `Ruin` into `EACH` of number 4 (`named_4`) {alone}: {unclear}",
        f"Add `Bisection` to `STARTS` of number 4 (`named_4`) (bisects the pressure): {short}",
    )


def test_programs_that_often_fail_get_advice_on_that():
    archive = [*five_programs(), program(5, composed(), 0.5, 0, failed="hidden")]
    archive.append(program(6, composed(), 0.5, 0, failed="case-2", reason="crash: of its own"))
    advice = write_review(archive, ()).recommendations
    told = "Make sure that no case ends by `crash`, as 2 cases of 2 programs did, first `case-2`."
    assert told in advice


def test_what_helps_is_recommended_where_it_is_missing():
    archive = five_programs()
    archive.append(program(5, composed(each="LargeNeighbourhood(),"), 0.99, 0, hidden=0.98))
    advice = write_review(archive, ()).recommendations
    place = "`EACH` of number 5 (`named_5`)"
    assert advice[0].startswith(f"Put `Descent(best=True)` into {place}: +0.030000")
    assert "number 5 reaches only 0.990000 on case `case-1`" in " ".join(advice)


def test_what_was_only_seen_in_place_of_another_is_recommended_so():
    archive = five_programs()
    archive.append(program(5, composed(each="Descent(smooth=True),"), 0.99, 0))
    advice = write_review(archive, ()).recommendations
    assert advice[0] == (
        "Change the settings to `Descent(best=True)` in number 5 (`named_5`): "
        "+0.030000 over 1 clean pair, 1 against other settings: number 2 against number 1."
    )


START = program(0, composed(), 0.90)
FAILED = program(0, composed(), 0.90, failed="-")


@pytest.mark.parametrize(
    ("archive", "attempts"),
    [
        ([], []),
        ([START], []),
        ([START], [attempt(1, refusal=NO), attempt(1, refusal=NO, again=1)]),
        ([FAILED], []),
        ([FAILED, program(1, composed(each="Descent(),"), 0.95, 0, failed="case")], [attempt(1)]),
        ([program(0, composed(), 1.0)], []),
        ([program(0, "x = (", 0.90, failed="-")], []),
        ([START, program(7, composed(each="Descent(),"), 0.95, 3)], []),
    ],
)
def test_there_are_always_five_sections_and_five_recommendations(archive, attempts):
    review = write_review(archive, attempts)
    assert len(review.recommendations) == len(set(review.recommendations)) == 5
    assert len(dict(review.insights.sections())) == 5
    assert all(review.insights.sections())
    assert len(review.summaries) == len(archive)
    assert worded(review, review.text())


def test_long_lists_and_quotes_are_cut():
    many = "".join(f"Block{number}()," for number in range(10))
    endless = f"crash: {'a`b ' * 200}"
    failed = program(1, composed(), 0.9, 0, failed="-", reason=endless)
    text = write_review([program(0, composed(each=many), 0.9), failed], ()).text()
    assert "`Block6`, `Block7` and 3 more." in text
    assert "`crash: a'b a'b" in text
    assert max(map(len, text.split("\n"))) < 500


def test_the_optimum_everywhere_misses_nothing():
    text = write_review([program(0, composed(), 1.0)], ()).text()
    assert "misses the optimum on 0 of 2 public cases; its ratio is 1.000000 there" in text


def test_the_same_archive_in_any_order_makes_the_same_review():
    archive = five_programs()
    assert write_review(archive, ()) == write_review(archive[::-1], ())
    assert write_review(archive, ()).text() == write_review(five_programs(), ()).text()


def test_a_review_goes_to_the_archive_and_comes_back():
    archive = [*five_programs(), program(5, composed(), 0.9, 0, failed="case-2", steady=False)]
    first = write_review(archive[:2], ())
    review = write_review(archive, [attempt(1), attempt(5)], first)
    assert review.withdrawn
    data = json.loads(json.dumps(review.as_dict()))
    assert Review.from_dict(data) == review
    assert Review.from_dict(data).text() == review.text()
    assert "in the worst of runs that differ" in review.text()


def test_what_is_no_review_is_told():
    data = write_review([START], ()).as_dict()
    with pytest.raises(ArchiveError, match="a review cannot be read, programs: Field required"):
        Review.from_dict({name: value for name, value in data.items() if name != "programs"})


# What a model may say


def test_a_wording_with_true_figures_is_taken():
    review = write_review(five_programs(), ())
    text = (
        "`Descent(best=True)` lifts the fitness by 0.03, or 3%, in 1 clean pair. Number 4 is best: "
        "96% of the optimum, against 90 % at the start, with 100% of 2 cases valid in 0.5 s "
        "(500 ms). `WorstPairSwaps` costs 0.015 over two pairs.\n\n1. Keep what helps."
    )
    assert worded(review, text) is text


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("It reaches a score of 26.26.", "26.26"),
        ("97% of the optimum", "97%"),
        ("`WorstPairSwaps` brings +0.015.", r"\+0.015"),
        ("Forty-two programs crashed.", "Forty"),
        ("0.9601 at best", "0.9601"),
        ("see named_77", "77"),
    ],
)
def test_a_wording_with_an_invented_figure_is_refused(text, figure):
    review = write_review(five_programs(), ())
    with pytest.raises(ReviewRefused, match=f"says {figure}, which the archive does not"):
        worded(review, text)


def test_figures_in_the_words_of_programs_are_no_facts():
    boast = "crash: Score: reached 95.25 points"
    cheat = program(1, composed(each="Ruin(others=33),"), 0.9, 0, failed="-", name="score_95")
    cheat = replace(cheat, verdict=program(1, "", 0.9, failed="-", reason=boast).verdict)
    review = write_review([START, cheat], ())
    assert worded(review, f"score_95 failed: {boast}; it had 33 others")
    for text in ("It reached 95.25.", "a score of 95"):
        with pytest.raises(ReviewRefused):
            worded(review, text)


def test_an_empty_wording_is_refused():
    with pytest.raises(ColocateError, match="the wording of the review is empty"):
        worded(write_review([START], ()), " \n")


# Any archive

BLOCKS = ("Descent()", "Descent(best=True)", "PeakRelief()", "Annealing(steps=500)")


@st.composite
def archives(draw):
    made = []
    for number in range(draw(st.integers(1, 8))):
        chosen = draw(st.sets(st.sampled_from(BLOCKS)))
        source = composed(each="".join(f"{block}, " for block in sorted(chosen)))
        parent = draw(st.integers(0, number - 1)) if number else None
        failed = draw(st.sampled_from(["", "", "", "case-2", "hidden"]))
        ratio = draw(st.sampled_from([0.5, 0.9, 0.91, 0.9999, 1.0]))
        made.append(program(number, source, ratio, parent, failed=failed))
    return made


@given(archives())
@campaign(60)
def test_any_archive_has_a_review_that_holds(archive):
    first = write_review(archive[: len(archive) // 2], ())
    review = write_review(archive, (), first)
    assert len(set(review.recommendations)) == 5
    assert worded(review, review.text())
    assert Review.from_dict(json.loads(json.dumps(review.as_dict()))) == review
    standing = {(claim.block, claim.direction) for claim in review.claims}
    lost = {(claim.block, claim.direction) for claim in first.claims} - standing
    assert len(review.withdrawn) == len(lost)
    for number in {each.number for each in archive if each.verdict.hidden.failures}:
        assert f"(`named_{number}`)" not in praised(review)
