from contextlib import suppress
from time import process_time

import pytest

from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import Block, PatchKind
from colocate.lab.patches.refusal import PatchRefused
from tests.lab.answers import DEAL, GUARDED, HEAD, ONE, RATIO, SORTED, TWO, block, diff

DEALT = ((DEAL,), (SORTED,))
RATED = ((RATIO,), (GUARDED,))
PROGRAM = "def compute_model_placement(gpu_num, models):\n    return {}"


def sides(patch):
    return [(block.search, block.replacement) for block in patch.blocks]


def refusal(answer):
    with pytest.raises(PatchRefused) as error:
        read_patch(answer)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_name_description_and_one_block():
    patch = read_patch(HEAD + diff(ONE))
    assert patch.name == "sort_first"
    assert patch.description == "Take the lightest first."
    assert patch.kind is PatchKind.DIFF
    assert patch.blocks == (Block((DEAL,), (SORTED,), 8),)
    assert patch.code is None


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + diff(ONE, TWO),
        HEAD + diff(ONE) + "\n" + diff(TWO),
        HEAD + diff(ONE) + "\nThe second half follows.\n" + diff(TWO),
        HEAD + diff(ONE, "", "And then:", "", TWO, ""),
        HEAD + ONE + "\n" + TWO,
        HEAD + diff(ONE) + "\n" + TWO,
        f"```xml\n{HEAD}{diff(ONE, TWO)}\n```",
        HEAD + diff("```diff", ONE, TWO, "```"),
        HEAD + diff(f"```python\n{ONE}\n```", f"```python\n{TWO}\n```"),
        HEAD + diff(ONE, TWO).replace("<DIFF>\n", "<DIFF>").replace("\n</DIFF>", "</DIFF>"),
        HEAD + diff(ONE, TWO).replace("DIFF", "diff"),
        (HEAD + diff(ONE, TWO)).replace("\n", "\r\n"),
        HEAD + diff(ONE, TWO).replace("SEARCH\n", "SEARCH  \n").replace("=\n", "= \t\n"),
        HEAD + diff(ONE.replace("=======", "=========="), TWO.replace(">>>>>>>", ">>>>>>>>>")),
        HEAD + diff(ONE.replace("<<<<<<< S", "<<<<<<<<<<S"), TWO),
    ],
)
def test_two_blocks_in_every_form(answer):
    patch = read_patch(answer)
    assert patch.name == "sort_first"
    assert sides(patch) == [DEALT, RATED]


def test_fences_around_the_sides_of_a_block():
    fenced = block(f"```python\n{DEAL}\n```", f"```python\n{SORTED}\n```")
    assert sides(read_patch(diff(fenced))) == [DEALT]
    half = block(f"```python\n{DEAL}\n```", SORTED)
    assert sides(read_patch(diff(half))) == [(("```python", DEAL, "```"), (SORTED,))]


def test_loose_text_may_mention_tags_and_markers():
    thoughts = (
        "The answer needs a <NAME> and a <DIFF>. Each block begins with\n"
        "`<<<<<<< SEARCH` and ends with `>>>>>>> REPLACE`, between them is =======, and a </DIFF>\n"
        "<<<<<<< SEARCH must repeat the parent, says the task.\n"
        "<DIFF>\n"
        "is how it starts; <CODE> is for rewrites. Title\n=======\n"
        "> quoted\n>>> total([])\n"
    )
    after = thoughts.replace("\n<DIFF>", "")
    patch = read_patch(f"{thoughts * 30}{HEAD}{thoughts}{diff(ONE)}\n{after}")
    assert patch.name == "sort_first"
    assert sides(patch) == [DEALT]


def test_an_answer_as_models_give_it_is_read():
    # Worded anew after the records: symbols beyond ASCII, loose blanks, context lines repeated.
    search = "        if gpu_num >= 2:\n            relieve(worst)\n\n        return placement"
    more = "        if gpu_num >= 2:\n            relieve(worst)\n\n        # idle (w ≈ 0)\n"
    more += "        spread_idle(worst)\n\n        return placement"
    answer = "<NAME>\nspread_idle_models\n</NAME>\n\n<DESCRIPTION>\nIdle models → any GPU.\n"
    answer += f"</DESCRIPTION>\n\n<DIFF>\n{block(search, more)}\n\n</DIFF>\n"
    patch = read_patch(answer)
    assert (patch.name, patch.description) == ("spread_idle_models", "Idle models → any GPU.")
    assert sides(patch) == [(tuple(search.split("\n")), tuple(more.split("\n")))]


