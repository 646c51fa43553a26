"""Finds packages by a list of names and paths, without a folder that has them all."""

import os
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType


class PackageFinder:
    """Finds the packages of a list, and no others beside them.

    It does not inherit from `MetaPathFinder`: that loads thirty modules, which every case copies.

    Parameters
    ----------
    places
        The paths by name: folders of packages, and files of modules.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a package of the list is; the usual ways find what is in it.

        Parameters
        ----------
        fullname, path, target
            As Python passes them; a package of the list has no path.
        """
        place = self._places.get(fullname) if path is None else None
        if place is None:
            return None
        if not os.path.isdir(place):
            return spec_from_file_location(fullname, place)
        start = os.path.join(place, "__init__.py")
        if os.path.isfile(start):
            return spec_from_file_location(fullname, start, submodule_search_locations=[place])
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec
