"""Runs what `export --to dtensor` writes on ranks that are threads of this process, and counts what they send."""

import importlib
import json
import subprocess
import sys
import threading
from collections import defaultdict

import torch
import torch.distributed as dist
from torch.testing._internal.distributed import multi_threaded_pg
from torch.utils._python_dispatch import TorchDispatchMode

MODULES = ("plan_moves", "plan_resample", "plan_ops", "plan_ops_network", "plan_ops_optimizer", "plan_ops_recurrent", "plan_check", "plan_reference", "apply_plan")
KINDS = {"all_gather_into_tensor": "all-gather", "all_reduce": "all-reduce", "reduce_scatter_tensor": "reduce-scatter",
         "all_to_all_single": "all-to-all"}
# Bytes that a rank of n sends of its operand, as plans count them.
SENT = {"all-gather": lambda size, n: size * (n - 1), "all-reduce": lambda size, n: 2 * size * (n - 1) / n,
        "reduce-scatter": lambda size, n: size * (n - 1) / n, "all-to-all": lambda size, n: size * (n - 1) / n}


class Collectives(TorchDispatchMode):
    """kind -> [how many, bytes sent by this rank]."""

    def __init__(self):
        super().__init__()
        self.sent = defaultdict(lambda: [0, 0.0])

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kind = KINDS.get(function.__name__.split(".")[0]) if "c10d" in function.namespace else None
        if kind:
            ranks = dist.distributed_c10d._resolve_process_group(args[-1]).size()
            entry = self.sent[kind]
            entry[0] += 1
            entry[1] += SENT[kind](args[0].numel() * args[0].element_size(), ranks)
        return function(*args, **(kwargs or {}))


def planned_collectives(plan):
    """The same of a plan's file, bytes of all ranks together."""
    sent = defaultdict(lambda: [0, 0.0])
    for transition in plan.get("transitions", ()):
        for step in transition["steps"]:
            if step["collective"] in SENT:
                sent[step["collective"]][0] += 1
                sent[step["collective"]][1] += step.get("wire_bytes", 0)
    return sent


def run_planner(planner, *arguments):
    done = subprocess.run([planner, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout + done.stderr


def load_exported(folder):
    """The modules as they were written there."""
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("apply_plan")
    finally:
        sys.path.pop(0)


class ReduceScatter:
    """By any reduction, as Gloo and NCCL have it; that of torch's threads has sums and averages alone."""

    def __init__(self, op):
        self.reduce = multi_threaded_pg._reduce_ops[op.op]

    @torch.no_grad()
    def work(self, data):
        for rank, (made, _) in enumerate(data):
            made[0].detach().copy_(self.reduce([parts[0][rank] for _, parts in data]))


def run_ranks(world, work):
    """What work(rank) returns on each of so many ranks, one thread each."""
    store, results, errors = dist.HashStore(), {}, {}  # errors in their order

    def start(rank):
        try:
            dist.init_process_group("threaded", rank=rank, world_size=world, store=store)
            results[rank] = work(rank)
        except BaseException as error:  # noqa: BLE001  told to the test below; other ranks must not wait
            errors[rank] = error
            multi_threaded_pg.ProcessLocalGroup.exception_handle(error)
        finally:
            if not errors:
                dist.destroy_process_group()

    multi_threaded_pg.ProcessLocalGroup.reset()
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    multi_threaded_pg._install_threaded_pg()
    torchs, multi_threaded_pg.ReduceScatter = multi_threaded_pg.ReduceScatter, ReduceScatter
    threads = [threading.Thread(target=start, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    multi_threaded_pg.ReduceScatter = torchs
    multi_threaded_pg._uninstall_threaded_pg()
    torch._C._distributed_c10d._set_thread_isolation_mode(False)
    if errors:
        raise next((e for e in errors.values() if not isinstance(e, SystemExit)), next(iter(errors.values())))
    return [results[rank] for rank in range(world)]


def compare_collectives(counted, plan):
    """A line for each kind of which ranks send other bytes, or at another count, than the plan says."""
    planned, lines = planned_collectives(plan), []
    for kind in sorted(set(planned) | {k for sent in counted for k in sent}):
        counts = {sent[kind][0] for sent in counted}
        total = sum(sent[kind][1] for sent in counted)
        if counts != {planned[kind][0]} or abs(total - planned[kind][1]) > 0.5:
            lines.append(f"{kind}: {sorted(counts)} of {total:.0f} B, the plan has {planned[kind][0]} of {planned[kind][1]:.0f} B")
    return lines


def read_plan(path):
    return json.loads(path.read_text())
