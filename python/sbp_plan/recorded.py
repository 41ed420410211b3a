"""Graphs recorded from Python: `with sp.graph() as g:` the functions of ops.py record what they are called with.

    with sp.graph() as g:
        x, w = g.input("x", (8, 16)), g.parameter("w", (16, 4))
        g.output(sp.ops.relu(x @ w), "y")
    plan = g.model().plan(mesh={"data": 2})

Python runs as it stands, loops and functions too; shapes are known at once. What is wrong is told by the call that is
wrong."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from . import _eager, _rules, _values
from ._binding import Call, Operand, nearest
from ._document import KIND
from ._folder import Folder
from ._functions import recording
from ._operators import TensorLike
from ._program import Option, Path, flags
from ._schema import Parameter, snake_case
from .errors import CallError, InputError
from .model import Model, NamedDims

_OPSET = 23
_WEIGHTS = "weights.bin"


class RecordedTensor(TensorLike):
    """A tensor of a graph that is recorded: it has a name, a type and a shape, and no data."""

    def __init__(self, graph: Graph, name: str, type_text: str, value: Any = None) -> None:
        self.graph, self.name = graph, name
        self._type, self._value = type_text, value
        self._maker: tuple[Call, int] | None = None
        self._position = -1  # of its op

    @property
    def type(self) -> str:
        return self._type

    @property
    def dtype(self) -> str:
        return re.split(r"[\[(]", self._type.removeprefix("sequence(").removeprefix("optional("))[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return _values.parse_type(self._type)[1]

    def _compute(self, call: Call) -> Any:
        return self.graph._record(call)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(f'"{self.name}" is recorded and has no values; make it an output and run the model')

    def __repr__(self) -> str:
        return f"<{self.name}: {self._type}>"


class Graph:
    """What is recorded. Names are unique; within `scope` those of ops and parameters begin with it."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self._open = True
        self._scopes: list[str] = []
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._inputs: list[RecordedTensor] = []
        self._dims: NamedDims = {}
        self._declared: dict[str, str] = {}  # types of inputs with names of dimensions
        self._parameters: list[tuple[RecordedTensor, Any]] = []  # with the array that is its value, or None
        self._constants: dict[tuple[str, tuple[int, ...], bytes], RecordedTensor] = {}
        self._ops: list[tuple[str, str, Call, list[RecordedTensor | None], list[RecordedTensor]]] = []
        self._outputs: list[RecordedTensor] = []
        self._rules: list[str] = []
        self._outer: Any = None

    def __enter__(self) -> Graph:
        if not self._open:
            raise CallError(f'graph "{self.name}" is closed; record into a new one')
        self._outer = getattr(recording, "record", None)
        recording.record = self._record
        return self

    def __exit__(self, *error: object) -> None:
        recording.record = self._outer
        self._open = False

    def input(self, name: str, shape: Sequence[int | str], dtype: Any = "f32") -> RecordedTensor:
        """Data that are given at each step. A dimension is a size, or "batch=8": one called batch, of size 8 while recording
        and where nothing else is said; `model().plan(dim={"batch": 64})` plans another, and arrays of `run` bring
        theirs. Sizes that Python made of `shape` stay those of recording: write -1, or `ops.shape`, for one that follows."""
        named = {i: _named(name, size) for i, size in enumerate(shape) if isinstance(size, str)} if not isinstance(
            shape, (int, str)) else {}
        sizes = _sizes(name, [named[i][1] if i in named else size for i, size in enumerate(shape)] if named else shape)
        for symbol, size in named.values():
            if self._dims.get(symbol, (size, []))[0] != size:
                raise CallError(f'input "{name}": dimension {symbol} is {self._dims[symbol][0]} already, not {size}')
        kind = _values.dtype_name(dtype)
        tensor = RecordedTensor(self, self._take(name), _values.type_text(kind, sizes))
        for axis, (symbol, size) in named.items():
            self._dims.setdefault(symbol, (size, []))[1].append((name, axis))
        if named:
            self._declared[name] = f"{kind}[{','.join(named[i][0] if i in named else str(n) for i, n in enumerate(sizes))}]"
        self._inputs.append(tensor)
        return tensor

    def parameter(self, name: str, value: Any, dtype: Any = None) -> RecordedTensor:
        """A weight: of a shape, its value being random, or of an array. Its name begins with the scope's."""
        full = ".".join([*self._scopes, name])
        array = None
        if _values.is_array(value):
            array = _values.to_array(value)
            own = _values.dtype_name(array.dtype)
            if dtype is not None and _values.dtype_name(dtype) != own:
                raise CallError(f'parameter "{full}": the array is {own}, not {_values.dtype_name(dtype)}; cast it first')
            text = _values.type_text(own, array.shape)
        else:
            text = _values.type_text(_values.dtype_name(dtype or "f32"), _sizes(full, value))
        tensor = RecordedTensor(self, self._take(full), text)
        self._parameters.append((tensor, array))
        return tensor

    def constant(self, value: Any, dtype: Any = None) -> RecordedTensor:
        """A tensor whose value is known while planning: numbers, lists of them, or an array."""
        import numpy

        array = _values.to_array(value) if _values.is_array(value) else numpy.asarray(value)
        if dtype is None and not _values.is_array(value) and array.dtype == numpy.float64:
            dtype = "f32"
        name = _values.dtype_name(array.dtype if dtype is None else dtype)
        return self._constant(array.astype(_values.numpy_dtype(name)), name)

    def output(self, tensor: RecordedTensor, name: str | None = None) -> RecordedTensor:
        """Makes a tensor an output, which is called `name` from then on."""
        self._own(tensor, "output")
        if name is not None and name != tensor.name:
            if tensor._maker is None or tensor in self._outputs:
                from . import ops

                tensor = ops.find("Identity")(tensor)
            self._names.discard(tensor.name)
            tensor.name = self._take(name)
        elif tensor in self._outputs:
            raise CallError(f'"{tensor.name}" is an output already')
        self._outputs.append(tensor)
        return tensor

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """A module: ops within stand in its scope; "layers.0" is a level within "layers"."""
        if not name or any(not level for level in name.split(".")):
            raise CallError(f"scope {name!r}: expected names divided by points")
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def document(self) -> dict[str, Any]:
        """The graph as a document (schemas/README.md). Raises InputError where values do not fit into one."""
        return self._document(None)

    def save(self, path: Path) -> None:
        """Writes the graph as .json, and the values of large tensors into PATH.weights.bin beside it."""
        target = pathlib.Path(path)
        weights = target.with_name(target.name + "." + _WEIGHTS)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".sbp-plan-") as folder:
            data, text = pathlib.Path(folder) / "data", pathlib.Path(folder) / "graph"
            with open(data, "wb") as file:
                text.write_text(json.dumps(self._document((file, weights.name))))
            if data.stat().st_size:
                os.replace(data, weights)
            os.replace(text, target)

    def model(self, **options: Option) -> Model:
        """The model to plan, train and run. Options are those of `load`."""
        if not self._outputs:
            raise CallError(f'graph "{self.name}" has no output; g.output(tensor) makes one')
        folder = Folder()
        path = folder.path / "graph.json"
        self.save(path)
        if self._rules:
            options = {"rules": list(self._rules), **options}
        return Model(path, options, folder, self._dims)

    def __repr__(self) -> str:
        return (f"<graph {self.name}: {len(self._inputs)} inputs, {len(self._parameters)} parameters, {len(self._ops)} ops, "
                f"{len(self._outputs)} outputs>")

    def _repr_html_(self) -> str:
        """The graph's picture, for notebooks, once it has an output."""
        import html

        return self.model()._repr_html_() if self._outputs else f"<pre>{html.escape(repr(self))}</pre>"

    def _take(self, name: str) -> str:
        if not isinstance(name, str) or not name:
            raise CallError(f"a tensor's name is a text, not {name!r}")
        if not self._open:
            raise CallError(f'graph "{self.name}" is closed')
        if name in self._names:
            raise CallError(f'graph "{self.name}" has a tensor "{name}" already')
        self._names.add(name)
        return name

    def _fresh(self, base: str) -> str:
        count = self._counts.get(base, 0)
        name = base if count == 0 else f"{base}_{count}"
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count + 1
        self._names.add(name)
        return name

    def _own(self, tensor: Any, what: str) -> None:
        if not isinstance(tensor, RecordedTensor):
            raise CallError(f"{what}: expected a tensor of the graph, not {type(tensor).__name__}")
        if tensor.graph is not self:
            raise CallError(f'{what}: "{tensor.name}" is a tensor of graph "{tensor.graph.name}", not of "{self.name}"')
        if not self._open:
            raise CallError(f'{what}: graph "{self.name}" is closed; "{tensor.name}" can be used within its block only')

    def _constant(self, array: Any, dtype: str) -> RecordedTensor:
        key = (dtype, tuple(array.shape), array.tobytes())
        known = self._constants.get(key)
        if known is None:
            known = RecordedTensor(self, self._fresh("constant"), _values.type_text(dtype, array.shape), array)
            self._constants[key] = known
            self._parameters.append((known, array))
        return known

    def _record(self, call: Call) -> Any:
        name = snake_case(call.op).rstrip("_")
        if not self._open:
            raise CallError(f'{name}(): graph "{self.name}" is closed; its tensors can be used within its block only')
        for tensor in call.tensors():
            self._own(tensor, f"{name}()")
        operands: list[RecordedTensor | None] = []
        for operand in call.operands:
            if operand is None:
                operands.append(None)
            elif isinstance(operand.value, RecordedTensor):
                operands.append(operand.value)
            elif isinstance(operand.value, list):
                raise CallError(f"{name}(): a sequence of arrays is no tensor of a graph; make it by ops.sequence_construct")
            else:
                operands.append(self._constant(operand.value, operand.dtype))
        call = replace(call, operands=[operand and Operand(operand.parameter, tensor, operand.dtype)
                                       for operand, tensor in zip(call.operands, operands)])
        types = _rules.result_types(call, [self._known(operand) for operand in call.operands])
        full = self._fresh(".".join([*self._scopes, name]))
        results = [RecordedTensor(self, self._fresh(full + (".out" if i == 0 else f".out_{i}")), text)
                   for i, text in enumerate(types)]
        for index, result in enumerate(results):
            result._maker, result._position = (call, index), len(self._ops)
        self._ops.append((full, ".".join(self._scopes).replace(".", "/"), call, operands, results))
        self._rules += [rule for rule in call.rules if rule not in self._rules]
        return results[0] if len(results) == 1 else tuple(results)

    def _known(self, operand: Operand | None) -> Any:
        """The value that the op's rule reads, where it follows from constants and shapes."""
        if operand is None or not operand.parameter.reads_value:
            return None
        needed, todo, seen = [], [operand.value], set()
        while todo:
            tensor = todo.pop()
            if tensor in seen or tensor._value is not None:
                continue
            seen.add(tensor)
            if tensor._maker is None:
                return None
            needed.append(tensor)
            call = tensor._maker[0]
            if call.op not in ("Shape", "Size"):
                todo += call.tensors()
        for tensor in sorted(needed, key=lambda tensor: tensor._position):
            tensor._value = _evaluate(tensor)
        return operand.value._value

    def _document(self, data: Any) -> dict[str, Any]:
        """`data`: the file for large values and its name."""
        ops = []
        for name, scope, call, operands, results in self._ops:
            op: dict[str, Any] = {"name": name, "type": call.op, "inputs": ["" if t is None else t.name for t in operands],
                                  "outputs": [tensor.name for tensor in results]}
            if call.attributes or call.graphs:
                op["attributes"] = {**call.attributes, **call.graphs}
            if scope:
                op["scope"] = scope
            ops.append(op)
        return {"kind": KIND, "name": self.name, "opsets": {"": _OPSET},
                "inputs": [{"name": tensor.name, "type": self._declared.get(tensor.name, tensor.type)}
                           for tensor in self._inputs],
                "parameters": [_parameter(tensor, array, data) for tensor, array in self._parameters],
                "tensors": [] if self._dims else [{"name": tensor.name, "type": tensor.type}
                                                  for *_, results in self._ops for tensor in results],
                "ops": ops, "outputs": [tensor.name for tensor in self._outputs]}


