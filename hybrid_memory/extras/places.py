"""Find the notes and transcripts of a workspace: in the folder itself, and where agents keep them
elsewhere in the home.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ..documents.files import BY_OTHERS, SKILL, UNKNOWN_WORKSPACE, Walk
from ..documents.sources import default_collection
from ..documents.workspaces import FILES, FOLDERS, is_workspace_name
from ..errors import SourceError
from ..paths import is_in
from ..storage.source import Source, real_path
from .hosts import hosts, memory_places, session_folders

OF_AGENTS = (*FILES, "memory", ".agents")  # with `in_workspaces` of hosts: an agent works here
MARK_OF_VAULT = ".obsidian"  # a folder that contains this one is a vault
NOTES = ("*.md",)
TRANSCRIPTS = ("*.jsonl",)
VAULT, FOLDER, FILE = "vault", "folder", "file"  # `Place.kind`
OF_HOST = "memory"  # notes that an agent keeps outside the workspace
SESSIONS = "sessions"  # a folder of transcripts


class NotesPlace(NamedTuple):
    """A folder or file that can be ingested. `size` is in bytes. With a `workspace`, only sessions
    that began in it are counted and ingested.
    """

    path: str
    kind: str
    patterns: tuple[str, ...]
    files: int
    size: int
    collection: str | None = None  # None: what `ingest` would choose
    workspace: str | None = None

    @property
    def own_collection(self) -> str | None:
        """The collection without a choice; None for a single file."""
        is_file = self.kind == FILE
        return self.collection or default_collection(self.path, is_file, self.patterns)

    def is_ingested_by(self, sources: Iterable[Source]) -> bool:
        """Whether a source covers this place: the place itself or a folder that contains it."""
        return any(map(self._is_covered_by, sources))

    def _is_covered_by(self, source: Source) -> bool:
        if source.workspace and not (self.workspace and is_in(self.workspace, source.workspace)):
            return False
        if source.path == self.path:
            return True
        return is_in(self.path, source.path) and set(self.patterns) <= set(source.patterns)


def with_free_collections(
    places: Iterable[NotesPlace], sources: Sequence[Source], top: str
) -> list[NotesPlace]:
    """Return the places of a workspace, with another collection if the default one of a new place is
    taken.
    """
    taken = {source.collection or os.path.basename(source.path) for source in sources}
    found = []
    for place in places:
        name = place.own_collection or os.path.basename(place.path)
        if name in taken and not place.is_ingested_by(sources):
            names = numbered(f"{name.removesuffix('.md')}-{os.path.basename(top)}")
            place = place._replace(collection=next(name for name in names if name not in taken))
        found.append(place)
    return found


def numbered(name: str) -> Iterator[str]:
    """Yield a name, and then with numbers: a, a-2, a-3 and so on."""
    yield name
    for number in count(2):
        yield f"{name}-{number}"


class Surroundings(NamedTuple):
    """What was found around a folder: `places` to ingest, and those of them that no source covers.
    Also not covered are places with markdown that are left out, and the usual places of an agent's
    notes that do not exist or are empty. `unknown_sessions` are the names of transcripts that do not
    record where their session began.
    """

    places: list[NotesPlace]
    new: list[NotesPlace]
    left_out: list[NotesPlace]
    awaited: list[NotesPlace]
    unknown_sessions: list[str]

    @property
    def notes(self) -> list[NotesPlace]:
        return [place for place in self.places if place.kind != SESSIONS]

    @property
    def new_notes(self) -> list[NotesPlace]:
        return [place for place in self.new if place.kind != SESSIONS]


def surroundings(folder: str, sources: Sequence[Source]) -> Surroundings:
    """Find the places to ingest in a folder: first notes, then the notes that agents of the user
    keep elsewhere for this workspace, then their transcripts. If an agent keeps the sessions of all
    workspaces together, only those of this workspace count. The sources were ingested before.

    A vault is one place. In an agent's workspace, each file in it and each folder with notes is a
    place; skills and ignored files are left out. In a folder that contains vaults, each part with
    markdown is a place. Any other folder is one place. Raises SourceError if the folder cannot be
    listed.
    """
    top = real_path(folder)
    try:
        names = sorted(os.listdir(top))
    except OSError as error:
        raise SourceError(f"cannot look into {folder}: {error.strerror}") from error
    notes = list(_notes_by_name(top, names))
    left_out: list[NotesPlace] = []
    if MARK_OF_VAULT in names:
        notes = [_place(top, VAULT)]
    elif not notes:
        notes = [_place(top, FOLDER)]
    else:
        others, left_out = _other_places(top, notes)
        notes = sorted(notes + others)
        left_out.sort()
    sessions, unknown = _sessions(top)
    found = [place for place in [*notes, *notes_of_hosts(top), *sessions] if place.files]
    awaited = list(_awaited(top, names, found)) if _is_of_agent(names) else []
    found = with_free_collections(found, sources, top)
    awaited = with_free_collections(awaited, sources, top)
    new, left_out, awaited = (
        [place for place in group if not place.is_ingested_by(sources)]
        for group in (found, left_out, awaited)
    )
    return Surroundings(found, new, left_out, awaited, unknown)


def _is_of_agent(names: Iterable[str]) -> bool:
    """Whether an agent works in a folder with these files and folders."""
    of_hosts = (name for host in hosts().values() for name in host.in_workspaces)
    known = {name.lower() for name in (*OF_AGENTS, *of_hosts)}
    return any(name.lower() in known for name in names)


def _notes_by_name(top: str, names: Iterable[str]) -> Iterator[NotesPlace]:
    """Yield vaults, and files and folders with the usual names of an agent's notes."""
    for name in names:
        path = os.path.join(top, name)
        if os.path.isdir(os.path.join(path, MARK_OF_VAULT)):
            yield _place(path, VAULT)
        elif is_workspace_name(name) and os.path.exists(path):
            is_folder = name.lower() in FOLDERS
            if os.path.isdir(path) == is_folder:
                yield _place(path, FOLDER if is_folder else FILE)


