"""The names of `typing` that a search needs. Importing `typing` itself takes a tenth of the time of a whole search.

To a type checker they are those of `typing`. While the program runs, what stands in annotations alone is nothing, and a
NamedTuple is made by `collections.namedtuple`, as `typing` does, too.
"""

from collections import namedtuple

TYPE_CHECKING = False  # type checkers take this name for true, wherever it is from

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import NamedTuple as NamedTuple
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeVar as TypeVar
else:
    Any = BinaryIO = NoReturn = TextIO = object

    class Protocol:
        pass

    def TypeVar(name, **_):
        return object

    class _Fields(type):
        """Makes a named tuple of a class whose annotations are the fields, in place of the class."""

        def __new__(cls, name, bases, members):
            if not bases:
                return super().__new__(cls, name, bases, members)
            annotate = members.pop("__annotate_func__", None)  # from Python 3.14 on; 1: the values, not their source
            fields = members.pop("__annotations__", None) or annotate(1)
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members.pop("__module__"))
            made.__annotations__ = fields
            for key, value in members.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Fields):
        pass
