"""Arrays by name, in .npz files. numpy is imported where it is used, and only there."""
from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ._values import bits_of_bf16


def taken(value: Any) -> Any:
    """A numpy array, or what numpy takes over by DLPack or the array protocol. No value is cast; of bf16 the bits."""
    import numpy

    bits = bits_of_bf16(value)
    if bits is not None:
        return bits
    if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return numpy.asarray(value)


def write_arrays(path: pathlib.Path, arrays: Mapping[str, Any]) -> pathlib.Path:
    """Writes what `taken` takes; returns `path`."""
    import numpy

    # Not savez(**arrays): a tensor may be called "file".
    import zipfile
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                numpy.lib.format.write_array(entry, taken(value), allow_pickle=False)
    return path


def read_arrays(path: pathlib.Path) -> dict[str, Any]:
    """All arrays of an .npz file."""
    import numpy

    with numpy.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
