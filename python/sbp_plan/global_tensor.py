"""Global tensors: one tensor on all devices of a mesh, each of which has its part. Ops on them are executed at once, by
threads as devices.

    t = sp.tensor(array, mesh={"data": 2, "model": 2}, sbp="(S(0), B)")
    y = sp.ops.relu(t @ w)                 # y.sbp follows from the ops' rules
    y.local(0), y.numpy(), y.to(sbp="(B, B)").history

An op takes its operands as they lie where one of its signatures does; else they are moved in the way that a plan of the op
alone finds cheapest. `history` has the moves. Partial values stay partial until somebody moves them."""
from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import _document, _eager, _layouts, _rules, _values
from ._binding import Call, Operand
from ._document import constants_of, document
from ._layouts import Entry, Layout, Mesh, MeshLike, format_layout
from ._operators import TensorLike
from ._program import call as call_program
from ._program import flags
from ._schema import Parameter, Signature
from .errors import CallError, InputError
from .model import run_file
from .plan import Plan, Transition, _split

_REDUCE = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}
_plans: dict[str, bytes] = {}
_lock = threading.Lock()
_MOST = 2000  # plans that are kept


class GlobalTensor(TensorLike):
    """A tensor on the devices of a mesh. Immutable."""

    def __init__(self, parts: Sequence[Any], shape: Sequence[int], dtype: str, mesh: Mesh, layout: Layout,
                 history: Sequence[Transition] = ()) -> None:
        self._parts, self._shape, self._dtype = list(parts), tuple(shape), dtype
        self._mesh, self._layout, self._history = mesh, layout, tuple(history)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole tensor."""
        return self._shape

    @property
    def dtype(self) -> str:
        return self._dtype

    @property
    def sbp(self) -> str:
        """"(S(0), B)": an entry for each axis of the mesh."""
        return format_layout(self._layout)

    @property
    def mesh(self) -> dict[str, int]:
        return dict(zip(self._mesh.names, self._mesh.sizes))

    @property
    def history(self) -> tuple[Transition, ...]:
        """What the call that made this tensor moved: each operand's move with its collectives."""
        return self._history

    def local(self, rank: int) -> Any:
        """A copy of the part of one device; ranks are row-major in the mesh. Of types that numpy lacks as
        ml_dtypes has them, where that is not there as f32, int8 or uint8."""
        if isinstance(rank, bool) or not hasattr(rank, "__index__") or not 0 <= rank < self._mesh.devices:
            raise CallError(f"rank {rank!r}: mesh {self._mesh} has ranks 0 to {self._mesh.devices - 1}")
        return self._parts[rank].copy()

    def numpy(self) -> Any:
        """The whole tensor, partial values combined."""
        return _layouts.assemble(self._parts, self._shape, self._layout, self._mesh)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """numpy.asarray(t): the whole tensor."""
        if copy is False:
            raise ValueError("the parts of a global tensor are copied into an array")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def to(self, sbp: Any) -> GlobalTensor:
        """This tensor in another layout. `history` of the result names the collectives that brought it there."""
        target = _layouts.parse_layout(sbp, self._mesh, self.ndim)
        if target == self._layout:
            return self
        operand = Parameter("input")
        call = Call("Identity", Signature("Tensor (Tensor input)", "", (operand,), (Parameter("output"),)),
                    [Operand(operand, self, self._dtype)], {}, 1)
        text = format_layout(target)
        made: GlobalTensor = _execute(call, self._mesh, [f"op: {text} -> {text}"])
        return made

    def _compute(self, call: Call) -> Any:
        others = [tensor for tensor in call.tensors() if isinstance(tensor, GlobalTensor)]
        for tensor in others:
            if tensor._mesh != self._mesh:
                raise CallError(f"{call.op}: operands lie on different meshes, {self._mesh} and {tensor._mesh}; "
                                "bring one over by sp.tensor(t.numpy(), mesh=..., sbp=...)")
        return _execute(call, self._mesh, None)

    def __repr__(self) -> str:
        return f"<tensor {self.type} {self.sbp} on {self._mesh}>"


