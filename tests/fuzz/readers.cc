// The targets that read a file of another program, without what is done with a model afterwards: a quarter of the
// library to compile, and hundreds of times as many inputs a second (scripts/fuzz --read).
#include <array>

#include "fuzz/target.h"

namespace sbp::fuzz {
namespace {

constexpr std::array<Target, 9> kTargets = {{
    {"cluster", RunCluster},
    {"config", RunConfig},
    {"graph", RunGraph},
    {"npz", RunNpz},
    {"onnx", RunOnnx},
    {"safetensors", RunSafetensors},
    {"stablehlo", RunStableHlo},
    {"tensor", RunTensor},
    {"torch", RunTorch},
}};

}  // namespace

std::span<const Target> AllTargets() { return kTargets; }

// Reading ends here: plan_models.cc has what follows.
void ResolveAndPlan(const Graph& /*graph*/) {}

}  // namespace sbp::fuzz
