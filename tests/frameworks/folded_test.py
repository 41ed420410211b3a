#!/usr/bin/env python3
"""Exports of plans that fold are what the frameworks' own classes take, and say what these say themselves.

    folded_test.py SBP_PLAN

transformers: DistributedConfig reads the sizes; styles of a tensor-parallel plan of Llama are as LlamaConfig has them.
torchtitan: its parser reads the flags. torch need not be there.
paddle: the program places the parameters and the input of a layer, one process standing for rank 0.
Exit code 77: none of them is there.
"""

import dataclasses
import importlib.util
import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Annotated

SOURCE = Path(__file__).resolve().parent.parent.parent


class NoTorch(types.ModuleType):
    """In the place of torch, of which the configurations only ask that it is there."""

    def __getattr__(self, name):
        return None


def run(*words):
    subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True)


def test_transformers(folder):
    from transformers import LlamaConfig
    from transformers.distributed import DistributedConfig

    run("infer", SOURCE / "tests/data/hf/llama/config.json", "--mesh", "data=2,model=2", "--batch", 8, "--seq", 64,
        "--recipe", "data=dp,model=tp", "-q", "-o", folder / "plan.json")
    run("export", "--to", "hf-tp-plan", folder / "plan.json", "-o", folder / "distributed.json")
    config = DistributedConfig.from_dict(json.loads((folder / "distributed.json").read_text()))
    assert (config.tp_size, config.dp_replicate_size, config.fsdp_size) == (2, 2, 1), config
    own = {f"model.{module}": style for module, style in LlamaConfig.base_model_tp_plan.items()}
    own |= {"model.embed_tokens": "embedding_rowwise", "lm_head": "colwise_gather_output"}  # as its classes add
    assert config.tp_plan == own, (config.tp_plan, own)


def test_torchtitan(folder):
    import tyro

    spec = importlib.util.find_spec("torchtitan")
    path = Path(spec.submodule_search_locations[0]) / "config/configs.py"
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = NoTorch("torch")
    spec = importlib.util.spec_from_file_location("configs", path)
    configs = importlib.util.module_from_spec(spec)
    sys.modules["configs"] = configs
    spec.loader.exec_module(configs)
    selective, full = (dataclasses.make_dataclass(name, []) for name in ("Selective", "Full"))
    recomputation = Annotated[selective, tyro.conf.subcommand("selective")] | Annotated[
        full, tyro.conf.subcommand("full")] | Annotated[None, tyro.conf.subcommand("none")]
    config = dataclasses.make_dataclass("Config", [
        ("training", configs.TrainingConfig, dataclasses.field(default_factory=configs.TrainingConfig)),
        ("parallelism", configs.ParallelismConfig, dataclasses.field(default_factory=configs.ParallelismConfig)),
        ("activation_checkpoint", recomputation, dataclasses.field(default_factory=full))])
    run("generate", "llama", "--layers", 2, "--hidden", 2048, "--ffn", 4096, "--heads", 16, "--kv-heads", 8,
        "--vocab", 32000, "--batch", 8, "--seq", 1024, "-o", folder / "llama.json")
    run("infer", folder / "llama.json", "--train", "--loss", "cross-entropy:logits", "--optimizer", "adamw",
        "--remat", "alternate", "--mesh", "data=2,model=2", "--recipe", "data=fsdp,model=sp", "-q",
        "-o", folder / "step.json")
    run("export", "--to", "torchtitan", folder / "step.json", "-o", folder / "flags.args")
    read = tyro.cli(config, args=(folder / "flags.args").read_text().split())
    sizes = read.parallelism.data_parallel_shard_degree, read.parallelism.tensor_parallel_degree
    assert sizes == (2, 2) and read.parallelism.enable_sequence_parallel, read
    assert read.parallelism.fsdp_reshard_after_forward == "always", read
    assert isinstance(read.activation_checkpoint, selective), read
    assert (read.training.local_batch_size, read.training.global_batch_size) == (4, 8), read


def test_paddle(folder):
    import paddle

    matmul = lambda name, operands, result: {"name": name, "type": "MatMul", "inputs": operands, "outputs": [result]}
    graph = {"kind": "sbp_plan.graph.v1", "name": "mlp", "inputs": [{"name": "x", "type": "f32[64,32]"}],
             "parameters": [{"name": "up.weight", "type": "f32[32,16]"}, {"name": "down.weight", "type": "f32[16,32]"}],
             "ops": [matmul("up", ["x", "up.weight"], "h"), matmul("down", ["h", "down.weight"], "y")], "outputs": ["y"]}
    (folder / "mlp.json").write_text(json.dumps(graph))
    run("infer", folder / "mlp.json", "--mesh", "data=2,model=2", "--pin", "x=(S(0), B)", "--pin", "up.weight=(B, S(1))",
        "--pin", "down.weight=(S(0), S(0))", "-q", "-o", folder / "mlp-plan.json")
    run("export", "--to", "paddle", folder / "mlp-plan.json", "-o", folder / "paddle_plan.py")
    spec = importlib.util.spec_from_file_location("paddle_plan", folder / "paddle_plan.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    model = paddle.nn.LayerDict({"up": paddle.nn.Linear(32, 16, bias_attr=False),
                                 "down": paddle.nn.Linear(16, 32, bias_attr=False)})
    parts = {name: list(parameter._local_shape) for name, parameter in program.shard_model(model).named_parameters()}
    assert parts == {"up.weight": [32, 8], "down.weight": [4, 32]}, parts
    assert list(program.shard_input("x", paddle.ones([64, 32]))._local_shape) == [32, 32]
    try:
        program.shard_input("x", paddle.ones([63, 32]))
    except ValueError as error:
        assert "[63, 32]" in str(error), error
    else:
        raise AssertionError("an input of another shape was taken")


def main():
    ran = []
    with tempfile.TemporaryDirectory() as name:
        for needs, test in ((("transformers",), test_transformers), (("torchtitan", "tyro"), test_torchtitan),
                            (("paddle",), test_paddle)):
            if all(map(importlib.util.find_spec, needs)):
                test(Path(name))
                ran.append(needs[0])
    print(f"taken as they are by {', '.join(ran)}" if ran else "skipped: transformers, torchtitan and paddle are not there")
    sys.exit(0 if ran else 77)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    main()
