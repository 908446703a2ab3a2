"""Print the sizes of the project's parts, as information: `python .ci/sizes.py`.

A line of code is one that is not blank and has more than a comment or a docstring.
"""

import ast
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hybrid_memory"
NO_CODE = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LARGEST = 8  # files that are listed


def code_lines(path: Path) -> int:
    """Count the lines of code of a Python file."""
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def main() -> None:
    """Print a line for each part, and the largest files."""
    sizes = {path: code_lines(path) for path in sorted(ROOT.glob("*/**/*.py"))}
    parts = {
        "core": [path for path in sizes if path.is_relative_to(PACKAGE)],
        "extras": [path for path in sizes if path.is_relative_to(PACKAGE / "extras")],
        "tests": [path for path in sizes if path.is_relative_to(ROOT / "tests")],
    }
    parts["core"] = [path for path in parts["core"] if path not in parts["extras"]]
    for name, paths in parts.items():
        print(f"{name}: {sum(sizes[path] for path in paths):,} lines of code in {len(paths)} files")
    scripts = sorted(PACKAGE.glob("extras/serve/page/js/*.js"))
    lines = sum(path.read_text("utf-8").count("\n") for path in scripts)
    print(f"page: {lines:,} lines of JavaScript in {len(scripts)} files")
    of_package = [path for path in sizes if path.is_relative_to(PACKAGE)]
    largest = sorted(of_package, key=lambda path: -sizes[path])[:LARGEST]
    print("largest:", ", ".join(f"{path.relative_to(PACKAGE)} {sizes[path]}" for path in largest))


if __name__ == "__main__":
    main()
