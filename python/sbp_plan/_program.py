"""Calls commands of `sbp-plan`: options to flags, exit codes to errors. Safe from several threads at once.

By the library in this process (_library.py); as a process where there is no library, where SBP_PLAN_PROGRAM names a
program, and for backends that are processes or GPUs."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number as AnyNumber
from typing import Any, Union

from . import _library
from ._arrays import Given, read_arrays, taken, write_arrays
from ._library import Returned
from ._progress import Progress, shown
from .errors import InputError, UsageError, error_of

Number = Union[int, float]
Path = Union[str, "os.PathLike[str]"]
# A flag's value: a text or number, a switch, several values, or names with values ({"batch": 8}).
Option = Union[None, bool, str, Number, "os.PathLike[str]", Sequence[str], Mapping[str, Union[str, Number]]]

_HERE = str(pathlib.Path(__file__).parent) + os.sep
_WITHOUT_MODEL = "note: the model of the plan is not at hand"  # nobody who runs a plan expects random weights
_IN_BYTES = ("memory_limit", "prefetch")
_JOINED = ("axes", "remat")  # flags that take several values in one, with commas
_SECONDS_TO_STOP = 10.0  # after Ctrl-C; the program answers within one


@dataclass(frozen=True)
class Answer:
    """What a call printed, and wrote to memory. `code` is 0, or 1 where the call asked for differences and there are some."""

    code: int
    output: bytes
    documents: Mapping[str, bytes] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)


def program() -> str:
    """The program: $SBP_PLAN_PROGRAM, the one in this package, or the one on PATH. Raises FileNotFoundError."""
    chosen = os.environ.get("SBP_PLAN_PROGRAM")
    inside = pathlib.Path(__file__).with_name("bin") / "sbp-plan"
    found = chosen or (str(inside) if inside.exists() else shutil.which("sbp-plan"))
    if found is None:
        raise FileNotFoundError(
            "the program sbp-plan is neither in this package nor on PATH; SBP_PLAN_PROGRAM can name it")
    return found


def refuse(options: Mapping[str, Option], *names: str) -> None:
    """Raises UsageError for options that the package gives itself."""
    for name in names:
        if name in options:
            raise UsageError(f"{name}: the package says where files lie; leave it out")


def refuse_unnamed(arrays: object) -> None:
    """Raises InputError for arrays that are not in a dict."""
    if arrays is not None and not isinstance(arrays, Mapping):
        raise InputError(f"expected arrays by name, a dict, not {type(arrays).__name__}")


def flags(options: Mapping[str, Option]) -> list[str]:
    """Options as flags: memory_limit="75GB" is --memory-limit=75GB, mesh={"data": 2} is --mesh=data=2, dim={"batch": 8}
    is --dim=batch=8, a list is the flag once for each (of axes and remat one with commas), True the flag alone; None and
    False are left out. Numbers in the place of bytes are bytes."""
    result: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name == "mesh" and isinstance(value, (list, tuple)):
            names = ", ".join(f'"axis{i}": {size}' for i, size in enumerate(value))
            raise UsageError(f"mesh={value!r}: axes have names: mesh={{{names}}}, or mesh=N of one axis")
        if name in _JOINED and isinstance(value, (list, tuple)):
            value = ",".join(value)
        if name in _IN_BYTES and isinstance(value, AnyNumber) and not isinstance(value, bool) and value != 0:
            value = f"{value}B"
        if value is None or value is False:
            continue
        if value is True:
            result.append(flag)
        elif isinstance(value, Mapping):
            pairs = [f"{key}={number}" for key, number in value.items()]
            result += [f"{flag}={','.join(pairs)}"] if name == "mesh" else [f"{flag}={pair}" for pair in pairs]
        elif isinstance(value, (str, int, float, AnyNumber, os.PathLike)):
            result.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            result += [f"{flag}={item}" for item in value]
    return result


def call(command: str, arguments: Sequence[str], document: bytes | None = None, differs: bool = False, *,
         documents: Mapping[str, bytes] | None = None, arrays: Mapping[str, Any] | None = None,
         progress: Progress = False) -> Answer:
    """Runs `sbp-plan COMMAND ARGUMENTS...`, `document` on its stdin. Warnings of the program become Python warnings.

    Arguments may name `documents` ("memory:plan.json"), and such names to write to; of `run`, "--inputs=arrays:" takes
    the `arrays`, "--outputs=arrays:" and "--parts=arrays:PREFIX" return some, with PREFIX before their names. Exit code 1 is an answer where `differs`, else a failed run. Raises an
    Error with the program's message; Ctrl-C ends the command and raises KeyboardInterrupt."""
    if any("\0" in argument for argument in arguments):
        raise UsageError("a NUL character in an option")
    words = [command, *arguments]
    given = {name: _taken(name, value) for name, value in (arrays or {}).items()}
    loaded = _loaded(words)
    if loaded is None:
        returned = _run_process(words, document or b"", documents or {}, given)
    else:
        with shown(progress) as tell:
            returned = _library.run(loaded, words, document or b"", documents or {}, given, tell)
    chatter = returned.chatter.decode(errors="replace")
    _warn(chatter)
    if returned.code == 0 or (differs and returned.code == 1):
        return Answer(returned.code, returned.output, returned.documents, returned.arrays)
    raise error_of(5 if returned.code == 1 else returned.code, _message(chatter, returned.code, returned.output))


