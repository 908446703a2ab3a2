"""Which hits the user wants to see, and how many.

MERGED What a document's date does to its score: the days that the query means count, and older ones
less, if the user wants that.

MERGED How sure a result is. Unlike a score, which is relative to the best result, confidence can be
compared between searches.

It is the mean of two signs, each 0 to 1. Coverage is the share of the query's words that a chunk
has, each word counted by its rarity (inverse document frequency), so that a name which is nowhere
in the store counts most. Nearness says how far the chunk's cosine stands above the query's mean
cosine with the store, as a share of how far it could; the mean takes away what a model gives to any
two texts. Standard deviations above the mean told less on judged collections: they grow where a
store has many subjects.

MERGED What speaks for a chunk beyond its own words: the chunks beside it, and the best chunks of
its document.

A chunk of a few lines says little; one among others that answer is likelier the right place. The
shares and their number were found on judged collections (docs/measurements.md); larger shares find
more right documents and fewer right passages.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import exp, log

from .hit import Context, Hit

FIRST, SHARE = 10, 3  # results that people look at, and how many of them one document may have


def scoring_enough(hits: Iterable[Hit], context: Context) -> list[Hit]:
    """Without those that score less than `min_score`, whatever their age."""
    least = context.request.min_score
    return [
        hit
        for hit in hits
        if (hit.score if hit.before_decay is None else hit.before_decay) >= least
    ]


def same_text_once(hits: Iterable[Hit], context: Context) -> list[Hit]:
    """Of hits with the same text only the best, which knows the `others`."""
    first: dict[str, Hit] = {}
    for hit in hits:
        if hit.text in first:
            first[hit.text].others.append(hit.id)
        else:
            first[hit.text] = hit
    return list(first.values())


def spread(hits: Iterable[Hit], context: Context) -> list[Hit]:
    """At most SHARE hits of one document among the FIRST; its others come after these, unless there
    is nothing else.

    With `per_doc` the user has said how many, and under a budget neighbours become one result: then
    scores alone decide, which brings more evidence into as many characters.
    """
    ranked = list(hits)
    if context.request.per_doc is not None or context.request.budget:
        return ranked
    first: list[Hit] = []
    surplus: list[Hit] = []
    of_document: Counter[str] = Counter()
    for number, hit in enumerate(ranked):
        if len(first) == FIRST:
            return first + surplus + ranked[number:]
        of_document[hit.doc_id] += 1
        (first if of_document[hit.doc_id] <= SHARE else surplus).append(hit)
    return first + surplus


def confident_enough(hits: Iterable[Hit], context: Context) -> Iterator[Hit]:
    """Without those that are less sure than `min_confidence`; these are noted as `refused`."""
    for hit in hits:
        if hit.confidence < context.request.min_confidence:
            context.refused.append(hit)
        else:
            yield hit


def limited(hits: Iterable[Hit], context: Context) -> Iterator[Hit]:
    """The first `limit`, at most `per_doc` of a document, without those that stand in the `context`
    of a better one.
    """
    limit, per_doc, around = context.request.limit, context.request.per_doc, context.request.context
    shown: dict[str, list[int]] = defaultdict(list)
    count = 0
    for hit in hits:
        of_document = shown[hit.doc_id]
        if per_doc is not None and len(of_document) >= per_doc:
            continue
        if any(abs(hit.id - id) <= around for id in of_document):
            continue
        of_document.append(hit.id)
        yield hit
        count += 1
        if count == limit:
            return


OF_DATE = 0.2  # of the score, for a document of the days that the query means


def dated(hits: Iterable[Hit], context: Context) -> Iterable[Hit]:
    """Where the query means certain days, documents of these get OF_DATE, and all share the rest of
    the score.
    """
    periods = [] if context.request.fts_syntax else context.query.periods
    if not periods:
        return hits
    hits = list(hits)
    dates = context.storage.chunks.dates({hit.doc_id for hit in hits})
    for hit in hits:
        day = dates.get(hit.doc_id)
        hit.of_date = OF_DATE if day and any(period.has(day) for period in periods) else 0.0
        hit.scale_by(1 - OF_DATE)
        hit.add(hit.of_date)
    return sorted(hits, key=lambda hit: -hit.score)


def aged(hits: Iterable[Hit], context: Context) -> Iterable[Hit]:
    """Scores halved by each half-life of the document's age; an undated document does not age."""
    if not context.half_life_days:
        return hits
    from datetime import date

    from ..text.dates import age

    hits = list(hits)
    today = context.request.today or date.today()
    dates = context.storage.chunks.dates({hit.doc_id for hit in hits})
    decays = {
        doc_id: exp(-log(2) * age(day, today) / context.half_life_days)
        for doc_id, day in dates.items()
    }
    for hit in hits:
        hit.before_decay, hit.decay = hit.score, decays.get(hit.doc_id, 1.0)
        hit.score *= hit.decay
    return sorted(hits, key=lambda hit: -hit.score)


