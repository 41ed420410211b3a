"""Classes of differences that are right: a predicate over the case's fields and the difference, with the reason."""

CLASSES = []  # (file format, predicate(case, detail), reason)


def justify(file_format, case, detail):
    for name, predicate, reason in CLASSES:
        if name == file_format and predicate(case, detail):
            return reason
    return None


def rule(file_format, reason):
    """Adds the decorated predicate as a class."""
    def add(predicate):
        CLASSES.append((file_format, predicate, reason))
        return predicate
    return add
