"""Models: where they come from, their training steps, plans of them, and runs on this machine's CPU."""
from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from ._folder import Folder
from ._program import Option, Path, call, flags, refuse, refuse_unnamed
from ._progress import Progress
from ._values import typed
from .errors import UsageError
from .plan import Plan

_RESOLVING = ("dim", "batch", "seq", "rules")  # of all that is said of a model, what `run` and `render` take as well


# Named dimensions of a recorded graph: the size where nothing else is said, and the inputs and axes that have it.
NamedDims = dict[str, tuple[int, list[tuple[str, int]]]]


class Model:
    """A model's file with what is said about it. Immutable: `train` returns another one."""

    def __init__(self, path: Path, options: Mapping[str, Option],
                 folder: Folder | None = None,
                 dims: NamedDims | None = None) -> None:
        self.path = pathlib.Path(path)
        self.options = dict(options)
        self._dims = dict(dims or {})
        self._folder = folder  # of a file of our own: it goes with the last model of it

    def train(self, loss: str, **options: Option) -> Model:
        """The training step of this model: `plan` plans loss, gradients and optimizer. Options: the flags of
        `sbp-plan help infer` under "Training": optimizer="adamw", compute="bf16", remat="full", ..."""
        return Model(self.path, {**self.options, "train": True, "loss": loss, **options}, self._folder, self._dims)

    def plan(self, *, progress: Progress = None, **options: Option) -> Plan:
        """Plans this model; the options are the flags of `sbp-plan help infer`: mesh={"data": 2, "model": 4} or
        devices=8, memory_limit="75GB", pin=["fc1.weight=S(1)"], strategy="einsum", dim={"batch": 8}, ...

        `progress`: called with what goes on; by default a line says it in terminals and notebooks, False is silence.
        Raises UsageError, InputError, NoPlanError; Ctrl-C stops the search with KeyboardInterrupt."""
        refuse(options, "output")
        path = "memory:plan.json"
        answer = call("infer", [*flags({**self._said(options), "output": path}), "--", os.fspath(self.path)],
                      progress=progress)
        return Plan(answer.documents[path], answer.output.decode(), self)

    def run(self, inputs: Mapping[str, Any] | None = None, mesh: Option = None, *, progress: Progress = None,
            **options: Option) -> dict[str, Any]:
        """Executes this model on the CPU, with numpy arrays by input name (random where not given), and returns its
        outputs likewise; arrays of other packages come by DLPack. Floats of any type are taken for floats, integers of
        8 bits for those of 4 and 2 where the values fit. Outputs are of the model's types: those that numpy lacks are
        ml_dtypes' where that package is, else f32, int8 or uint8, without loss. With `mesh`: plans it first, options being those of `plan`, and runs the plan, threads being
        its devices. A training step, or another dtype, runs as a plan. Needs numpy."""
        refuse_unnamed(inputs)
        if mesh is not None:
            planned = self.plan(mesh=mesh, progress=progress, **self._said(options, inputs or {}))
            return planned.run(inputs, progress=progress)
        others = sorted(set(self.options) - set(_RESOLVING))
        if others:
            raise UsageError(f"{others[0]}: such a model runs as a plan; give mesh={{...}}")
        return run_file(self.path, inputs, {**self._said(options, inputs or {}), "unsharded": True}, progress=progress)

    def _said(self, options: Mapping[str, Option], inputs: Mapping[str, Any] | None = None) -> dict[str, Option]:
        """All options, with the sizes of named dimensions of which they say nothing: those of arrays that have them."""
        said: dict[str, Option] = {**self.options, **options}
        own = said.get("dim")
        if not self._dims or not (own is None or isinstance(own, Mapping)):
            return said
        sizes = {}
        for name, (size, places) in self._dims.items():
            shapes = [(_shape_of((inputs or {}).get(tensor)), axis) for tensor, axis in places]
            sizes[name] = next((int(shape[axis]) for shape, axis in shapes if axis < len(shape)), size)
        return {**said, "dim": {**sizes, **(own or {})}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._folder is not None:  # a copy, with files of its own
            self.path = self._folder.path / self.path.name

    def __repr__(self) -> str:
        said = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"<model {os.fspath(self.path)}{said}>"

    def _repr_html_(self) -> str:
        """The model's picture, for notebooks."""
        said = {name: value for name, value in self._said({}).items() if name in _RESOLVING}
        picture = call("render", [*flags({**said, "as": "svg", "output": "-"}), "--", os.fspath(self.path)]).output.decode()
        return picture[picture.find("<svg"):]


def _shape_of(value: Any) -> Any:
    """Of an array, or of numbers in lists, which numpy takes too; () of nothing."""
    if value is None or hasattr(value, "shape"):
        return getattr(value, "shape", ())
    import numpy

    return numpy.shape(value)


def run_file(path: Path, inputs: Mapping[str, Any] | None, options: Mapping[str, Option], *,
             model: Path | None = None, documents: Mapping[str, bytes] | None = None, progress: Progress = None) -> dict[str, Any]:
    """Runs a model or plan file, or one of the `documents`, with arrays in and out. `model`: a plan's, where it is not
    at the place that the plan says."""
    refuse_unnamed(inputs)
    refuse(options, "outputs", *(["inputs"] if inputs else []))
    given: dict[str, Option] = {**options, "outputs": "arrays:", "format": "json"}
    if inputs:
        given["inputs"] = "arrays:"
    files = [os.fspath(path), *([] if model is None else [os.fspath(model)])]
    answer = call("run", [*flags(given), "--", *files], documents=documents, arrays=inputs, progress=progress)
    return typed(answer.arrays, {row["name"]: row["type"] for row in json.loads(answer.output)["outputs"]})


def load(path: Path, **options: Option) -> Model:
    """The model in an .onnx, .pt2, .json, .prototxt or .pb file. Options: dim, rules, dtype, ... of `plan`. The file is
    read when the model is planned or run. Raises FileNotFoundError."""
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(os.fspath(path))
    return Model(path, options)


def from_torch(program: Any, **options: Option) -> Model:
    """The model of what torch.export.export returned; torch is needed, and writes a temporary .pt2 file."""
    import torch

    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError("from_torch() takes what torch.export.export(module, arguments) returns, "
                        f"not {type(program).__name__}")
    folder = Folder()
    path = folder.path / "model.pt2"
    torch.export.save(program, os.fspath(path))
    return Model(path, options, folder)


def from_jax(lowered: Any, **options: Option) -> Model:
    """The model of jax.jit(function).lower(...): its StableHLO, in a temporary .mlir file."""
    folder = Folder()
    path = folder.path / "model.mlir"
    if not hasattr(lowered, "compiler_ir"):
        raise TypeError(f"from_jax() takes what jax.jit(function).lower(...) returns, not {type(lowered).__name__}")
    module = lowered.compiler_ir("stablehlo")
    path.write_text(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))
    return Model(path, options, folder)


def from_onnx(model: Any, **options: Option) -> Model:
    """The model of an onnx.ModelProto, or of a path to one."""
    if isinstance(model, (str, os.PathLike)):
        return load(model, **options)
    if not hasattr(model, "SerializeToString"):
        raise TypeError(f"from_onnx() takes an onnx.ModelProto or a path, not {type(model).__name__}")
    folder = Folder()
    path = folder.path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return Model(path, options, folder)
