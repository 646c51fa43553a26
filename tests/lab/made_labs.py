"""Archives with hand-made verdicts, as if a lab had run: no program of theirs was ever started."""

from random import Random

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.lab.archive import Archive
from colocate.lab.messages import Answer, Attempt, Kind
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.program import Program
from colocate.lab.review.report import write_review

SETTINGS = {"suite": "adrs", "seed": 0, "islands": 3, "review": 20}
PUBLIC, HIDDEN = 50, 25
OPTIMUM = 0.04
WALLS = ("namespaces", "seccomp", "limits")
DIGEST = "0123456789abcdef"
WORDS = ("sort", "greedy", "swap", "relief", "bisect", "repair", "restart", "pairs", "load", "size")
REFUSALS = (
    Refusal(
        RefusalCode.SEARCH_NOT_FOUND,
        "block 1 of 2 (line 7 of the answer): its SEARCH is nowhere in the program: line 1 of it "
        "is 'x = 1', nearest is line 12, 'y = 2'",
        "copy the lines from the program as they are",
    ),
    Refusal(
        RefusalCode.SEARCH_NOT_FOUND,
        "block 3 of 3 (line 40 of the answer): its SEARCH is nowhere in the program: nothing is "
        "like its first line, 'for'",
        "copy the lines from the program as they are",
    ),
    Refusal(
        RefusalCode.DOES_NOT_COMPILE,
        "the child does not compile: invalid syntax at its line 3, 'def f(:'",
        "send a change that does",
    ),
    Refusal(
        RefusalCode.ANSWER_CUT_OFF,
        "the answer was cut off before its end",
        "give a shorter one, and all of it",
    ),
    Refusal(
        RefusalCode.KNOWN_PROGRAM,
        "program 12 is the same, but for its comments",
        "change something",
    ),
)
START = '''"""Place models on GPUs."""

GPU_MEMORY = 80


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
'''
HOSTILE = (
    "</script></style></title><script>document.title='taken'</script>"
    "\"><img src=x onerror='document.title=1'> [red]red[/red] [link=https://e.example]x[/link] "
    "\x1b[2J\x1b]0;taken\x07 \u202eturned \x00 &amp; '"
)
"""Text that breaks out of HTML, rich markup and a terminal, where it can."""


def tally(*ratios, prefix="adrs"):
    """Return the tally of cases with these ratios; one of 0 has failed."""
    return Tally(
        tuple(
            CaseVerdict(
                f"{prefix}-{number:02d}", OPTIMUM / ratio, OPTIMUM, 0.01, 0.01, bound=OPTIMUM
            )
            if ratio
            else failed(f"{prefix}-{number:02d}")
            for number, ratio in enumerate(ratios)
        )
    )


def failed(case, reason="crash: IndexError: list index out of range", traceback="Traceback"):
    failure = Failure.CRASH
    pressure = float("inf")
    return CaseVerdict(
        case, pressure, OPTIMUM, 0.01, 0.01, failure, reason, traceback, bound=OPTIMUM
    )


def verdict(public, hidden=None, runs=1):
    """Return a verdict with the same ratio on two cases of each kind, or one for each given."""
    ratios = public if isinstance(public, tuple) else (public, public)
    unseen = hidden if isinstance(hidden, tuple) else (ratios[0] if hidden is None else hidden,)
    return Verdict("adrs", tally(*ratios), tally(*unseen, prefix="hidden"), WALLS, runs)


def program(number, fitness, parents=(0,), generation=None, name=None, **others):
    judged = fitness if isinstance(fitness, Verdict) else verdict(fitness)
    return Program(
        number=number,
        name=f"program_{number}" if name is None else name,
        description=others.pop("description", f"What program {number} does."),
        source=others.pop("source", START.replace("80", str(80 + number))),
        verdict=judged,
        parents=parents if number else (),
        generation=number if generation is None else generation,
        **others,
    )


def attempt(number, text="", attempt=0, refusal=None, kind=Kind.DIFF, who="composer", **spent):
    answer = Answer(text, who, **spent)
    return Attempt(number, attempt, number, kind, (0,), answer, refusal)


def make_lab(path, programs, attempts=(), settings=SETTINGS, review=None):
    """Write an archive, and return it open for reading."""
    start, *others = programs
    with Archive.create(path, settings, start, DIGEST) as archive:
        for made in others:
            archive.add_program(made, DIGEST)
        if attempts:
            archive.add_attempts(attempts)
        if review:
            archive.add_review(review.programs, review.as_dict())
    return Archive.open(path)


def tiny_lab(path):
    """Write an archive of six programs: three improve, one only on public cases, one fails."""
    programs = [
        program(0, 0.5, name="start"),
        program(1, 0.8),
        program(2, verdict(0.9, hidden=0.6), (1,)),
        program(3, 0.7, (1,)),
        program(4, 0.9, (1, 3)),
        program(5, 0.0, (4,)),
    ]
    attempts = [
        attempt(1, "<NAME>", tokens_in=1000, tokens_out=20, cost=0.5, seconds=30.0),
        attempt(4, refusal=REFUSALS[0], kind=Kind.CROSSING, seconds=45.0),
        attempt(4, attempt=1, kind=Kind.CROSSING, who="openai some-model", tokens_in=234),
    ]
    return make_lab(path, programs, attempts)


