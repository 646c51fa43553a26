import re
from io import StringIO

import pytest
from rich.console import Console

from colocate.errors import InputError
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.watch import (
    Rung,
    ladder,
    lineage_tree,
    program_page,
    status_page,
)
from colocate.lab.watch.account import duration
from colocate.lab.watch.ladder import LadderScale, round_steps
from colocate.lab.watch.refusal_counts import TITLES, refusal_counts
from colocate.outputs.text import console
from tests.lab.made_labs import REFUSALS, attempt, make_lab, program


def drawn(parts, width=100, **options):
    screen = Console(file=StringIO(), width=width, highlight=False, **options)
    screen.print(*parts, sep="\n")
    return screen.file.getvalue()


def squeezed(text):
    return " ".join(text.split())


def test_the_ladder_has_every_new_best(tiny):
    score = pytest.approx
    assert ladder(tiny.programs()) == [
        Rung(0, 0, "start", score(13.5), score(0.5), score(0.5)),
        Rung(1, 1, "program_1", score(21), score(0.8), score(0.8)),
        Rung(4, 4, "program_4", score(23.5), score(0.9), score(0.9)),
    ]


def test_the_ladder_goes_by_generation_and_of_equals_takes_the_first():
    programs = [program(2, 0.9, generation=1), program(0, 0.5), program(3, 0.9, generation=2)]
    assert [rung.number for rung in ladder(programs)] == [0, 2]
    assert ladder([]) == []


def test_each_step_of_the_scale_is_ten_times_closer():
    scale = LadderScale.over([program(0, 0.5), program(1, 0.9991), program(2, 0.0)])
    marks, labels = zip(*scale.ticks(), strict=True)
    assert marks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert labels == ("0", "0.9", "0.99", "0.999", "0.9999", "1")
    heights = [scale.height(fitness) for fitness in (0, 0.9, 0.99, 0.999, 1 - 1e-12, 1)]
    assert heights == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_the_scale_is_there_when_all_fail_and_when_all_are_optimal():
    assert (
        LadderScale.over([program(0, 0.0)]).nines == LadderScale.over([program(0, 1.0)]).nines == 2
    )


def test_marks_are_whole_and_few():
    assert round_steps(0, 5) == [0]
    assert round_steps(4, 5) == [0, 1, 2, 3, 4]
    assert round_steps(44, 5) == [0, 10, 20, 30, 40]
    assert round_steps(999, 3) == [0, 500]


def test_refusals_of_a_kind_are_one():
    attempts = [attempt(number, refusal=refusal) for number, refusal in enumerate(REFUSALS)]
    assert refusal_counts([*attempts, attempt(9)]) == [
        ("its SEARCH is nowhere in the program", 2),
        ("another program is the same, but for its comments", 1),
        ("the answer was cut off before its end", 1),
        ("the child does not compile", 1),
    ]


def test_every_cause_has_its_own_words():
    assert TITLES.keys() == set(RefusalCode) - {RefusalCode.UNKNOWN}
    assert len(set(TITLES.values())) == len(TITLES)


def test_rare_reasons_are_only_counted(tmp_path):
    reasons = [Refusal(RefusalCode.UNKNOWN, f"reason {letter}") for letter in "abcdefghij"]
    refused = [attempt(number, refusal=reason) for number, reason in enumerate(reasons)]
    with make_lab(tmp_path / "lab.db", [program(0, 0.8)], [*refused, attempt(10)]) as archive:
        lines = [squeezed(line) for line in drawn(status_page(archive)).splitlines()]
    assert lines[-4:-1] == ["1 reason g", "1 reason h", "2 2 other reasons"]
    assert "proposals 11, refused 10" in lines


def test_times_have_two_units():
    times = [duration(seconds) for seconds in (0.1234, 59, 61, 3661)]
    assert times == ["0.123 s", "59 s", "1 min 1 s", "1 h 1 min"]


def test_the_status_tells_settings_sums_ladder_islands_and_refusals(tiny):
    text = drawn(status_page(tiny))
    lines = [squeezed(line) for line in text.splitlines()]
    assert lines[0] == "Lab on adrs, seed 0, 3 islands"
    assert "best #4 program_4" in lines
    assert "score 23.5000, optimum 26.0000" in lines
    assert "programs 6 by generation 5" in lines
    assert "proposals 3, refused 1" in lines
    assert "tokens 1,234 in, 20 out" in lines
    assert "cost 0.5000" in lines
    assert "asking 1 min 15 s" in lines
    assert "4 #4 program_4 23.5000 0.900000 0.900000" in lines
    assert "0 6 #4 program_4 23.5000 0.900000" in lines
    assert "1 its SEARCH is nowhere in the program" in lines


def test_the_chart_is_a_staircase(tiny):
    lines = drawn(status_page(tiny), width=30).splitlines()
    top = next(number for number, line in enumerate(lines) if line.startswith("   1 ┤"))
    assert lines[top : top + 14] == [
        "   1 ┤┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈",
        "     │",
        "     │",
        "     │",
        "0.99 ┤",
        "     │",
        "     │",
        "     │",
        " 0.9 ┤                  ╭─────",
        "     │     ╭────────────╯",
        "     │     │   ·    ·",
        "     │─────╯",
        "   0 ┤                       x",
        "      0                      5",
    ]


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_is_wider_than_the_screen(large, width):
    pages = [*status_page(large), *program_page(large, 26), lineage_tree(large.programs())]
    assert max(map(len, drawn(pages, width).splitlines())) <= width


