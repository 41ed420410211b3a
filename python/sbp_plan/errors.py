"""What goes wrong, by the exit code of the program; the text of each is the program's own message."""
from __future__ import annotations


class Error(Exception):
    """Base of all errors of this package. `code` is the program's exit code."""

    code = 70


class UsageError(Error):
    """An option that does not exist, or whose text cannot be read."""

    code = 2


class CallError(UsageError, TypeError):
    """Arguments that no signature of an op takes."""


class InputError(Error):
    """A file, a name or a value that does not fit the model."""

    code = 3


class NoPlanError(Error):
    """No plan satisfies the pins and limits."""

    code = 4


class ExecutionError(Error):
    """A run failed."""

    code = 5


class DefectError(Error):
    """A defect of sbp-plan, or a program that was killed."""


_BY_CODE = {kind.code: kind for kind in (UsageError, InputError, NoPlanError, ExecutionError)}


def error_of(code: int, message: str) -> Error:
    """The error that stands for exit code `code`."""
    return _BY_CODE.get(code, DefectError)(message)
