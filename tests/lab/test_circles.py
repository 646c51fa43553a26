"""A lab on the example task, which is not placement: a few generations with scripted answers."""

import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from colocate.errors import ProposerError
from colocate.lab.archive import Archive
from colocate.lab.lab_folder import archive_path, differences, local_evaluation, make_lab, replayed
from colocate.lab.loop import Lab
from colocate.lab.messages import Answer
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import apply_patch
from colocate.lab.program import best_first
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.proposers.openai.prompt import messages
from colocate.lab.settings import Budget, Settings
from colocate.lab.watch import html_page, program_page, status_page
from tests.arena.tasks.test_folder_task import CIRCLES, GAP, judge
from tests.lab.test_watch import drawn as shown

OVERLAP = "def pack_circles(count):\n    return [[0.5, 0.5, 0.5]] * count\n"
CLIMB = """
import random


def pack_circles(count):
    grid = [[0.1 + 0.2 * (n % 5), 0.1 + 0.2 * (n // 5), 0.1] for n in range(25)]
    best = 0.0
    for _ in range(20):
        best = max(best, random.uniform(0, 0.0414))
    return [*grid, [0.2, 0.2, best]]
"""
"""A search at random for the radius that `GAP` calculates."""


class Scripted:
    """Gives one program after the other, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def propose(self, request):
        self.asked.append(messages(request))
        number = request.number
        kinds = [OVERLAP, CLIMB, GAP if number > 3 else CLIMB]
        source = kinds[number % 3].replace("count):", f"count):  # {number}", 1)
        source = source.replace("return", f"number = {number}\n    return", 1)
        text = f"<NAME>\nidea_{number}\n</NAME>\n<CODE>\n{self.evolved(source)}</CODE>\n"
        return Answer(text, "scripted")

    def evolved(self, source):
        """Put a program between the markers of the start program."""
        head = (CIRCLES / "start.py").read_text().partition("# EVOLVE-BLOCK-START\n")[0]
        return f"{head}# EVOLVE-BLOCK-START\n{source}# EVOLVE-BLOCK-END\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Three generations on the example task, and what was asked."""
    folder = tmp_path_factory.mktemp("circles")
    settings = Settings(task=str(CIRCLES), proposals=3, islands=1, review=4, seconds=5)
    evaluation = local_evaluation(settings, 2)
    proposer = Scripted()
    with make_lab(folder, settings, (CIRCLES / "start.py").read_text(), evaluation) as archive:
        contest = evaluation.referee.contest
        search = Lab(archive, settings, contest, evaluation, proposer)
        search.run(Budget(generations=3), lambda generation, best: None)
    return folder, proposer


def test_the_sum_of_radii_rises_and_luck_does_not_lead(lab):
    folder, _ = lab
    with Archive.open(archive_path(folder)) as archive:
        ranked = best_first(archive.programs())
    assert len(ranked) == 10
    assert ranked[0].verdict.score == pytest.approx(2.5 + 0.1 * (2**0.5 - 1))
    assert "pack_circles" in ranked[0].source
    assert "random" not in ranked[0].source
    drawn = [program for program in ranked if "random" in program.source]
    assert all(2.5 < program.verdict.score < ranked[0].verdict.score for program in drawn)
    assert max(program.verdict.runs for program in drawn) == 6  # one led until it was run again
    assert {p.verdict.score for p in ranked if "0.5, 0.5, 0.5" in p.source} == {0.0}


def test_prompts_know_the_task_and_nothing_of_placement(lab):
    _, proposer = lab
    system, user = proposer.asked[0]
    assert "packs circles into the unit square" in system["content"]
    assert "judged under several seeds" in system["content"]
    text = " ".join(message["content"] for asked in proposer.asked for message in asked)
    assert "sum of radii" in text
    assert not any(word in text for word in ("GPU", "compute_model_placement", "pressure"))
    assert "Score 2.1667" in user["content"]


