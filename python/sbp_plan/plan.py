"""Plans: what they cost, how tensors lie, why; checked, compared, drawn, executed."""
from __future__ import annotations

import importlib
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._program import Option, Path, call, flags, refuse
from ._progress import Progress
from .errors import InputError

if TYPE_CHECKING:
    from .model import Model


_LARGEST_PAGE = 8_000_000  # characters that a notebook holds of a plan; of larger ones a picture


@dataclass(frozen=True)
class Cost:
    """A step of a plan. `step_seconds`: as it is executed, compute beside collectives; the two that follow add up what ops,
    and what collectives with local slices and copies take alone. Bytes that all ranks send, bytes at a device's peak, and what no plan's step takes less than, or
    None where that is not known."""

    step_seconds: float
    compute_seconds: float
    collective_seconds: float
    bytes_moved: float
    peak_bytes: int
    lower_bound_seconds: float | None


@dataclass(frozen=True)
class Transition:
    """One tensor that goes from one layout to another; `collectives` are the steps' names, in order."""

    tensor: str
    source: str
    target: str
    collectives: tuple[str, ...]
    seconds: float
    reason: str


@dataclass(frozen=True)
class Check:
    """The answer of `check`: truthy where the plan is right; `report` says what is wrong."""

    ok: bool
    report: str

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class Diff:
    """The answer of `diff`: truthy where the plans differ; `report` says how."""

    differs: bool
    report: str

    def __bool__(self) -> bool:
        return self.differs


def _split(layouts: str) -> list[str]:
    """The layouts of one side of a signature: commas within parentheses divide a layout's own axes."""
    result, depth = [""], 0
    for character in layouts:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            result.append("")
        else:
            result[-1] += character
    return [layout.strip() for layout in result]


