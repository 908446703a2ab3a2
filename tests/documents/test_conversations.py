"""Who speaks in the passages of a conversation that was saved as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.documents.conversations import INTRODUCTION, Turn, conversation
from hybrid_memory.documents.document import Document, prepare
from hybrid_memory.text.roles import ASSISTANT, BOTH, USER, together

FORMS = [
    "**User**: {}|**Assistant**: {}",
    "User: {}|Assistant: {}",
    "Human: {}|Assistant: {}",
    "**You:** {}|**ChatGPT:** {}",
    "#### You said:\n{}|#### ChatGPT said:\n{}",
    "## User\n\n{}|## Assistant\n\n{}",
    "**Human** (2026-03-01 10:00): {}|**Claude** (2026-03-01 10:01): {}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "above", ["", "# 2026-03-01\n\n", "# Session\n\n- **Source**: web\n\n## Log\n\n"]
)
def test_the_speakers_of_a_conversation(form: str, above: str) -> None:
    user, assistant = form.split("|")
    messages = [user.format("Where is it?"), assistant.format("Where?"), user.format("The key.")]
    text = above + "\n\n".join(messages)
    starts = [text.count("\n", 0, text.index(message)) + 1 for message in messages]
    assert conversation(text) == [
        Turn(line, role) for line, role in zip(starts, (USER, ASSISTANT, USER), strict=True)
    ]


LONG = "".join(f"This is sentence {number} of an article. \n" for number in range(INTRODUCTION + 1))


@pytest.mark.parametrize(
    "text",
    [
        "User: Ann\nHost: heron",  # one of the two
        "assistant: the model\nsystem: the instructions",
        f"{LONG}\nUser: hi\n\nAssistant: hello",  # an article with an example
        "Chat:\n\n```\nUser: hi\nAssistant: hello\n```\n",
        "Ann: hi\n\nBen: hello",  # people
        "The user: hi\n\nThe assistant: hello",
        "user:pass\nassistant:pass",
        "**User**: hi\n\n## Assistant\n\nhello",  # two forms
        "- User: one\n- Assistant: two",  # a list of terms
        "| User: | Assistant: |",
    ],
)
def test_other_texts_have_no_speakers(text: str) -> None:
    assert conversation(text) == []


def test_a_chunk_has_the_role_of_all_whose_words_it_has() -> None:
    pages = "A page of an answer, with many words in it. " * 30
    text = f"---\ntitle: Talk\n---\n# Talk\n\nUser: Where is it?\n\nAssistant: {pages}\n\nUser: Thanks.\n"
    prepared = prepare(Document("talk.md", text, {}), 200, 0)
    roles = [chunk["role"] for chunk in prepared.chunks]
    assert roles[0] == BOTH  # the question, and the beginning of the answer
    assert set(roles[1:-1]) == {ASSISTANT}
    assert roles[-1] == BOTH


@given(
    st.lists(
        st.tuples(st.sampled_from([USER, ASSISTANT]), st.integers(1, 40)), min_size=2, max_size=12
    )
)
def test_the_role_of_each_chunk_is_that_of_its_lines(messages: list[tuple[str, int]]) -> None:
    of_line: dict[int, str] = {}
    lines: list[str] = []
    for role, count in messages:
        words = [f"word{number} is here." for number in range(count)]
        lines += [f"**{role}**: {words[0]}", *words[1:], ""]
        of_line |= dict.fromkeys(range(len(lines) - count, len(lines)), role)
    is_conversation = len({role for role, _ in messages}) == 2
    for chunk in prepare(Document("talk.md", "\n".join(lines), {}), 150, 0).chunks:
        spoken = {of_line.get(line) for line in range(chunk["start_line"], chunk["end_line"] + 1)}
        assert chunk["role"] == (together(spoken) if is_conversation else None)


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        ([], None),
        ([None], None),
        ([USER, None, USER], USER),
        ([ASSISTANT], ASSISTANT),
        ([USER, ASSISTANT], BOTH),
        ([BOTH, USER], BOTH),
    ],
)
def test_the_role_of_joined_passages(roles: list[str | None], role: str | None) -> None:
    assert together(roles) == role
