"""What the algorithms share: the longest of some endings of a word."""


class Endings:
    """Endings, as words of a text."""

    def __init__(self, text: str) -> None:
        self._all = frozenset(text.split())
        self._longest = max(map(len, self._all))

    def of(self, word: str, start: int = 0) -> str:
        """The longest that word[start:] ends with; "" if there is none."""
        for at in range(max(start, len(word) - self._longest), len(word)):
            if word[at:] in self._all:
                return word[at:]
        return ""
