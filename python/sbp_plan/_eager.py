"""A call of an op on arrays: executed at once, by the planner's kernels, on one device."""
from __future__ import annotations

import json
import warnings
from typing import Any

from . import _values
from ._binding import Call
from ._document import constants_of, document
from .errors import InputError
from .model import run_file


def compute(call: Call) -> Any:
    """The results as numpy arrays, a list of arrays where a result is a sequence; a tuple where there are several.
    Results of bf16 are of ml_dtypes' type where that is there; of other types that numpy lacks f32. Raises InputError, ExecutionError."""
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
        outputs = run_file(name, arrays, {"unsharded": True, "quiet": True, "rules": list(call.rules)},
                           documents={name: json.dumps(made.json).encode()}, progress=False)
    results = [_result(outputs, name) for name in made.outputs]
    if _has_bf16(call):
        from . import _rules

        types = _rules.result_types(call, [constants.get(index) for index in range(len(call.operands))])
        results = [_narrowed(result, text) for result, text in zip(results, types)]
    return results[0] if len(results) == 1 else tuple(results)


def _has_bf16(call: Call) -> bool:
    return any(operand and operand.dtype == "bf16" for operand in call.operands) or "bf16" in call.attributes.values()


def _narrowed(result: Any, text: str) -> Any:
    dtype = text.removeprefix("sequence(").partition("[")[0]
    if isinstance(result, list):
        return [_values.narrowed(array, dtype) for array in result]
    return _values.narrowed(result, dtype)


def _result(outputs: dict[str, Any], name: str) -> Any:
    if name in outputs:
        return outputs[name]
    entries = [entry for entry in outputs if entry.startswith(name + "/")]
    return [outputs[entry] for entry in sorted(entries, key=lambda entry: int(entry.rpartition("/")[2]))]
