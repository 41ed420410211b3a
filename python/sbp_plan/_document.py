"""A call as a graph of one op."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _values
from ._binding import Call, Operand
from ._operators import TensorLike

KIND = "sbp_plan.graph.v1"
Constants = dict[int, Any]  # by operand: the array that stands in the document


@dataclass(frozen=True)
class OneOp:
    json: dict[str, Any]
    inputs: list[str]  # the names of operands; "": absent
    outputs: list[str]


def operand_type(operand: Operand) -> str:
    """"f32[2,3]"; of a list of arrays that of a sequence."""
    if isinstance(operand.value, list):
        return f"sequence({operand.dtype}[...])"
    if isinstance(operand.value, TensorLike):
        return operand.value.type
    return _values.type_text(operand.dtype, operand.value.shape)


def constants_of(call: Call) -> Constants:
    """The arrays that a document should hold: numbers, and small ones whose values the op's rule reads."""
    result: Constants = {}
    for index, operand in enumerate(call.operands):
        if operand is None or isinstance(operand.value, list) or not hasattr(operand.value, "tobytes"):
            continue
        wanted = operand.parameter.reads_value or operand.value.ndim == 0 or operand.dtype == "string"
        if wanted and operand.value.size <= _values.MAX_LITERAL:
            result[index] = operand.value
    return result


def document(call: Call, constants: Mapping[int, Any]) -> OneOp:
    """Operands that are no constants are inputs."""
    names, inputs, parameters = [], [], []
    for index, operand in enumerate(call.operands):
        if operand is None:
            names.append("")
            continue
        name = f"{operand.parameter.name}.{index}"
        names.append(name)
        tensor: dict[str, Any] = {"name": name, "type": operand_type(operand)}
        if index in constants:
            parameters.append({**tensor, "literal": _values.literal(constants[index], operand.dtype)})
        else:
            inputs.append(tensor)
    outputs = [f"result.{index}" for index in range(call.results)]
    op: dict[str, Any] = {"name": "op", "type": call.op, "inputs": names, "outputs": outputs}
    attributes = {**call.attributes, **call.graphs}
    if attributes:
        op["attributes"] = attributes
    return OneOp({"kind": KIND, "name": call.op, "inputs": inputs, "parameters": parameters, "ops": [op], "outputs": outputs},
                 names, outputs)
