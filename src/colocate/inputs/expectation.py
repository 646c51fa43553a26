"""What a field of a file must hold, in words, read off its type and its limits."""

from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo


class Noun(NamedTuple):
    """A name for the values of a type, where the type itself says too little."""

    one: str
    """Without its article, as in `a list with at least one ...`."""
    many: str


PLAIN: dict[type, Noun] = {
    bool: Noun("", "true or false"),
    float: Noun("finite number", "finite numbers"),
    int: Noun("whole number", "whole numbers"),
    str: Noun("text", "texts"),
}


def expected_of(section: type[BaseModel], name: str) -> str:
    """Return what a field of a section must hold, in words."""
    field = next(field for key, field in section.model_fields.items() if name in (key, field.alias))
    words = _one(field.annotation, field.metadata)
    may_be_null = NoneType in get_args(field.annotation) and field.default is not None
    return f"{words}, or null" if may_be_null else words


def _one(kind: Any, limits: Iterable[object]) -> str:
    """Return one value of a type, with its article."""
    kind, limits = _bare(kind, limits)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return ", or ".join(_one(part, ()) for part in get_args(kind) if part is not NoneType)
    if origin is Literal:
        return " or ".join(str(value) for value in get_args(kind))
    if origin is list:
        (entry,) = get_args(kind)
        if any(isinstance(limit, MinLen) for limit in limits):
            return f"a list with at least one {_noun(entry, ()).one}"
        return f"a list of {_many(entry)}"
    if origin is dict:
        return f"a mapping {_from_to(kind)}"
    noun = _noun(kind, limits)
    return f"a {noun.one}" if noun.one else noun.many


def _many(kind: Any) -> str:
    """Return any number of values of a type."""
    kind, limits = _bare(kind, ())
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return ", or to ".join(_many(part) for part in get_args(kind))
    if origin is list:
        return f"lists of {_many(get_args(kind)[0])}"
    if origin is dict:
        return f"mappings {_from_to(kind)}"
    return _one(kind, limits) if origin is Literal else _noun(kind, limits).many


def _from_to(kind: Any) -> str:
    key, value = get_args(kind)
    return f"from {_many(key)} to {_many(value)}"


def _noun(kind: Any, limits: Iterable[object]) -> Noun:
    kind, limits = _bare(kind, limits)
    nouns = [limit for limit in limits if isinstance(limit, Noun)]
    if nouns:
        return nouns[-1]
    noun, range_ = PLAIN[kind], _range(limits)
    return Noun(f"{noun.one}{range_}", f"{noun.many}{range_}")


def _range(limits: Iterable[object]) -> str:
    least = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    most = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    above = next((limit.gt for limit in limits if isinstance(limit, Gt)), None)
    if most is not None and above is not None:
        return f" > {above} and at most {most}"
    if most is not None:
        return f" from {least} to {most}" if least is not None else f" of at most {most}"
    return f" > {above}" if above is not None else f" >= {least}" if least is not None else ""


def _bare(kind: Any, limits: Iterable[object]) -> tuple[Any, list[object]]:
    """Return a type without its limits, and all of these."""
    if get_origin(kind) is not Annotated:
        return kind, list(limits)
    inner, *more = get_args(kind)
    return inner, [*limits, *_unpacked(more)]


def _unpacked(limits: Iterable[object]) -> Iterator[object]:
    for limit in limits:
        if isinstance(limit, FieldInfo):
            yield from limit.metadata
        else:
            yield limit
