"""The citation of a passage."""


def citation(doc_id: str, start_line: int, end_line: int) -> str:
    """'memory/a.md#L12-L30'"""
    return f"{doc_id}#L{start_line}-L{end_line}"
