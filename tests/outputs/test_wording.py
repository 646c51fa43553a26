import pytest

from colocate.outputs.text.wording import plain_number, signed_percent, were


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(-0.001, 0, "0%"), (0.001, 0, "0%"), (0.0, 0, "0%"), (-0.006, 0, "-1%"), (0.1, 0, "+10%"),
     (-0.0001, 1, "0.0%"), (0.123, 1, "+12.3%")],
)  # fmt: skip
def test_a_difference_of_nothing_has_no_sign(share, digits, text):
    assert signed_percent(share, digits) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(2.0, 3, "2"), (999.4, 3, "999"), (999.7, 3, "1,000"), (12345.6, 4, "12,346"),
     (140.0, 2, "140"), (0.0001234, 3, "0.000123"), (0.0000123, 3, "0.000012"), (-1e-9, 3, "0"),
     (float("inf"), 3, "inf")],
)  # fmt: skip
def test_a_number_for_people_has_no_exponent(value, digits, text):
    assert plain_number(value, digits) == text


def test_one_was_and_others_were():
    assert [were(count) for count in range(3)] == ["were", "was", "were"]
