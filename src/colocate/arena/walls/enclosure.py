"""The files that a program may see, and the walls that hide everything else."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from colocate.arena.walls.dependencies import with_dependencies
from colocate.errors import InputError

SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32")
SYSTEM_FILES = ("/etc/ld.so.cache",)
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
NOBODY = "65534"
OURS = Path(__file__).parents[2]
"""The folder of colocate, which no program may see."""
INSIDE = "/colocate"
"""The folder under bubblewrap with our `code`, the `packages`, and `work`, to work in."""


class Enclosure(StrEnum):
    """The wall between a program and the files and processes of the machine."""

    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"

    @property
    def keeps_secrets(self) -> bool:
        """Whether nothing that a case has seen can reach a later case, or another program."""
        return self is not Enclosure.LANDLOCK


def checked_enclosure(value: str) -> Enclosure:
    """Return the enclosure with a name; a plain text would be taken for none."""
    try:
        return Enclosure(value)
    except ValueError:
        raise InputError.of("enclosure", value, f"one of: {', '.join(Enclosure)}") from None


def python() -> list[str]:
    """Return the command that starts Python without its installed packages."""
    return [os.path.realpath(sys.executable), "-s", "-S", "-P"]


def find_packages(names: Sequence[str]) -> dict[str, Path]:
    """Return the paths of packages that a program may import and of what they need, by name."""
    asked = [entry for package in names for entry in _package(package)]
    needed = [name for name in with_dependencies(names) if name not in names and find_spec(name)]
    return dict(asked + [entry for package in needed for entry in _package(package)])


def readable(packages: Mapping[str, Path]) -> list[str]:
    """Return the files and folders of the machine that a program may see, and nothing else."""
    folders = [*_system_libraries(), *_standard_library()]
    entries = [
        entry.path
        for folder, foreign in folders
        for entry in os.scandir(folder)
        if entry.path not in foreign
    ]
    files = [*_interpreter(), *SYSTEM_FILES, *DEVICES]
    return [*entries, *files, *(str(place) for place in packages.values())]


def view(packages: Mapping[str, Path]) -> list[tuple[str, str, str]]:
    """Return the steps to a root with the same files: what to bind, to leave empty, to link."""
    steps = []
    for folder, foreign in (*_system_libraries(), *_standard_library()):
        steps.append(("bind", folder, folder))
        steps += [("empty", "", hidden) for hidden in filter(_is_folder, foreign)]
    for path in filter(os.path.islink, SYSTEM_LIBRARIES):
        steps.append(("link", os.readlink(path), path))
    steps += [("bind", path, path) for path in (*_interpreter(), *SYSTEM_FILES, *DEVICES)]
    steps += [("bind", str(at), f"{INSIDE}/packages/{name}") for name, at in packages.items()]
    return [(step, os.path.realpath(source) if step == "bind" else source, place)
            for step, source, place in steps]  # fmt: skip


def bubblewrap(packages: Mapping[str, Path], folder_mb: int) -> list[str]:
    """Return the command that runs another one in its own namespaces, with the same files."""
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bwrap is not installed")
    command = [program, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try"]
    command += ["--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL", "--die-with-parent"]
    closed = ["/"]
    for step, source, place in view(packages):
        if step == "bind":
            how = "--dev-bind-try" if place in DEVICES else "--ro-bind-try"
            command += [how, source, place]
        elif step == "link":
            command += ["--symlink", source, place]
        else:
            command += ["--tmpfs", place]
            closed.append(place)
    command += ["--ro-bind", str(OURS / "arena" / "inside"), f"{INSIDE}/code/inside"]
    command += ["--size", str(folder_mb * 1024 * 1024), "--tmpfs", f"{INSIDE}/work"]
    for path in reversed(closed):
        command += ["--remount-ro", path]
    return [*command, "--"]


def _package(name: str) -> list[tuple[str, Path]]:
    """Return the paths that importing a package needs: its folder, and that of its libraries."""
    if name in sys.stdlib_module_names:
        return []
    spec = None
    with suppress(ValueError):
        spec = find_spec(name) if name.isidentifier() else None
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    if not places or places[0] is None:
        raise InputError.of("allow", name, "an installed package")
    place = Path(places[0]).resolve()
    if OURS.is_relative_to(place) or place.is_relative_to(OURS):
        raise InputError.of("allow", name, "a package without colocate in it")
    libraries = place.with_name(f"{name}.libs")
    seen = [(place.name, place), (libraries.name, libraries)]
    return seen if libraries.is_dir() else seen[:1]


def _interpreter() -> list[str]:
    """Return the files that Python itself consists of, beyond its library."""
    folders = (sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_exec_prefix, "lib"))
    names = map(sysconfig.get_config_var, ("LDLIBRARY", "INSTSONAME"))
    shared = {os.path.join(*parts) for parts in product(folders, names) if all(parts)}
    return [os.path.realpath(sys.executable), *sorted(filter(os.path.isfile, shared))]


def _system_libraries() -> Iterator[tuple[str, list[str]]]:
    """Yield each folder, and what in it belongs to some Python."""
    for folder in filter(_is_folder, SYSTEM_LIBRARIES):
        names = [name for name in os.listdir(folder) if name.startswith("python")]
        yield folder, [os.path.join(folder, name) for name in names]


def _standard_library() -> Iterator[tuple[str, list[str]]]:
    """Yield each folder, and where in it further packages are installed."""
    own = {"platbase": sysconfig.get_config_var("installed_platbase")}  # not the environment's
    for folder in {sysconfig.get_path(name, vars=own) for name in ("stdlib", "platstdlib")}:
        yield folder, [os.path.join(folder, name) for name in ("site-packages", "dist-packages")]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
