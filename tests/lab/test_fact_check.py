import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate.lab.review.fact_check import figures, unfounded

FACTS = (26.2332, 0.98765, -0.005, 0.02, 42 / 50, 50.0, 1500.0, 0.006, 12.0)


@pytest.mark.parametrize(
    "text",
    [
        "The score is 26.2332.",
        "26.233, or 26.23, 26.2 and 26",
        "the ratio 0.98765 (98.765%, 98.77 %, 98.8 percent, 99 per cent)",
        "it lost 0.005, that is -0.005 or \N{MINUS SIGN}0.5%",
        "+0.02 and 0.02 and .02 and 2e-2",
        "84% of 50 cases, in 6 ms or 0.006s or 6.0 milliseconds",
        "1500 or 1,500 steps; twelve programs, Fifty cases",
        "1. a list\n2) of\n## 3. things\n**4. with** numbers\n - 5. and more",
        "cases 12-50, 12/50 (50), \N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}",
        "no figure, and one word",
        "",
    ],
)
def test_facts_in_any_form_and_rounded(text):
    assert unfounded(text, FACTS, ()) == []


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("The score is 26.24.", ["26.24"]),
        ("26.23320 is right, 26.23321 and 27 are not", ["26.23321", "27"]),
        ("98.7% and 98.8% and 98.7%", ["98.7%"]),
        ("+0.005 is no loss, -0.02 no gain", ["+0.005", "-0.02"]),
        ("seven of 50 cases", ["seven"]),
        ("1. One thing\n42. Another", ["42"]),
        ("score26.99 by gen7", ["26.99", "7"]),
        ("7 ms, 1e999, 0e5, 1e99999", ["7 ms", "1e999", "0e5", "1", "99999"]),
        ("1 program and 0 others: 0.98765 is no count", ["1", "0"]),
        ("95 points", ["95"]),
    ],
)
def test_other_figures_are_told(text, strange):
    assert unfounded(text, FACTS, ()) == strange


def test_names_may_be_quoted_but_hide_nothing():
    names = ("seed_004", "case-7", "7", "Descent(steps=300)", "gen_9")
    assert unfounded("seed_004 on `case-7` with `Descent(steps=300)`", FACTS, names) == []
    assert unfounded("seed_0041, gen_9.5 and 7", FACTS, names) == ["0041", "9.5", "7"]


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_a_fact_in_fewer_digits_is_the_fact(fact, digits):
    assume(digits or abs(fact) >= 10)
    assert unfounded(f"it is {fact:.{digits}f}", [fact], ()) == []
    assert unfounded(f"it is {fact:+.{digits}f}", [fact], ()) == []


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_the_next_figure_is_none(written, digits):
    fact = written / 10**digits
    assert unfounded(f"{(written + 1) / 10**digits:.{digits}f}", [fact], ())


@given(st.text())
def test_any_text_has_figures_or_none(text):
    assert len(unfounded(text, (), ())) <= len(list(figures(text)))
