"""How busy the cores are while a lab asks models that take their time.

Usage: python benchmarks/lab_overlap.py [--answer-seconds 8] [--askers 16] [--generations 4]

A server on loopback, in the protocol of OpenAI, answers every request after some seconds with a
program that the composer wrote. The lab judges with one worker a core. It runs twice: generation by
generation, and asking for each generation while the one before it is judged (`lab init --ahead`).
The shares are those of all processes of the machine, from the first answer to the last verdict of
the run, and those of the cases alone.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.contest import Contest
from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.tally import NOTHING
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.verdict import Verdict
from colocate.lab.lab_folder import make_lab, referee_of
from colocate.lab.loop import Lab
from colocate.lab.messages import Kind, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import apply_patch
from colocate.lab.program import Program
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.server import OpenAiProposer
from colocate.lab.settings import Budget, Settings

CORES = os.cpu_count() or 1
KINDS = 8
"""Compositions; every answer is a different program of one of them."""
END = "# EVOLVE-BLOCK-END"
"""Up to where a program may change."""


@dataclass
class CountingEvaluation:
    """Judges on every core, and adds up the processor time of all cases."""

    referee: Referee
    seconds: float = 0.0
    judged: list[float] = field(default_factory=list)

    def judge(
        self, sources: Iterable[str], contest: Contest, repeats: Repeats
    ) -> Iterator[tuple[int, Verdict]]:
        """Yield the place of every source and the verdict on it, as they come."""

        def add(result: CaseVerdict) -> None:
            self.seconds += result.cpu_seconds

        with ThreadPoolExecutor(CORES) as pool:
            judge = self.referee.judge_source
            places = {
                pool.submit(judge, source, contest, repeats, add): place
                for place, source in enumerate(sources)
            }
            for future in as_completed(places):
                self.judged.append(time.monotonic())
                yield places[future], future.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer-seconds", type=float, default=8.0)
    parser.add_argument("--askers", type=int, default=16)
    parser.add_argument("--generations", type=int, default=4)
    options = parser.parse_args()
    answers = composed_answers(options.askers * (options.generations + 1))
    print(f"{options.askers} askers, answers after {options.answer_seconds:g} s, {CORES} cores")
    for ahead in (0, 1):
        with serving(answers, options.answer_seconds) as (address, sent):
            measure(address, sent, options.askers, options.generations, ahead)


def measure(address: str, sent: list[float], askers: int, generations: int, ahead: int) -> None:
    """Run a lab, and print how busy the cores were."""
    settings = Settings(proposals=askers, ahead=ahead)
    evaluation = CountingEvaluation(referee_of(settings))
    with tempfile.TemporaryDirectory() as folder:
        start = open_task(settings.task).start_program
        with make_lab(Path(folder) / "lab", settings, start, evaluation) as archive:
            models = (PricedModel.read("scripted"),)
            proposer = OpenAiProposer(models=models, base_url=address, api_key=None)
            contest = evaluation.referee.contest
            lab = Lab(archive, settings, contest, evaluation, proposer, askers)
            evaluation.seconds = 0.0
            watch: list[tuple[float, float]] = []
            Thread(target=watch_cores, args=(watch,), daemon=True).start()
            lab.run(Budget(generations=generations), lambda number, best: None)
            programs = len(archive.programs()) - 1
    first, last = min(sent), max(evaluation.judged)
    inside = [busy for moment, busy in watch if first <= moment <= last]
    share, cases = sum(inside) / len(inside), evaluation.seconds / (CORES * (last - first))
    how = "one generation ahead" if ahead else "generation by generation"
    print(
        f"{how:24}  cores busy {share:4.0%}, by cases alone {cases:4.0%}  "
        f"{programs} programs in {last - first:.0f} s, {programs / (last - first):.2f} a second"
    )


def watch_cores(found: list[tuple[float, float]]) -> None:
    """Note every half a second how busy all cores of the machine were."""
    before = _ticks()
    while True:
        time.sleep(0.5)
        now = _ticks()
        all_ticks = now[1] - before[1]
        found.append((time.monotonic(), (now[0] - before[0]) / max(all_ticks, 1)))
        before = now


def _ticks() -> tuple[int, int]:
    """Return the ticks that all cores were busy, and all that there were."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]
    ticks = [int(text) for text in fields]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def composed_answers(number: int) -> list[str]:
    """Return different answers as a model would give them: whole programs."""
    task = open_task()
    start = Program(0, "start", "", task.start_program, Verdict("adrs", NOTHING, NOTHING, ()))
    composer = Composer()
    found = []
    for seed in range(number):
        request = Request(Kind.REWRITE, start, (), (), seed=seed % KINDS, number=1, task=task)
        program = apply_patch(read_patch(composer.propose(request).text), start.source).source
        marked = program.replace(END, f"NUMBER = {seed}\n{END}")
        found.append(f"<NAME>\nnumber {seed}\n</NAME>\n<CODE>\n{marked}\n</CODE>\n")
    return found


@contextmanager
def serving(answers: list[str], seconds: float) -> Iterator[tuple[str, list[float]]]:
    """Serve the answers one after the other; yield the address, and when answers were sent."""
    sent: list[float] = []
    waiting = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = next(waiting, answers[0])
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(seconds)
            message = {"role": "assistant", "content": text}
            usage = {"prompt_tokens": 1000, "completion_tokens": len(text) // 4}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            sent.append(time.monotonic())

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