def with_confidence(hits: Iterable[Hit], context: Context) -> Iterator[Hit]:
    """Confidence, for as many hits at a time as will be wanted, because the words of each have to
    be read.

    Begins with `limit` hits; where later stages want more, the next batch is twice as large.
    """
    ranked, start, size = list(hits), 0, context.request.limit
    while batch := ranked[start : start + size]:
        start, size = start + size, 2 * size
        if context.request.fts_syntax:
            found = {hit.id: (1.0, [context.query.text]) for hit in batch}
        else:
            coverage = context.keyword_index.coverage(context.query, [hit.id for hit in batch])
            found = {id: (each.share, each.terms) for id, each in coverage.items()}
        for hit in batch:
            hit.coverage, hit.terms = found[hit.id]
            hit.nearness = context.legs.near.get(hit.id)
            hit.confidence = confidence(hit.coverage, hit.nearness)
            yield hit


def confidence(share: float, near: float | None) -> float:
    """The mean of coverage and nearness, to three decimals; coverage alone for a chunk that has no
    cosine.
    """
    return round(min(max(share if near is None else (share + near) / 2, 0.0), 1.0), 3)


NEIGHBOUR = 0.05  # of the score of the chunk before, and of the one after
DOCUMENT = 0.07  # of the sum of the document's best scores
BEST = 3  # chunks of a document that count


def with_evidence(hits: Iterable[Hit], context: Context) -> Iterable[Hit]:
    """In the hybrid mode, scores raised by their surroundings; a single leg is left as it is."""
    return weighed(list(hits)) if context.request.mode == "hybrid" else hits


def weighed(hits: list[Hit]) -> list[Hit]:
    """Hits with shares of their neighbours' and documents' scores added, best first.

    All scores are scaled so that the best one stays what it was; where every document has one hit,
    nothing changes. Chunks of a document have consecutive ids.
    """
    scores = {hit.id: hit.score for hit in hits}
    documents = {hit.id: hit.doc_id for hit in hits}
    best: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        best[hit.doc_id].append(hit.score)
    sums = {
        doc_id: DOCUMENT * sum(sorted(own, reverse=True)[:BEST]) for doc_id, own in best.items()
    }
    for hit in hits:
        beside = sum(
            scores[id] for id in (hit.id - 1, hit.id + 1) if documents.get(id) == hit.doc_id
        )
        hit.neighbours, hit.document = NEIGHBOUR * beside, sums[hit.doc_id]
    highest = max((hit.score + hit.neighbours + hit.document for hit in hits), default=0.0)
    scale = max(scores.values(), default=0.0) / highest if highest > 0 else 1.0
    for hit in hits:
        hit.score = scale * (hit.score + hit.neighbours + hit.document)
        hit.neighbours, hit.document, hit.scale = (
            scale * hit.neighbours,
            scale * hit.document,
            scale,
        )
    return sorted(
        hits, key=lambda hit: -hit.score
    )  # stable: equal ones stay in the order they came
