"""Which hits the user wants to see, and how many."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from .context import Context
from .hit import Hit

FIRST, SHARE = 10, 3  # results that people look at, and how many of them one document may have


def scoring_enough(hits: Iterable[Hit], context: Context) -> list[Hit]:
    """Without those that score less than `min_score`, whatever their age."""
    least = context.request.min_score
    return [hit for hit in hits if (hit.score if hit.before_decay is None else hit.before_decay) >= least]


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
    """At most SHARE hits of one document among the FIRST; its others come after these, unless there is nothing else.

    With `per_doc` the user has said how many, and under a budget neighbours become one result: then scores alone decide, which
    brings more evidence into as many characters.
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
    """The first `limit`, at most `per_doc` of a document, without those that stand in the `context` of a better one."""
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
