"""Give a file that several sources reach to one of them: to the one whose document it is already, else to the innermost."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from ..storage.protocol import Storage
from ..storage.source import Source
from .plan import Listing

Key = tuple[str | None, str]  # collection and path, which no two sources share


def settled(listings: Sequence[Listing], storage: Storage) -> list[Listing]:
    """The listings without the files that are, or will be, documents of other sources; these are counted in `others`.

    What a source has of a file in the store stays as it is. Reads the store only if sources may reach the same files.
    """
    sources = {_key(source): source for source in [*storage.sources.all(), *(listing.source for listing in listings)]}
    if not _may_meet(sources.values()):
        return list(listings)
    documents, place = _documents(storage, sources), _places()
    listings = [_without_others(listing, documents) for listing in listings]
    leaving = {doc_id for listing in listings for doc_id in listing.leaving()}
    owners = {place(sources[key], path): key for doc_id, (path, key) in documents.items() if doc_id not in leaving}
    having = set(owners.values())
    done: dict[Key, Listing] = {}
    for listing in sorted(listings, key=lambda listing: _rank(listing.source, having)):
        source, found, others = listing.source, [], Counter[Key]()
        for file in listing.found:
            known = listing.known.get(source.doc_id(file.relative))
            owner = owners.setdefault(place(source, file.path), _key(source))
            if owner == _key(source) or (known and known.path == file.path):
                found.append(file)
            else:
                others[owner] += 1
        counts = tuple((sources[owner], count) for owner, count in others.items())
        done[_key(source)] = listing._replace(found=found, others=counts)
    return [done[_key(listing.source)] for listing in listings]


def _key(source: Source) -> Key:
    return source.collection, source.path


def _rank(source: Source, having: set[Key]) -> tuple[bool, bool, int]:
    """New files go first to a source that has documents, whose files may be beside them; then by their own path; then inmost."""
    return _key(source) not in having, source.follow_symlinks, -len(source.path)


def _may_meet(sources: Iterable[Source]) -> bool:
    sources = list(sources)
    tops = Counter(source.path for source in sources)
    if len(sources) > 1 and any(source.follow_symlinks for source in sources):
        return True
    return any(count > 1 or any(above in tops for above in _above(top)) for top, count in tops.items())


def _above(path: str) -> Iterable[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _documents(storage: Storage, sources: dict[Key, Source]) -> dict[str, tuple[str, Key]]:
    """The path and the source of each document, by id; without those that no source has."""
    found: dict[str, tuple[str, Key]] = {}
    for file in storage.catalog.source_files():
        for top in filter(None, (file.folder, file.path)):
            source = sources.get((file.collection, top))
            if source and source.has(file.doc_id, file.path):
                found[file.doc_id] = file.path, _key(source)
                break
    return found


def _without_others(listing: Listing, documents: dict[str, tuple[str, Key]]) -> Listing:
    """The listing without the documents that only another source of its collection has: a single file's below a folder."""
    key = _key(listing.source)
    only = {doc_id for doc_id in listing.known if documents.get(doc_id, ("", key))[1] != key and not listing.source.is_file}
    return listing._replace(known={doc_id: known for doc_id, known in listing.known.items() if doc_id not in only})


def _places() -> Callable[[Source, str], str]:
    """A function from a source and a path of it to the path without links. Only a source that follows links has any."""
    real_folder = cache(os.path.realpath)

    def place(source: Source, path: str) -> str:
        if not source.follow_symlinks:
            return path
        found = os.path.join(real_folder(os.path.dirname(path)), os.path.basename(path))
        return os.path.realpath(found) if os.path.islink(found) else found

    return place