def test_reviews_and_pages_tell_of_the_task(lab):
    folder, _ = lab
    with Archive.open(archive_path(folder)) as archive:
        assert archive.reviews()
        page = html_page(archive)
        assert status_page(archive)
    assert "idea_" in page
    assert "2.5414" in page
    assert "GPU" not in page


def test_pages_call_a_value_that_nobody_has_proven_the_best_known(lab):
    folder, proposer = lab
    with Archive.open(archive_path(folder)) as archive:
        pages = [html_page(archive), shown(status_page(archive))]
        pages.append(shown(program_page(archive, 0)))
        pages += [message["content"] for asked in proposer.asked for message in asked]
    assert "best known 2.6350" in pages[0]
    assert "best known 2.6350" in pages[1]
    assert "Valid, but short of the best known value" in pages[2]
    texts = (re.sub('class="[^"]*"|<style.*?</style>', "", page, flags=re.DOTALL) for page in pages)
    assert not [text for text in texts if "optimum" in text]


def test_a_lab_goes_on_after_a_record_that_is_not_proven_to_be_the_best(tmp_path):
    task = shutil.copytree(CIRCLES, tmp_path / "task")
    toml = task / "task.toml"
    toml.write_text(toml.read_text().replace("best_known = 2.635", "best_known = 2.0"))
    settings = Settings(task=str(task), proposals=1, islands=1, seconds=5)
    evaluation = local_evaluation(settings, 1)
    start = (task / "start.py").read_text()
    with make_lab(tmp_path / "lab", settings, start, evaluation) as archive:
        search = Lab(archive, settings, evaluation.referee.contest, evaluation, Scripted())
        reason = search.run(Budget(generations=2), lambda generation, best: None)
        ranked = best_first(archive.programs())
    assert reason == "the budget of 2 generations is spent"
    best = ranked[0].verdict
    assert best.fitness == pytest.approx(best.score / 2)
    assert best.fitness > 1


def test_a_replay_makes_the_same_archive(lab, tmp_path):
    folder, _ = lab
    with Archive.open(archive_path(folder)) as old, replayed(old, tmp_path / "again", 2) as new:
        assert differences(old.programs(), new.programs()) == []


def test_the_composer_says_that_it_writes_placements_only(tmp_path):
    settings = Settings(task=str(CIRCLES), proposals=1, islands=1, seconds=5)
    evaluation = local_evaluation(settings, 1)
    start = (Path(CIRCLES) / "start.py").read_text()
    with make_lab(tmp_path, settings, start, evaluation) as archive:
        search = Lab(archive, settings, evaluation.referee.contest, evaluation, Composer())
        with pytest.raises(ProposerError, match="writes placement programs only"):
            search.run(Budget(generations=1), lambda generation, best: None)


def test_the_stand_in_for_a_model_improves_the_packing(tmp_path):
    spec = spec_from_file_location("stand_in", CIRCLES / "model.py")
    model = module_from_spec(spec)
    spec.loader.exec_module(model)
    start = (CIRCLES / "start.py").read_text()
    assert len({model.answer(number) for number in range(len(model.CHOICES))}) == 30
    first, last = (
        apply_patch(read_patch(model.answer(number)), start, "pack_circles").source
        for number in (0, 10)
    )
    assert 2.49 < judge(first).score < judge(last).score < 2.64


def started(*options):
    command = [sys.executable, CIRCLES / "model.py", *map(str, options)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def test_the_stand_in_for_a_model_says_where_it_serves():
    serving = started(0)
    try:
        told = serving.stdout.readline()
        port = int(re.fullmatch(r"serving http://127.0.0.1:(\d+)/v1 until Ctrl-C\n", told)[1])
        taken = started(port)
        _, error = taken.communicate(timeout=60)
        assert taken.returncode == 1
        assert error.startswith(f"cannot serve on port {port}: ")
        assert "Traceback" not in error
    finally:
        serving.kill()
        serving.communicate()
    helped = started("--help")
    assert "Stands in for a model" in helped.communicate(timeout=60)[0]
    assert helped.returncode == 0
