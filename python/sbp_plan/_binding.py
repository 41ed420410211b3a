"""Which signature of an op takes a call's arguments, and what to say where none does.

Signatures are tried in order; the first that takes the arguments is taken. An error names the op, and of several
signatures lists each with the reason why it does not fit."""
from __future__ import annotations

import difflib
import keyword
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _values
from ._operators import TensorLike
from ._schema import OpSchema, Parameter, Signature
from .errors import CallError

RESULTS = "results"  # how many results are wanted, where that is not the op's alone to say


class Mismatch(Exception):
    """Why one signature does not take the arguments."""


@dataclass
class Operand:
    """An operand of a call: a TensorLike, a numpy array, or a list of arrays (a sequence); `dtype` of its elements."""

    parameter: Parameter
    value: Any
    dtype: str


@dataclass
class Call:
    """A call that a signature takes. Absent operands are None; attributes are as documents have them."""

    op: str
    signature: Signature
    operands: list[Operand | None]
    attributes: dict[str, Any]
    results: int
    rules: tuple[str, ...] = ()
    graphs: dict[str, Any] = field(default_factory=dict)  # attributes that are subgraphs

    def tensors(self) -> list[TensorLike]:
        return [operand.value for operand in self.operands if operand and isinstance(operand.value, TensorLike)]


def bind(schema: OpSchema, name: str, rules: tuple[str, ...], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """The call by the first signature that takes it. Raises CallError."""
    reasons = []
    for signature in schema.signatures:
        try:
            return _Match(schema.op, signature, rules).bind(args, kwargs)
        except Mismatch as reason:
            reasons.append(str(reason))
    if len(reasons) == 1:
        raise CallError(f"{name}(): {reasons[0]}; the signature is {schema.signatures[0].text}")
    lines = [f"{name}(): received an invalid combination of arguments. The signatures, as they were tried, are:"]
    for index, (signature, why) in enumerate(zip(schema.signatures, reasons)):
        lines += [f"  *{index}: {signature.text}", f"      {why}"]
    given = [describe(value) for value in args] + [f"{key}={describe(value)}" for key, value in kwargs.items()]
    raise CallError("\n".join([*lines, f"  received: ({', '.join(given)})"]))


def describe(value: Any) -> str:
    """What an argument is, for messages: "f32[2,3]", "int", "list"."""
    if isinstance(value, TensorLike):
        return _values.type_text(value.dtype, value.shape)
    if _values.is_array(value):
        try:
            return _values.type_text(_values.dtype_name(value.dtype), value.shape)
        except CallError:  # of a type that is not ours
            return type(value).__name__
    return "None" if value is None else type(value).__name__


def nearest(name: str, names: Iterable[str]) -> str:
    """' (did you mean "x"?)', or nothing."""
    lower: dict[str, str] = {}
    for other in names:
        lower.setdefault(other.lower(), other)
    near = difflib.get_close_matches(name.lower(), lower, 1)
    return f' (did you mean "{lower[near[0]]}"?)' if near else ""


def dtype_of(value: Any) -> str | None:
    """Of a tensor or an array; None for numbers and lists."""
    if isinstance(value, TensorLike):
        return value.dtype
    return _values.dtype_name(value.dtype) if hasattr(value, "dtype") and _values.is_array(value) else None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorLike) or _values.is_array(value)


def _is_plain_array(value: Any) -> bool:
    return not isinstance(value, TensorLike) and _values.is_array(value)


def _is_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_numbers(item) for item in value)
    return _values.is_number(value)


