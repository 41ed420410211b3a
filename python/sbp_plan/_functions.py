"""Functions of ops, made from what the program says of its rules: signatures, defaults, documentation."""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _eager
from ._binding import RESULTS, bind, has_choice, nearest, python_name
from ._schema import OpSchema, Parameter, Schema, Signature, load_schema, snake_case
from .errors import CallError

_KINDS = {"Tensor": "Tensor", "Scalar": "Tensor | float", "int": "int", "float": "float", "bool": "bool", "string": "str",
          "int[]": "Sequence[int]", "float[]": "Sequence[float]", "string[]": "Sequence[str]", "type": "str",
          "literal": "Tensor", "graph": "Graph"}
# Where calls without tensors are recorded: the innermost graph of this thread (graph.py).
recording = threading.local()


class Function:
    """One op as a function. Arrays are computed with at once; global tensors (sp.tensor) where they lie; tensors of a
    graph (sp.graph) are recorded."""

    def __init__(self, schema: OpSchema, name: str, rules: tuple[str, ...]) -> None:
        self._schema, self._rules = schema, rules
        self.op = schema.op
        self.__name__ = self.__qualname__ = name
        self.__module__ = "sbp_plan.ops"
        self.__doc__ = _doc(schema)
        self.__signature__ = python_signature(schema.signatures)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = bind(self._schema, self.__name__, self._rules, args, kwargs)
        tensors = call.tensors()
        if tensors:
            kinds = {type(tensor) for tensor in tensors}
            if len(kinds) > 1:
                raise CallError(f"{self.__name__}(): takes global tensors or tensors of a graph, not both")
            return tensors[0]._compute(call)
        record: Callable[[Any], Any] | None = getattr(recording, "record", None)
        if record is not None and not call.operands:
            return record(call)
        return _eager.compute(call)

    def __repr__(self) -> str:
        return f"<op {self.op}: {self.__name__}{self.__signature__}>"


class Functions:
    """The functions of all ops of the built-in rules, and of files of rules: attributes by their names (`matmul`,
    `microsoft_gelu`), entries by the exact ones (`["com.microsoft::Gelu"]`)."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._made: dict[str, Function] = {}

    def __getattr__(self, name: str) -> Function:
        made = self._made.get(name)
        if made is not None:
            return made
        if name.startswith("__"):
            raise AttributeError(name)
        op = self._schema.find(name)
        if op is None:
            raise AttributeError(self._unknown(name))
        known = self._schema.names.get(name) == op.op
        function = Function(op, name if known else self._name_of(op), self._schema.rules)
        return self._made.setdefault(name, function)

    def _name_of(self, op: OpSchema) -> str:
        plain = snake_case(op.op)
        return plain if self._schema.names.get(plain) == op.op else next(
            name for name, owner in self._schema.names.items() if owner == op.op)

    def _unknown(self, name: str) -> str:
        several = self._schema.ambiguous.get(name)
        if several:
            return f'"{name}" is the name of several ops: {", ".join(several)}'
        return f'no op is called "{name}"{nearest(name, [*self._schema.names, *self._schema.ops])}'

    def __getitem__(self, name: str) -> Function:
        try:
            return self.__getattr__(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._schema.find(name) is not None

    def __dir__(self) -> list[str]:
        return sorted({*self._schema.names, *(op for op in self._schema.ops if "::" not in op)})

    def ops(self) -> list[str]:
        """The exact names of all ops."""
        return list(self._schema.ops)


def load_functions(rules: Sequence[str] = ()) -> Functions:
    return Functions(load_schema(rules))


def _doc(schema: OpSchema) -> str:
    lines = [schema.doc, ""]
    for signature in schema.signatures:
        if len(schema.signatures) > 1 and signature.doc not in ("", schema.doc):
            lines.append(signature.doc)
        lines.append(f"    {schema.op}: {signature.text}")
    names = [result.name for result in schema.signatures[0].results]
    if len(names) > 1 or has_choice(schema.signatures[0]):
        lines += ["", f"Results: {', '.join(names)}. {RESULTS}=N asks for the first N; else those that are not optional."]
    return "\n".join(lines).strip()


def _parameter(name: str, rows: Sequence[Parameter], everywhere: bool) -> inspect.Parameter:
    """Of a parameter as the signatures that have it say; `everywhere`: all have it."""
    kinds = inspect.Parameter
    if any(row.variadic for row in rows):
        return kinds(python_name(name), kinds.VAR_POSITIONAL, annotation="Tensor")
    required = everywhere and all(row.required for row in rows)
    default = next((row.default for row in rows if row.default is not None), None)
    words = list(dict.fromkeys(_KINDS[row.kind] for row in rows))
    if "Tensor | float" in words:
        words = ["Tensor | float"]
    if not required and default is None:
        words.append("None")
    kind = kinds.KEYWORD_ONLY if all(row.attribute for row in rows) else kinds.POSITIONAL_OR_KEYWORD
    return kinds(python_name(name), kind, default=kinds.empty if required else default, annotation=" | ".join(words))


def python_signature(signatures: Sequence[Signature]) -> inspect.Signature:
    """All parameters of all signatures; required is what all require."""
    kinds = inspect.Parameter
    rows: dict[str, list[Parameter]] = {}
    for signature in signatures:
        for parameter in signature.parameters:
            rows.setdefault(parameter.name, []).append(parameter)
    made = [_parameter(name, found, len(found) == len(signatures)) for name, found in rows.items()]
    if any(map(has_choice, signatures)):
        made.append(kinds(RESULTS, kinds.KEYWORD_ONLY, default=None, annotation="int | None"))
    if any(signature.open for signature in signatures):
        made.append(kinds("attributes", kinds.VAR_KEYWORD))
    made.sort(key=lambda python: python.kind)
    optional = False
    for index, python in enumerate(made):  # Python has none that is required behind one that is not
        if python.kind == kinds.POSITIONAL_OR_KEYWORD:
            optional = optional or python.default is not kinds.empty
            if optional and python.default is kinds.empty:
                made[index] = python.replace(default=None)
    results = signatures[0].results
    one = len(results) == 1 and not results[0].variadic
    return inspect.Signature(made, return_annotation="Tensor" if one else "Tensor | tuple[Tensor, ...]")
