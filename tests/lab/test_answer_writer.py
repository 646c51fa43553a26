import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.answer_writer import write_patch
from colocate.lab.patches.patch import PatchKind, apply_patch
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import same_program
from tests.campaign import campaign
from tests.lab.answers import BOTH, CHILD, DEAL, PARENT, RATIO, SORTED

WORDS = {"name": "sort_first", "description": "Take the lightest first."}


def told(parent, child, **words):
    """Return the patch of the answer, once it is known to give the child again."""
    patch = read_patch(write_patch(parent, child, **(WORDS | words)).text)
    assert apply_patch(patch, parent).source == child
    return patch


def test_an_answer_by_hand():
    parent = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"
    assert write_patch(parent, parent.replace("5", "6"), **WORDS).text == (
        "<NAME>\nsort_first\n</NAME>\n\n"
        "<DESCRIPTION>\nTake the lightest first.\n</DESCRIPTION>\n\n"
        "<DIFF>\n<<<<<<< SEARCH\nb = 2\nc = 3\nd = 4\ne = 5\n\n"
        "=======\nb = 2\nc = 3\nd = 4\ne = 6\n\n>>>>>>> REPLACE\n</DIFF>\n"
    )


def test_one_block_for_each_change():
    patch = told(PARENT, CHILD)
    assert (patch.name, patch.description) == ("sort_first", "Take the lightest first.")
    assert [len(block.search) for block in patch.blocks] == [7]
    far = PARENT.replace(
        RATIO, RATIO + "\n" + "\n\ndef idle(model):\n    return not load(model)\n" * 3
    )
    assert len(told(far, far.replace(DEAL, SORTED).replace(RATIO, "    return 1")).blocks) == 2


def test_a_block_grows_until_it_is_unique():
    same = "def f{n}():\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    return a + b + c + d\n\n"
    parent = "".join(same.format(n=n) for n in range(4))
    second = parent.index("c = 3", parent.index("f1"))
    child = parent[:second] + parent[second:].replace("c = 3", "c = 0", 1)
    (block,) = told(parent, child).blocks
    assert any("f1" in line for line in block.search)
    assert len(block.search) < len(parent.split("\n")) - 1


@pytest.mark.parametrize("down", [True, False])
def test_a_function_that_moves(down):
    moved = "def f():\n    x = 1\n    x = 2\n    x = 3\n    x = 4\n    x = 5\n    return x\n\n\n"
    rest = "".join(f"a{n} = {n}\nb{n} = {n}\n\n" for n in range(12))
    one, other = moved + rest, rest + moved
    assert told(*((one, other) if down else (other, one))).kind is PatchKind.DIFF


def test_windows_line_ends():
    assert told(PARENT.replace("\n", "\r\n"), BOTH.replace("\n", "\r\n")).kind is PatchKind.DIFF


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<<<<<<< SEARCH", PatchKind.REWRITE),
        ("<<<<<<< HEAD", PatchKind.REWRITE),
        ("</DIFF>", PatchKind.REWRITE),
        ("```\n</CODE>", PatchKind.DIFF),
        ("Title\n=======", PatchKind.DIFF),
    ],
)
def test_what_no_block_can_tell_is_rewritten(text, kind):
    child = PARENT.replace(DEAL, f'    text = """\n{text}\n"""\n{DEAL}')
    plain, plain_child = (text.replace("# EVOLVE-", "# ") for text in (PARENT, child))
    for one, other in (
        (PARENT, child),
        (child, PARENT),
        (plain, plain_child),
        (plain_child, plain),
    ):
        assert told(one, other).kind is kind


def test_a_last_line_end_comes_and_goes():
    parent, child = "a = 1\nb = 1\n", "a = 1\nb = 2"
    told(parent, child)
    told(child, parent)


@pytest.mark.parametrize(
    ("child", "words", "message"),
    [
        (PARENT, {}, "does the same as its parent"),
        (PARENT + "# more\n", {}, "changes the parent outside of the evolve block"),
        (PARENT.replace("= 80", "= 40"), {}, "the rewrite changes the parent outside"),
        (CHILD.replace("enumerate(", "enumerate(("), {}, "the child does not compile"),
        (CHILD.replace("def compute", "def not_compute"), {}, "does not define compute_model"),
        (CHILD, {"description": "No </DESCRIPTION> here"}, "the description would differ"),
        (
            CHILD,
            {"description": "A <NAME>x</NAME> here"},
            "the name would differ; leave out",
        ),
        (CHILD, {"name": ""}, "the name would differ"),
        (CHILD, {"description": "Like\n<DIFF>\n</DIFF>"}, "holds no '<<<<<<< SEARCH' line"),
        (
            CHILD.replace("\n", "\r\n"),
            {},
            "the child would differ; leave out tags, and keep",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(child, words, message):
    with pytest.raises(PatchRefused) as error:
        write_patch(PARENT, child, **(WORDS | words))
    assert message in str(error.value)


STATEMENTS = [
    "x = 0",
    "x = 1",
    "x += 1",
    "",
    "",
    "# remark",
    "# remark ",
    "if x:\n    y = 1\n\n    y = 2",
    "def f():\n    return 1",
    "def f():\n    '''Say.'''\n    return 2",
    "text = '''\n=======\n'''",
    "text = '''\n>>>>>>> REPLACE\n'''",
    "text = '''\n```\n'''",
    "text = '''\ntrailing \t\n\x0c\u2028≈\n'''",
    "def compute_model_placement(gpu_num, models):\n    return {}",
]
BODIES = st.lists(st.sampled_from(STATEMENTS), max_size=14)


@campaign(600)
@given(
    outside=st.none() | st.tuples(BODIES, BODIES),
    old=BODIES,
    edits=st.lists(
        st.tuples(st.integers(0, 14), st.integers(0, 3), BODIES), min_size=1, max_size=3
    ),
    ends=st.tuples(st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"])),
)
def test_what_is_written_gives_the_child_again(outside, old, edits, ends):
    new = list(old)
    for at, count, more in edits:
        new[at : at + count] = more
    if outside:
        before, after = outside
        frame = [*before, "# EVOLVE-BLOCK-START"], ["# EVOLVE-BLOCK-END", *after]
        ends = ends[:1] * 2
    else:
        frame = ["import math"], []
    parent, child = (
        "\n".join([*frame[0], *body, *frame[1]]) + end
        for body, end in zip((old, new), ends, strict=True)
    )
    assume(not same_program(parent, child))
    assume("compute_model_placement" in child or "compute_model_placement" not in parent)
    assume(outside or child.endswith("\n") or ">>>" not in parent + child)
    told(parent, child)
