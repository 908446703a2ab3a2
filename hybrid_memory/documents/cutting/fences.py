"""Find fenced code in markdown. The patterns begin with the line break before a line, for which Python searches fastest."""

import re

# CommonMark 0.31, 4.5 Fenced code blocks. A list item may begin with a fence (5.2). For use behind "\n {0,3}".
FENCE = r"(?P<bullet>(?:[-+*]|\d{1,9}[.)]) {1,4})?(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"


def fence_end(text: str, opening: re.Match[str]) -> int:
    """Where the code ends: at a fence at least as long as the opening one, or else where its list item or the document ends."""
    fence = opening["fence"]
    indent = opening.start("fence") - opening.start() - 1 if opening["bullet"] else 0
    closing = rf"\n {{0,{indent + 3}}}{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)"
    if indent:
        closing += rf"|(?=\n {{0,{indent - 1}}}\S)"
    match = re.compile(closing).search(text, opening.end())
    return match.end() if match else len(text)