def test_a_screen_without_unicode_gets_ascii(tiny):
    class Plain(StringIO):
        encoding = "ascii"

    screen = Console(file=Plain(), width=80)
    screen.print(status_page(tiny)[3])
    assert screen.file.getvalue().isascii()


def test_into_a_pipe_goes_plain_text(large, capsys):
    console.show(*status_page(large), *program_page(large, 26), lineage_tree(large.programs()))
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "Every new best" in text
    assert max(map(len, text.splitlines())) < 200
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_a_program_has_its_story_its_verdict_and_its_changes(tiny):
    text = drawn(program_page(tiny, 4))
    lines = [squeezed(line) for line in text.splitlines()]
    assert lines[:2] == ["#4 program_4", "What program 4 does."]
    assert "place 1 of 6" in lines
    assert "made in generation 4, on island 0" in lines
    assert "parents #1 program_1 and #3 program_3" in lines
    assert "proposed as a crossing by openai some-model" in lines
    assert "spent 234 tokens in, 0 out, cost 0.0000, 45 s" in lines
    assert any(line.startswith("refused 1 before it, the last: block 1 of 2") for line in lines)
    assert "adrs 23.5000 0.900000 2 of 2 adrs-00 0.9000 0.02 s" in lines
    assert "hidden-00 0.044444 0.040000 0.900000" in lines
    assert "Changes against #1: +1 -1 lines" in lines
    assert "\n-GPU_MEMORY = 81\n+GPU_MEMORY = 84\n" in text


def test_changes_are_coloured_on_a_screen(tiny):
    text = drawn(program_page(tiny, 4), force_terminal=True, color_system="standard")
    assert "\x1b[31m-GPU_MEMORY = 81\x1b[0m" in text
    assert "\x1b[32m+GPU_MEMORY = 84\x1b[0m" in text


def test_a_failing_program_says_why(tiny):
    text = drawn(program_page(tiny, 5))
    assert "Failed cases: 3 of 3" in text
    assert "crash: IndexError: list index out of range" in text
    assert "Traceback" in text


def test_the_start_has_no_parent(tiny):
    text = drawn(program_page(tiny, 0))
    assert "No parent to compare with; the program has 23 lines" in text


def test_a_program_too_long_to_compare_is_only_named(tmp_path):
    programs = [program(0, 0.5), program(1, 0.6, source="x = 1\n" * 6_000)]
    with make_lab(tmp_path / "lab.db", programs) as archive:
        assert "No changes against #0 that can be shown" in drawn(program_page(archive, 1))


def test_an_unknown_number_is_a_sentence(tiny):
    sentence = "program=17 is not known, must be one of 6, from 0 to 5"
    with pytest.raises(InputError, match=sentence):
        program_page(tiny, 17)
    with pytest.raises(InputError, match=sentence):
        lineage_tree(tiny.programs(), 17)


def test_the_lineage_leads_to_improvements_and_counts_the_rest(tiny):
    lines = drawn([lineage_tree(tiny.programs())]).splitlines()
    assert lines == [
        "#0 start  13.5000  0.500000",
        "├── #1 program_1  21.0000  0.800000  from #0  + 2 others",
        "└── #4 program_4  23.5000  0.900000  from #1 and #3  + 1 other",
    ]


def test_the_lineage_of_a_program_has_its_ancestors_and_better_descendants():
    parents = {1: 0, 2: 0, 3: 2, 4: 3, 5: 2, 6: 1}
    fitness = [0.3, 0.8, 0.4, 0.35, 0.6, 0.2, 0.9]
    programs = [program(n, fitness[n], (parents.get(n, 0),)) for n in range(7)]
    lines = drawn([lineage_tree(programs, 2)]).splitlines()
    assert [re.sub(r"  \d.*?  (?=from|\+|$)", "  ", f"{line}  ") for line in lines] == [
        "#0 program_0  + 2 others  ",
        "├── #2 program_2  from #0  + 1 other  ◀  ",
        "├── #3 program_3  from #2  ",
        "└── #4 program_4  from #3  ",
    ]


def test_a_long_line_is_shortened_and_a_circle_is_none():
    programs = [program(n, 0.5, (n - 1,)) for n in range(60)]
    programs += [program(60, 0.9, (59,)), program(61, 0.95, (61,)), program(62, 0.1, (99,))]
    lines = drawn([lineage_tree(programs)]).splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "#0 program_0",
        "├── … 59 more on the way and beside it",
        "└── #60 program_60",
        "#61 program_61",
    ]


def test_terminal_text_cannot_give_orders(hostile):
    programs = hostile.programs()
    parts = [*status_page(hostile), lineage_tree(programs)]
    for made in programs:
        parts += [*program_page(hostile, made.number), lineage_tree(programs, made.number)]
    text = drawn(parts, width=10_000)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert r"[red]red[/red] [link=https://e.example]x[/link] \x1b[2J\x1b]0;taken\x07" in text
    assert r"+# </script></style></title><script>" in text


def test_only_the_start(tmp_path):
    with make_lab(tmp_path / "lab.db", [program(0, 0.8, name="start")]) as archive:
        text = drawn([*status_page(archive), *program_page(archive, 0)])
    assert "programs   1 by generation 0" in text
    assert "Why answers were refused" not in text


def test_an_optimal_program_has_no_worst_cases(tmp_path):
    with make_lab(tmp_path / "lab.db", [program(0, 0.8), program(1, 1.0)]) as archive:
        assert "26.0000, optimum 26.0000" in drawn(status_page(archive))
        assert "Valid, but above" not in drawn(program_page(archive, 1))