class _Match:
    def __init__(self, op: str, signature: Signature, rules: tuple[str, ...]) -> None:
        self.op, self.signature, self.rules = op, signature, rules
        self.operands: dict[str, Operand] = {}  # by parameter: the first

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        values = self._by_parameter(args, dict(kwargs))
        attributes: dict[str, Any] = {}
        graphs: dict[str, Any] = {}
        results = self._results(values.pop(RESULTS, None), values.get("num_outputs"))
        for parameter in self.signature.parameters:
            value = values.get(parameter.name)
            if parameter.attribute or (parameter.kind == "Scalar" and value is not None and not _is_tensor(value)):
                if value is None:
                    if parameter.required:
                        raise Mismatch(f"missing required attribute '{parameter.name}' ({parameter.kind})")
                elif parameter.kind == "graph":
                    graphs[parameter.name] = attribute_graph(parameter, value)
                else:
                    attributes[parameter.name] = attribute(parameter, value)
        for name, value in values.items():  # of an open signature
            if all(parameter.name != name for parameter in self.signature.parameters) and value is not None:
                attributes[name] = _any_attribute(name, value)
        operands = self._operands(values, attributes)
        return Call(self.op, self.signature, operands, attributes, results, self.rules, graphs)

    def _by_parameter(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        positions = self.signature.operands()
        values: dict[str, Any] = {}
        rest = list(args)
        for parameter in positions:
            if parameter.variadic:
                if len(rest) == 1 and isinstance(rest[0], (list, tuple)) and any(map(_is_tensor, rest[0])):
                    rest = list(rest[0])
                if rest:
                    values[parameter.name], rest = rest, []
            elif rest:
                values[parameter.name] = rest.pop(0)
        if rest:
            most = len(positions)
            raise Mismatch(f"takes {most} positional argument{'' if most == 1 else 's'}, but {len(args)} were given")
        known = {python_name(parameter.name): parameter.name for parameter in self.signature.parameters}
        if has_choice(self.signature):
            known[RESULTS] = RESULTS
        for key, value in kwargs.items():
            if key not in known and not self.signature.open:
                raise Mismatch(f"unknown argument '{key}'{nearest(key, [n for n in known if n not in kwargs])}")
            name = known.get(key, key)
            if name in values:
                raise Mismatch(f"argument '{name}' was given twice")
            values[name] = value
        return values

    def _results(self, wanted: Any, counted: Any) -> int:
        """How many are asked for; `counted` is what an op that counts its own results, as Split, is told."""
        results = self.signature.results
        least = sum(not result.optional and not result.variadic for result in results)
        if wanted is None and isinstance(counted, int) and any(result.variadic for result in results):
            wanted = counted
        if wanted is None:
            return max(least, 1)
        most = None if any(result.variadic for result in results) else len(results)
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < max(least, 1) or (most and wanted > most):
            raise Mismatch(f"'{RESULTS}' must be from {max(least, 1)} to {most or 'any number'}, not {wanted!r}")
        return wanted

    def _operands(self, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[Operand | None]:
        given = [value for parameter in self.signature.operands() for value in
                 (values.get(parameter.name) or [] if parameter.variadic and isinstance(values.get(parameter.name), list)
                  else [values.get(parameter.name)])]
        beside = [dtype for dtype in map(dtype_of, given) if dtype is not None]
        operands: list[Operand | None] = []
        for parameter in self.signature.operands():
            if parameter.name in attributes:
                continue
            value = values.get(parameter.name)
            if parameter.variadic:
                if value is not None and not isinstance(value, (list, tuple)):
                    raise Mismatch(f"argument '{parameter.name}' must be a list of tensors, not {describe(value)}")
                operands += [None if item is None else self._operand(parameter, item, beside) for item in value or ()]
            elif value is None:
                if parameter.required:
                    raise Mismatch(f"missing required argument '{parameter.name}' ({parameter.kind})")
                operands.append(None)
            else:
                operands.append(self._operand(parameter, value, beside))
        while operands and operands[-1] is None:
            operands.pop()
        return operands

    def _operand(self, parameter: Parameter, value: Any, beside: Sequence[str]) -> Operand:
        operand = self._taken(parameter, value, beside)
        self._check(parameter, operand)
        self.operands.setdefault(parameter.name, operand)
        if parameter.kind == "Scalar" and tuple(operand.value.shape) != ():
            raise Mismatch(f"argument '{parameter.name}' must be scalar, not tensor {describe(value)}")
        return operand

    def _taken(self, parameter: Parameter, value: Any, beside: Sequence[str]) -> Operand:
        if isinstance(value, TensorLike):
            return Operand(parameter, value, value.dtype)
        if _values.is_array(value):
            array = _values.to_array(value)
            return Operand(parameter, array, _values.dtype_name(array.dtype))
        if isinstance(value, (list, tuple)) and value and all(map(_is_plain_array, value)):
            arrays = [_values.to_array(item) for item in value]
            return Operand(parameter, arrays, _values.dtype_name(arrays[0].dtype))
        if isinstance(value, str) or not _is_numbers(value):
            raise Mismatch(f"argument '{parameter.name}' must be tensor, not {describe(value)}")
        if not beside and not parameter.reads_value and parameter.type not in _values.DTYPES:
            raise Mismatch(f"argument '{parameter.name}' must be tensor, not {describe(value)}")
        return self._constant(parameter, value, beside)

    def _constant(self, parameter: Parameter, value: Any, beside: Sequence[str]) -> Operand:
        """Numbers in the place of a tensor: of the parameter's type, else a list of integers is i64 and all else of the
        type of the first tensor that is not bool."""
        import numpy

        array = numpy.asarray(value)
        other = self.operands.get(parameter.type)
        whole = array.dtype.kind in "iub" or array.size == 0
        if other is not None:
            dtype = other.dtype
        elif parameter.type in _values.DTYPES:
            dtype = parameter.type
        elif array.ndim > 0 and whole:
            dtype = "i64"
        else:
            kept = [name for name in beside if name != "bool" and _values.fits(parameter.type, name)]
            dtype = kept[0] if kept else "bool" if array.dtype.kind == "b" else "i64" if whole else "f32"
        if not whole and dtype not in _values.GROUPS["float"] and dtype not in ("c64", "c128"):
            raise Mismatch(f"argument '{parameter.name}' must be {dtype}, not {value!r}")
        if dtype == "bool" and array.dtype.kind != "b" and array.size:
            raise Mismatch(f"argument '{parameter.name}' must be bool, not {value!r}")
        made = array.astype(_values.numpy_dtype(dtype))
        if whole and dtype in _values.GROUPS["int"] and not numpy.array_equal(made, array):
            raise Mismatch(f"argument '{parameter.name}' must be {dtype}: {value!r} is outside of its range")
        return Operand(parameter, made, dtype)

    def _check(self, parameter: Parameter, operand: Operand) -> None:
        wanted, why = parameter.type, ""
        other = self.operands.get(parameter.type)
        if other is None and parameter.variadic and parameter.type:
            other = self.operands.get(parameter.name)
        if other is not None:
            wanted, why = other.dtype, f" as '{other.parameter.name}' is"
        elif wanted not in _values.GROUPS and wanted not in _values.DTYPES:
            return  # any type, or that of an operand that is absent
        if not _values.fits(wanted, operand.dtype):
            raise Mismatch(f"argument '{parameter.name}' must be {wanted} tensor{why}, not {operand.dtype} tensor")


def has_choice(signature: Signature) -> bool:
    """May a call want more or fewer results?"""
    return any(result.optional or result.variadic for result in signature.results)


def python_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _whole(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__") and not getattr(value, "shape", ())


def _real(value: Any) -> bool:
    return not isinstance(value, bool) and _values.is_number(value)


def attribute(parameter: Parameter, value: Any) -> Any:
    """The attribute as a document has it. Raises Mismatch."""
    kind = parameter.kind
    wrong = Mismatch(f"argument '{parameter.name}' must be {kind}{' (True or False)' if kind == 'bool' else ''}, "
                     f"not {describe(value)}{f' {value!r}' if _values.is_number(value) or isinstance(value, str) else ''}")
    if hasattr(value, "tolist") and kind.endswith("[]"):
        value = value.tolist()
    items = list(value) if isinstance(value, (list, tuple, range)) else None
    if kind == "int" and _whole(value):
        return value.__index__()
    if kind == "bool" and (isinstance(value, bool) or (_whole(value) and value.__index__() in (0, 1))):
        return int(value)
    if kind in ("float", "Scalar") and _real(value):
        return _number(float(value))
    if kind == "string" and isinstance(value, (str, bytes)):
        return value if isinstance(value, str) else value.decode()
    if kind == "type":
        try:
            return _values.dtype_name(value)
        except CallError as error:
            raise Mismatch(f"argument '{parameter.name}': {error}") from None
    if kind == "int[]" and items is not None and all(map(_whole, items)):
        return [item.__index__() for item in items]
    if kind == "float[]" and items is not None and all(map(_real, items)):
        return {"floats": [_number(float(item)) for item in items]}
    if kind == "string[]" and items is not None and all(isinstance(item, str) for item in items):
        return {"strings": items}
    if kind == "literal":
        return _literal(parameter, value)
    raise wrong


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def _literal(parameter: Parameter, value: Any) -> dict[str, Any]:
    import numpy

    array = numpy.asarray(value)
    if array.dtype.kind in "OV":
        raise Mismatch(f"argument '{parameter.name}' must be an array of numbers, not {describe(value)}")
    if array.size > _values.MAX_LITERAL:
        raise Mismatch(f"argument '{parameter.name}' has {array.size} elements; at most {_values.MAX_LITERAL}")
    dtype = _values.dtype_name(array.dtype)
    return {"literal": {"type": _values.type_text(dtype, array.shape), **_values.literal(array, dtype)}}


def attribute_graph(parameter: Parameter, value: Any) -> dict[str, Any]:
    """A subgraph: a document, or what recorded one."""
    document = value.document() if hasattr(value, "document") and callable(value.document) else value
    if not isinstance(document, dict):
        raise Mismatch(f"argument '{parameter.name}' must be a graph (sp.graph(), or a document), not {describe(value)}")
    return {"graph": {name: entry for name, entry in document.items() if name != "kind"}}


def _any_attribute(name: str, value: Any) -> Any:
    """Of an attribute that no schema tells of."""
    for kind in ("int", "float", "string", "int[]", "float[]", "string[]", "bool"):
        try:
            return attribute(Parameter(name, kind), value)
        except Mismatch:
            continue
    raise Mismatch(f"argument '{name}' must be a number, a text or a list of one of them, not {describe(value)}")
