"""The stand-ins for names of `typing`: a named tuple is what `typing` would make."""

import pickle
import typing

from hybrid_memory.typed import names as typed


class Ours(typed.NamedTuple):
    """A place."""

    name: str
    line: int = 1
    words: tuple[str, ...] = ()

    @property
    def citation(self) -> str:
        return f"{self.name}#L{self.line}"


class Theirs(typing.NamedTuple):
    """A place."""

    name: str
    line: int = 1
    words: tuple[str, ...] = ()


def test_named_tuple_has_what_that_of_typing_has() -> None:
    assert not isinstance(typed.NamedTuple, type(typing.NamedTuple))
    for made in (Ours, Theirs):
        assert made("a", words=("b",)) == ("a", 1, ("b",))
        assert made.__module__ == __name__
        assert made.__doc__ == "A place."
    assert Ours._fields == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__annotations__ == Theirs.__annotations__
    assert Ours.__qualname__ == "Ours"


def test_named_tuple_has_methods_and_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(Ours("a.md", 3)))
    assert type(sent) is Ours
    assert sent._replace(line=4).citation == "a.md#L4"
