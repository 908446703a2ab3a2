"""Older documents score less, if the user wants that."""

from collections.abc import Iterable
from math import exp, log

from .context import Context
from .hit import Hit


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
