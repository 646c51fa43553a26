import pytest

from colocate.outputs.text.wording import signed_percent, were


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(-0.001, 0, "0%"), (0.001, 0, "0%"), (0.0, 0, "0%"), (-0.006, 0, "-1%"), (0.1, 0, "+10%"),
     (-0.0001, 1, "0.0%"), (0.123, 1, "+12.3%")],
)  # fmt: skip
def test_a_difference_of_nothing_has_no_sign(share, digits, text):
    assert signed_percent(share, digits) == text


def test_one_was_and_others_were():
    assert [were(count) for count in range(3)] == ["were", "was", "were"]
