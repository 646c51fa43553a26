"""Whatever a model answers: a child that is whole, or a refusal, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import apply_patch
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import syntax_key
from tests.campaign import campaign
from tests.lab.answers import (
    BOTH,
    CHILD,
    DEAL,
    GUARDED,
    HEAD,
    INSIDE,
    ONE,
    PARENT,
    RATIO,
    SORTED,
    TWO,
    block,
    diff,
)

START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"
PLAIN = PARENT.replace("# EVOLVE-", "# ")
WINDOWS = PARENT.replace("\n", "\r\n")
OLD_KEY = syntax_key(PARENT)

QUOTED = block(f"{START}\ndef load(model):", f"{START}\ndef load(model, more=0):")
WHOLE = [
    HEAD + diff(ONE),
    HEAD + diff(ONE, TWO, QUOTED),
    f"Some thoughts on <DIFF>.\n{HEAD}{diff(ONE)}\nand\n{diff(TWO)}\nDone.",
    f"```\n{HEAD}{diff('```diff', TWO, '```')}\n```",
    f"{HEAD}<CODE>\n```python\n{CHILD}```\n</CODE>\n",
    f"{HEAD}<CODE>\n{INSIDE}</CODE>\n",
    f"{HEAD}```python\n{BOTH}```\n",
    f"{TWO}\n{ONE}",
]
PIECES = [
    *(
        "<DIFF>",
        "</DIFF>",
        "<CODE>",
        "</CODE>",
        "<NAME>",
        "</NAME>",
        "<DESCRIPTION>a</DESCRIPTION>",
    ),
    *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "<<<<<<<<< SEARCH", "=========", "<<<<<<<"),
    *("  >>>>>>> REPLACE", ">>>>>> REPLACE", "<DIFF><<<<<<< SEARCH", ">>>>>>> REPLACE</DIFF>"),
    *("```", "```python", "````", "```</CODE>", START, END, "", " ", "\t", "\r", "\0", "\x0c"),
    *(DEAL, SORTED, RATIO, GUARDED, DEAL + "  ", "MEMORY = 80", "def load(model):", "x = (", "'''"),
    *("größe = '≈ 模型 🙂'", "\ud800", "\u2028", "pass", "    return placement", "# only words"),
    *(ONE, TWO, QUOTED, diff(ONE), PARENT, CHILD, INSIDE, HEAD),
]
TEXTS = st.sampled_from(PIECES) | st.text(max_size=12)


@st.composite
def changed_answers(draw):
    """Return a whole answer with a few pieces lost, doubled, put in, or its end cut off."""
    answer = draw(st.sampled_from(WHOLE))
    for _ in range(draw(st.integers(0, 3))):
        size = len(answer)
        at = draw(st.integers(0, size))
        upto = draw(st.integers(at, min(size, at + 80)))
        piece = draw(st.sampled_from(["", answer[at:upto] * 2, answer[at:upto] + "\n"]) | TEXTS)
        answer = answer[:at] + piece + answer[upto:]
    cut = draw(st.none() | st.integers(0, len(answer)))
    return answer[:cut]


def outcome(answer, parent):
    """Return the child or nothing, after a look at what must hold for a child."""
    child, reason = None, ""
    try:
        child = apply_patch(read_patch(answer), parent).source
    except PatchRefused as refusal:
        reason = str(refusal)
    if child is None:
        assert 20 < len(reason) < 1000
        assert "\n" not in reason
        return None
    compile(child, "child", "exec")
    assert syntax_key(child) != OLD_KEY
    if START in parent:
        assert child.startswith(parent[: parent.index(START) + len(START)])
        assert child.endswith(parent[parent.index(END) :])
    marks = [line.strip() for line in parent.split("\n") if line.strip() in (START, END)]
    assert [line.strip() for line in child.split("\n") if line.strip() in (START, END)] == marks
    return child


PARENTS = st.sampled_from([PARENT, PARENT, PLAIN, WINDOWS])


@campaign(5000)
@given(pieces=st.lists(TEXTS, max_size=16), parent=PARENTS, end=st.sampled_from(["\n", "\r\n", ""]))
def test_pieces_in_any_order(pieces, parent, end):
    outcome(end.join(pieces), parent)


@campaign(5000)
@given(answer=changed_answers(), parent=PARENTS)
def test_answers_with_faults(answer, parent):
    outcome(answer, parent)


@pytest.mark.parametrize("answer", WHOLE)
def test_whole_answers_give_a_child(answer):
    assert outcome(answer, PARENT)


def test_no_cut_in_a_change_goes_unnoticed():
    after = "\nThat should help.\n```\n"
    for change, child in (
        (diff(ONE, TWO), BOTH),
        (f"<CODE>\n```python\n{CHILD}```\n</CODE>", CHILD),
        (f"```python\n{CHILD}```", CHILD),
        (f"<CODE>\n{CHILD}</CODE>", CHILD),
        (ONE, CHILD),
    ):
        whole = len(HEAD + change)
        answer = HEAD + change + after
        for cut in range(len(answer) + 1):
            assert outcome(answer[:cut], PARENT) == (child if cut >= whole else None)


def test_a_cut_after_a_closed_element_cannot_be_seen():
    answer = HEAD + diff(ONE) + "\n" + diff(TWO)
    seen = {outcome(answer[:cut], PARENT) for cut in range(len(answer) + 1)}
    assert seen == {None, CHILD, BOTH}
