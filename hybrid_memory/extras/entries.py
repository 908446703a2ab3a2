"""Our entries in the settings of another program, as JSON or TOML: add them, and remove them again.

`tree` has the entries, nested as in the file. Hooks are added to those of the file, and any other
value is set. Ours are the item NAME of a table, with all that is in it, the commands of hooks that
start `recall`, and values that equal those of the tree. Entries of others stay, in the same group of
hooks, too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import toml_text
from .json_text import values_of, with_value, without_value

NAME = "hybrid-memory"  # of the MCP server, the plugin and the skill
SILENT = " 2>/dev/null || true"  # a non-zero exit status would block a prompt
HOOK = re.compile(rf"hybrid.memory\b.* recall\b.*{re.escape(SILENT)}$", re.DOTALL)
HOOKS = "hooks"  # the key of the events, and in an event the key of a group's hooks
# Comments around the table, by earlier versions
MARKS = ("# hybrid-memory connect: begin", "# hybrid-memory connect: end")

Tree = Mapping[str, Any]
Path = tuple[str | int, ...]


def with_json(text: str, tree: Tree, defaults: Tree) -> str:
    """Add the entries to a text with one JSON object, and those of `defaults` that it lacks. Our
    hooks are replaced if they differ. Raises ValueError for a text of another shape.
    """
    values = values_of(text)
    if _contains(values, tree) and len(_hooks(values)) == len(_hooks(tree)):
        return text
    for path in reversed(_hooks(values)):
        text = _without(text, path, {})
    for key in defaults.keys() - values.keys():
        text = with_value(text, (key,), defaults[key])
    for path, value in _leaves(tree):
        present = _at(values_of(text), path)
        if path[0] == HOOKS:
            groups = present if isinstance(present, list) else []
            for number, group in enumerate(value, len(groups)):
                text = with_value(text, (*path, number), group)
        elif present != value:
            text = with_value(text, path, value)
    return text


def without_json(text: str, tree: Tree, before: str) -> str:
    """Remove the entries from a text with one JSON object. Values that they replaced in `before`,
    the text without them, return, and so do empty lists and objects.
    """
    values = values_of(text)
    ours = _hooks(values)
    ours += [path for path in _named(tree) if _at(values, path) is not None]
    if not ours:
        return text
    plain = [leaf for leaf in _leaves(tree) if leaf[0][0] != HOOKS and NAME not in leaf[0]]
    ours += [path for path, value in plain if _at(values, path) == value]
    earlier = values_of(before)
    for path in reversed(ours):
        text = _without(text, path, earlier)
    return text


def with_toml(text: str, tree: Tree, defaults: Tree) -> str:
    """Add the tables NAME of the tree to a TOML text, as `with_json` does."""
    for path in _named(tree):
        text = toml_text.with_table(text, path, _at(tree, path))
    return text


def without_toml(text: str, tree: Tree, before: str) -> str:
    """Remove the tables NAME of the tree from a TOML text."""
    for path in _named(tree):
        text = toml_text.without_table(text, path, MARKS)
    return text


def _leaves(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of each entry. The hooks of an event are one value."""
    for key, value in tree.items():
        path = (*above, key)
        if isinstance(value, Mapping):
            yield from _leaves(value, path)
        else:
            yield path, value


def _named(tree: Tree) -> list[tuple[str, ...]]:
    """The paths of the items NAME of a tree."""
    inside = [path for path, _ in _leaves(tree) if NAME in path]
    return list(dict.fromkeys(path[: path.index(NAME) + 1] for path in inside))


def _hooks(values: Tree) -> list[Path]:
    """The paths of our hooks in the file, in its order. A group of hooks that are all ours is one."""
    found: list[Path] = []
    events = values.get(HOOKS)
    for event, entries in events.items() if isinstance(events, Mapping) else ():
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            place = (HOOKS, event, number)
            group = entry.get(HOOKS) if isinstance(entry, dict) else None
            hooks = group if isinstance(group, list) else [entry]
            ours = [index for index, hook in enumerate(hooks) if _is_our_hook(hook)]
            if ours and len(ours) == len(hooks):
                found.append(place)
            else:
                found += [(*place, HOOKS, index) for index in ours]
    return found


def _is_our_hook(hook: Any) -> bool:
    return isinstance(hook, dict) and bool(HOOK.search(str(hook.get("command"))))


def _contains(values: Any, wanted: Any, *, is_named: bool = False) -> bool:
    """Whether values of a file have everything of a tree, except that they may have more."""
    if isinstance(wanted, Mapping):
        return isinstance(values, Mapping) and all(
            key in values and _contains(values[key], value, is_named=is_named or key == NAME)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list) and not is_named:
        return isinstance(values, list) and all(
            any(_contains(element, one) for element in values) for one in wanted
        )
    return bool(values == wanted)


def _at(values: Any, path: Path) -> Any:
    """The value at a path; None if it is missing."""
    for key in path:
        if isinstance(key, int):
            values = values[key] if isinstance(values, list) and key < len(values) else None
        else:
            values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _without(text: str, path: Path, earlier: Tree) -> str:
    """Remove an item, and each list or object around it that is empty then. What `earlier` has at
    the place of an item or around it stays, or returns.
    """
    replaced = None if isinstance(path[-1], int) else _at(earlier, path)
    if replaced is not None:
        return with_value(text, path, replaced)
    text = without_value(text, path)
    around = path[:-1]
    while around and _at(values_of(text), around) in ({}, []) and _at(earlier, around) is None:
        text = without_value(text, around)
        around = around[:-1]
    return text
