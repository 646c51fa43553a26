"""One word for one thing: classes do not share names, and these are made of known words."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "colocate"
OUTSIDE = {
    "arena/inside/answer.py": {"Model"},
    "arena/inside/chance.py": {"RandomState", "Salted", "SeedSequence"},
}
"""What programs from outside are given is called as they know it."""

GRAMMAR = """
    alone another asked asking by each false fixed found in is kept large next no nothing open over
    sought two up way why
"""
PROGRAMMING = """
    bar cache cause chart chat clock code colour column combination command comparison compiler
    decision definition direction draw effect entry error estimate evaluation explanation facts
    failed failure field figure file finder finding fit folder format function hard history home
    http idea idle infeasible input insight limit line link loaded loader local look lost mark
    markup memory mention message missing move name noun number option order outcome output pair
    panel pen plot pool priced process progress query reading refusal refused report result role
    rounding run scale search section set settings shape stage state storage sum summary table time
    trail unknown unusable unusual usage value variable version whole worst
"""
OPTIMISATION = """
    accept annealing constructor cut exhaustive greedy improver iterated linear neighbourhood
    rebalance recreate solve solver swap
"""
SERVING = """
    accelerator alternative attention benchmark bytes convolution cost cross delta expert family
    feed forward indexer kimi latent layer lightning mamba module net quantised sequence short slice
    speed tensor token volume weight
"""
SIMULATION = "curve day difference drawn interval length mean miss seed strip"
FORMS = """
    busy emit emitted group learned learning paid patched placeable placed planned recorded
    recording rung searched simulated spent tight track wakeable written
"""
"""Forms and parts of words in the glossary."""
NAMES = "ai colocate cp kubernetes poisson prometheus ray sat scip yaml"
PLAIN = " ".join((GRAMMAR, PROGRAMMING, OPTIMISATION, SERVING, SIMULATION, FORMS, NAMES)).split()
"""Words that mean in the code what they mean everywhere; all others are in the glossary."""


def classes():
    """Where each class is, by its name."""
    found = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in OUTSIDE.get(place, ()):
                found[node.name].append(place)
    return found


def glossary():
    """The words that the glossary explains."""
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").split("## Glossary")[1]
    return [row for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) if row != "word"]


def words_of(name):
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", name)]


def singular(word):
    return word.rstrip("s")


def test_no_class_name_stands_twice():
    twice = {name: places for name, places in classes().items() if len(places) > 1}
    assert not twice, "a class has the name of another one; choose another word"


def test_class_names_are_made_of_words_that_are_explained():
    known = {singular(word) for word in (*PLAIN, *glossary())}
    strange = {
        name: [word for word in words_of(name) if singular(word) not in known]
        for name in classes()
        if not name.startswith("_")
    }
    strange = {name: words for name, words in strange.items() if words}
    assert not strange, "explain these words in the glossary of docs/concepts.md, or choose others"


def test_no_word_is_explained_twice_or_without_need():
    explained = glossary()
    assert len(explained) == len(set(explained)), "a word stands twice in the glossary"
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    used = {singular(word) for word in re.findall(r"[a-z]+", sources.lower())}
    for name in classes():
        used.update(map(singular, words_of(name)))
    stale = [row for row in explained if not all(singular(w) in used for w in row.split())]
    assert not stale, "the code does not use these words any more: remove them from the glossary"


def test_every_word_stands_in_one_list_and_is_in_use():
    explained = {singular(word) for word in glossary()}
    assert not explained & {singular(word) for word in PLAIN}
    used = {singular(word) for name in classes() for word in words_of(name.lstrip("_"))}
    spare = [word for word in FORMS.split() if singular(word) not in used]
    assert not spare, "no class uses these words any more: remove them from this list"
