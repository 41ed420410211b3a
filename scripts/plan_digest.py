"""What two plans have in common: for scripts that run plans, so that equal ones run once."""

import hashlib
import json


def what_runs(plan):
    """A digest of what a plan file (JSON) executes, without how it was found and what it costs."""
    document = json.loads(plan.read_text())
    signatures = sorted((op, d["signature"]) for d in document.get("decisions", []) for op in d["ops"])
    moves = [(t["tensor"], t["from"], t["to"]) for t in document.get("transitions", [])]
    layouts = sorted((name, entry["layout"]) for entry in document.get("layouts", []) for name in entry["tensors"])
    mesh = document["mesh"]
    return hashlib.sha256(json.dumps([mesh, signatures, moves, layouts]).encode()).digest()
