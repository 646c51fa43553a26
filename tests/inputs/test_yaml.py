"""YAML in its common form is read quickly, and as the loader reads it."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from colocate import InputError
from colocate.inputs.plain_yaml import UnusualYaml, plain_data
from colocate.inputs.yaml_loader import Loader
from colocate.inputs.yaml_text import parse_yaml

COMMON = [
    "",
    "# nothing",
    "---\n",
    "a: 1",
    "--- {a: 1}\n...\n",
    "a: [1, 010, 0x10, 0o7, 1_000, 1e3, .5, 5., -1, +1, .inf, -.inf, 1:30, 2024-01-31]",
    "a: [yes, no, on, Off, true, False, null, ~, Null, '', y, n]",
    "a: ['1', \"yes\", 'null', \"\\u00e9\\n\"]",
    "a:\n- b\n-\n  c: d\n- [e, {f: g}]\n",
    "a: |\n  two\n  lines\nb: >\n  folded\n  text\n",
    "a: two\n  lines\n",
    "a: 1 # a comment\n'b c': 2\n? d\n: 3\n",
    "[{a: 1}, {a: 2}]",
    "x-a: 1\nb:",
]
UNUSUAL = [
    "a: &x 1\nb: *x",
    "x-u: &u {a: 1}\nb: {<<: *u, c: 2}",
    "a: !!str 1",
    "a: ! 1",
    "a: !!set {b}",
    "1: 2",
    "yes: 2",
    "null: 2",
    "? [a]\n: b",
    "a: 1\na: 2",
    "'1': 1\n1: 2",
    "a: =",
    "<<: {a: 1}",
    "a: 1\n---\nb: 2",
    "a: {",
    "a: *x",
    "[" * 3000,
]


@pytest.mark.parametrize("text", COMMON)
def test_the_common_form_is_read_as_the_loader_reads_it(text):
    assert repr(plain_data(text)) == repr(yaml.load(text, Loader=Loader))


@pytest.mark.parametrize("text", UNUSUAL)
def test_everything_else_is_left_to_the_loader(text):
    with pytest.raises(UnusualYaml):
        plain_data(text)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.from_regex(r"[-+.0-9e:]*")
)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner)
)


@settings(max_examples=100, deadline=None)
@given(DATA, st.sampled_from([None, True, False]))
def test_whatever_is_written_is_read_as_the_loader_reads_it(data, flow):
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    try:
        expected = yaml.load(text, Loader=Loader)
    except (InputError, yaml.YAMLError, ValueError):
        return
    assert repr(parse_yaml(text)) == repr(expected)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab1.:-,[]{}&*!'\"|>#%~ \n<=?", max_size=40))
def test_no_text_is_read_otherwise(text):
    try:
        quick = repr(plain_data(text))
    except UnusualYaml:
        return
    assert quick == repr(yaml.load(text, Loader=Loader))


@pytest.mark.parametrize("value", ["!!bool maybe", "!!int ''", "!!timestamp x"])
def test_a_value_that_does_not_suit_its_tag_is_refused(value):
    with pytest.raises(InputError, match="a value does not suit its tag"):
        parse_yaml(f"gpus: {value}\n")


@pytest.mark.parametrize("text", ["[" * 100_000, "a: &x 1\nb: " + "[" * 500 + "]" * 500])
def test_nesting_that_would_exhaust_the_stack_is_refused(text):
    with pytest.raises(InputError, match="is nested more than 200 levels deep"):
        parse_yaml(text)