def tensor(array: Any, mesh: MeshLike, sbp: Any) -> GlobalTensor:
    """A tensor of the values of `array` (an array, or lists of numbers), laid out by `sbp`: "(S(0), B)", an entry for each
    axis of `mesh`, {"data": 2, "model": 2} or "data=2,model=2". Values to be partial lie on the first device, or, of a
    maximum or minimum, on all. Raises CallError."""
    import numpy

    if isinstance(array, TensorLike):
        raise CallError(f"expected an array, not {type(array).__name__}; numpy() of a global tensor is one")
    given = numpy.asarray(array) if not _values.is_array(array) else _values.to_array(array)
    if given.dtype == numpy.float64 and not _values.is_array(array):
        given = given.astype("float32")
    dtype = _values.dtype_name(given.dtype)
    if dtype == "string" or (dtype != "bf16" and _values.is_lacked(dtype)):
        raise CallError(f"a global tensor of {dtype}: expected a type of numbers that numpy has")
    devices = _layouts.parse_mesh(mesh)
    layout = _layouts.parse_layout(sbp, devices, given.ndim)
    if dtype == "bool" and any(entry.kind == "P" for entry in layout):
        raise CallError("bools are never partial")
    return GlobalTensor(_layouts.cut(given, layout, devices), given.shape, dtype, devices, layout)


def _execute(call: Call, mesh: Mesh, pins: list[str] | None) -> Any:
    """Plans the op alone, its operands where they lie, and runs the plan. `pins`: None: signatures that take the operands
    as they are come first."""
    name = call.op
    constants = constants_of(call)
    for index, operand in enumerate(call.operands):  # a value that the rule reads must be the same everywhere
        if operand and isinstance(operand.value, GlobalTensor) and operand.parameter.reads_value:
            if all(entry.kind == "B" for entry in operand.value._layout) and operand.value.size <= _values.MAX_LITERAL:
                constants[index] = operand.value._parts[0]
        elif operand and isinstance(operand.value, GlobalTensor) and call.op in ("Shape", "Size"):
            constants[index] = operand.value.numpy()  # of which only the shape counts
    if pins is None and all(operand is None or index in constants for index, operand in enumerate(call.operands)):
        return _alike(call, constants, mesh)
    made = document(call, constants)
    arrays: dict[str, Any] = {}
    starts, uses = [], []
    for index, (input_name, operand) in enumerate(zip(made.inputs, call.operands)):
        if operand is None or index in constants:
            continue
        if isinstance(operand.value, list):
            raise InputError(f"{name}: sequences do not lie on a mesh")
        if not isinstance(operand.value, GlobalTensor):
            arrays[input_name] = operand.value
            continue
        value = operand.value
        starts += _start(made.json, input_name, value, arrays)
        uses.append(f"op.{index}={value.sbp}")
    if pins is None:
        pins = uses if _takes_as_they_are(call, constants, mesh) else []
    plan = _plan(made.json, mesh, [*starts, *pins], call.rules)
    return _results(plan, made.outputs, mesh, *_run(plan, arrays))


def _alike(call: Call, constants: _document.Constants, mesh: Mesh) -> Any:
    """Of operands whose values every device knows: there is nothing to plan, every device computes the same."""
    known = [operand and Operand(operand.parameter, constants[index], operand.dtype)
             for index, operand in enumerate(call.operands)]
    made = _eager.compute(replace(call, operands=known))
    whole = format_layout([Entry("B")] * len(mesh.sizes))
    results = [tensor(array, mesh, whole) for array in (made if isinstance(made, tuple) else (made,))]
    return results[0] if len(results) == 1 else tuple(results)


