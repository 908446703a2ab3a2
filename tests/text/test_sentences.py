"""Where a sentence ends."""

import pytest

from hybrid_memory.text.sentences import ends_sentence


@pytest.mark.parametrize(
    "text",
    [
        "It works. |Next",
        'He said "no." |Then',
        "(See above.) |Then",
        "**Done.** |Next",
        "open file.ext. |Next",
        "No. |That is wrong",
        "终于完成了。|然后",
        "他说：「好。」|然后",
    ],
)
def test_sentence_ends(text: str) -> None:
    before, after = text.split("|")
    assert ends_sentence(before + after, len(before.rstrip()))


@pytest.mark.parametrize(
    "text",
    [
        "e.g. |This",
        "d.h. |Berlin",
        "Dr. |Smith",
        "J. |Smith",
        "No. |5",
        "text\n 12. |Install",
        "am 3. |Oktober",
        "and so on. |but",
        "version 2|.0",
    ],
)
def test_sentence_does_not_end(text: str) -> None:
    before, after = text.split("|")
    assert not ends_sentence(before + after, len(before.rstrip()))
