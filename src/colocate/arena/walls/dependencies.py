"""What packages need to be imported, by the metadata that they were installed with.

The library that reads metadata takes long to load, so it is imported where it is needed.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a requirement begins with, by PEP 508."""
ALONE = frozenset(("numpy",))
"""What requires nothing, and needs no look at metadata: that takes time at every start."""


def with_dependencies(packages: Iterable[str]) -> list[str]:
    """Return packages, followed by all installed ones that they require, and these in turn."""
    found = list(packages)
    for package in found:
        if package not in ALONE and package not in sys.stdlib_module_names:
            found += [name for name in _required(package) if name not in found]
    return found


@cache
def _required(package: str) -> tuple[str, ...]:
    """Return the packages that one requires, extras apart."""
    names = dict.fromkeys(
        module
        for own in _distributions(package)
        for required in _requirements(own)
        for module in _modules(required)
    )
    return tuple(name for name in names if name != package)


def _distributions(package: str) -> Iterator["Distribution"]:
    """Yield what a package was installed with: mostly one distribution of the same name."""
    from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

    with suppress(PackageNotFoundError, ValueError):
        own = distribution(package)
        if package in _modules(own):
            yield own
            return
    for name in packages_distributions().get(package, ()):
        yield distribution(name)


def _requirements(own: "Distribution") -> Iterator["Distribution"]:
    """Yield the installed distributions that one requires; others are for other machines."""
    from importlib.metadata import PackageNotFoundError, distribution

    for text in own.requires or ():
        name, marker = NAME.match(text), text.partition(";")[2]
        if name and "extra" not in marker:
            with suppress(PackageNotFoundError):
                yield distribution(name.group())


def _modules(own: "Distribution") -> list[str]:
    """Return the names that a distribution lets one import."""
    tops = dict.fromkeys(file.parts[0] for file in own.files or () if file.suffix in (".py", ".so"))
    names = [top.partition(".")[0] for top in tops if not top.endswith((".libs", ".data"))]
    return [name for name in names if name.isidentifier()]