def _other_places(
    top: str, notes: Iterable[NotesPlace]
) -> tuple[list[NotesPlace], list[NotesPlace]]:
    """Return all other entries of `top` that are or contain markdown, and those that a walk leaves
    out as skills or by lists such as `.gitignore`; the skills in a folder are one place.
    """
    named = {place.path for place in notes}
    sizes: dict[str, list[int]] = {}
    walk = Walk(top, NOTES)
    for file in walk:
        path = os.path.join(top, file.relative.partition(os.sep)[0])
        if path not in named:
            sizes.setdefault(path, []).append(file.size)
    left_out: dict[str, list[int]] = {}
    for path, rule in walk.left_out.items():
        if rule in BY_OTHERS and not any(is_in(path, place) for place in named):
            place = os.path.dirname(path) if rule == SKILL else path
            left_out.setdefault(path if place == top else place, []).extend(_sizes(path))
    return _places(sizes), _places({path: of for path, of in left_out.items() if of})


def _places(sizes: Mapping[str, Sequence[int]]) -> list[NotesPlace]:
    return [
        NotesPlace(path, FOLDER, NOTES, len(of), sum(of))
        if os.path.isdir(path)
        else _place(path, FILE)
        for path, of in sizes.items()
    ]


def _sizes(path: str) -> list[int]:
    """The sizes of a file, or of the notes in a folder."""
    if os.path.isfile(path):
        return [os.path.getsize(path)]
    return [file.size for file in Walk(path, NOTES, no_ignore=True)]


def _awaited(top: str, names: Iterable[str], found: Iterable[NotesPlace]) -> Iterator[NotesPlace]:
    """Yield the usual places of notes in a workspace that have no notes yet."""
    present = {name.lower(): name for name in names}
    kinds = dict.fromkeys(FILES, FILE) | dict.fromkeys(FOLDERS, FOLDER)
    for name, kind in kinds.items():
        path = os.path.join(top, present.get(name.lower(), name))
        if not any(is_in(path, place.path) for place in found):
            yield NotesPlace(path, kind, NOTES if kind == FOLDER else (), 0, 0)


def notes_of_hosts(top: str) -> Iterator[NotesPlace]:
    """Yield the notes that agents keep for this workspace outside it."""
    for path, collection in memory_places(top):
        place = _place(path, OF_HOST)._replace(collection=collection)
        if not is_in(place.path, top):
            yield place


def _sessions(top: str) -> tuple[list[NotesPlace], list[str]]:
    """Return the places of transcripts, and the names of transcripts that do not record where their
    session began.
    """
    places: list[NotesPlace] = []
    unknown: list[str] = []
    for folder in session_folders(workspace=top):
        path = os.path.realpath(folder.path)
        workspace = top if folder.has_all_workspaces else None
        walk = Walk(path, TRANSCRIPTS, workspace=workspace)
        sizes = [file.size for file in walk]
        place = NotesPlace(path, SESSIONS, TRANSCRIPTS, len(sizes), sum(sizes), folder.collection)
        places.append(place._replace(workspace=workspace))
        unknown += [name for name, rule in walk.left_out.items() if rule == UNKNOWN_WORKSPACE]
    return places, unknown


def _place(path: str, kind: str) -> NotesPlace:
    """A file, or a folder with its notes."""
    path = os.path.realpath(path)
    if os.path.isfile(path):
        return NotesPlace(path, kind, (), 1, os.path.getsize(path))
    sizes = [file.size for file in Walk(path, NOTES)]
    return NotesPlace(path, kind, NOTES, len(sizes), sum(sizes))
