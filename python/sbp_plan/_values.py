"""Element types, types of tensors, and arrays as documents have them. numpy is imported where it is used."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

from .errors import CallError, InputError

Shape = tuple[int, ...]
Number = Union[int, float]

# Of types that numpy lacks: the name that ml_dtypes gives them -> ours.
_LACKED = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2": "f8e5m2",
           "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn": "f4e2m1", "int4": "i4", "uint4": "u4",
           "int2": "i2", "uint2": "u2"}
# numpy's name, or ml_dtypes', -> ours.
_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
          "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool", "complex64": "c64",
          "complex128": "c128", **_LACKED}
_BY_NAME = {ours: name for name, ours in _NAMES.items()}
_FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1")
_INTS = ("i64", "i32", "i16", "i8", "i4", "i2", "u64", "u32", "u16", "u8", "u4", "u2")
GROUPS = {"float": _FLOATS, "int": _INTS, "numeric": (*_FLOATS, *_INTS, "c64", "c128")}
DTYPES = (*_FLOATS, *_INTS, "bool", "c64", "c128", "string")
PACKED = {"f4e2m1": 4, "i4": 4, "u4": 4, "i2": 2, "u2": 2}  # bits of an element, where several share a byte
MAX_LITERAL = 4096  # elements that a document holds itself


def is_number(value: Any) -> bool:
    """A number of Python, or one of numpy that is no array."""
    if isinstance(value, (bool, int, float)):
        return True
    return not hasattr(value, "shape") and (hasattr(value, "__index__") or hasattr(value, "__float__"))


def is_array(value: Any) -> bool:
    """Something that numpy takes over: an array, or a tensor of another package."""
    return not isinstance(value, type) and (hasattr(value, "__array__") or hasattr(value, "__dlpack__"))


def to_array(value: Any) -> Any:
    """A numpy array in row-major order; of types that numpy lacks in ml_dtypes' type. Raises InputError where numpy cannot
    take it over."""
    import numpy

    try:
        lacked = bits_of_lacked(value)
        if lacked is not None:
            kind = lacked_dtype(lacked[1])
            if kind is None:
                raise InputError(f"numpy has no {lacked[1]}; the package ml_dtypes adds it: pip install ml_dtypes")
            return lacked[0].view(kind)
        value = detached(value)
        taken = value if isinstance(value, numpy.ndarray) else (
            numpy.asarray(value) if hasattr(value, "__array__") else numpy.from_dlpack(value))
    except (TypeError, RuntimeError, BufferError, ValueError) as error:
        raise InputError(f"numpy cannot take over {type(value).__name__}: {error}") from None
    return numpy.ascontiguousarray(taken).reshape(taken.shape)


def detached(value: Any) -> Any:
    """The values of a tensor of torch alone, of which no derivative is asked."""
    return value.detach() if hasattr(value, "detach") and hasattr(value, "requires_grad") else value


def long_name(dtype: str) -> str:
    """numpy's name of one of our types, or ml_dtypes'."""
    return _BY_NAME[dtype]


def is_lacked(dtype: str) -> bool:
    """Is it one of our types that numpy lacks?"""
    return _BY_NAME.get(dtype) in _LACKED


def lacked_dtype(dtype: str) -> Any:
    """numpy's type of one of ours that numpy lacks, as the package ml_dtypes has it; None where that is not there, or has
    none, and for types that numpy has."""
    name = _BY_NAME.get(dtype)
    if name not in _LACKED:
        return None
    try:
        import ml_dtypes
    except ImportError:
        return None
    import numpy

    kind = getattr(ml_dtypes, name, None)
    return None if kind is None else numpy.dtype(kind)


def bits_of_lacked(value: Any) -> tuple[Any, str] | None:
    """Of an array or tensor of a type that numpy lacks: its bits, as a numpy array of uint16 or uint8 in row-major order,
    which needs no ml_dtypes (of less than 8 bits an element a byte), and our name of the type. None: it is of another type.
    Raises what the tensor's package raises."""
    import numpy

    dtype = _LACKED.get(str(getattr(value, "dtype", "")).rpartition(".")[2])
    if dtype is None:
        return None
    if isinstance(value, numpy.ndarray) or not hasattr(value, "view") or not hasattr(value, "detach"):
        array = numpy.asarray(value)
        return numpy.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}"), dtype
    import torch  # whose tensors of such types numpy does not take, and of integers does

    bits = torch.int16 if dtype == "bf16" else torch.uint8
    array = value.detach().cpu().contiguous().view(bits).numpy()
    return array.view(f"u{array.dtype.itemsize}"), dtype


