"""A generation is asked for while the one before it is judged, and the archive is the same."""

from dataclasses import replace
from threading import Event, Lock

import pytest

from colocate.errors import InputError, ProposerError
from colocate.lab.archive import Archive
from colocate.lab.messages import Answer
from colocate.lab.patches.refusal import RefusalCode
from colocate.lab.proposers.replay import Replay
from colocate.lab.settings import Budget, Settings
from tests.lab.toy import ToyEvaluation, ToyProposer, content, lab, make, source

SETTINGS = Settings(seed=1, proposals=3, review=5, ahead=1)
GENERATIONS = 5


def quiet(generation, best):
    pass


def grown(path, settings=SETTINGS, generations=GENERATIONS, **parts):
    archive = make(path, settings)
    told = []
    reason = lab(archive, settings, **parts).run(
        Budget(generations=generations), lambda generation, best: told.append(generation)
    )
    return archive, reason, told


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    archive, *_ = grown(tmp_path_factory.mktemp("whole") / "lab.db")
    return content(archive)


def test_requests_know_all_generations_but_the_last(tmp_path):
    archive, reason, told = grown(tmp_path / "lab.db")
    assert reason == "the budget of 5 generations is spent"
    assert told == list(range(GENERATIONS + 1))
    born = {program.number: program.generation for program in archive.programs()}
    assert max(born.values()) == GENERATIONS
    parents = {(a.generation, born[p]) for a in archive.attempts() for p in a.parents}
    assert all(parent < max(child - 1, 1) for child, parent in parents)
    assert any(parent == child - 2 for child, parent in parents)


@pytest.mark.parametrize(("askers", "asking", "judging"), [(3, 0, 0), (3, 0.01, 0), (2, 0, 0.01)])
def test_the_archive_does_not_depend_on_who_is_quicker(tmp_path, whole, askers, asking, judging):
    parts = {"proposer": ToyProposer(asking), "evaluation": ToyEvaluation(judging)}
    archive, *_ = grown(tmp_path / "lab.db", askers=askers, **parts)
    assert content(archive) == whole
    again, *_ = grown(tmp_path / "new.db", proposer=Replay(archive.attempts()), askers=3)
    assert content(again) == whole


class Interrupted:
    """Ends a run at the call with a number, of the proposer or of the evaluation."""

    def __init__(self, last, proposer=None, evaluation=None):
        self.calls, self.last, self.lock = 0, last, Lock()
        self.proposer, self.evaluation = proposer, evaluation

    def propose(self, request):
        self._count()
        return self.proposer.propose(request)

    def judge(self, sources, contest, repeats):
        for place, one in enumerate(sources):
            self._count()
            for _, verdict in self.evaluation.judge([one], contest, repeats):
                yield place, verdict

    def _count(self):
        with self.lock:
            self.calls += 1
            if self.calls > self.last:
                raise KeyboardInterrupt


@pytest.mark.parametrize("what", ["asking", "judging"])
def test_a_run_that_ends_at_any_moment_goes_on_as_if_it_had_not(tmp_path, whole, what):
    ended = 0
    for last in range(0, 24, 2):
        path = tmp_path / f"{last}.db"
        archive = make(path, SETTINGS)
        stops = Interrupted(last, ToyProposer(), ToyEvaluation())
        proposer = stops if what == "asking" else ToyProposer()
        evaluation = stops if what == "judging" else ToyEvaluation()
        try:
            lab(archive, SETTINGS, proposer, evaluation).run(Budget(GENERATIONS), quiet)
        except KeyboardInterrupt:
            ended += 1
        archive.close()
        with Archive.open(path, writing=True) as again:
            lab(again, SETTINGS, askers=2).run(Budget(GENERATIONS), quiet)
            assert content(again) == whole, last
    assert ended >= 8


class Slow(ToyEvaluation):
    """Judges the second generation only when somebody has asked for the third."""

    def __init__(self):
        super().__init__()
        self.asked = Event()
        self.judged_ahead = False

    def judge(self, sources, contest, repeats):
        for place, one in enumerate(sources):
            if self.ready():
                self.judged_ahead = self.asked.wait(20)
            yield from ((place, verdict) for _, verdict in super().judge([one], contest, repeats))

    def ready(self):
        return len(self.judged) > 4


class Telling(ToyProposer):
    """Tells when it is asked for a program of the third generation."""

    def __init__(self, event):
        super().__init__()
        self.event = event

    def propose(self, request):
        if request.number > 2 * SETTINGS.proposals:
            self.event.set()
        return super().propose(request)


def test_the_next_generation_is_asked_for_while_the_last_one_is_judged(tmp_path, whole):
    evaluation = Slow()
    archive, *_ = grown(
        tmp_path / "lab.db", proposer=Telling(evaluation.asked), evaluation=evaluation
    )
    assert evaluation.judged_ahead
    assert content(archive) == whole


class Same:
    """Always says the same."""

    def propose(self, request):
        return Answer(f"<CODE>\n{source(0.7)}</CODE>\n", "it")


def test_a_program_that_is_being_judged_is_known(tmp_path):
    archive, *_ = grown(tmp_path / "lab.db", generations=2, proposer=Same())
    assert [program.number for program in archive.programs()] == [0, 1]
    later = {a.refusal.code for a in archive.attempts() if a.generation == 2}
    assert later == {RefusalCode.KNOWN_PROGRAM}


class Silent(ToyProposer):
    """Says nothing from the third generation on."""

    def propose(self, request):
        if request.number > 2 * SETTINGS.proposals:
            raise ProposerError("the server is down")
        return super().propose(request)


def test_what_was_asked_for_is_judged_when_nobody_answers_any_more(tmp_path, whole):
    archive = make(tmp_path / "lab.db", SETTINGS)
    with pytest.raises(ProposerError, match="the server is down"):
        lab(archive, SETTINGS, Silent()).run(Budget(GENERATIONS), quiet)
    assert {program.generation for program in archive.programs()} == {0, 1, 2}
    lab(archive, SETTINGS).run(Budget(GENERATIONS), quiet)
    assert content(archive) == whole


def test_it_is_0_or_1():
    with pytest.raises(InputError, match="ahead=2, must be 0 or 1"):
        replace(SETTINGS, ahead=2)
