"""A call of an op on arrays: executed at once, by the planner's kernels, on one device."""
from __future__ import annotations

import json
import warnings
from typing import Any

from ._binding import Call
from ._document import constants_of, document
from .errors import Error, InputError
from .model import run_file


def compute(call: Call) -> Any:
    """The results as numpy arrays, a list of arrays where a result is a sequence; a tuple where there are several.
    Results of types that numpy lacks are of ml_dtypes' where that is there, else of f32, int8 or uint8. Raises InputError,
    ExecutionError."""
    constants = constants_of(call)
    made = document(call, constants)
    arrays: dict[str, Any] = {}
    for index, (name, operand) in enumerate(zip(made.inputs, call.operands)):
        if operand is None or index in constants:
            continue
        if operand.dtype == "string":
            raise InputError(f"{call.op}: arrays of strings have at most 4096 elements here")
        if isinstance(operand.value, list):
            arrays.update((f"{name}/{i}", array) for i, array in enumerate(operand.value))
        else:
            arrays[name] = operand.value
    name = "memory:op.json"
    with warnings.catch_warnings():  # of sizes that planning would assume: nothing is planned here
        warnings.simplefilter("ignore")
        try:
            outputs = run_file(name, arrays, {"unsharded": True, "quiet": True, "rules": list(call.rules)},
                               documents={name: json.dumps(made.json).encode()}, progress=False)
        except Error as error:  # of which op is said already
            raise type(error)(str(error).removeprefix('op "op": ')) from None
    results = [_result(outputs, name) for name in made.outputs]
    return results[0] if len(results) == 1 else tuple(results)


def _result(outputs: dict[str, Any], name: str) -> Any:
    if name in outputs:
        return outputs[name]
    entries = [entry for entry in outputs if entry.startswith(name + "/")]
    return [outputs[entry] for entry in sorted(entries, key=lambda entry: int(entry.rpartition("/")[2]))]
