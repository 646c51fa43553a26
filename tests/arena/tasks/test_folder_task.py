"""Tasks from a folder: what their author gets told, and how answers are judged."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from json import loads
from pathlib import Path

import pytest

from colocate import InputError, Referee
from colocate.arena.asking import Halt
from colocate.arena.case_verdict import Failure
from colocate.arena.luck import Chance
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.walls.sandbox import Limits, Reply
from colocate.errors import SandboxError, TaskError

CIRCLES = Path(__file__).parents[3] / "examples" / "circles"
LIMITS = Limits(seconds=5)
GAP = """
def pack_circles(count):
    grid = [[0.1 + 0.2 * (n % 5), 0.1 + 0.2 * (n // 5), 0.1] for n in range(25)]
    return [*grid, [0.2, 0.2, 0.1 * (2 ** 0.5 - 1) - 1e-9]]
"""
"""Twenty-five equal circles, and a small one between four of them: 2.5 + 0.0414."""


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(CIRCLES, tmp_path / "task"))


def change(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def judge(source, task=CIRCLES, **options):
    return Referee(task, limits=LIMITS, **options).judge_source(source)


def test_the_example_judges_packings():
    task = open_task(str(CIRCLES))
    assert (task.name, task.entry_point, task.frame) == ("circles", "pack_circles", None)
    start = judge(task.start_program)
    assert start.score == pytest.approx(26 / 12)
    better = judge(GAP)
    assert better.score == pytest.approx(2.5 + 0.1 * (2**0.5 - 1))
    assert better.ratio == pytest.approx(better.score / 2.635)
    assert (better.correct, better.hidden.cases, better.runs) == (True, 0, 1)


def test_a_program_that_beats_a_record_has_a_ratio_above_one(folder):
    change(folder / "task.toml", "best_known = 2.635", "best_known = 2.0")
    beaten = judge(open_task(str(folder)).start_program, folder)
    assert beaten.ratio == beaten.fitness == pytest.approx(26 / 12 / 2)
    assert "mean ratio to the best known value 1.083333" in beaten.feedback
    change(folder / "task.toml", "best_known = 2.0", "best_known = 2.0\nbound = 2.5")
    assert judge(open_task(str(folder)).start_program, folder).ratio == 1.0
    change(folder / "task.toml", "bound = 2.5", "bound = 2.1")
    (failed,) = judge(open_task(str(folder)).start_program, folder).public.results
    assert (failed.failure, failed.ratio) == (Failure.ABOVE_BOUND, 0.0)


@pytest.mark.parametrize(
    ("body", "failure", "reason"),
    [
        ("return []", Failure.INVALID, "found 0 circles, must be a list of 26 circles"),
        ("return 7", Failure.INVALID, "found int"),
        ("return [[0.5, 0.5, 0.1]] * count", Failure.INVALID, "circles 0 and 1 overlap"),
        ("return [[0, 0, 0.1]] * count", Failure.INVALID, "circle 0 reaches outside"),
        ("return [[0.5, 0.5, -1]] * count", Failure.INVALID, "has the radius -1.0"),
        ("return [[0.5, 0.5, float('nan')]] * count", Failure.NOT_FINITE, "NaN"),
        ("return [[0.5, 0.5]] * count", Failure.INVALID, "is not three numbers"),
        ("raise ValueError('no')", Failure.CRASH, "ValueError: no"),
        ("import colocate", Failure.CRASH, "No module named 'colocate'"),
        ("return open('scorer.py').read()", Failure.CRASH, "FileNotFoundError"),
    ],
)
def test_what_is_no_packing_fails(body, failure, reason):
    verdict = judge(f"def pack_circles(count):\n    {body}\n")
    (result,) = verdict.public.results
    assert result.failure is failure
    assert reason in result.reason
    assert verdict.score == 0


HOSTILE_ANSWERS = {
    "depth": (b"[" * 8_000_000, Failure.NO_ANSWER),
    "lists": (b"[" + b"[]," * 900_000 + b"[]]", Failure.INVALID),
    "digits": (b"[[0, 0, " + b"9" * 3_000_000 + b"]]", Failure.NOT_FINITE),
    "a large whole number": (b"[[0, 0, " + b"9" * 400 + b"]]", Failure.NOT_FINITE),
    "a large number": (b"[[0, 0, 1e999]]", Failure.NOT_FINITE),
    "infinite": (b"[[0, 0, -Infinity]]", Failure.NOT_FINITE),
    "one key often": (b"{" + b'"a":0,' * 500_000 + b'"a":0}', Failure.INVALID),
    "half a letter": (b'["\\ud800"]', Failure.INVALID),
    "no letters": (b'"\xff"', Failure.NO_ANSWER),
    "two answers": (b"[] []", Failure.NO_ANSWER),
    "another line": (b"[]\n{}", Failure.NO_ANSWER),
    "nothing": (b"", Failure.NO_ANSWER),
}


@pytest.mark.parametrize("how", HOSTILE_ANSWERS)
def test_the_scorer_parses_what_programs_write_and_the_referee_does_not(how, monkeypatch):
    written, failure = HOSTILE_ANSWERS[how]
    (asked,) = open_task(str(CIRCLES)).contest().public
    seen = []
    monkeypatch.setattr("json.loads", lambda text, **_: seen.append(len(text)) or loads(text))
    started = time.process_time()
    verdict = asked.judged(Reply(b"answer\n" + written, 0, False, 0.1, 0.0), 1)
    assert time.process_time() - started < 0.5
    assert verdict.failure is failure
    assert max(seen, default=0) < 3000  # what the scorer says, which is ours


def test_luck_counts_here_as_well():
    source = GAP.replace("* (2 ** 0.5 - 1) - 1e-9", "* 0.4 * random.Random(5).random()")
    verdict = judge(f"import random\n{source}")
    assert verdict.luck.chance is Chance.SEED
    assert verdict.luck.lowest == verdict.score < verdict.luck.mean < verdict.luck.best


def test_an_author_is_told_what_is_wrong_with_a_folder(folder):
    for file, before, after, sentence in [
        ("task.toml", "higher_is_better = true", "higher = 1", "higher_is_better is missing"),
        ("task.toml", "seconds = 20", "seconds = -1", "seconds=-1, must be a finite number > 0"),
        ("task.toml", "seconds = 20", "seconds = 1e300", "must be .* > 0, at most 1048576"),
        ("task.toml", "seconds = 20", f"memory_mb = {10**25}", "must be .*, at most 1048576"),
        ("task.toml", "seconds = 20", "scorer_seconds = 1e9", "scorer_seconds=1000000000.0, must"),
        ("task.toml", "= 2.635", f"= 1{'0' * 400}", "best_known=.*, must be a finite number"),
        ("task.toml", '"pack_circles"', '"class"', "entry_point='class', must be the name of"),
        ("task.toml", 'name = "circles"', "name = [", "is no TOML"),
        ("start.py", "def pack_circles", "def pack circles", "does not compile"),
    ]:
        kept = (folder / file).read_text()
        change(folder / file, before, after)
        with pytest.raises(InputError, match=sentence) as error:
            open_task(str(folder))
        assert file in str(error.value)
        (folder / file).write_text(kept)
    (folder / "facts.md").unlink()
    with pytest.raises(InputError, match=r"facts\.md: is missing"):
        open_task(str(folder))


def test_hidden_cases_come_from_another_seed_or_a_fresh_one(folder):
    change(folder / "task.toml", "seconds = 20", "seconds = 20\nhidden_seed = 5")
    change(folder / "scorer.py", '"arguments": [COUNT]', '"arguments": [COUNT + seed % 2]')
    change(folder / "task.toml", "best_known = 2.635", "best_known = 3")
    counts = [
        [question.inputs[0] for question in open_task(str(folder)).contest(seed).questions]
        for seed in (None, 8)
    ]
    assert counts == [[26, 27], [26, 26]]
    digests = {open_task(str(folder)).contest(seed).digest for seed in (None, 8)}
    assert len(digests) == 2


def test_a_scorer_that_fails_is_no_fault_of_a_program(folder, tmp_path):
    change(folder / "scorer.py", "    (count,) = arguments\n", "    raise OSError('full')\n")
    program = tmp_path / "program.py"
    program.write_text(GAP)
    verdict = Referee(folder, limits=LIMITS).judge(program)
    assert "the scorer failed, which is no fault of a program" in verdict.fault
    assert "full" in verdict.fault
    change(folder / "scorer.py", "raise OSError('full')", "return 'no ' * 3")
    assert "invalid answer: no no no" in judge(GAP, folder).public.worst.reason


@pytest.mark.parametrize("asking", [1, 3])
def test_a_run_that_is_ended_does_not_wait_for_the_scorer(folder, asking):
    change(folder / "scorer.py", "    (count,) = arguments\n", "    import time; time.sleep(9)\n")
    referee, halt = Referee(str(folder), limits=LIMITS), Halt()
    judge = partial(referee.judge_source, GAP, halt=halt)
    with ThreadPoolExecutor(asking) as pool:
        judged = [pool.submit(judge) for _ in range(asking)]
        time.sleep(1.5)
        started = time.monotonic()
        halt.end()
        errors = [future.exception() for future in judged]
    assert time.monotonic() - started < 2
    assert {type(error) for error in errors} <= {TaskError, SandboxError}
    change(folder / "scorer.py", "    import time; time.sleep(9)\n", "    (count,) = arguments\n")
    assert judge(halt=Halt()).correct  # for others, it starts again
