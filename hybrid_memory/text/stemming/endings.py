"""What the algorithms share: the longest of some endings of a word."""


class Endings:
    """Endings, as words of a text."""

    def __init__(self, text: str) -> None:
        self._by_letter: dict[str, list[str]] = {}  # the last one; longest endings first
        for ending in sorted(text.split(), key=len, reverse=True):
            self._by_letter.setdefault(ending[-1], []).append(ending)

    def of(self, word: str, start: int = 0) -> str:
        """The longest that word[start:] ends with; "" if there is none."""
        for ending in self._by_letter.get(word[-1:], ()):
            if word.endswith(ending, start):
                return ending
        return ""
