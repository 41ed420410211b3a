"""Is a torch.export program the one that a plan was made of?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import OutputKind

LARGEST_HASHED = 32 << 20  # bytes: hashing takes a second for 10 MB


def fingerprint(path: str) -> str | None:
    """Of a file's bytes, as plans record it (FNV-1a, 64 bits). None: too large to be hashed here."""
    if Path(path).stat().st_size > LARGEST_HASHED:
        return None
    value = 0xCBF29CE484222325
    for byte in Path(path).read_bytes():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"fnv1a64:{value:016x}"


def check_program(program: torch.export.ExportedProgram, table: dict[str, Any],
                  state: Mapping[str, torch.Tensor] | None = None) -> None:
    """Raises ValueError, which says what differs: nodes by name, shapes of nodes, parameters and inputs. `state`: parameters,
    buffers and constants in the place of the program's own."""
    given = {**program.state_dict, **program.constants} if state is None else state
    differences = [*_node_differences(program, table), *_state_differences(given, table), *_input_differences(program, table)]
    if differences:
        more = f"; and {len(differences) - 5} more" if len(differences) > 5 else ""
        raise ValueError(f"the program is not the plan's model {table['model']}: {'; '.join(differences[:5])}{more}")


def output_name(spec: Any) -> str | None:
    """As the plan names an output of the program."""
    if spec.kind in (OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT):
        return f"grad/{spec.target}"
    if spec.kind is OutputKind.BUFFER_MUTATION:
        return f"next/{spec.target}"
    return getattr(spec.arg, "name", None)


def pairs(value: torch.Tensor) -> torch.Tensor:
    """Complex numbers as the plan has them: the real part and the imaginary one, in a dimension at the end."""
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def _sizes(value: Any) -> list[int] | None:
    """None: no tensor, or of sizes that are not numbers."""
    if not isinstance(value, torch.Tensor) or not all(isinstance(n, int) for n in value.shape):
        return None
    return [*value.shape, *([2] if value.is_complex() else [])]


def _node_differences(program: torch.export.ExportedProgram, table: dict[str, Any]) -> list[str]:
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    nodes = {node.name: node for graph in reversed(graphs) for node in graph.nodes}  # the outer graph's come last
    differences = [f"it has no node {name}" for name in table["nodes"] if name not in nodes]
    for name in table["nodes"]:
        tensor = table["tensors"].get(name)
        found = _sizes(nodes[name].meta.get("val")) if name in nodes else None
        if tensor and tensor["role"] == "activation" and found is not None and found != tensor["shape"]:  # else its namesake
            differences.append(f"node {name} is {found}, the plan's {tensor['shape']}")
    return differences


def _state_differences(given: Mapping[str, Any], table: dict[str, Any]) -> list[str]:
    differences = []
    for name, tensor in table["tensors"].items():
        if tensor["role"] != "parameter" or "values" in tensor or "grid" in tensor:
            continue
        part = tensor.get("part")
        source, shape = (part["whole"], part["shape"]) if part else (name, tensor["shape"])
        found = _sizes(given.get(source))
        if found is None:
            differences.append(f"it has no parameter {source}")
        elif found != shape:
            differences.append(f"parameter {source} is {found}, the plan's {shape}")
    return differences


# What a training step takes besides, by name or up to a slash. What starts as a state does, too.
ADDED_INPUTS = ("labels", "lr", "step", "target", "cotangent")


def _input_differences(program: torch.export.ExportedProgram, table: dict[str, Any]) -> list[str]:
    found = {*program.graph_signature.user_inputs}
    if table["train"]:
        found |= {tie["input"] for tie in table["ties"]}
        found |= {name for name in table["inputs"] if name.partition("/")[0] in ADDED_INPUTS}
    return [f"it has no input {name}" for name in table["inputs"] if name not in found]
