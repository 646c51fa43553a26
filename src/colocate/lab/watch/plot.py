"""A plot of the best program over the generations, as SVG."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from colocate.lab.program import Program
from colocate.lab.watch.ladder import LadderScale, Rung, fails, round_steps
from colocate.lab.watch.sheet import mention
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import Point, label, picture, steps
from colocate.outputs.text.wording import fixed

LEFT, RIGHT, TOP, BOTTOM = 62, 14, 48, 46
"""Margins in pixels: room for the labels of the axes."""
LABEL_ROOM = 70
"""Pixels between marked generations."""


@dataclass(frozen=True)
class Plot:
    """All programs as dots, and the best so far as a line."""

    programs: Sequence[Program]
    rungs: Sequence[Rung]

    @property
    def goal(self) -> str:
        """What the programs are compared with."""
        return self.programs[0].verdict.public.goal

    def draw(self, name: str, size: tuple[int, int]) -> Markup:
        """Return the picture at a size; `name` makes its ids unique among other pictures."""
        last = max(program.generation for program in self.programs)
        width, height = size
        axes = _Axes(LadderScale.over(self.programs), last, width - RIGHT, height - BOTTOM)
        failed = [program for program in self.programs if fails(program)]
        sound = [program for program in self.programs if not fails(program)]
        return picture(
            name,
            size,
            "Best so far over the generations",
            self._described(),
            *_frame(axes, self.goal),
            _dots(axes, sound, "dots"),
            _dots(axes, failed, "dots failed"),
            _line(axes, self.rungs),
            *(_rung(axes, rung) for rung in self.rungs),
        )

    def _described(self) -> str:
        first, last = self.rungs[0], self.rungs[-1]
        return (
            f"{len(self.programs)} programs. The best so far reaches {fixed(first.fitness, 6)} of "
            f"the {self.goal} in generation {first.generation} and {fixed(last.fitness, 6)} in "
            f"generation {last.generation}."
        )


@dataclass(frozen=True)
class _Axes:
    """Positions of generations and fitness values."""

    scale: LadderScale
    last: int
    right: int
    bottom: int

    def x(self, generation: int) -> float:
        return LEFT + (self.right - LEFT) * generation / max(self.last, 1)

    def y(self, height: float) -> float:
        return self.bottom - (self.bottom - TOP) * height

    def point(self, generation: int, fitness: float) -> Point:
        return self.x(generation), self.y(self.scale.height(fitness))


def _frame(axes: _Axes, goal: str) -> Iterator[Markup]:
    for height, share in axes.scale.ticks():
        y = axes.y(height)
        kind = "optimum" if height == 1 else "grid"
        yield tag("path", d=f"M{LEFT} {y:.1f}H{axes.right}", class_=kind)
        yield label(LEFT - 10, y + 4, share, "end")
    yield label(axes.right, TOP - 8, goal, "end", "optimum")
    for generation in round_steps(axes.last, (axes.right - LEFT) // LABEL_ROOM):
        yield label(axes.x(generation), axes.bottom + 20, str(generation), "middle")
    yield label((LEFT + axes.right) / 2, axes.bottom + BOTTOM - 6, "generation", "middle")
    yield label(0, 16, f"share of the {goal}", "start")


def _dots(axes: _Axes, programs: Iterable[Program], kind: str) -> Markup:
    """Draw strokes of zero length with round ends: one short path for all dots."""
    points = {axes.point(program.generation, program.verdict.fitness) for program in programs}
    path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in sorted(points))
    return tag("path", d=path, class_=kind) if path else Markup()


def _line(axes: _Axes, rungs: Sequence[Rung]) -> Markup:
    """Draw steps: the best holds until it is beaten."""
    points = [axes.point(rung.generation, rung.fitness) for rung in rungs]
    return steps(points, axes.right, "best")


def _rung(axes: _Axes, rung: Rung) -> Markup:
    x, y = axes.point(rung.generation, rung.fitness)
    (name,) = mention(rung)
    told = f"{name.text}: score {fixed(rung.score, 4)}, generation {rung.generation}"
    return tag("circle", tag("title", told), cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_="rung")
