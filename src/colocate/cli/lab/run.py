"""`colocate lab run`: starts or continues a search."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.exit_codes import INTERRUPTED
from colocate.cli.fresh_cases import saying_what_is_solved
from colocate.cli.lab.model_options import FREE, fields_of, is_priced, names_of, openai_proposer
from colocate.cli.lab.options import FOLDER, Folder, Workers
from colocate.errors import InputError, ProposerError
from colocate.fault import Fault

if TYPE_CHECKING:
    from rich.status import Status

    from colocate.arena.tasks.task import Task
    from colocate.lab.archive import Archive
    from colocate.lab.messages import Proposer
    from colocate.lab.program import Program

COMPOSER, OPENAI = "composer", "openai"


def run(
    lab: Folder = FOLDER,
    generations: Annotated[
        int,
        typer.Option(min=0, help="Stop after this generation, counted from the start of the lab."),
    ] = 60,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="For a new lab: the seed of every random choice (default: 0)."),
    ] = None,
    proposals: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many answers.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Send nothing more after this many tokens.")
    ] = None,
    cost: Annotated[
        float | None, typer.Option(min=0.0, help="Send nothing more after spending this much.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop this run after this many seconds.")
    ] = None,
    proposer: Annotated[str, typer.Option(help="composer (no model needed) or openai.")] = COMPOSER,
    base_url: Annotated[
        str | None, typer.Option(help="openai: the server, such as http://localhost:8000/v1.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="openai: NAME, or NAME=PRICE_IN,PRICE_OUT for a million tokens. Repeat it for "
            "several models: the lab prefers those that improve most for their cost."
        ),
    ] = None,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="openai: how freely the model chooses.")
    ] = 0.7,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="openai: the longest answer, in tokens.")
    ] = 8192,
    send: Annotated[
        list[str] | None,
        typer.Option(help="openai: NAME=VALUE, a further field of every request. Repeatable."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="openai: a field that the server does not take. Repeatable."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="openai: OLD=NEW, a field that the server calls otherwise. Repeatable."),
    ] = None,
    retries: Annotated[
        int, typer.Option(min=0, help="openai: how often to send a failed request again.")
    ] = 2,
    request_timeout: Annotated[
        float, typer.Option(min=1.0, help="openai: seconds for a whole reply, once sent.")
    ] = 600.0,
    total_timeout: Annotated[
        float,
        typer.Option(min=1.0, help="openai: seconds without any answer that end the run."),
    ] = 900.0,
    askers: Annotated[int, typer.Option(min=1, help="openai: requests at a time.")] = 4,
    ray: Annotated[
        str | None,
        typer.Option(help="Judge on a Ray cluster: its address, or `auto`."),
    ] = None,
    workers: Workers = None,
    task: Annotated[str | None, typer.Option("--task", "--suite", hidden=True)] = None,
) -> None:
    """Search for better programs. An existing lab continues where it stopped."""
    from colocate.arena.tasks.catalogue import open_task
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.lab.lab_folder import evaluation_of, referee_of, settings_of
    from colocate.lab.loop import Lab
    from colocate.lab.settings import Budget
    from colocate.outputs.text.console import notes

    if task is not None:
        raise typer.BadParameter(
            f"a lab has its task from the start: make one with `colocate lab init --task {task}`"
        )
    chosen = (
        openai_proposer(
            base_url,
            model or [],
            temperature=temperature,
            max_tokens=max_tokens,
            send=fields_of(send or []),
            left_out=tuple(leave_out or ()),
            renamed=names_of(rename or []),
            retries=retries,
            request_timeout=request_timeout,
            total_timeout=total_timeout,
            tell=lambda sentence: notes().print(sentence, markup=False, highlight=False),
        )
        if proposer == OPENAI
        else _offline(proposer)
    )
    if proposer == OPENAI and cost is not None and not all(is_priced(text) for text in model or []):
        notes().print(FREE, markup=False)
    say_when_compiling()
    try:
        with (
            _opened(lab, seed, ahead=proposer == OPENAI) as archive,
            evaluation_of(settings_of(archive), workers or os.cpu_count() or 1, ray) as evaluation,
            notes().status("generation 0") as status,
        ):
            settings = settings_of(archive)
            judged_on = open_task(settings.task)
            _check_proposer(proposer, judged_on)
            with saying_what_is_solved():
                contest = referee_of(settings).contest
            many = askers if proposer == OPENAI else 1
            search = Lab(archive, settings, contest, evaluation, chosen, many)
            budget = Budget(generations, proposals, tokens, cost, seconds)
            try:
                reason = search.run(budget, _Ladder(status).report)
            except (KeyboardInterrupt, ProposerError):
                notes().print(f"so far: {_account(archive)}", markup=False, highlight=False)
                raise
            typer.echo(f"{reason} ({_account(archive)})")
    except KeyboardInterrupt:
        notes().print(
            "interrupted; all answers so far are kept, and the same command goes on from them"
        )
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # a request to a silent server would be waited for


def _account(archive: "Archive") -> str:
    """Return how many programs there are, how many answers were refused, and what was spent."""
    attempts = archive.attempts()
    silent = sum(not attempt.answer.came for attempt in attempts)
    refused = sum(bool(attempt.refusal) for attempt in attempts) - silent
    counts = ((refused, "answers refused"), (silent, "requests without an answer"))
    told = [f"{number} {what}" for number, what in counts if number]
    spent = sum((attempt.answer.spending for attempt in attempts), archive.unanswered())
    return ", ".join(
        [f"{len(archive.programs())} programs", *told, *([str(spent)] if spent else [])]
    )


class _Ladder:
    """Prints a line for every new best program, and shows which generation is complete."""

    def __init__(self, status: "Status") -> None:
        self._status = status
        self._best = -1

    def report(self, generation: int, best: "Program") -> None:
        """Print the leading program, if it is a new one."""
        self._status.update(f"generation {generation + 1}, {best.verdict.ratio:.6f} so far")
        if best.number != self._best:
            self._best = best.number
            verdict = best.verdict
            hidden = f"   hidden {verdict.hidden.ratio:.6f}" if verdict.hidden.cases else ""
            typer.echo(
                f"generation {generation:3d}   program {best.number:4d}   "
                f"score {verdict.score:7.4f}   ratio {verdict.ratio:.6f}{hidden}   {best.name}"
            )


def _opened(lab: Path, seed: int | None, ahead: bool) -> "Archive":
    """Open a lab, or make one; who asks models asks ahead."""
    from colocate.arena.tasks.catalogue import open_task
    from colocate.lab.archive import Archive
    from colocate.lab.lab_folder import archive_path, local_evaluation, make_lab
    from colocate.lab.settings import Settings

    path = archive_path(lab)
    if path.exists():
        archive = Archive.open(path, writing=True)
        made_with = archive.setting("seed")
        if seed not in (None, made_with):
            archive.close()
            expected = f"{made_with}, which {lab} was made with"
            advice = "or take another folder with --lab"
            raise InputError(Fault("", expected, advice, value=seed, path=("seed",)))
        return archive
    settings = Settings(seed=seed or 0, ahead=int(ahead))
    return make_lab(lab, settings, open_task().start_program, local_evaluation(settings, 1))


def _check_proposer(proposer: str, task: "Task") -> None:
    """Refuse the composer where its blocks are of no use."""
    if proposer == COMPOSER and task.frame is None:
        found = f"writes placement programs only, and the task is {task.name!r}"
        advice = "name a server and a model with --base-url and --model"
        raise InputError(Fault(found, OPENAI, advice, value=proposer, path=("proposer",)))


def _offline(name: str) -> "Proposer":
    if name != COMPOSER:
        raise InputError.of("proposer", name, f"{COMPOSER} or {OPENAI}")
    from colocate.lab.proposers.composer.composer import Composer

    return Composer()
