import pytest
import yaml

from colocate.outputs.emit.targets.yaml_file import yaml_text


@pytest.mark.parametrize(
    "text",
    ["1e3", "-1E+5", "12.", ".5e1", "0o17", "0O17", "0b10", "1_0e3", "y", "N", "no", "0x1f", "12"],
)
def test_what_go_would_take_for_a_number_or_a_truth_value_is_quoted(text):
    written = yaml_text([], {"args": [text]})
    assert f"- '{text}'\n" in written
    assert yaml.safe_load(written) == {"args": [text]}


@pytest.mark.parametrize("text", ["0.0.0.0", "1800s", "--port=8000", "year", "e3", "8b"])
def test_other_words_stay_plain(text):
    assert yaml_text([], [text]) == f"- {text}\n"


def test_numbers_stay_numbers():
    assert yaml_text([], {"port": 8000, "share": 0.5}) == "port: 8000\nshare: 0.5\n"
