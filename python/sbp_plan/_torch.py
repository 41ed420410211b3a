"""Plans applied to modules of PyTorch, by the program that `export --to dtensor` writes."""
from __future__ import annotations

import contextlib
import importlib
import math
import os
import pathlib
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._program import call
from .errors import InputError

if TYPE_CHECKING:
    from .plan import Plan

_LOADING = threading.Lock()  # sys.path and sys.modules are the process's, and torch.export.load is for one thread


def applied(plan: Plan, document: bytes, model: pathlib.Path | None, net: Any, mesh: Any) -> Any:
    """See Plan.apply_torch."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError("apply_torch() runs plans by PyTorch, and torch is not installed here (pip install torch)") from error
    if not isinstance(net, (torch.nn.Module, torch.export.ExportedProgram)):
        raise TypeError("apply_torch() takes the torch.nn.Module that was exported, or its torch.export program, "
                        f"not {type(net).__name__}")
    with tempfile.TemporaryDirectory(prefix="sbp-plan-") as folder:
        call("export", ["--to=dtensor", f"--output={folder}", "--", "-"], document)
        runner = _imported(pathlib.Path(folder))
        table = runner.read_table()
    given = isinstance(net, torch.export.ExportedProgram)
    program = net if given else _loaded(torch, _model_file(plan, model))
    state = None if given else _state_of(net, program)
    try:
        return runner.apply(program, _mesh(torch, runner, table, mesh, _device(state)), table, state)
    except ValueError as error:
        raise InputError(str(error)) from error


def _imported(folder: pathlib.Path) -> Any:
    """The program's module, whose helpers import each other by plain names; others of these names stay as they are."""
    names = [path.stem for path in folder.glob("*.py")]
    with _LOADING, _set_aside(names):
        sys.path.insert(0, os.fspath(folder))
        try:
            importlib.invalidate_caches()
            return importlib.import_module("apply_plan")
        finally:
            sys.path.remove(os.fspath(folder))


def _loaded(torch: Any, path: pathlib.Path) -> Any:
    with _LOADING:
        return torch.export.load(os.fspath(path))


@contextlib.contextmanager
def _set_aside(names: list[str]) -> Iterator[None]:
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(others)


def _model_file(plan: Plan, model: pathlib.Path | None) -> pathlib.Path:
    recorded = plan.document.get("model", {}).get("path")
    for path in (model, pathlib.Path(recorded) if recorded else None):
        if path is not None and path.exists():
            return path
    raise InputError(f"the plan's model {recorded or ''} is not at hand: give apply_torch() the torch.export program that was "
                     "planned in the module's place")


def _state_of(net: Any, program: Any) -> dict[str, Any]:
    """The module's parameters and buffers by the program's names; the program's own constants stay."""
    own = {**dict(net.named_parameters(remove_duplicate=False)), **dict(net.named_buffers(remove_duplicate=False))}
    missing = [name for name in program.state_dict if name not in own]
    if missing:
        raise InputError(f"the module has no parameter {missing[0]}, which the plan's model has: it is not the one that was exported")
    return {**program.constants, **own}


def _device(state: Mapping[str, Any] | None) -> str:
    """Where the mesh's parts are to lie: a module's weights say so."""
    return next((str(value.device.type) for value in (state or {}).values() if value.device.type != "meta"), "cpu")


def _mesh(torch: Any, runner: Any, table: dict[str, Any], mesh: Any, device: str) -> Any:
    if mesh is None:
        if not torch.distributed.is_initialized():
            raise InputError("there is no process group: start the script with torchrun --nproc-per-node "
                             f"{math.prod(table['mesh_shape'])} and call "
                             "torch.distributed.init_process_group(), or give apply_torch() a DeviceMesh")
        return runner.make_mesh(table, device)
    if not isinstance(mesh, torch.distributed.device_mesh.DeviceMesh):
        raise TypeError(f"apply_torch() takes a torch DeviceMesh, not {type(mesh).__name__}")
    names = list(mesh.mesh_dim_names or table["mesh_axes"])
    if names != table["mesh_axes"]:
        raise InputError(f"the mesh's axes are {', '.join(names)}, the plan's {', '.join(table['mesh_axes'])}")
    return mesh
