from time import perf_counter

import pytest

from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import Block, Patch, apply_patch
from colocate.lab.patches.refusal import PatchRefused
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


def child_of(answer, parent=PARENT):
    return apply_patch(read_patch(answer), parent).source


def refusal(answer, parent=PARENT):
    patch = read_patch(answer)
    with pytest.raises(PatchRefused) as error:
        apply_patch(patch, parent)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def rewrite(code):
    return f"{HEAD}<CODE>\n```python\n{code}\n```\n</CODE>"


def test_blocks_change_their_lines_and_nothing_else():
    assert child_of(diff(ONE)) == CHILD
    assert child_of(diff(ONE, TWO)) == BOTH
    assert child_of(diff(TWO) + "\n" + diff(ONE)) == BOTH


def test_blocks_see_what_those_before_them_leave():
    again = block(SORTED, DEAL.replace("models", "models[::-1]"))
    assert child_of(diff(ONE, again)) == PARENT.replace(
        "enumerate(models", "enumerate(models[::-1]"
    )


def test_lines_are_deleted_and_inserted():
    assert child_of(
        diff(block(f"{DEAL}\n        placement[number % gpu_num].append(model)", ""))
    ) == (PARENT.replace(f"{DEAL}\n        placement[number % gpu_num].append(model)\n", ""))
    assert child_of(diff(block(DEAL, f"    models = list(models)\n\n{DEAL}"))) == (
        PARENT.replace(DEAL, f"    models = list(models)\n\n{DEAL}")
    )


def test_a_search_is_whole_lines():
    assert "nowhere in the program" in refusal(block(DEAL.strip(), SORTED))


def test_whitespace_at_the_ends_of_lines_does_not_count():
    assert child_of(diff(block(DEAL + "  \t", SORTED))) == CHILD
    spaced = PARENT.replace(DEAL, DEAL + "   ")
    assert child_of(diff(ONE), spaced) == CHILD
    # Two lines that only spaces tell apart: the one that is equal in every letter counts.
    twice = PARENT.replace(DEAL, f"{DEAL} \n        pass\n{DEAL}")
    assert child_of(diff(ONE), twice) == twice.replace(f"{DEAL}\n", f"{SORTED}\n")
    assert "matches at lines 13, 15" in refusal(diff(block(DEAL + "\t", SORTED)), twice)


def test_a_parent_with_other_line_ends_keeps_them():
    windows = PARENT.replace("\n", "\r\n")
    for answer in (diff(ONE), diff(ONE).replace("\n", "\r\n"), rewrite(INSIDE)):
        child = child_of(answer, windows)
        assert child.count("\n") == child.count("\r\n")
        assert [line for line in child.split("\r\n") if line] == [
            line for line in CHILD.split("\n") if line
        ]
    mixed = PARENT.replace("MEMORY = 80\n", "MEMORY = 80\r\n")
    assert child_of(diff(ONE), mixed) == CHILD.replace("MEMORY = 80\n", "MEMORY = 80\r\n")


def test_letters_beyond_ascii_and_odd_separators_stay():
    odd = PARENT.replace("Deal the models out.", "Größe ≈ 0 \x0c \u2028 \x1c 模型 🙂.")
    assert child_of(diff(ONE), odd) == odd.replace(DEAL, SORTED)


def test_quoted_markers_are_kept():
    search = f"MEMORY = 80\n\n{START}\ndef load(model):\n{RATIO}"
    assert child_of(diff(block(search, search.replace(RATIO, GUARDED)))) == (
        PARENT.replace(RATIO, GUARDED)
    )
    tail = f"    return placement\n{END}\n\n\ndef total(models):"
    changed = tail.replace("return placement", "return dict(placement)")
    assert child_of(diff(block(tail, changed))) == PARENT.replace(tail, changed)


def test_spaces_in_quoted_lines_outside_leave_the_parents_own():
    parent = PARENT.replace("MEMORY = 80", "MEMORY = 80  ")
    search = f"MEMORY = 80\n\n{START}  \ndef load(model):\n{RATIO}"
    child = child_of(diff(block(search, search.replace(RATIO, GUARDED))), parent)
    assert child == parent.replace(RATIO, GUARDED)


def test_an_empty_block_is_filled_by_quoting_its_markers():
    parent = f"{START}\n{END}\n"
    code = "def compute_model_placement(gpu_num, models):\n    return {}"
    child = f"{START}\n{code}\n{END}\n"
    assert child_of(diff(block(parent.strip(), child.strip())), parent) == child
    assert child_of(rewrite(code), parent) == child


def test_text_outside_of_the_block_is_no_second_match():
    parent = PARENT + f"\n\ndef other(models):\n{DEAL}\n        pass\n"
    assert child_of(diff(ONE), parent) == parent.replace(DEAL, SORTED, 1)


