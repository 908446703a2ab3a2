"""Greek: the endings of Ntais, "Development of a stemmer for the Greek language" (2006), completed for nouns and adjectives.

The longest ending is taken off once, as long as three letters are left. The algorithm, and that of Snowball which follows it
(https://snowballstem.org/algorithms/greek/stemmer.html), takes groups of endings in turn and has long lists of exceptions; this
simpler form found a little more.
"""

from .endings import Endings

_LEAST = 3  # letters that are left

# Folded words have σ where ς stands at the end of a word.
_ENDINGS = Endings(
    """
    α αν ας ε ει εις ες η ην ης ι ο οι ον ος ου ους υ υς ω ων  ηδες ηδων εως εων  μα ματα ματος ματων
    ια ιας ιες ιο ιοι ιος ιου ιους ιων  ικα ικε ικες ικη ικης ικο ικοι ικος ικου ικους ικων
    ισμε ισμο ισμοι ισμος ισμου ισμους ισμων  ιση ισης ισεις ισεων ισεως

    αω αει αμε ατε ανε ετε ουμε ουν ουνε ουσα ουσαν ουσατε ουσε ουσες αγα αγαν αγατε αγε αγες οντας ωντας
    ησα ησαν ησατε ησε ησει ησες ησετε ησουμε ησουν ησω ηστε
    ισα ισαμε ισαν ισατε ισε ισει ισες ισετε ισουμε ισουν ισω ιστε
    ιζα ιζαμε ιζαν ιζατε ιζε ιζει ιζεις ιζες ιζετε ιζουμε ιζουν ιζω ιζεται ιζονται

    αμαι ασαι αται εσαι εστε εται ομαι ομασταν ομαστε ομουν ομουνα ονται ονταν οντουσαν
    οσασταν οσαστε οσουν οσουνα οταν ουμαι ουμαστε ουνται ουνταν
    ιεμαι ιεμαστε ιεσαι ιεται ιομασταν ιομουν ιομουνα ιονταν ιοντουσαν ιοσασταν ιοσαστε ιοσουν ιοσουνα ιοταν
    ιουμα ιουμαστε ιουνται ιουνταν
    ηκαν ηκατε ηθει ηθεις ηθειτε ηθηκα ηθηκαν ηθηκατε ηθηκε ηθηκες ηθουμε ηθουν ηθω
    """.replace("ς", "σ")
)


def stem(word: str) -> str:
    """'ρυθμισεισ' -> 'ρυθμ', 'εφαρμογων' -> 'εφαρμογ', both folded"""
    return word[: len(word) - len(_ENDINGS.of(word, _LEAST))]
