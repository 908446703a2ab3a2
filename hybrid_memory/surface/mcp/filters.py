"""The filters of a search as arguments of a tool."""

from collections.abc import Callable
from datetime import date
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ...storage.filters import Filters
from ...text.dates import first_day


def _checked_date(text: str) -> str:
    first_day(text, date.today())
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Date = Annotated[str, AfterValidator(_checked_date)]


def _filters(
    collection: Annotated[str | None, Field(description="Only ids beginning with this: memory")] = None,
    inside: Annotated[str | None, Field(description="Only ids like this glob: memory/2026-*")] = None,
    tags: Annotated[list[str], BeforeValidator(_listed), Field(description="With all of these tags")] = [],  # noqa: B006
    where: Annotated[dict[str, str] | None, Field(description='Only with this metadata: {"project": "boss-api"}')] = None,
    since: Annotated[_Date | None, Field(description="From this date: 2026-01-05, 2026-01, or an age: 7d, 3w, 6m, 1y")] = None,
    until: Annotated[_Date | None, Field(description="Up to this date")] = None,
    heading: Annotated[str | None, Field(description="Only below this heading: Meeting > Costs")] = None,
    linked_to: Annotated[str | None, Field(description="Only what links to this document")] = None,
) -> Filters:
    return Filters(collection, inside, tags, where or {}, since, until, linked_to, heading)


_PARAMETERS = signature(_filters).parameters


def filtered(function: Callable[..., str]) -> Callable[..., str]:
    """The function with an argument for each filter in place of its last one, `filters`."""

    @wraps(function)
    def run(**arguments: Any) -> str:
        filters = _filters(**{name: arguments.pop(name) for name in _PARAMETERS if name in arguments})
        return function(**arguments, filters=filters)

    own = [*signature(function).parameters.values()][:-1]
    run.__signature__ = Signature([*own, *_PARAMETERS.values()])  # type: ignore[attr-defined]
    return run
