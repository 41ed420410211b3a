// What is asked of `grad`: the flags, as given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {

struct OptimizerRequest {
  std::string optimizer;               // NAME[:KEY=VALUE,...]; "" and "none": no update
  std::optional<double> weight_decay;  // in place of the op's own
  std::vector<std::string> no_decay;   // patterns over parameters; empty: those of fewer than two dimensions
  std::string state_type;              // "" is f32
};

struct UpdateRequest {
  OptimizerRequest optimizer;
  double clip_norm = 0;    // of all gradients together; 0: not clipped
  double loss_scale = 1;   // of which the cotangents are multiples
  int64_t accumulate = 1;  // micro-batches in a step
  // Gradients are summed in buffers that are there throughout, also where there is one micro-batch: Megatron-LM's
  // main_grad. Otherwise a gradient is there from its op to its update.
  bool gradient_buffers = false;
};

// The loss of causal language models, whose result is called logits.
inline constexpr std::string_view kLanguageModelLoss = "causal-lm:logits";

struct GradRequest {
  std::string loss;                 // see AddLoss; "": kLanguageModelLoss of a model whose kind says so, else an error
  std::vector<std::string> wrt;     // patterns over parameters (* and ?); empty: all floats that the loss reaches
  std::vector<std::string> freeze;  // patterns over parameters that get no gradient
  std::vector<std::string> wrt_inputs;  // patterns over inputs
  bool may_be_zero = false;             // no error where the loss depends on nothing that is asked for
  std::vector<std::string> expanded;    // types of ops that are differentiated through their expansions; "*": all
  std::string compute;                  // bf16, f16, fp8: what f32 parameters are computed with in (grad/precision.h)
  std::string custom_vjp;               // all, none, or ops (grad/custom.h); goes before `expanded`
  bool train_mode = false;              // Dropout and BatchNormalization as in training (grad/train_mode.h)
  bool decompose = false;               // what is left of composite ops is expanded afterwards
  std::string remat;                    // as ParseRemat takes it (remat/policy.h); "": nothing is computed again
  bool hvp = false;                     // also products with the Hessian (grad/second.h)
  UpdateRequest update;                 // with an optimizer the graph is a whole training step

  bool trains() const { return !update.optimizer.optimizer.empty() && update.optimizer.optimizer != "none"; }
};

// The request as flags, each without its dashes, with its value; those at their defaults are left out, those that may
// be given again are listed again. Plans record it so.
std::vector<std::pair<std::string, std::string>> FlagsOf(const GradRequest& request);
// Error (kBadInput): an unknown flag or a value of another kind.
Result<GradRequest> ReadFlags(const std::vector<std::pair<std::string, std::string>>& flags);

}  // namespace sbp
