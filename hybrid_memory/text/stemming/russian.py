"""Russian, by M. F. Porter's algorithm: https://snowballstem.org/algorithms/russian/stemmer.html

Endings are looked for after the first vowel (the region RV), "ость" after the second syllable (R2).
"""

import re

from .endings import Endings

_FIRST = re.compile("[^аеиоуыэюя]*[аеиоуыэюя]")
_SECOND = re.compile("[аеиоуыэюя]*[^аеиоуыэюя]+[аеиоуыэюя]+[^аеиоуыэюя]")

# Of two rows, the endings in the second are taken off only after а or я, which stays.
_GERUND = Endings("ив ивши ившись ыв ывши ывшись"), Endings("в вши вшись")
_REFLEXIVE = Endings("ся сь")
_ADJECTIVE = Endings("ее ие ые ое ими ыми ей ий ый ой ем им ым ом его ого ему ому их ых ую юю ая яя ою ею")
_PARTICIPLE = Endings("ивш ывш ующ"), Endings("ем нн вш ющ щ")
_VERB = (
    Endings("ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым ен ило ыло ено ят ует уют ит ыт ены ить ыть ишь ую ю"),
    Endings("ла на ете йте ли й л ем н ло но ет ют ны ть ешь нно"),
)
_NOUN = Endings("а ев ов ие ье е иями ями ами еи ии и ией ей ой ий й иям ям ием ем ам ом о у ах иях ях ы ь ию ью ю ия ья я")
_OF_NOUNS = Endings("ост ость")
_SUPERLATIVE = Endings("ейш ейше")


def stem(word: str) -> str:
    """'обновлениями' -> 'обновлен', 'обновленный' -> 'обновлен'"""
    first = _FIRST.match(word)
    if not first:
        return word
    rv = first.end()
    second = _SECOND.match(word, rv)
    r2 = second.end() if second else len(word)
    word = _without(word, _inflection(word, rv))
    word = word.removesuffix("и") if len(word) > rv else word
    word = _without(word, _OF_NOUNS.of(word, max(rv, r2)))
    if superlative := _SUPERLATIVE.of(word, rv):
        word = _without(word, superlative)
    elif len(word) > rv and word.endswith("ь"):
        return word[:-1]
    return word[:-1] if word.endswith("нн", rv) else word


def _without(word: str, ending: str) -> str:
    return word[: len(word) - len(ending)]


def _inflection(word: str, rv: int) -> str:
    """The ending of a gerund, or else that of an adjective, verb or noun, with "ся" if it is reflexive."""
    if gerund := _after_a(word, rv, *_GERUND):
        return gerund
    reflexive = _REFLEXIVE.of(word, rv)
    word = _without(word, reflexive)
    ending = _ADJECTIVE.of(word, rv)
    if ending:
        ending = _after_a(_without(word, ending), rv, *_PARTICIPLE) + ending
    return (ending or _after_a(word, rv, *_VERB) or _NOUN.of(word, rv)) + reflexive


def _after_a(word: str, rv: int, always: Endings, after_a: Endings) -> str:
    """The longest ending of both rows, or "" if that is one of the second row which does not follow а or я."""
    ending, other = always.of(word, rv), after_a.of(word, rv)
    if len(ending) >= len(other):
        return ending
    return other if _without(word, other).endswith(("а", "я"), rv) else ""
