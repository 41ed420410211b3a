"""What both forms of a plan for JAX share: the mesh, whole arrays read and compared, the command line.

Shipped beside load_plan.py, which imports it before JAX: the number of a CPU's devices is set before JAX starts.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy


def set_devices(plan: Mapping[str, Any]) -> int:
    """How many devices the plan has; a CPU gets as many, unless XLA_FLAGS says otherwise."""
    devices = math.prod(plan["mesh_shape"])
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={devices}")
    return devices


def make_mesh(plan: Mapping[str, Any]) -> Any:
    """The plan's mesh of JAX's devices. Error: there are fewer."""
    import jax  # noqa: PLC0415

    devices, wanted = jax.devices(), math.prod(plan["mesh_shape"])
    ranks = plan["mesh_ranks"] or list(range(wanted))
    if len(devices) <= max(ranks):
        raise SystemExit(f"the plan is for {wanted} devices, and there are {len(devices)}; on a CPU set "
                         f"XLA_FLAGS=--xla_force_host_platform_device_count={wanted}")
    return jax.sharding.Mesh(numpy.array([devices[r] for r in ranks]).reshape(plan["mesh_shape"]), plan["mesh_axes"])


def typed(value: Any, dtype: Any) -> numpy.ndarray:
    """Of types that numpy lacks, .npz files have the bytes alone."""
    array = numpy.asarray(value)
    return array.view(dtype) if array.dtype.kind == "V" else array


def largest_error(made: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[float, str]:
    """Over all outputs, ||made - expected|| / ||expected||, and whose it is. Error: one of them has outputs that the
    other has not."""
    if set(made) != set(expected):
        raise SystemExit(f"outputs that only one of both has: {', '.join(sorted(set(made) ^ set(expected)))}")
    worst: tuple[float, str] = (0.0, "")
    for name, value in expected.items():
        found = numpy.asarray(made[name])
        wanted, found = typed(value, found.dtype).astype("float64"), found.astype("float64")
        if wanted.shape != found.shape:
            raise SystemExit(f"{name} is {found.shape}, expected {wanted.shape}")
        equal = (found == wanted) | (numpy.isnan(found) & numpy.isnan(wanted))
        with numpy.errstate(invalid="ignore"):
            error = float(numpy.linalg.norm(numpy.where(equal, 0, found - wanted)))
        error /= max(float(numpy.linalg.norm(numpy.where(numpy.isfinite(wanted), wanted, 0))), 1e-30)
        worst = max(worst, (numpy.inf if numpy.isnan(error) else error, name))
    return worst


def main(load: Callable[[], Any]) -> None:
    """Runs what `load` gives with the inputs of an archive."""
    parser = argparse.ArgumentParser(description="run the planned function with JAX")
    parser.add_argument("--inputs", required=True, help="an .npz archive of all inputs and parameters, by name")
    parser.add_argument("--expect", help="an .npz archive of outputs, to be compared")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="greatest relative error (1e-5)")
    parser.add_argument("--save", help="write the outputs as an .npz archive")
    parser.add_argument("--hlo", help="write the compiled program's text")
    options = parser.parse_args()
    planned = load()
    if options.hlo:
        Path(options.hlo).write_text(planned.compiled_text())
    try:
        made = planned.run(dict(numpy.load(options.inputs)))
    except ValueError as refused:
        raise SystemExit(str(refused)) from refused
    for name, value in made.items():
        print(f"{name} {value.dtype}{list(value.shape)} {value.sharding.spec}")
    if options.save:
        numpy.savez(options.save, **{name: numpy.asarray(value) for name, value in made.items()})
    if options.expect:
        expected = dict(numpy.load(options.expect))
        error, name = largest_error(made, expected)
        print(f"largest error {error:.2e}")
        if not error <= options.tolerance:
            size = numpy.abs(typed(expected[name], made[name].dtype).astype("float64")).max()
            raise SystemExit(f"the error of {name} is above {options.tolerance}; what is expected there is {size:.2e} at most")