class Plan:
    """A plan, as a document (schemas/README.md); immutable."""

    def __init__(self, document: bytes, summary: str | None = None, model: Model | None = None) -> None:
        self._document, self._summary, self._model = document, summary, model
        self._parsed: dict[str, Any] | None = None
        self._figures: dict[str, Any] | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The plan's JSON, parsed once; not to be changed."""
        if self._parsed is None:
            self._parsed = json.loads(self._document)
        return self._parsed

    @property
    def cost(self) -> Cost:
        figures = self.figures
        return Cost(figures["seconds_per_step"], figures["compute_seconds"], figures["collective_seconds"],
                    figures["bytes_moved"], figures["peak_bytes"], figures["lower_bound_seconds"])

    @property
    def figures(self) -> dict[str, Any]:
        """What `sbp-plan explain PLAN --format json` prints, computed once; not to be changed."""
        if self._figures is None:
            self._figures = json.loads(call("explain", ["--format", "json", "--", "-"], self._document).output)
        return self._figures

    @property
    def layouts(self) -> dict[str, str]:
        """Tensor -> its layout: how an input or parameter starts, how its producer leaves any other: "(S(0), B)"."""
        result = {str(tensor): str(row["layout"]) for row in self.document.get("layouts", []) for tensor in row["tensors"]}
        signatures = self.signatures
        for op in self.document.get("graph", {}).get("ops", []):
            if op["name"] in signatures:
                written = _split(signatures[op["name"]].rpartition(" -> ")[2])
                result.update((name, layout) for name, layout in zip(op.get("outputs", []), written) if name)
        return result

    @property
    def signatures(self) -> dict[str, str]:
        """Op -> its signature: "(S(0), B), (B, B) -> (S(0), B)"."""
        return {str(op): str(row["signature"]) for row in self.document.get("decisions", []) for op in row["ops"]}

    @property
    def collectives(self) -> list[Transition]:
        """Every change of layout between ops, as the plan lists them."""
        return [Transition(str(row["tensor"]), str(row["from"]), str(row["to"]),
                           tuple(str(step["collective"]) for step in row.get("steps", [])), float(row.get("seconds", 0)),
                           str(row.get("reason", "")))
                for row in self.document.get("transitions", [])]

    def summary(self) -> str:
        """What a step takes and where it goes."""
        if self._summary is None:
            self._summary = call("explain", ["--", "-"], self._document).output.decode()
        return self._summary

    def __repr__(self) -> str:
        model = self.document.get("model", {})
        step = self.cost.step_seconds
        return f"<plan of {model.get('path') or 'a graph'} on {self.document.get('mesh', '?')}: {step:.4g} s a step>"

    def __str__(self) -> str:
        return self.summary()

    def save(self, path: Path) -> None:
        """Writes the plan: .json, .prototxt or .pb."""
        call("convert", ["--", "-", os.fspath(path)], self._document)

    def explain(self, name: str, **options: Option) -> str:
        """Why the op, tensor or scope `name` is laid out as it is. Options: the flags of `sbp-plan help explain`."""
        return call("explain", [*flags(options), "--", "-", name], self._document).output.decode()

    def render(self, form: str = "svg", **options: Option) -> bytes:
        """The plan as html (the viewer, one file that opens from disk), svg, png, pdf, dot, md or txt. Options of pictures
        and tables: view="overview", expand=[...], max_nodes=..."""
        refuse(options, "as", "output")
        return call("render", [*flags({**options, "as": form, "output": "-"}), "--", "-"], self._document).output

    def show(self) -> None:
        """Shows summary and viewer in a notebook; prints the summary elsewhere."""
        try:
            python: Any = importlib.import_module("IPython")
            display: Any = importlib.import_module("IPython.display")
        except ImportError:
            print(self.summary())
            return
        if python.get_ipython() is None:
            print(self.summary())
        else:
            display.display(display.HTML(self._repr_html_()))

    def _repr_html_(self) -> str:
        import html

        summary = f"<pre>{html.escape(self.summary())}</pre>"
        page = self.render("html").decode()
        if len(page) > _LARGEST_PAGE:
            picture = self.render("svg", view="overview").decode()
            return f"{summary}{picture[picture.find('<svg'):]}"
        return (f'{summary}<iframe sandbox="allow-scripts allow-downloads" title="the plan" '
                f'style="width:100%;height:640px;border:1px solid" srcdoc="{html.escape(page)}"></iframe>')

    def run(self, inputs: Mapping[str, Any] | None = None, *, progress: Progress = None,
            **options: Option) -> dict[str, Any]:
        """Executes the plan, threads being its devices, compares with the unsharded run (ExecutionError where they
        differ; no_reference=True leaves that out) and returns the outputs. Needs numpy."""
        from .model import run_file

        path = "memory:plan.json"
        return run_file(path, inputs, options, model=self._moved_model(), documents={path: self._document},
                        progress=progress)

    def apply_torch(self, net: Any, mesh: Any = None) -> Any:
        """The module sharded as this plan says: a callable of this rank, called as `net` is. Its parameters, inputs and
        outputs are DTensors; between them it computes the plan's ops on the parts that the rank holds and sends what the
        plan sends, one collective for each of its steps (as `export --to dtensor` writes; `net` itself is not changed).

        `net`: the torch.nn.Module that was exported, whose weights are taken, or the torch.export program. `mesh`: a torch
        DeviceMesh of the plan's shape; without one it is made on the process group, on the device of the weights.
        `.state` has parameters and buffers by name. Calls are not recorded by autograd: gradients and updates are the
        plan's own, where it is one of Model.train: then each call of `.run({"x": ..., "lr": ..., "step": ...})` is a
        step that returns outputs by name, and `.state` goes on from it.

        Raises ImportError without torch; InputError for plans of other models than torch.export's, ops that are not
        computed, and modules and meshes that are not the plan's."""
        from ._torch import applied

        return applied(self, self._document, self._model.path if self._model else None, net, mesh)

    def _moved_model(self) -> pathlib.Path | None:
        """The model's file, where it is no longer at the place that the document names."""
        recorded = self.document.get("model", {}).get("path")
        if self._model is None or not recorded or pathlib.Path(recorded).exists() or not self._model.path.exists():
            return None
        return self._model.path

    def file(self) -> tempfile.TemporaryDirectory[str]:
        """A folder with this plan as plan.json; a context manager."""
        folder = tempfile.TemporaryDirectory(prefix="sbp-plan-")
        (pathlib.Path(folder.name) / "plan.json").write_bytes(self._document)
        return folder


def _expect_plan(function: str, value: object) -> None:
    if not isinstance(value, Plan):
        raise TypeError(f"{function}() takes plans (of Model.plan or load_plan), not {type(value).__name__}")


def load_plan(path: Path) -> Plan:
    """The plan in a .json, .prototxt or .pb file. Raises InputError."""
    plan = Plan(call("convert", ["--to=json", "--", os.fspath(path), "-"]).output)
    kind = str(plan.document.get("kind", ""))
    if not kind.startswith("sbp_plan.plan."):
        raise InputError(f"{os.fspath(path)}: {kind.removeprefix('sbp_plan.').rpartition('.')[0] or 'no document of sbp-plan'}, "
                         f"expected a plan (models are read by sbp_plan.load)")
    return plan


def check(plan: Plan, model: Model | None = None, **options: Option) -> Check:
    """Derives the plan's facts again and, with `model`, compares its graph with it."""
    _expect_plan("check", plan)
    arguments = [*flags(options), "--", "-", *([os.fspath(model.path)] if model is not None else [])]
    answer = call("check", arguments, plan._document, differs=True)
    return Check(answer.code == 0, answer.output.decode())


def diff(before: Plan, after: Plan, **options: Option) -> Diff:
    """Compares two plans by meaning. Options: tolerance=0.01, all=True."""
    _expect_plan("diff", before)
    _expect_plan("diff", after)
    path = "memory:before.json"
    answer = call("diff", [*flags(options), "--", path, "-"], after._document, True, documents={path: before._document})
    return Diff(answer.code == 1, answer.output.decode())
