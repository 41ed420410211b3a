#include <array>

#include "fuzz/target.h"

namespace sbp::fuzz {
namespace {

constexpr std::array<Target, 17> kTargets = {{
    {"checkpoint", RunCheckpoint},
    {"cluster", RunCluster},
    {"config", RunConfig},
    {"dims", RunDims},
    {"expansions", RunExpansions},
    {"grad", RunGrad},
    {"graph", RunGraph},
    {"iopddl", RunIopddl},
    {"npz", RunNpz},
    {"onnx", RunOnnx},
    {"pins", RunPins},
    {"plan", RunPlan},
    {"rules", RunRules},
    {"safetensors", RunSafetensors},
    {"stablehlo", RunStableHlo},
    {"tensor", RunTensor},
    {"torch", RunTorch},
}};

}  // namespace

std::span<const Target> AllTargets() { return kTargets; }

}  // namespace sbp::fuzz
