"""Who speaks in a passage of a conversation with an assistant: the user, the assistant, or both.

Session transcripts have a role for each message (extras/formats/transcripts.py); in a conversation
that was saved as text, labels name the speakers (documents/conversations.py).
"""

from collections.abc import Iterable

USER, ASSISTANT, BOTH = "user", "assistant", "both"
ROLES = (USER, ASSISTANT)


def together(roles: Iterable[str | None]) -> str | None:
    """The role of passages that are shown as one: BOTH if they have different roles."""
    known = {role for role in roles if role}
    return known.pop() if len(known) == 1 else BOTH if known else None
