"""Decides when two things that people write are the same. Pure.

- `spelled`: two spellings of one text, such as é as one character or two, capitals, full width
  letters, no-break spaces, and typographic quotes and dashes. Accents do matter here: they do not
  in words of the keyword index, whose fold is `characters.fold`.
- `name_key`: two spellings of a name, a tag or a value, with any white space.
- `heading_key` and `anchor_key`: a heading as its text without marks, and as its anchor.

What is shown stays as its author wrote it; only keys are compared and stored.
"""

import re
from unicodedata import normalize

_SIGNS = str.maketrans({
    **dict.fromkeys("‘’‚‛′ʼ´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    # Invisible characters: soft hyphen, zero-width space, joiners, byte order and direction marks
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u061c\ufe0f", ""),
})  # fmt: skip
_LINK = r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)"  # of markdown
_MARKS = r"[*_`~]+"
_NO_LETTER = r"\W+"


def spelled(text: str) -> str:
    """The text in the one spelling in which texts are compared: NFKC, lower case, plain signs.

    'Été – “Ａ”', in any normalization -> 'été - "a"'
    """
    if text.isascii():
        return text.lower()
    signs = text.translate(_SIGNS)  # before NFKC, which makes two characters of ´ and ″
    return normalize("NFKC", normalize("NFKC", signs).casefold().translate(_SIGNS))


def name_key(text: str) -> str:
    """The key of a name, a tag or a value: `spelled`, with single spaces.

    'O’Brien\u00a0– notes ' -> "o'brien - notes"
    """
    return " ".join(spelled(text).split())


def heading_key(heading: str) -> str:
    """The key of a heading: the text that a reader sees, without links and marks of emphasis.

    'See [the **docs**](https://a.b/c_d)' -> 'see the docs'
    """
    return name_key(re.sub(_MARKS, "", re.sub(_LINK, r"\1", heading)))


def anchor_key(heading: str) -> str:
    """The key of a heading's anchor, or of a heading as its anchor: letters, digits and underscores.

    'C++ & C# – 🎉 Log in!', and its anchor on GitHub, 'c--c---log-in' -> 'cclogin'
    """
    return re.sub(_NO_LETTER, "", spelled(re.sub(_LINK, r"\1", heading)))
