"""The library libsbp_plan.so by ctypes (capi/sbp_plan.h): calls in this process, in a thread each, so that Ctrl-C stays
awake. Safe from several threads at once."""
from __future__ import annotations

import atexit
import ctypes
import functools
import os
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._arrays import Given
from .errors import DefectError

_ABI = 1
_SECONDS_TO_CANCEL = 1.0  # after Ctrl-C; what has not ended then ends behind the caller's back
_SECONDS_AT_EXIT = 10.0
_TICK = 0.2

_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


class _Document(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_size_t), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Request(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("words", ctypes.POINTER(ctypes.c_char_p)),
                ("num_words", ctypes.c_size_t), ("input", ctypes.c_char_p), ("input_size", ctypes.c_size_t),
                ("documents", ctypes.POINTER(_Document)), ("num_documents", ctypes.c_size_t),
                ("arrays", ctypes.POINTER(_Array)), ("num_arrays", ctypes.c_size_t), ("progress", _Progress),
                ("user", ctypes.c_void_p), ("cancel", ctypes.POINTER(ctypes.c_int32))]


@dataclass
class Returned:
    """What a call came to: its exit code, what it printed, and what it wrote to memory."""

    code: int
    output: bytes = b""
    chatter: bytes = b""
    documents: dict[str, bytes] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library: $SBP_PLAN_LIBRARY, the one in this package, or the system's; None where there is none. Raises OSError
    where the named one, or that of the package, cannot be loaded."""
    named = os.environ.get("SBP_PLAN_LIBRARY")
    inside = pathlib.Path(__file__).with_name("lib") / "libsbp_plan.so"
    if named or inside.exists():
        loaded = ctypes.CDLL(named or os.fspath(inside))
    else:
        try:
            loaded = ctypes.CDLL("libsbp_plan.so.0")
        except OSError:
            return None
    if loaded.sbp_abi() != _ABI:
        raise OSError(f"libsbp_plan.so has interface {loaded.sbp_abi()}; this package knows {_ABI}")
    size = ctypes.POINTER(ctypes.c_size_t)
    for name, result, arguments in [
            ("call", ctypes.c_int, [ctypes.POINTER(_Request), ctypes.POINTER(ctypes.c_void_p)]),
            ("answer_output", ctypes.c_void_p, [ctypes.c_void_p, size]),
            ("answer_chatter", ctypes.c_void_p, [ctypes.c_void_p, size]),
            ("answer_num_documents", ctypes.c_size_t, [ctypes.c_void_p]),
            ("answer_document", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Document)]),
            ("answer_num_arrays", ctypes.c_size_t, [ctypes.c_void_p]),
            ("answer_array", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Array)]),
            ("answer_free", None, [ctypes.c_void_p])]:
        function = getattr(loaded, "sbp_" + name)
        function.restype, function.argtypes = result, arguments
    return loaded


class _Call:
    """A request with all it points to, and the thread that runs it."""

    def __init__(self, loaded: ctypes.CDLL, words: Sequence[str], document: bytes, documents: Mapping[str, bytes],
                 arrays: Mapping[str, Given], telling: bool) -> None:
        self._loaded = loaded
        self._cancel = ctypes.c_int32(0)
        self.told: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # what goes on; None: the call has ended
        self.returned: Returned | None = None
        self.failure: BaseException | None = None
        # Held until the thread ends, since the library reads them.
        self._words = (ctypes.c_char_p * max(1, len(words)))(*map(os.fsencode, words))
        self._document = document
        self._contents = list(documents.values())
        self._documents = (_Document * max(1, len(documents)))(
            *[_Document(os.fsencode(name), ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p), len(content))
              for name, content in documents.items()])
        self._given = list(arrays.values())
        self._arrays = (_Array * max(1, len(arrays)))(
            *[_Array(os.fsencode(name), given.dtype.encode(),
                     (ctypes.c_int64 * max(1, given.values.ndim))(*given.values.shape), given.values.ndim,
                     given.values.ctypes.data, given.values.nbytes)
              for name, given in arrays.items()])
        told = self.told  # not of self, which would hold itself: with all its documents, until the next collection

        def tell(user: int | None, what: bytes) -> int:
            told.put(what.decode(errors="replace"))
            return 0

        self._progress = _Progress(tell) if telling else _Progress()
        self._request = _Request(ctypes.sizeof(_Request), self._words, len(words), document, len(document),
                                 self._documents, len(documents), self._arrays, len(arrays), self._progress, None,
                                 ctypes.pointer(self._cancel))
        self.thread = threading.Thread(target=self._run, name="sbp-plan", daemon=True)

    def cancel(self) -> None:
        self._cancel.value = 1

    def _run(self) -> None:
        answer = ctypes.c_void_p()
        try:
            code = self._loaded.sbp_call(ctypes.byref(self._request), ctypes.byref(answer))
            self.returned = self._read(code, answer) if answer else Returned(code, chatter=b"error: out of memory\n")
        except BaseException as error:
            self.failure = error
        finally:
            self._loaded.sbp_answer_free(answer)
            self.told.put(None)
            _running.discard(self)

    def _read(self, code: int, answer: ctypes.c_void_p) -> Returned:
        size, document, array = ctypes.c_size_t(), _Document(), _Array()
        read = Returned(code)
        read.output = ctypes.string_at(self._loaded.sbp_answer_output(answer, ctypes.byref(size)), size.value)
        read.chatter = ctypes.string_at(self._loaded.sbp_answer_chatter(answer, ctypes.byref(size)), size.value)
        for index in range(self._loaded.sbp_answer_num_documents(answer)):
            self._loaded.sbp_answer_document(answer, index, ctypes.byref(document))
            read.documents[os.fsdecode(document.name)] = ctypes.string_at(document.data, document.size)
        for index in range(self._loaded.sbp_answer_num_arrays(answer)):
            self._loaded.sbp_answer_array(answer, index, ctypes.byref(array))
            read.arrays[os.fsdecode(array.name)] = _numpy_of(array)
        return read


# Where numpy's names are other ones than those of documents with a longer word.
_NUMPY_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
                "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool",
                "c64": "complex64", "c128": "complex128"}


def _numpy_of(array: _Array) -> Any:
    import numpy

    name = array.dtype.decode()
    if name not in _NUMPY_NAMES:
        raise DefectError(f"an output of type {name}, which numpy lacks")
    made = numpy.empty(tuple(array.shape[:array.rank]), _NUMPY_NAMES[name])
    ctypes.memmove(made.ctypes.data, array.data, min(array.size, made.nbytes))
    return made


_running: set[_Call] = set()  # of any thread, and those that were cancelled and not waited for


@atexit.register
def _end_running() -> None:
    """A process must not end below the feet of a call: it would tell an interpreter that is gone what goes on."""
    end = time.monotonic() + _SECONDS_AT_EXIT
    for call in list(_running):
        call.cancel()
    for call in list(_running):
        call.thread.join(max(0.0, end - time.monotonic()))


def run(loaded: ctypes.CDLL, words: Sequence[str], document: bytes, documents: Mapping[str, bytes],
        arrays: Mapping[str, Given], progress: Callable[[str], None] | None) -> Returned:
    """Runs the command in a thread of its own and waits for it; `progress` is called by this thread, with what goes on,
    and some times a second again. Whatever is raised meanwhile, Ctrl-C too, ends the command."""
    call = _Call(loaded, words, document, documents, arrays, progress is not None)
    what = ""
    _running.add(call)
    call.thread.start()
    try:
        while True:
            try:
                told = call.told.get(timeout=_TICK)  # also for Ctrl-C, which may have come to another thread
            except queue.Empty:
                told = what
            if told is None:
                break
            what = told
            if progress:
                progress(what)
    except BaseException:
        call.cancel()
        call.thread.join(_SECONDS_TO_CANCEL)
        raise
    call.thread.join()
    if call.failure is not None:
        raise call.failure
    assert call.returned is not None
    return call.returned
