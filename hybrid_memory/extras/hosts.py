"""The agents that this program works with, and what each keeps on this machine for a workspace.

The table, hosts.json, has an entry for each. To add one, add an entry; if its transcripts have a form
of their own, also a reader in formats/transcripts.py. Entries were written in November 2026 from the
programs of Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, opencode 1.18 and OpenClaw 2026.9, and from
the documentation of Cursor. Any key but the first two may be missing:

- `title`: the name that users know. `folder`: where it keeps its files.
- `in_workspaces`: files and folders that show that it works in the folder around them.
- `notes`, `transcripts`: where it keeps its own notes and its transcripts, each with the collection
  for them. * is any name, also in the collection; {project} is its name for a workspace. With
  `has_all_workspaces`, each transcript records the folder in which its session began. With `is_ours`,
  `recall` writes the transcripts from what our plugin passes, as the host has a database.
- `notes_setting`: the file and the key with which users move the first folder of notes.
- `project_names`: how it names a workspace: a key of PROJECT_NAMES.
- `events`: its events, and what the hook of each asks of `recall`: passages for a prompt ("prompt"), a
  line about new notes ("start"), or only to ingest the transcript ("end").
- `forgets_passages`: the passages are in no later request of the session, so they may be shown again.
- `replies`: what a hook prints, if it is JSON. Without it, a hook prints {text}.
- `inserted`: what it, or a hook, puts into a user's message. `tags` are around such a text; there, * is
  any small letters and "_". `brackets` are names that stand between <<< and >>> before and after it.
  `lines` are whole lines, with * for any rest. `messages` are the beginnings of whole messages,
  `parts` of parts of a message. In a part that begins like one of `before_request`, the user's words
  follow one of `requests`. `around_words` are tags around the user's own words.
- `plugin`: the file in which its own manager of plugins records ours, and the keys to a value that is
  true if ours is installed. * is any rest of a key.
- `trust`: what users must do before it runs the hooks.
- `files`: what `connect` writes, for the user, and for a workspace (`project`, below it). `values` are
  added to a JSON or TOML file, and `defaults` if it lacks them; `copy` is a file of this program.
  {program} and {arguments} start this program, and {hook} is the command of a hook. Timeouts of Gemini
  CLI are in milliseconds.

A path is a list: the first one counts whose variable, if it has one, is set. ~ is the home, and other
paths are below `folder`.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

TABLE = os.path.join(os.path.dirname(__file__), "hosts.json")
PROJECT = "{project}"  # in a path: a host's name for a workspace
ROOT_FILE = ".project_root"  # has the path of a workspace, in a host's folder for it

# What a hook asks of `recall`
PROMPT = "prompt"  # passages for a prompt
START = "start"  # a line about new notes
END = "end"  # nothing; the transcript is ingested


class Kept(NamedTuple):
    """Notes or transcripts that a host keeps. `paths` are alternatives. This program writes the
    files if `is_ours`.
    """

    paths: Sequence[str]
    collection: str
    has_all_workspaces: bool = False
    is_ours: bool = False


class File(NamedTuple):
    """A file of a host's settings, and what `connect` writes into it. "" as `project`: workspaces
    have no such file.
    """

    user: Sequence[str]
    project: str = ""
    values: Mapping[str, Any] = {}
    defaults: Mapping[str, Any] = {}
    copy: str = ""


class Host(NamedTuple):
    """An agent. The fields are the keys of the table."""

    name: str
    title: str
    folder: Sequence[str]
    in_workspaces: Sequence[str] = ()
    notes: Sequence[Kept] = ()
    notes_setting: Mapping[str, str] = {}
    transcripts: Sequence[Kept] = ()
    project_names: str = ""
    events: Mapping[str, str] = {}
    forgets_passages: bool = False
    replies: Mapping[str, Mapping[str, Any]] = {}
    inserted: Mapping[str, Sequence[str]] = {}
    plugin: Mapping[str, Any] = {}
    trust: str = ""
    files: Sequence[File] = ()  # empty: `connect` cannot write its settings

    def path(self, paths: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
        """The absolute path of a file of the host, for a user's environment; without `paths`, of
        its folder.
        """
        folder = _first(self.folder, environ)
        return os.path.join(folder, _first(paths, environ)) if paths else folder

    @property
    def has_workspace_settings(self) -> bool:
        return any(file.project for file in self.files)


@cache
def hosts() -> dict[str, Host]:
    """All hosts by name."""
    with open(TABLE, encoding="utf-8") as file:
        tables = json.load(file)
    rows = {"notes": Kept, "transcripts": Kept, "files": File}
    for table in tables.values():
        for key in rows.keys() & table.keys():
            table[key] = [rows[key](**row) for row in table[key]]
    return {name: Host(name, **table) for name, table in tables.items()}


def filled(template: Any, values: Mapping[str, str | Sequence[str]]) -> Any:
    """Replace the texts of a template that are keys of `values`. A list of texts replaces its key in
    a list.

    ["{words}", 3], {"{words}": ["a", "b"]} -> ["a", "b", 3]
    """
    if isinstance(template, Mapping):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        parts = [(part, filled(part, values)) for part in template]
        return [
            word
            for part, new in parts
            for word in (new if isinstance(new, list) and isinstance(part, str) else [new])
        ]
    return values.get(template, template) if isinstance(template, str) else template


class SessionFolder(NamedTuple):
    """A folder of transcripts, and the collection to ingest them into."""

    path: str
    collection: str
    has_all_workspaces: bool


def session_folders(
    environ: Mapping[str, str] = os.environ, workspace: str | None = None
) -> Iterator[SessionFolder]:
    """Yield the existing folders in which a user's agents keep transcripts: those of all
    workspaces together, those of a host's agents, and those of this workspace. Without a
    `workspace`, those of every workspace.
    """
    for host in hosts().values():
        found: dict[str, SessionFolder] = {}
        for kept in host.transcripts:
            pattern = host.path(kept.paths, environ)
            for path, name in _existing(host, pattern, workspace):
                if os.path.isdir(path):
                    collection = kept.collection.replace("*", name)
                    found.setdefault(path, SessionFolder(path, collection, kept.has_all_workspaces))
        yield from found.values()


def memory_places(workspace: str) -> Iterator[tuple[str, str]]:
    """Yield the existing folders and files in which hosts keep notes for this workspace, or for all
    workspaces of the user, each with the collection for them.
    """
    for host in hosts().values():
        patterns = [host.path(kept.paths) for kept in host.notes]
        moved = _moved_notes(host)
        if moved:
            patterns[0] = moved
        for kept, pattern in zip(host.notes, patterns, strict=True):
            for path, _ in _existing(host, pattern, workspace):
                yield path, kept.collection


def _first(paths: Sequence[str], environ: Mapping[str, str]) -> str:
    """The first path whose variable, if it begins with one, is set."""
    for path in paths:
        first, _, rest = path.partition("/")
        if first.startswith("$"):
            first = environ.get(first[1:], "")
        if first:
            break
    return os.path.expanduser("/".join(filter(None, [first, rest])))


def _existing(host: Host, pattern: str, workspace: str | None) -> Iterator[tuple[str, str]]:
    """Yield the existing paths that match a pattern with at most one * or {project}, and the name
    in its place.
    """
    above, wildcard, below = pattern.partition(PROJECT if PROJECT in pattern else "*")
    names = [""]
    if wildcard == PROJECT and workspace is not None:
        names = PROJECT_NAMES[host.project_names](above, workspace)
    elif wildcard:
        names = _names(above)
    for name in names:
        path = above + name + below
        if os.path.exists(path):
            yield path, name


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _moved_notes(host: Host) -> str | None:
    """The folder that a host's setting names for its notes; None without one."""
    if not host.notes_setting:
        return None
    with suppress(OSError, ValueError):
        with open(host.path([host.notes_setting["file"]]), encoding="utf-8") as stream:
            path = json.load(stream).get(host.notes_setting["key"])
        if isinstance(path, str) and os.path.isabs(path := os.path.expanduser(path)):
            return path
    return None


def slug(path: str) -> str:
    """A path as the name of a folder: every character but ASCII letters and digits becomes "-"."""
    return re.sub("[^A-Za-z0-9]", "-", path)


def _of_path(folder: str, workspace: str) -> list[str]:
    return [slug(workspace).strip("-")]


def _of_repository(folder: str, workspace: str) -> list[str]:
    """The path of the git repository around a workspace, or of the workspace without one."""
    place = workspace
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return [slug(workspace)]
        place = above
    return [slug(place)]


def _with_root_file(folder: str, workspace: str) -> list[str]:
    """The names below `folder` whose file ROOT_FILE has the path of the workspace."""
    found = []
    for name in _names(folder):
        with suppress(OSError, ValueError):
            with open(os.path.join(folder, name, ROOT_FILE), encoding="utf-8") as file:
                root = file.read().strip()
            if root and os.path.realpath(root) == workspace:
                found.append(name)
    return found


# How hosts name the folder of a workspace: from the folder around it and the workspace to names
PROJECT_NAMES: dict[str, Callable[[str, str], list[str]]] = {
    "path": _of_path,
    "repository": _of_repository,
    "root file": _with_root_file,
}