def lab_that_says(text, path):
    """Write an archive that has the same text wherever there is any."""
    fine = verdict((0.9, 0.8))
    bad = failed(text, f"crash: {text}", f"Traceback\n  {text}")
    broken = Verdict(text, Tally((bad,)), fine.hidden, (text,))
    programs = [
        program(0, broken, name=text, source=f"x = 0\n# {text}\n"),
        program(1, 0.8, name=text, description=text, source=f"x = 1\n# {text} more\n"),
        program(2, 0.7, name=text, source=f"x = 2\n{text}"),
        program(3, 0.9, (1, 2), name=text, source=f"x = 3\n{text}"),
    ]
    refusal = Refusal(RefusalCode.UNKNOWN, text)
    attempts = [
        attempt(1, text, who=text),
        attempt(3, refusal=refusal),
        attempt(3, text, 1, who=text),
    ]
    review = write_review(programs, attempts)
    return make_lab(path, programs, attempts, SETTINGS | {"suite": text}, review)


def large_lab(path, count=150, seed=0, letters=2_000):
    """Write the archive of a run: programs that mostly get worse, now and then better."""
    rng = Random(seed)
    programs = [program(0, _judged(rng, 0.17, 0), name="start", source=_padded(START, letters))]
    attempts = []
    number = 0
    while len(programs) < count:
        number += 1
        generation = 1 + (number - 1) // 4
        earlier = [made for made in programs if made.generation < generation]
        ranked = sorted(earlier, key=lambda made: -made.verdict.fitness)
        parent = ranked[min(int(rng.expovariate(0.5)), len(ranked) - 1)]
        other = ranked[0]
        crossed = other is not parent and rng.random() < 0.2
        kind = Kind.CROSSING if crossed else rng.choice([Kind.DIFF, Kind.DIFF, Kind.REWRITE])
        parents = (parent.number, other.number) if crossed else (parent.number,)
        attempts += _attempts(rng, number, generation, kind, parents)
        if attempts[-1].refusal:
            continue
        programs.append(_child(rng, number, generation, parent, parents))
    return make_lab(path, programs, attempts)


def _child(rng, number, generation, parent, parents):
    gap = 1 - parent.verdict.fitness
    changed = min(gap * rng.lognormvariate(0.25, 0.6), 1.0)
    failing = rng.choice([0, 0, 0, 0, 0, 1, 3, PUBLIC])
    lines = parent.source.split("\n")
    at = rng.randrange(16, 20)
    indent = " " * 8
    lines[at : at + rng.randrange(2)] = [
        f"{indent}# {' '.join(rng.choices(WORDS, k=5))}",
        f"{indent}if load(model) > {rng.random():.3f} and gpu_num > {rng.randrange(9)}:",
        f"{indent}    loads[0] *= {rng.random():.3f}",
    ]
    return Program(
        number,
        "_".join(rng.choices(WORDS, k=rng.randrange(2, 6))),
        f"Takes {' then '.join(rng.choices(WORDS, k=6))}, since the peak GPU is what counts: "
        "the pressure should fall where two heavy models share one card.",
        "\n".join(lines),
        _judged(rng, changed, failing),
        parents,
        generation,
        (number - 1) % 4 % 3,
    )


def _judged(rng, gap, failing):
    """Return a verdict whose mean gap is about `gap`, with so many failed cases."""

    def ratios(cases):
        shares = [rng.expovariate(1) for _ in range(cases)]
        return [1 - min(gap * share, 0.95) for share in shares]

    public = [0.0] * failing + ratios(PUBLIC - failing)
    hidden = ratios(HIDDEN) if failing < PUBLIC else [0.0] * HIDDEN
    return Verdict("adrs", tally(*public), tally(*hidden, prefix="hidden"), WALLS)


def _attempts(rng, number, generation, kind, parents):
    refused = rng.choice([0, 0, 0, 0, 1, 2, 3])
    made = []
    for place in range(min(refused + 1, 3)):
        answer = Answer(
            "an answer " * 50,
            rng.choice(["openai small-model", "openai large-model"]),
            rng.randrange(2_000, 9_000),
            rng.randrange(200, 2_000),
            rng.random() / 100,
            rng.random() * 20,
        )
        refusal = rng.choice(REFUSALS) if place < refused else None
        made.append(Attempt(number, place, generation, kind, parents, answer, refusal))
    return made


def _padded(source, letters):
    """Return a program made longer by what never runs."""
    extra = []
    while sum(map(len, extra)) < letters:
        extra.append(f"def spare_{len(extra)}(gpu):\n    return gpu + {len(extra)}\n")
    return source + "\n\n" + "\n\n".join(extra)