def test_a_program_without_markers_changes_as_a_whole():
    plain = "".join(line + "\n" for line in PARENT.splitlines() if "EVOLVE" not in line)
    assert child_of(diff(ONE), plain) == plain.replace(DEAL, SORTED)
    memory = block("MEMORY = 80", "MEMORY = 40")
    assert child_of(diff(memory), plain) == plain.replace("= 80", "= 40")
    code = "def compute_model_placement(gpu_num, models):\n    return {}"
    assert child_of(rewrite(code), plain) == code + "\n"


@pytest.mark.parametrize(
    "code",
    [
        CHILD.rstrip("\n"),
        CHILD.replace("\n\n", "\n"),
        INSIDE.rstrip("\n"),
        f"{START}\n{INSIDE}{END}",
        CHILD.replace(START + "\n", "").replace(END + "\n", "").rstrip("\n"),
        CHILD.split(f"{END}\n")[0] + END,
        f"{START}\n{INSIDE}{END}" + PARENT.split(END)[1],
    ],
)
def test_a_rewrite_with_or_without_what_is_outside(code):
    child = child_of(rewrite(code))
    assert [line for line in child.split("\n") if line] == [
        line for line in CHILD.split("\n") if line
    ]
    assert child.startswith(PARENT.split(START)[0] + START + "\n")
    assert child.endswith(END + PARENT.split(END)[1])


def test_a_rewrite_as_one_fenced_block():
    assert child_of(f"{HEAD}```python\n{CHILD}```\n") == CHILD


@pytest.mark.parametrize(
    ("answer", "messages"),
    [
        (
            diff(ONE, block("    return a", "    return b")),
            [
                "block 2 of 2 (line 7 of the answer), after the blocks before it: its SEARCH is",
            ],
        ),
        (
            diff(block("    for number, model in enumerate(modules):", SORTED)),
            [
                "its first line is '    for number, model in enumerate(modules):'",
                "nearest is line 13, '    for number, model in enumerate(models):'",
                "copy the lines from the program as they are",
            ],
        ),
        (
            diff(block(DEAL[4:], SORTED)),
            ["nearest is line 13, '    for number", "so only the indentation differs"],
        ),
        (
            diff(
                block(f"{DEAL}\n        placement[number].append(model)\n    return placement", "")
            ),
            [
                "line 2 of it is '        placement[number].append(model)'",
                "nearest is line 14, '        placement[number % gpu_num].append(model)'",
            ],
        ),
        (
            diff(block("def load(model):\n    return 1\n\n\n    return placement", "")),
            ["line 2 of it is '    return 1', nearest is line 7, '    return model.req_rate"],
        ),
        (
            diff(block("    return sum(load(model) for model in models)\n\n\n\nx = 1", "")),
            ["line 1 of it is at line 20, but its line 3, '', would be after the last line"],
        ),
        (
            diff(block(f"x = 1\n{PARENT.rstrip()}", "")),
            ["line 2 of it is at line 1, but its line 1, 'x = 1', would be before the first"],
        ),
        (diff(block("\nqqqq = 1", "")), ["nothing is like its first line, 'qqqq = 1'"]),
        (
            diff(block("MEMORY = 80", "MEMORY = 800")),
            ["its SEARCH stands at line 3, outside of the evolve block; change only lines 6 to 15"],
        ),
        (
            diff(block(f"MEMORY = 80\n\n{START}", f"MEMORY = 800\n\n{START}")),
            [
                "changes the parent outside of the evolve block: line 3, 'MEMORY = 80', becomes 'M",
            ],
        ),
        (
            diff(block(f"{END}\n\n\ndef total(models):", f"{END}\n\n\ndef sum_of(models):")),
            ["line 19, 'def total(models):', becomes 'def sum_of(models):'; change only what is"],
        ),
        (
            diff(
                block(f"{END}\n\n\ndef total(models):", f"{END}\n\n\nx = 1\n\n\ndef total(models):")
            ),
            ["line 19, 'def total(models):', becomes 'x = 1'"],
        ),
        (
            diff(block(f"    return placement\n{END}", "    return dict(placement)")),
            [f"has the markers line 5 '{START}', must have one '{START}' and then one '{END}'"],
        ),
        (
            diff(block(DEAL, f"{START}\n{SORTED}")),
            [f"line 5 '{START}', line 13 '{START}', line 17 '{END}'", "and add none"],
        ),
        (
            diff(block(PARENT.strip("\n"), CHILD.replace(START, "").replace(END, ""))),
            [f"removes '{START}' and '{END}'; keep both lines"],
        ),
        (
            rewrite(CHILD.replace("MEMORY = 80", "MEMORY = 800")),
            ["the rewrite changes the parent outside of the evolve block: line 3, 'MEMORY = 80'"],
        ),
        (
            rewrite(f"{START}\n{INSIDE}"),
            [f"the rewrite has the markers line 1 '{START}', must have"],
        ),
        (
            diff(block(DEAL, SORTED[:-1])),
            [
                "the child does not compile: expected ':' at its line 13, '    for number, model",
                "send a change that does",
            ],
        ),
        (diff(block(DEAL, DEAL + "\0")), ["the child does not compile: ", "null bytes"]),
        (
            diff(block(DEAL, f"    x = {'-' * 50_000}1\n{DEAL}")),
            ["the child does not compile: it is nested too deeply"],
        ),
        (
            diff(
                block('    """Deal the models out."""', '    """Deal the models out, by size."""')
            ),
            ["the child does the same as its parent", "change what the program does"],
        ),
        (diff(block(DEAL, f"    # Sorting would help.\n{DEAL}")), ["does the same as its parent"]),
        (diff(block(DEAL, DEAL)), ["does the same as its parent"]),
        (rewrite(PARENT), ["does the same as its parent"]),
        (
            rewrite("def place(gpu_num, models):\n    return {}"),
            ["the child does not define compute_model_placement at top level; keep `def compute"],
        ),
        (
            diff(
                block(
                    "def compute_model_placement(gpu_num, models):", "def place(gpu_num, models):"
                )
            ),
            ["the child does not define compute_model_placement at top level"],
        ),
        (diff(ONE, ONE), ["block 2 of 2 (line 7 of the answer), after the blocks before it"]),
    ],
)
def test_refusals_say_which_block_what_line_and_what_to_do(answer, messages):
    text = refusal(answer)
    for message in messages:
        assert message in text


