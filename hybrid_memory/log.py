"""Messages for the log named "hybrid_memory", at no cost where nobody has imported logging."""

import sys


def warning(message: str, *values: object) -> None:
    """`message` % `values` as a warning; printed nowhere unless the program set up logging."""
    logging = sys.modules.get("logging")
    if logging:
        logger = logging.getLogger("hybrid_memory")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        logger.warning(message, *values)