def _taken(name: str, value: Any) -> Given:
    try:
        return taken(value)
    except InputError as error:
        raise InputError(f'"{name}": {error}') from None


def _loaded(words: Sequence[str]) -> Any:
    """The library, where it is to run these words."""
    if any(re.match(r"(--backend=)?(cuda|mpi)$", word) for word in words):
        return None
    if os.environ.get("SBP_PLAN_PROGRAM") and not os.environ.get("SBP_PLAN_LIBRARY"):
        return None
    return _library.library()


def _run_process(words: Sequence[str], document: bytes, documents: Mapping[str, bytes],
                 arrays: Mapping[str, Given]) -> Returned:
    """The same by the program; what is in memory for the library lies in a folder meanwhile."""
    with tempfile.TemporaryDirectory(prefix="sbp-plan-") as name:
        folder = pathlib.Path(name)
        for of_memory, content in documents.items():
            (folder / of_memory.removeprefix("memory:")).write_bytes(content)
        if arrays:
            write_arrays(folder / "inputs.npz", arrays)
        returning: dict[str, str] = {}  # file -> what stands before the names of its arrays
        on_disk = []
        for word in words:
            flag = re.match("--(inputs|outputs|parts)=arrays:(.*)$", word)
            if flag is None:
                on_disk.append(re.sub(r"^(--[a-z-]+=|)memory:", rf"\1{folder}/", word))
                continue
            on_disk.append(f"--{flag[1]}={folder}/{flag[1]}.npz")
            if flag[1] != "inputs":
                returning[flag[1] + ".npz"] = flag[2]
        process = subprocess.Popen([program(), *on_disk], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"})
        try:
            output, chatter = process.communicate(document)
        except BaseException:
            _stop(process)
            raise
        returned = Returned(process.returncode, output, chatter)
        for path in folder.iterdir():
            if path.name in returning:
                prefix = returning[path.name]
                returned.arrays.update((prefix + entry, array) for entry, array in read_arrays(path).items())
            elif path.name != "inputs.npz":
                returned.documents["memory:" + path.name] = path.read_bytes()
        return returned


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program that nobody waits for any more, gently first."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_SECONDS_TO_STOP)
    except BaseException:  # a second Ctrl-C, too
        process.kill()
        process.communicate()


def _warn(chatter: str) -> None:
    for line in chatter.splitlines():
        if line.startswith(("warning: ", _WITHOUT_MODEL)):
            warnings.warn(line.removeprefix("warning: ").removeprefix("note: "), stacklevel=_caller())


def _caller() -> int:
    """The stack level, seen from `_warn`, of who called this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


def _message(chatter: str, code: int, output: bytes) -> str:
    """The program's message: from "error: " on."""
    at = 0 if chatter.startswith("error: ") else chatter.find("\nerror: ") + 1
    if chatter.startswith("error: ") or at > 0:
        return chatter[at:].removeprefix("error: ").rstrip()
    if code == 1 and output.strip():  # a comparison that failed
        return _mismatch(output.decode(errors="replace").strip())
    return (chatter.strip() or output.decode(errors="replace").strip() or
            f"sbp-plan ended with {'signal' if code < 0 else 'exit code'} {abs(code)} and no message")


def _mismatch(report: str) -> str:
    """By how much a run differs: the last line of its report; of one in JSON the same, and where."""
    if not report.startswith("{"):
        return report.splitlines()[-1]
    said = json.loads(report)
    wrong = [f'"{row["name"]}"' for row in [*said["outputs"], *said.get("tensors", [])] if not row["good"]]
    names = ", ".join([*wrong[:3], *([f"{len(wrong) - 3} more"] if len(wrong) > 3 else [])])
    error, against = said["max_relative_error"], said["against"]
    size = f"{error:.1e}" if isinstance(error, float) else str(error)
    return (f"BAD: largest error {size}, tolerance {said['tolerance']:g}" + (f", against {against}" if against else "") +
            (f": {names}" if names else ""))
