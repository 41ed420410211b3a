"""What goes on, on one line of a terminal or notebook: shown from the second second on, and wiped away at the end."""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

# None: a line, where stderr is a terminal or a notebook; False: nothing; else called with what goes on.
Progress = Union[None, bool, Callable[[str], None]]

_FIRST = 1.0
_WIDTH = 100


def _has_reader() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Line:
    def __init__(self) -> None:
        self._began, self._width = time.monotonic(), 0

    def tell(self, what: str) -> None:
        seconds = time.monotonic() - self._began
        if seconds >= _FIRST:
            self._write(f"{what[:_WIDTH]} ... {seconds:.0f} s")

    def wipe(self) -> None:
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text + " " * (self._width - len(text)) + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[str], None] | None]:
    """What to call with what goes on, or None: nobody looks."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not _has_reader()):
        yield None
    else:
        line = _Line()
        try:
            yield line.tell
        finally:
            line.wipe()
