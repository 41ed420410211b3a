"""What the program says of its rules: every op with its signatures, and the names that functions of them have."""
from __future__ import annotations

import json
import keyword
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._program import Option, call, flags


@dataclass(frozen=True)
class Parameter:
    """An operand, or (`attribute`) an attribute, of an op; or a result."""

    name: str
    kind: str = "Tensor"  # "Tensor", "Scalar", "int", "float[]", "type", ...
    type: str = ""  # of tensors: a dtype, a group, or the parameter whose type it has
    optional: bool = False
    variadic: bool = False
    attribute: bool = False
    default: Any = None
    reads_value: bool = False  # results or layouts follow from the operand's value

    @property
    def required(self) -> bool:
        return not self.optional and not self.variadic and self.default is None


@dataclass(frozen=True)
class Signature:
    """An overload: what the op takes and gives. `open`: further attributes are taken."""

    text: str
    doc: str
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    open: bool = False

    def operands(self) -> list[Parameter]:
        return [parameter for parameter in self.parameters if not parameter.attribute]


@dataclass(frozen=True)
class OpSchema:
    op: str  # "MatMul", "com.microsoft::Gelu"
    family: str
    doc: str
    signatures: tuple[Signature, ...]  # in the order in which they are tried


# Words that splitting at capitals would tear apart.
_WORDS = {"MatMul": "Matmul", "PRelu": "Prelu", "NaN": "Nan", "QMoE": "Qmoe", "MoE": "Moe", "NBits": "Nbits", "Col2Im": "Col2im",
          "SwiGLU": "Swiglu", "AdamW": "Adamw"}


def snake_case(op: str) -> str:
    """"MatMul" -> "matmul", "com.microsoft::BiasGelu" -> "bias_gelu"; a keyword of Python ends in "_": "and_"."""
    name = op.rpartition("::")[2]
    for word, plain in _WORDS.items():
        name = name.replace(word, plain)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    return name + "_" if keyword.iskeyword(name) else name


def long_name(op: str) -> str:
    """The name with the domain's last word in front: "microsoft_gelu", "onnx_gelu"."""
    domain = op.rpartition("::")[0].rpartition(".")[2]
    return f"{re.sub('[^0-9A-Za-z_]', '_', domain) or 'onnx'}_{snake_case(op).rstrip('_')}"


class Schema:
    """The ops of the built-in rules, and of users' files, by exact and by Python name.

    The plain name is that of ONNX's op where there is one, else of the only op of another domain that has it. A name of
    several other domains is nobody's; `ambiguous` has their long names. Every op has its exact and its long name, too."""

    def __init__(self, ops: Sequence[OpSchema], rules: Sequence[str] = ()) -> None:
        self.rules = tuple(rules)
        self.ops = {op.op: op for op in ops}
        self.names: dict[str, str] = {}
        self.ambiguous: dict[str, list[str]] = {}
        by_name: dict[str, list[str]] = defaultdict(list)
        for op in self.ops:
            by_name[snake_case(op)].append(op)
        for name, owners in by_name.items():
            plain = [op for op in owners if "::" not in op]
            if plain or len(owners) == 1:
                self.names[name] = (plain or owners)[0]
            else:
                self.ambiguous[name] = sorted(long_name(op) for op in owners)
        for op in self.ops:
            self.names.setdefault(long_name(op), op)

    def find(self, name: str) -> OpSchema | None:
        """The op of an exact or a Python name."""
        return self.ops.get(name) or self.ops.get(self.names.get(name, ""))


def _parameter(row: dict[str, Any]) -> Parameter:
    default = row.get("default")
    if row.get("kind") in ("float", "Scalar") and isinstance(default, str):
        default = float(default)
    if isinstance(default, list):
        default = tuple(default)
    return Parameter(row["name"], row.get("kind", "Tensor"), row.get("type", ""), row.get("optional", False),
                     row.get("variadic", False), row.get("attribute", False), default, row.get("reads_value", False))


def _signature(row: dict[str, Any]) -> Signature:
    return Signature(row["text"], row["doc"], tuple(map(_parameter, row["parameters"])),
                     tuple(map(_parameter, row["results"])), row.get("open", False))


def load_schema(rules: Sequence[str] = ()) -> Schema:
    """Asks the program. Raises InputError where a file of rules is wrong."""
    options: dict[str, Option] = {"rules": list(rules), "format": "json"}
    document = json.loads(call("rules", ["list", *flags(options)]).output)
    return Schema([OpSchema(row["op"], row["family"], row["doc"], tuple(map(_signature, row["signatures"])))
                   for row in document["ops"]], rules)
