import re

from hypothesis import given
from hypothesis import strategies as st

from colocate.outputs.emit.engines.names import front_names, replica_names, safe_names

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
TEXTS = st.lists(
    st.text(min_size=1, max_size=80) | st.sampled_from(["a", "A", "a-2", "a.2", "a-2-2", "ä"]),
    min_size=1,
    max_size=8,
    unique=True,
)


def test_a_good_name_stays_and_others_are_cleaned():
    assert safe_names(["llama-8b", "Qwen/Qwen2.5-7B", "70b"]) == {
        "llama-8b": "llama-8b",
        "Qwen/Qwen2.5-7B": "qwen-qwen2-5-7b",
        "70b": "m-70b",
    }


def test_names_that_would_collide_do_not():
    names = safe_names(["a.b", "a b", "a-b"])
    assert names["a-b"] == "a-b"
    assert len(set(names.values())) == 3


def test_a_name_that_was_made_to_be_a_digest_is_no_other_name():
    marked = safe_names(["A", "a"])["A"]
    assert len(set(safe_names(["A", "a", marked]).values())) == 3


def test_names_that_something_else_has_are_not_given():
    assert safe_names(["kubernetes"])["kubernetes"].startswith("kubernetes-")


def test_a_second_copy_is_not_another_model():
    names = replica_names(safe_names(["llama", "llama-2"]), {"llama": 3, "llama-2": 2})
    assert names["llama", 0] == "llama"
    assert names["llama-2", 0] == "llama-2"
    assert names["llama", 2] == "llama-3"
    assert len(set(names.values())) == 5


@given(TEXTS, st.integers(1, 3))
def test_any_texts_become_different_labels(texts, replicas):
    names = replica_names(safe_names(texts), dict.fromkeys(texts, replicas))
    assert len(set(names.values())) == len(texts) * replicas
    assert all(LABEL.fullmatch(name) for name in names.values())


def test_all_replicas_together_have_a_name_that_no_engine_has():
    names = {"a": "a", "a-all": "a-all"}
    assert front_names(names, {"a", "a-all", "a-all-2"}) == {
        "a": "a-all-replicas",
        "a-all": "a-all-all",
    }
