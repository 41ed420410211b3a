#include <array>

#include "fuzz/target.h"

namespace sbp::fuzz {
namespace {

constexpr std::array<Target, 8> kTargets = {{
    {"cluster", RunCluster},
    {"dims", RunDims},
    {"graph", RunGraph},
    {"npz", RunNpz},
    {"onnx", RunOnnx},
    {"pins", RunPins},
    {"plan", RunPlan},
    {"rules", RunRules},
}};

}  // namespace

std::span<const Target> AllTargets() { return kTargets; }

}  // namespace sbp::fuzz