def _start(graph: dict[str, Any], name: str, value: GlobalTensor, arrays: dict[str, Any]) -> list[str]:
    """Pins that let an operand start where it lies. No input starts partial: of partial values the parts are an input that
    is split, which an op reduces where they are."""
    reducers = {entry.reducer for entry in value._layout if entry.kind == "P"}
    if not reducers:
        arrays[name] = value.numpy()
        return [f"{name}={value.sbp}"]
    stacked, layout = _layouts.stack(value._parts, value.shape, value._layout, value._mesh)
    parts, axes, reduce = f"parts.{name}", f"axes.{name}", f"reduce.{name}"
    count = stacked.ndim - value.ndim
    arrays[parts] = stacked
    graph["inputs"] = [{**row, "name": parts, "type": _values.type_text(value.dtype, stacked.shape)}
                       if row["name"] == name else row for row in graph["inputs"]]
    graph["parameters"] = [*graph["parameters"],
                           {"name": axes, "type": f"i64[{count}]", "literal": {"ints": list(range(count))}}]
    graph["ops"] = [{"name": reduce, "type": _REDUCE[reducers.pop()], "inputs": [parts, axes], "outputs": [name],
                     "attributes": {"keepdims": 0}}, *graph["ops"]]
    whole = format_layout([Entry("B")] * len(layout))
    return [f"{parts}={format_layout(layout)}", f"{reduce}: {format_layout(layout)}, {whole} -> {value.sbp}"]


def _takes_as_they_are(call: Call, constants: _document.Constants, mesh: Mesh) -> bool:
    """Has the op a signature with its operands as they lie?"""
    asked = _rules.question(call, [constants.get(index) for index in range(len(call.operands))], str(mesh))
    if asked is None:
        return False
    for candidate in _rules.ask(asked, call.rules)["candidates"]:
        if all(operand is None or index in constants or not isinstance(operand.value, GlobalTensor) or
               _same(text, operand.value) for index, (operand, text) in enumerate(zip(call.operands, candidate["inputs"]))):
            return True
    return False


def _same(text: str, value: GlobalTensor) -> bool:
    return _layouts.parse_layout(text, value._mesh, value.ndim) == value._layout


def _plan(graph: dict[str, Any], mesh: Mesh, pins: list[str], rules: Sequence[str]) -> Plan:
    """The cheapest plan of the graph with these pins. Equal questions are planned once."""
    key = json.dumps([graph, str(mesh), pins])
    with _lock:
        known = None if rules else _plans.get(key)
    if known is None:
        options = flags({"mesh": str(mesh), "outputs": "any", "no_simplify": True, "no_bound": True, "pin": pins,
                         "rules": list(rules), "output": "memory:plan.json", "quiet": True})
        answer = call_program("infer", [*options, "--", "memory:op.json"], progress=False,
                              documents={"memory:op.json": json.dumps(graph).encode()})
        known = answer.documents["memory:plan.json"]
        with _lock:
            if len(_plans) >= _MOST:
                _plans.clear()
            _plans[key] = known
    return Plan(known)


def _run(plan: Plan, arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs, whole and in parts."""
    path, prefix = "memory:plan.json", "parts "  # no output has such a name: _document.py
    returned = run_file(path, arrays, {"no_reference": True, "quiet": True, "parts": f"arrays:{prefix}"},
                        documents={path: plan._document}, progress=False)
    parts = {name.removeprefix(prefix): array for name, array in returned.items() if name.startswith(prefix)}
    return {name: array for name, array in returned.items() if not name.startswith(prefix)}, parts


def _results(plan: Plan, names: Sequence[str], mesh: Mesh, whole: dict[str, Any], parts: dict[str, Any]) -> Any:
    types = {row["name"]: row["type"] for row in plan.document["graph"].get("tensors", [])}
    written = _split(plan.signatures["op"].rpartition(" -> ")[2])
    results = []
    for name, text in zip(names, written):
        if name not in whole:
            raise InputError(f"{name} is a sequence, and no tensor on a mesh")
        shape = whole[name].shape
        layout = _layouts.parse_layout(text, mesh, len(shape))
        dtype = types[name].partition("[")[0] if name in types else _values.dtype_name(whole[name].dtype)
        own = [_values.narrowed(parts[f"{name}@{rank}"], dtype) for rank in range(mesh.devices)]
        results.append(GlobalTensor(own, shape, dtype, mesh, layout, plan.collectives))
    return results[0] if len(results) == 1 else tuple(results)
