"""Questions to the rules about one op: types of results, signatures. Answers are kept: equal questions are asked once."""
from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ._binding import Call
from ._document import Constants, document, operand_type
from ._program import call as call_program
from ._program import flags
from .errors import InputError

_answers: dict[str, dict[str, Any]] = {}
_lock = threading.Lock()
_MOST = 20000  # answers that are kept


def ask(question: Mapping[str, Any], rules: Sequence[str] = ()) -> dict[str, Any]:
    """A question of `sbp-plan rules ask`. Raises InputError with the program's message."""
    line = json.dumps(question, sort_keys=True)
    key = line + "\0" + "\0".join(rules)
    with _lock:
        answer = _answers.get(key)
    if answer is None:
        output = call_program("rules", ["ask", *flags({"rules": list(rules)})], line.encode(), progress=False).output
        answer = json.loads(output)
        if not rules:  # a user's file may change
            _keep(key, answer)
    if "error" in answer:
        raise InputError(str(answer["error"]))
    return answer


def _keep(key: str, answer: dict[str, Any]) -> None:
    with _lock:
        if len(_answers) >= _MOST:
            _answers.clear()
        _answers[key] = answer


def question(call: Call, values: Sequence[Any], mesh: str = "1") -> dict[str, Any] | None:
    """What `rules ask` is asked; `values`: of each operand, None where it is not known. None: it cannot be asked so."""
    attributes = {name: _plain(value) for name, value in call.attributes.items()}
    if call.graphs or any(value is None for value in attributes.values()):
        return None
    operands: list[Any] = []
    for operand, value in zip(call.operands, values):
        if operand is None:
            operands.append(None)
            continue
        if isinstance(operand.value, list) or operand.dtype == "string":
            return None
        entry: dict[str, Any] = {"type": operand_type(operand)}
        if not entry["type"].startswith(operand.dtype + "["):
            return None  # a sequence
        if value is not None:
            flat = value.reshape(-1).tolist()
            if any(isinstance(number, complex) or number in (float("inf"), float("-inf")) or number != number
                   for number in flat):
                return None
            entry["value"] = flat
        operands.append(entry)
    return {"ask": "candidates", "op": call.op, "operands": operands, "attributes": attributes, "results": call.results,
            "mesh": mesh}


def _plain(value: Any) -> Any:
    """An attribute as `rules ask` takes it; None where it does not."""
    if not isinstance(value, dict):
        return value
    items = value.get("floats", value.get("strings"))
    if items is None or any(isinstance(item, str) for item in value.get("floats", ())):
        return None
    return items


def result_types(call: Call, values: Sequence[Any]) -> list[str]:
    """Of each result: "f32[2,3]", "sequence(f32[...])". Raises InputError."""
    asked = question(call, values)
    if asked is not None:
        return [str(text) for text in ask(asked, call.rules)["results"]]
    return _planned_types(call, values)


def _planned_types(call: Call, values: Sequence[Any]) -> list[str]:
    """By a plan of the op alone, which takes subgraphs and literals, too."""
    constants = Constants({i: value for i, value in enumerate(values) if value is not None})
    made = document(call, constants)
    key = json.dumps(made.json, sort_keys=True)
    with _lock:
        known = _answers.get(key)
    if known is None or call.rules:
        arguments = flags({"mesh": "1", "strategy": "replicate", "no_simplify": True, "rules": list(call.rules),
                           "output": "memory:plan.json", "quiet": True})
        answer = call_program("infer", [*arguments, "--", "memory:op.json"], progress=False,
                              documents={"memory:op.json": json.dumps(made.json).encode()})
        graph = json.loads(answer.documents["memory:plan.json"])["graph"]
        types = {tensor["name"]: tensor["type"] for tensor in graph.get("tensors", [])}
        known = {"results": [types.get(name, "") for name in made.outputs]}
        _keep(key, known)
    return [str(text) for text in known["results"]]