@pytest.mark.parametrize(
    ("around", "name", "description"),
    [
        (("", ""), "unnamed", ""),
        (("<NAME>a</NAME>", ""), "a", ""),
        (("<NAME>a</NAME> or <NAME>b</NAME>", "<NAME>c</NAME>"), "b", ""),
        (("<NAME>a</NAME>\n<NAME> </NAME>", ""), "a", ""),
        (("Put the name in <NAME>.\n<NAME>a</NAME>, then </NAME>.", ""), "a", ""),
        (("", "<NAME>c</NAME>\n<DESCRIPTION>After.</DESCRIPTION>"), "c", "After."),
        (("<name>Best-Fit & Swaps!</name>", ""), "best_fit_swaps", ""),
        (("<NAME>größe_zuerst</NAME>", ""), "größe_zuerst", ""),
        (("<NAME>" + "a" * 500 + "</NAME>", ""), "a" * 80, ""),
        (("<NAME>**</NAME>", ""), "unnamed", ""),
        (("<NAME>cut", ""), "unnamed", ""),
        (
            ("<DESCRIPTION>\nSwap the two *worst* GPUs, then stop early.\n</DESCRIPTION>", ""),
            "swap_the_two_worst_gpus_then",
            "Swap the two *worst* GPUs, then stop early.",
        ),
        (
            ("<DESCRIPTION>red \x1b[31m\ud800\n\ttab</DESCRIPTION>", ""),
            "red_31m_tab",
            "red [31m\n\ttab",
        ),
    ],
)
def test_which_name_and_description_count(around, name, description):
    before, after = around
    patch = read_patch(f"{before}\n{diff(ONE)}\n{after}")
    assert (patch.name, patch.description) == (name, description)


def test_what_is_in_a_block_is_no_name():
    inside = block("# <NAME>a</NAME>", "# <NAME>b</NAME>\n<CODE>\n</CODE>")
    assert read_patch(diff(inside)).name == "unnamed"


@pytest.mark.parametrize(
    "rewrite",
    [
        f"<CODE>\n{PROGRAM}\n</CODE>",
        f"<CODE>\n```python\n{PROGRAM}\n```\n</CODE>",
        f"<CODE>\n\n````py\n{PROGRAM}\n````\n\n</CODE>",
        f"<CODE>```python\n{PROGRAM}\n```</CODE>",
        f"```Python\n{PROGRAM}\n```",
        f"As text:\n```text\nanything\n```\nas code:\n```python3\n{PROGRAM}\n````\nThat is all.",
        f"```xml\n<CODE>\n```\n{PROGRAM}\n```\n</CODE>\n```",
        f"A sketch\n```python\nx\n```\nand the whole\n<CODE>\n{PROGRAM}\n</CODE>",
    ],
)
def test_a_rewrite_in_every_form(rewrite):
    patch = read_patch(f"{HEAD}{rewrite}\n")
    assert patch.kind is PatchKind.REWRITE
    assert patch.code == PROGRAM
    assert patch.blocks == ()
    assert patch.name == "sort_first"
    assert read_patch(f"{HEAD}{rewrite}\n".replace("\n", "\r\n")).code == PROGRAM


def test_a_rewrite_may_hold_fences_tags_and_markers():
    code = f'{PROGRAM}\n\n"""\n```python\n```\n</CODE>\n{ONE}\n"""'
    assert read_patch(f"<CODE>\n````python\n{code}\n````\n</CODE>").code == code
    indented = f'{PROGRAM}\n\ndef f():\n    """\n    ```\n    x\n    ```\n    """'
    assert read_patch(f"```python\n{indented}\n```").code == indented


def test_deletion_and_a_blank_line_are_not_the_same():
    assert sides(read_patch(block(DEAL, ""))) == [((DEAL,), ())]
    assert sides(read_patch(block(DEAL, "\n"))) == [((DEAL,), ("", ""))]


def test_a_row_of_equal_signs_in_the_program():
    title = "Title\n============"
    longer = block(title, "Name\n============")
    assert sides(read_patch(longer)) == [(("Title", "============"), ("Name", "============"))]
    message = refusal("\n" + block("Title\n=======", "Name"))
    assert (
        "block 1 (line 2 of the answer) has '=======' at the lines 4, 5, must have one" in message
    )
    assert "make all three markers of the block longer" in message


