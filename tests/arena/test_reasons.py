from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.reasons import MOST_LINES, FailedCase, reason_lines


def test_cases_with_the_same_cause_are_one_group_and_the_largest_is_first():
    failures = [
        FailedCase("a", Failure.TIMEOUT, "timeout"),
        FailedCase("b", Failure.OVERFILLED, "overfilled: gpu 'gpu-0' holds 90.5 GB of 80 GB"),
        FailedCase("c", Failure.OVERFILLED, "overfilled: gpu 'gpu-1' holds 120 GB of 80 GB"),
    ]
    assert list(reason_lines(failures)) == [
        "2 cases: overfilled: gpu 'gpu-0' holds 90.5 GB of 80 GB",
        "  b and c",
        "1 case: timeout",
        "  a",
    ]


def test_the_cause_decides_and_not_the_words():
    failures = [
        FailedCase("a", Failure.MISSING_MODEL, "'m1', 'm2' and 3 more of 24 on no GPU"),
        FailedCase("b", Failure.MISSING_MODEL, "'m1' of 10 on no GPU"),
        FailedCase("c", Failure.REPEATED_MODEL, "'m1' of 10 on no GPU"),
    ]
    assert [line for line in reason_lines(failures) if "case" in line] == [
        "2 cases: 'm1', 'm2' and 3 more of 24 on no GPU",
        "1 case: 'm1' of 10 on no GPU",
    ]


def test_the_first_traceback_of_a_group_is_told_with_its_own_reason():
    failures = [
        FailedCase("a", "KeyError", "crash: KeyError: 1"),
        FailedCase("b", "KeyError", "crash: KeyError: 2", "Traceback\n  line 2\nKeyError: 2\n"),
        FailedCase("c", "KeyError", "crash: KeyError: 3", "Traceback\n  line 3\nKeyError: 3\n"),
    ]
    assert list(reason_lines(failures)) == [
        "3 cases: crash: KeyError: 2",
        "  a, b and c",
        "    Traceback",
        "      line 2",
        "    KeyError: 2",
    ]


def test_of_a_long_traceback_the_end_is_told_and_no_letter_moves_the_cursor():
    traceback = "\n".join([*map(str, range(100)), "\x1b[2J"])
    lines = list(reason_lines([FailedCase("a", Failure.CRASH, "crash", traceback)]))
    assert lines[2] == "    ..."
    assert lines[-1] == r"    \x1b[2J"
    assert len(lines) == 2 + 1 + MOST_LINES


def test_nothing_failed_nothing_told():
    assert list(reason_lines([])) == []


def test_crashes_of_earlier_verdicts_are_told_apart_by_their_exceptions():
    written = CaseVerdict("c", 1.0, 1.0, failure=Failure.CRASH, reason="KeyError: 'm'").as_dict()
    del written["error"]
    other = written | {"reason": "ZeroDivisionError: division by zero"}
    causes = [CaseVerdict.from_dict(each).cause for each in (written, other)]
    names = [(Failure.CRASH, "KeyError", True), (Failure.CRASH, "ZeroDivisionError", True)]
    assert causes == names


def test_cases_that_were_not_run_are_told_after_every_cause():
    failures = [
        FailedCase(f"{n}", "not run", "not run, as they all crash", ran=False) for n in (1, 2)
    ]
    lines = list(reason_lines([*failures, FailedCase("a", "crash", "crash: KeyError")]))
    assert [line for line in lines if "case" in line] == [
        "1 case: crash: KeyError",
        "2 cases: not run, as they all crash",
    ]