def document_bytes(array: Any) -> bytes:
    """An array's elements as documents have them: packed where they are of less than 8 bits, the first in the low ones."""
    import numpy

    lacked = bits_of_lacked(array)
    bits = None if lacked is None else PACKED.get(lacked[1])
    if lacked is None or bits is None:
        return bytes(array.tobytes())
    flat = lacked[0].reshape(-1) & ((1 << bits) - 1)
    each = 8 // bits
    flat = numpy.concatenate([flat, numpy.zeros(-flat.size % each, "u1")]).reshape(-1, each)
    return bytes((flat << (bits * numpy.arange(each, dtype="u1"))).sum(axis=1, dtype="u1").tobytes())


def plain_dtype(dtype: str) -> str:
    """numpy's name of the type that holds all values of one of ours: itself, or a wider one."""
    if dtype in GROUPS["float"] and _BY_NAME[dtype] in _LACKED:
        return "float32"
    return {"i4": "int8", "i2": "int8", "u4": "uint8", "u2": "uint8"}.get(dtype) or _BY_NAME[dtype]


def narrowed(array: Any, dtype: str) -> Any:
    """A result, which comes in a wider type where numpy lacks its own, in ml_dtypes' where that is there. No value changes."""
    kind = lacked_dtype(dtype)
    return array if kind is None else array.astype(kind)


def typed(arrays: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Results, of the types of their documents ("bf16[2,3]"); entries NAME/0, NAME/1, ... of that of their sequence."""
    result = {}
    for name, array in arrays.items():
        text = types.get(name) or types.get(name.rpartition("/")[0], "")
        result[name] = narrowed(array, re.split(r"[\[)]", text.removeprefix("sequence("))[0])
    return result


def dtype_name(dtype: Any) -> str:
    """Our short name of an element type: of "float32", numpy.float32, "f32". Raises CallError."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", str(dtype))
    name = str(name).removeprefix("torch.").removesuffix("_")
    kind = getattr(dtype, "kind", "")
    if kind in ("U", "T"):
        return "string"
    if name in _NAMES:
        return _NAMES[name]
    if name in ("float", "double", "half", "long"):
        return {"float": "f64" if dtype is float else "f32", "double": "f64", "half": "f16", "long": "i64"}[name]
    if name == "int":
        return "i64"
    import difflib

    near = difflib.get_close_matches(name, [*DTYPES, *_NAMES], 1)
    raise CallError(f'no element type is called "{name}"' + (f' (did you mean "{near[0]}"?)' if near else ""))


def numpy_dtype(name: str) -> Any:
    """numpy's type; that of ml_dtypes for those that numpy lacks; where that is not there a wider one, as files have it."""
    import numpy

    kind = lacked_dtype(name)
    return numpy.dtype(plain_dtype(name)) if kind is None else kind


def type_text(dtype: str, shape: Sequence[int]) -> str:
    """"f32[2,3]"."""
    return f"{dtype}[{','.join(map(str, shape))}]"


def parse_type(text: str) -> tuple[str, Shape]:
    """The reverse. Raises InputError for what is no tensor of known sizes."""
    dtype, _, sizes = text.partition("[")
    try:
        return dtype, tuple(int(size) for size in sizes.removesuffix("]").split(",") if size)
    except ValueError:
        raise InputError(f"{text}: not a tensor of known sizes") from None


def _number(value: Any) -> Any:
    number = float(value)
    return number if math.isfinite(number) else "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def literal(array: Any, dtype: str) -> dict[str, Any]:
    """A document's literal of an array of at most MAX_LITERAL elements."""
    flat = array.reshape(-1)
    if dtype == "string":
        return {"strings": [str(value) for value in flat]}
    if dtype in ("c64", "c128"):
        import base64

        return {"raw": base64.b64encode(array.tobytes()).decode()}
    if dtype == "bool" or dtype in _INTS:
        return {"ints": [int(value) for value in flat]}
    return {"floats": [_number(value) for value in flat]}


def fits(type_name: str, dtype: str) -> bool:
    """Is a dtype, or a group of them, met by `dtype`?"""
    return type_name in ("", "any") or dtype == type_name or dtype in GROUPS.get(type_name, ())
