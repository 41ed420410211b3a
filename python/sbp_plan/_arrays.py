"""Arrays by name, in .npz files. numpy is imported where it is used, and only there."""
from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._values import PACKED, bits_of_lacked, detached, long_name, plain_dtype
from .errors import InputError


@dataclass(frozen=True)
class Given:
    """An array as it is handed over: `values` in row-major order, little-endian; of types that numpy lacks their bits.
    `dtype` is the type's name, numpy's or ml_dtypes'."""

    values: Any
    dtype: str


def taken(value: Any) -> Given:
    """A numpy array, or what numpy takes over by DLPack or the array protocol. No value is cast. Raises InputError."""
    import numpy

    try:
        lacked = bits_of_lacked(value)
        if lacked is not None:
            bits, dtype = lacked
            if dtype not in PACKED:
                return Given(bits, long_name(dtype))  # "f8" begins numpy's name of another type
            values = numpy.asarray(value).astype(plain_dtype(dtype))  # one a byte here, and packed in documents
            return Given(values, values.dtype.name)
        value = detached(value)
        by_dlpack = not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__")
        array = numpy.from_dlpack(value) if by_dlpack else numpy.asarray(value)
    except (TypeError, RuntimeError, BufferError, ValueError) as error:
        raise InputError(f"numpy cannot take over {type(value).__name__}: {error}") from None
    if array.dtype.kind in "OUSTMm" or array.dtype.names is not None:
        raise InputError(f"an array of {array.dtype}: expected numbers")
    plain = numpy.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    if numpy.dtype(array.dtype.str) != array.dtype:  # of ml_dtypes, and no type of documents
        raise InputError(f"an array of {array.dtype}, which is no element type here")
    return Given(plain, array.dtype.name)


def write_arrays(path: pathlib.Path, arrays: Mapping[str, Given]) -> pathlib.Path:
    """Writes them; types that numpy lacks by their names. Returns `path`."""
    import numpy

    # Not savez(**arrays): a tensor may be called "file".
    import zipfile
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, given in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:
                if given.dtype == given.values.dtype.name:
                    numpy.lib.format.write_array(entry, given.values, allow_pickle=False)
                else:
                    numpy.lib.format.write_array_header_1_0(
                        entry, {"descr": given.dtype, "fortran_order": False, "shape": given.values.shape})
                    entry.write(given.values.tobytes())
    return path


def read_arrays(path: pathlib.Path) -> dict[str, Any]:
    """All arrays of an .npz file."""
    import numpy

    with numpy.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