def graph(name: str = "graph") -> Graph:
    """A graph to be recorded: `with sp.graph() as g:`."""
    return Graph(name)


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, (list, tuple)) or any(
            isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0 for size in sizes):
        raise CallError(f'tensor "{name}": its shape must be whole numbers, not {shape!r}')
    return tuple(size.__index__() for size in sizes)


def _named(tensor: str, text: str) -> tuple[str, int]:
    """"batch=8": a name and a size."""
    name, _, size = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or not re.fullmatch(r"\d+", size):
        raise CallError(f'input "{tensor}": dimension {text!r}: expected a size, or a name with the size while recording, '
                        'such as "batch=8"')
    return name, int(size)


def _evaluate(tensor: RecordedTensor) -> Any:
    """The value of a result whose operands are all known."""
    import numpy

    assert tensor._maker is not None
    call, index = tensor._maker
    if call.op in ("Shape", "Size"):
        shape = call.tensors()[0].shape
        start, end = call.attributes.get("start", 0), call.attributes.get("end")
        return numpy.asarray(shape[start:end] if call.op == "Shape" else int(numpy.prod(shape)), dtype="int64")
    known = [operand and Operand(operand.parameter, operand.value._value, operand.dtype) for operand in call.operands]
    made = _eager.compute(replace(call, operands=known))
    return made[index] if isinstance(made, tuple) else made


def _parameter(tensor: RecordedTensor, array: Any, data: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, "type": tensor.type}
    if array is None:
        return entry
    if tensor._value is not None and array.size <= _values.MAX_LITERAL:
        return {**entry, "literal": _values.literal(array, tensor.dtype)}
    if data is None:
        raise InputError(f'"{tensor.name}" holds more than a document can: save(path) writes it into a file of its own')
    file, name = data
    offset = file.tell()
    content = _values.document_bytes(array)
    file.write(content)
    return {**entry, "data": {"location": name, "offset": offset, "length": len(content)}}
