"""`colocate lab run`: starts or continues a search."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.exit_codes import INTERRUPTED
from colocate.cli.lab.options import FOLDER, Folder, Workers
from colocate.errors import InputError
from colocate.fault import Fault

if TYPE_CHECKING:
    from rich.status import Status

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
    tokens: Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens.")] = None,
    cost: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after spending this much money.")
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
    timeout: Annotated[
        float, typer.Option(min=1.0, help="openai: give up after this many silent seconds.")
    ] = 300.0,
    askers: Annotated[int, typer.Option(min=1, help="openai: requests at a time.")] = 4,
    ray: Annotated[
        str | None,
        typer.Option(help="Judge on a Ray cluster: its address, or `auto`."),
    ] = None,
    workers: Workers = None,
) -> None:
    """Search for better programs. An existing lab continues where it stopped."""
    from colocate.arena.tasks.catalogue import open_task
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.lab.lab_folder import evaluation_of, settings_of
    from colocate.lab.loop import Lab
    from colocate.lab.settings import Budget
    from colocate.outputs.text.console import notes

    chosen = _proposer(proposer, base_url, model or [], temperature, max_tokens, timeout)
    say_when_compiling()
    try:
        with (
            _opened(lab, seed) as archive,
            evaluation_of(settings_of(archive), workers or os.cpu_count() or 1, ray) as evaluation,
            notes().status("generation 0") as status,
        ):
            settings = settings_of(archive)
            contest = open_task(settings.suite).contest()
            many = askers if proposer == OPENAI else 1
            search = Lab(archive, settings, contest, evaluation, chosen, many)
            budget = Budget(generations, proposals, tokens, cost, seconds)
            reason = search.run(budget, _Ladder(status).report)
            typer.echo(f"{reason} ({_account(archive)})")
    except KeyboardInterrupt:
        notes().print(
            "interrupted; all verdicts so far are kept, and the same command goes on from them"
        )
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # a request to a silent server would be waited for


def _account(archive: "Archive") -> str:
    """Return how many programs there are, and how many answers were refused."""
    attempts = archive.attempts()
    silent = sum(not attempt.answer.came for attempt in attempts)
    refused = sum(bool(attempt.refusal) for attempt in attempts) - silent
    counts = ((refused, "answers refused"), (silent, "requests without an answer"))
    told = [f"{number} {what}" for number, what in counts if number]
    return ", ".join([f"{len(archive.programs())} programs", *told])


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
            typer.echo(
                f"generation {generation:3d}   program {best.number:4d}   "
                f"score {verdict.score:7.4f}   ratio {verdict.ratio:.6f}   "
                f"hidden {verdict.hidden.ratio:.6f}   {best.name}"
            )


def _opened(lab: Path, seed: int | None) -> "Archive":
    from colocate.arena.tasks.start import start_program
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
    settings = Settings(seed=seed or 0)
    return make_lab(lab, settings, start_program(), local_evaluation(settings, 1))


def _proposer(
    name: str,
    base_url: str | None,
    models: list[str],
    temperature: float,
    max_tokens: int,
    timeout: float,
) -> "Proposer":
    if name == COMPOSER:
        from colocate.lab.proposers.composer.composer import Composer

        return Composer()
    if name != OPENAI:
        raise InputError.of("proposer", name, f"{COMPOSER} or {OPENAI}")
    from colocate.lab.proposers.openai.priced_model import PricedModel
    from colocate.lab.proposers.openai.server import OpenAiProposer

    if not models or not base_url:
        raise InputError(
            "proposer='openai' needs --base-url, where the server is, "
            "and --model NAME, as the server calls it"
        )
    return OpenAiProposer(
        models=tuple(PricedModel.read(text) for text in models),
        base_url=base_url,
        api_key=os.environ.get("OPENAI_API_KEY"),
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=timeout,
    )