def test_every_match_is_named():
    line = "    if not models:"
    parent = PARENT.replace(DEAL, f"{line}\n        pass\n{line}\n        pass\n{DEAL}")
    message = refusal(diff(block(line, "    if models is None:")), parent)
    assert message == (
        "block 1 of 1 (line 2 of the answer): its SEARCH matches at lines 13, 15, must match at "
        "one; add lines before or after it until it is unique"
    )
    many = PARENT.replace(DEAL, "    models = models\n" * 30 + DEAL)
    message = refusal(diff(block("    models = models", "    pass")), many)
    assert "matches at lines 13, 14, 15, 16, 17, 18, 19, 20, 21, 22 and more, must" in message


def test_nothing_of_a_patch_is_taken_if_its_second_block_fails():
    patch = read_patch(diff(ONE, block("    return nothing", "    return something")))
    with pytest.raises(PatchRefused, match=r"block 2 of 2 .*nowhere"):
        apply_patch(patch, PARENT)
    assert apply_patch(Patch("one", "", patch.blocks[:1]), PARENT).source == CHILD


def test_markers_cannot_be_added_to_a_parent_without_any():
    plain = "def compute_model_placement(gpu_num, models):\n    return {}\n"
    marked = f"{START}\n{plain.replace('{}', 'None')}{END}"
    assert "the rewrite adds evolve markers, but the parent has none" in refusal(
        rewrite(marked), plain
    )


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        (PARENT + START, f"the parent has the markers line 5 '{START}', line 16 '{END}', line 21 "),
        (f"{END}\n{PARENT}", f"the parent has the markers line 1 '{END}', line 6"),
        (
            PARENT + "x = (",
            "the parent does not compile: '(' was never closed at its line 21, 'x =",
        ),
    ],
)
def test_a_parent_that_is_no_program(parent, message):
    assert message in refusal(diff(ONE), parent)


def test_blocks_and_patches_are_checked_where_they_are_made():
    with pytest.raises(PatchRefused, match="has an empty SEARCH"):
        Block(("", " "), ("x = 1",))
    with pytest.raises(PatchRefused, match="neither of blocks and code"):
        Patch("none", "")
    with pytest.raises(PatchRefused, match="both of blocks and code"):
        Patch("both", "", (Block(("a",), ("b",)),), "c")


def test_a_child_has_a_limit():
    long = Patch("long", "", (Block((DEAL,), ("    # " + "x" * 999_999, SORTED)),))
    with pytest.raises(PatchRefused, match=r"characters, must be at most 1000000; shorten it"):
        apply_patch(long, PARENT)


@pytest.mark.parametrize(
    "search",
    [
        ("x = 0",) * 35_000,
        ("x = 0",) * 10,
        ("y" * 900_000,),
        ("",) * 900_000 + ("y",),
        ("x = 0", "y") * 18_000,
    ],
)
def test_a_long_search_in_a_long_parent_is_quick(search):
    parent = "x = 0\n" * 40_000
    begin = perf_counter()
    with pytest.raises(PatchRefused):
        apply_patch(Patch("long", "", (Block(search, ("z",)),)), parent)
    assert perf_counter() - begin < 10
