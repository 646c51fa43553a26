"""A plain search that writes the tree it went through, to try the checker of trees with.

It shares nothing with the checker: items are worked out once more, and all numbers are rational.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf

from colocate.problem.certificate import Certificate, Proof

ROUNDING = Fraction(1, 10**11)


class FoundError(Exception):
    """There is a placement, so there is no tree."""


@dataclass(frozen=True)
class Item:
    size: Fraction
    loads: tuple
    uses: tuple  # by GPU: amounts by resource
    where: frozenset
    colours: frozenset
    shard_group: tuple | None
    count: int


def may_be_on(model, gpu):
    names = {name for name in (gpu.name, gpu.node, gpu.kind) if name}
    return not names & set(model.never) and (not model.only or bool(names & set(model.only)))


def amount(uses, resource, kind):
    by_kind = dict(dict(uses).get(resource, ()))
    return Fraction(by_kind.get(kind, by_kind.get("", 0.0)))


def items_of(problem):
    names = [model.name for model in problem.models]
    bundle = {name: {name} for name in names}
    for group in problem.together:
        merged = set().union(*(bundle[name] for name in group))
        for name in merged:
            bundle[name] = merged
    resources = sorted({name for gpu in problem.gpus for name, _ in gpu.limits})
    items, done = [], set()
    for model in problem.models:
        if model.name in done:
            continue
        members = [m for m in problem.models if m.name in bundle[model.name]]
        done |= bundle[model.name]
        parts = model.replicas * model.shards
        groups = [
            n for n, g in enumerate(problem.apart) for name in g if name in bundle[model.name]
        ]
        where = {n for n, gpu in enumerate(problem.gpus) if all(may_be_on(m, gpu) for m in members)}
        if len(set(groups)) < len(groups):
            where = set()
        own = {("own", model.name)} if parts > 1 else set()
        loads = tuple(
            sum(Fraction(m.load[t if len(m.load) > 1 else 0]) for m in members) / parts
            for t in range(problem.windows)
        )
        uses = tuple(
            tuple(
                sum(
                    amount(m.uses, name, gpu.kind) + amount(m.shared_uses, name, gpu.kind) / parts
                    for m in members
                )
                for name in resources
            )
            for gpu in problem.gpus
        )
        size = sum(Fraction(m.size_gb) for m in members) / model.shards
        for replica in range(model.replicas):
            shard_group = (model.name, replica) if model.shards > 1 else None
            item = Item(
                size, loads, uses, frozenset(where), frozenset(set(groups) | own), shard_group,
                len(members),
            )  # fmt: skip
            items += [item] * model.shards
    return items, resources


class Writer:
    """Searches for a placement at or below a pressure, by filling one GPU after the other.

    Parameters
    ----------
    rules
        Which of the ways to try less it uses: any of the letters t (twins), e (equal items),
        b, c, d (see the checker).
    cheat
        Called now and then; if it says so, something is left out that must not be.
    """

    def __init__(self, problem, bound, finite=False, rules="tebcd", order=None, cheat=None):
        self.problem, self.rules, self.finite = problem, rules, finite
        self.cheat = cheat or (lambda: False)
        self.infinite = isinf(bound)
        self.items, self.resources = items_of(problem)
        target = Fraction(1) if self.infinite else Fraction(bound)
        windows = 1 if self.infinite else problem.windows
        self.needs = [
            [target * item.size + (0 if self.infinite else item.loads[t]) for t in range(windows)]
            for item in self.items
        ]
        self.loaded = [any(item.loads) for item in self.items]
        memory = [target * Fraction(gpu.memory_gb) for gpu in problem.gpus]
        self.roomy = [room * (1 + ROUNDING) for room in memory]
        strict = 1 if not self.infinite else 1 - ROUNDING if finite else 1 + ROUNDING
        self.room = [room * strict for room in memory]
        size = [max(needs) for needs in self.needs]
        self.order = order or sorted(range(len(size)), key=lambda n: -size[n])
        self.at = {item: place for place, item in enumerate(self.order)}
        self.waste = [
            sum(self.roomy) - sum(needs[t] for needs in self.needs) for t in range(windows)
        ]
        self.on = [[] for _ in problem.gpus]
        self.placed, self.opened, self.symbols = {}, set(), []

    def fits(self, item, gpu):
        here = [*self.on[gpu], item]
        one, where = self.items[item], self.problem.gpus[gpu]
        if gpu not in one.where:
            return False
        room = self.room if any(self.loaded[n] for n in here) else self.roomy
        for t in range(len(self.waste)):
            if sum(self.needs[n][t] for n in here) > room[gpu]:
                return False
        for number, resource in enumerate(self.resources):
            limit = dict(where.limits).get(resource, inf)
            used = sum(self.items[n].uses[gpu][number] for n in here)
            if not isinf(limit) and used > Fraction(limit) * (1 + ROUNDING):
                return False
        most = self.problem.most_models
        if most is not None and sum(self.items[n].count for n in here) > most:
            return False
        if any(one.colours & self.items[n].colours for n in self.on[gpu]):
            return False
        return all(
            self.items[n].shard_group != one.shard_group or self.problem.gpus[g].node == where.node
            for n, g in self.placed.items()
            if one.shard_group is not None
        )

    def put(self, item, gpu):
        self.on[gpu].append(item)
        self.placed[item] = gpu

    def take(self, item, gpu):
        self.on[gpu].remove(item)
        del self.placed[item]

    def unplaced(self):
        return [n for n in self.order if n not in self.placed]

    def rest(self, gpu, t):
        return self.roomy[gpu] - sum(self.needs[n][t] for n in self.on[gpu])

    def wasteful(self, gpu, waste):
        return any(self.rest(gpu, t) > waste[t] for t in range(len(waste)))

    def twins(self, one, other):
        first, second = self.problem.gpus[one], self.problem.gpus[other]
        alike = (first.memory_gb, first.kind, first.limits) == (
            second.memory_gb, second.kind, second.limits,
        )  # fmt: skip
        shard_groups = any(item.shard_group for item in self.items)
        return (
            alike
            and all((one in item.where) == (other in item.where) for item in self.items)
            and (not shard_groups or first.node == second.node)
        )

    def open(self, waste):
        left = self.unplaced()
        if not left:
            if not self.cheat():
                raise FoundError
            self.symbols.append(0)
            return
        tried = []
        for gpu in range(len(self.problem.gpus)):
            if gpu in self.opened or not self.fits(left[0], gpu) or self.cheat():
                continue
            if "t" in self.rules and any(self.twins(gpu, other) for other in tried):
                continue
            tried.append(gpu)
            self.symbols.append(gpu + 1)
            self.opened.add(gpu)
            self.put(left[0], gpu)
            self.fill(gpu, set(), waste)
            self.take(left[0], gpu)
            self.opened.remove(gpu)
        self.symbols.append(0)

    def hopeless(self, item, gpu, barred, waste):
        self.put(item, gpu)
        others = [n for n in self.unplaced() if n not in barred and self.fits(n, gpu)]
        found = not others and self.wasteful(gpu, waste)
        self.take(item, gpu)
        return found

    def movable(self, item):
        shard_group = self.items[item].shard_group
        return shard_group is None or any(
            self.items[n].shard_group == shard_group for n in self.placed
        )

    def fill(self, gpu, barred, waste):
        barred = set(barred)
        for item in [n for n in self.unplaced() if n not in barred and self.fits(n, gpu)]:
            if item in barred or self.cheat():
                continue
            if "b" in self.rules and self.hopeless(item, gpu, barred, waste):
                continue
            self.symbols.append(self.at[item] + 2)
            self.put(item, gpu)
            self.fill(gpu, barred, waste)
            self.take(item, gpu)
            barred.add(item)
            if "e" in self.rules:
                same = (self.items[item], self.needs[item])
                barred |= {n for n in self.unplaced() if (self.items[n], self.needs[n]) == same}
        last = {n for n in self.unplaced() if n not in barred and self.fits(n, gpu)}
        spare = any(
            self.fits(n, gpu) and self.movable(n) for n in self.unplaced() if n in barred | last
        )
        refuted = ("c" in self.rules and self.wasteful(gpu, waste)) or ("d" in self.rules and spare)
        if not refuted and not self.cheat():
            self.symbols.append(1)
            self.open([w - self.rest(gpu, t) for t, w in enumerate(waste)])
        self.symbols.append(0)

    def write(self):
        """Return the symbols; raises FoundError if there is a placement."""
        self.open(self.waste)
        wide = max(len(self.items) + 2, len(self.problem.gpus) + 1) > 255
        if not wide:
            return bytes(self.symbols)
        return b"".join(symbol.to_bytes(2, "little") for symbol in self.symbols)


def tree_certificate(problem, bound, finite=False, **options):
    """Return the proof that there is no placement at or below a pressure, None if there is one."""
    writer = Writer(problem, bound, finite, **options)
    try:
        tree = writer.write()
    except FoundError:
        return None
    nodes = sum(symbol > 0 for symbol in writer.symbols)
    return Certificate(
        Proof.TREE, bound, nodes=nodes, order=tuple(writer.order), tree=tree, finite=finite
    )