CUT = "the answer seems cut off, send it again as a whole"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "found no block, <CODE> or ```python; put SEARCH/REPLACE blocks in <DIFF>, or"),
        ("I would sort the models.", "the answer has no change that can be told: found no block"),
        (HEAD, "the answer has no change that can be told: found no block"),
        ("```python\na\n```\n```python\nb\n```", "found 2 fenced Python blocks; put"),
        ("```python\nx = 1\n``", f"the fence at line 1 of the answer is not closed; {CUT}"),
        ("````python\nx = 1\n```", f"the fence at line 1 of the answer is not closed; {CUT}"),
        (
            "\n<CODE>\nx = 1",
            f"the <CODE> at line 2 of the answer is never closed with </CODE>; {CUT}",
        ),
        ("<CODE>", "the <CODE> at line 1 of the answer is never closed"),
        (
            "<CODE>\n```python\nx = 1\n</CODE>",
            f"fence that is not closed right before </CODE>; {CUT}",
        ),
        ("<CODE>\n```\n</CODE>", "has a fence that is not closed right before </CODE>"),
        (f"<CODE>\na\n</CODE>\n{ONE}", "has <CODE> at line 1 beside SEARCH/REPLACE blocks"),
        ("<CODE>\na\n</CODE>\n<CODE>\nb\n</CODE>", "has <CODE> at line 1, 4, which can be read in"),
        (
            f"<DIFF>\n{ONE}\n",
            f"the <DIFF> at line 1 of the answer is never closed with </DIFF>; {CUT}",
        ),
        (diff(ONE) + "\n<DIFF>", "the <DIFF> at line 8 of the answer is never closed"),
        (f"<DIFF>\n{ONE}\n{diff(TWO)}", "the <DIFF> at line 1 of the answer is never closed"),
        (
            diff("-a\n+b"),
            "the <DIFF> at line 1 of the answer holds no '<<<<<<< SEARCH' line; write",
        ),
        (diff(ONE) + "\n" + diff("..."), "the <DIFF> at line 8 of the answer holds no"),
        (
            "<<<<<<< SEARCH\na\n",
            f"(line 1 of the answer) has no '=======' line before the end of the answer; {CUT}",
        ),
        (
            f"{ONE}\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLAC",
            "block 2 (line 6 of the answer) has no '>>>>>>> REPLACE' line before '>>>>>>> REPLAC'",
        ),
        (
            f"<<<<<<< SEARCH\na\n=======\nb\n{ONE}",
            "block 1 (line 1 of the answer) has no '>>>>>>> REPLACE' line before '<<<<<<< SEARCH'",
        ),
        (
            diff("<<<<<<< SEARCH\na"),
            "block 1 (line 2 of the answer) has no '=======' line before '</DIFF>'",
        ),
        (
            "<<<<<<< SEARCH\na\n>>>>>>> REPLACE",
            "block 1 (line 1 of the answer) has no '=======' line before '>>>>>>> REPLACE'",
        ),
        (block("", "x = 1"), "the block at line 1 of the answer has an empty SEARCH"),
        (block("  \n", "x = 1"), "quote at least one line of the parent in SEARCH"),
        ("<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE", "has an empty SEARCH"),
        (f"{ONE}\n>>>>>>> REPLACE", "line 6 of the answer, '>>>>>>> REPLACE', ends no block and"),
        (
            f"{ONE}\n  <<<<<<< SEARCH\n",
            "line 6 of the answer, '  <<<<<<< SEARCH', ends no block and",
        ),
        (
            f"{ONE}\n<<<<<< SEARCH\n",
            "put '<<<<<<< SEARCH', '=======' and '>>>>>>> REPLACE' on lines",
        ),
        (
            f"{ONE}\n<<<<<<< ORIGINAL\na\n",
            "line 6 of the answer, '<<<<<<< ORIGINAL', ends no block",
        ),
        ("x" * 1_000_001, "the answer has 1000001 characters, must be at most 1000000; send only"),
    ],
)
def test_refusals_say_which_block_and_what_to_do(answer, message):
    assert message in refusal(answer)


def test_a_cut_off_answer_in_the_form_of_the_records():
    # A first block that only changes a docstring is whole; the second stops within a statement.
    first = block('    """Packs the models."""', '    """Packs the models steeply."""')
    second = block(DEAL, "    for step in range(500):\n        for")
    answer = (HEAD + diff(first, second)).split("        for")[0] + "        for"
    assert "block 2 (line 13 of the answer) has no '>>>>>>> REPLACE' line" in refusal(answer)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 1_000_000,
        "=" * 1_000_000,
        "`" * 1_000_000,
        "```" + " " * 999_000 + "x",
        pytest.param("\n" * 1_000_000, marks=pytest.mark.long),
        " " * 1_000_000,
        "<NAME>" * 166_000,
        "<NAME></NAME>" * 76_000,
        "</NAME>" * 140_000,
        "<DIFF>\n" * 140_000,
        "</DIFF>\n" * 120_000,
        "<CODE>\n" * 140_000,
        "<CODE>\n```\n" + "</CODE>\n```\n" * 80_000,
        "<CODE>\n```\n" + "\n\n\n</CODE>\n" * 80_000,
        "```python\n" * 100_000,
        "<<<<<<< SEARCH\n" * 66_000,
        "<<<<<<< SEARCH\n" + "=======\n" * 120_000 + ">>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\n" + "b\n" * 480_000,
    ],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text):
    begin = process_time()
    with suppress(PatchRefused):
        read_patch(f"{text[:999_000]}\n{HEAD}{diff(ONE)}")
    assert process_time() - begin < 20
