"""Temporary folders of models that were made in this process."""
from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import weakref
from typing import Any


class Folder:
    """Goes with the last who holds it, at the latest with the process that made it. A copy, also a pickled one, has files
    of its own."""

    def __init__(self) -> None:
        self._made()

    def _made(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sbp-plan-"))
        weakref.finalize(self, _remove, self.path, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        return {"files": {path.name: path.read_bytes() for path in sorted(self.path.iterdir())}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._made()
        for name, content in state["files"].items():
            (self.path / name).write_bytes(content)


def _remove(path: pathlib.Path, maker: int) -> None:
    if os.getpid() == maker:  # not a process that was forked
        shutil.rmtree(path, ignore_errors=True)
