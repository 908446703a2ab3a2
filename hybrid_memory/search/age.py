"""What a document's date does to its score: the days that the query means count, and older ones less, if the user wants that."""

from collections.abc import Iterable
from math import exp, log

from .context import Context
from .hit import Hit

OF_DATE = 0.2  # of the score, for a document of the days that the query means


def dated(hits: Iterable[Hit], context: Context) -> Iterable[Hit]:
    """Where the query means certain days, documents of these get OF_DATE, and all share the rest of the score."""
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
    decays = {doc_id: exp(-log(2) * age(day, today) / context.half_life_days) for doc_id, day in dates.items()}
    for hit in hits:
        hit.before_decay, hit.decay = hit.score, decays.get(hit.doc_id, 1.0)
        hit.score *= hit.decay
    return sorted(hits, key=lambda hit: -hit.score)
