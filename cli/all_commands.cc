#include <span>

#include "cli/command.h"

namespace sbp {
namespace {

constexpr CommandRow kCommands[] = {
    {"infer", "plan a model on a mesh",
     "  sbp-plan infer model.onnx --mesh data=2,model=4 --dim batch=8 --dim seq=1024 -o plan.json\n"
     "  sbp-plan infer model.onnx --mesh 8 --pin 'fc1.weight=S(1)' --strategy einsum\n"
     "  sbp-plan infer graph.json --mesh data=2,model=4 --format json\n"
     "  sbp-plan infer graph.json --devices 64 --axes data,model --memory-limit 80GB -o plan.json\n",
     SetupInfer},
    {"compare", "plan a model with several strategies, side by side",
     "  sbp-plan compare model.onnx --mesh data=2,model=4 --strategies greedy,einsum,replicate\n"
     "  sbp-plan compare model.onnx --mesh 8 --strategies greedy:bytes,greedy:order-value\n"
     "  sbp-plan compare model.onnx --meshes 'data=8,model=8; 64' --strategies optimal,einsum\n"
     "  sbp-plan compare config.json --train --optimizer adamw --mesh data=4,model=2 --memory-limit 75GB\n",
     SetupCompare},
    {"render", "draw a plan or a model",
     "  sbp-plan render plan.json -o plan.svg\n"
     "  sbp-plan render plan.json -o plan.md\n"
     "  sbp-plan render model.onnx --dim batch=8 -o model.png\n",
     SetupRender},
    {"view", "look at a plan in a browser, or at two side by side",
     "  sbp-plan view plan.json\n"
     "  sbp-plan view before.json after.json\n"
     "  sbp-plan view plan.json --no-open -o plan.html\n",
     SetupView},
    {"explain", "why an op or a tensor is laid out as it is",
     "  sbp-plan explain plan.json /model/layers.0/mlp/MatMul\n"
     "  sbp-plan explain plan.json logits --format json\n",
     SetupExplain},
    {"check", "re-derive a plan and list what is wrong with it",
     "  sbp-plan check plan.json\n"
     "  sbp-plan check plan.json model.onnx\n",
     SetupCheck},
    {"diff", "compare two plans by meaning",
     "  sbp-plan diff golden.json new.json\n"
     "  sbp-plan diff golden.json new.json --tolerance 0.01 --format json\n",
     SetupDiff},
    {"run", "execute a plan or a model and compare the numbers",
     "  sbp-plan run plan.json\n"
     "  mpirun -n 4 sbp-plan run plan.json --backend mpi\n"
     "  torchrun --nproc-per-node 4 --no-python sbp-plan run plan.json --backend cuda\n"
     "  sbp-plan run model.onnx --unsharded --inputs inputs.npz --expect outputs.npz\n",
     SetupRun},
    {"calibrate", "measure this machine and write a cluster to plan with",
     "  sbp-plan calibrate -o box.json\n"
     "  sbp-plan calibrate model.onnx --dim batch=8 -o box.json\n"
     "  mpirun -n 2 sbp-plan calibrate --backend mpi -o box.json\n",
     SetupCalibrate},
    {"export", "write a plan, or the layout problem of a model, in the form of another program",
     "  sbp-plan export --to onnx plan.json -o sharded.onnx\n"
     "  sbp-plan export --to iopddl model.onnx --mesh 8,8 -o problem.json\n",
     SetupExport},
    {"convert", "move a graph, cluster or plan between its encodings",
     "  sbp-plan convert model.onnx graph.json\n"
     "  sbp-plan convert model.onnx graph.pb --dim batch=8 --dim seq=1024\n"
     "  sbp-plan convert model.onnx - --to json --decompose=Softmax,LayerNormalization\n"
     "  sbp-plan convert plan.pb - --to prototxt\n",
     SetupConvert},
    {"grad", "write the graph of a training step: gradients of a forward model",
     "  sbp-plan grad model.onnx --dim batch=8 --loss cross-entropy:logits -o train.json\n"
     "  sbp-plan grad model.onnx --loss mean:hidden --freeze 'embedding*' -o train.json\n",
     SetupGrad},
    {"cluster", "list and show clusters, with the source of each constant",
     "  sbp-plan cluster list\n"
     "  sbp-plan cluster show 8xH100 --format json > mine.json\n",
     SetupCluster},
    {"rules", "list, show and ask the sharding rules",
     "  sbp-plan rules candidates MatMul --input a=f32[16,32] --input b=f32[32,64] --mesh x=4\n"
     "  sbp-plan rules infer Add --input 'x=f32[64,36]:[0,-1]' --input 'y=f32[64,36]:[-1,-1]' --mesh x=4\n"
     "  sbp-plan rules test elementwise.tests\n"
     "  sbp-plan rules coverage model.onnx\n",
     SetupRules},
    {"solve", "answer a problem in the form of the IOPDDL contest, with a bound",
     "  sbp-plan solve problem.json.gz --time 10 -o solution.json\n"
     "  sbp-plan solve problem.json --effort 5 --gap 1% --format json\n",
     SetupSolve},
    {"generate", "write a graph of any size, or a layout problem for solve, for tests and benchmarks",
     "  sbp-plan generate transformer --ops 3000 -o graph.json\n"
     "  sbp-plan generate llama --layers 8 --batch 16 --seq 4096 --dtype f32 -o llama.json\n"
     "  sbp-plan generate random --ops 500 --seed 7 -o -\n"
     "  sbp-plan generate iopddl-like --ops 8000 --seed 1 -o problem.json\n",
     SetupGenerate},
    {"help", "what a command does and takes",
     "  sbp-plan help infer\n"
     "  sbp-plan help rules candidates\n"
     "  sbp-plan help infer --man | man -l -\n"
     "  source <(sbp-plan help --completion bash)\n",
     SetupHelp},
};

}  // namespace

std::span<const CommandRow> AllCommands() { return kCommands; }

}  // namespace sbp
