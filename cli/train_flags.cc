#include "cli/train_flags.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "grad/optimizer.h"
#include "grad/request.h"

namespace sbp {

void AddTrainFlags(CLI::App& app, GradRequest& request, CLI::Option* needs) {
  std::vector<CLI::Option*> options;
  const auto add = [&](const std::string& flag, auto& to, const std::string& what, const std::string& type) {
    options.push_back(app.add_option(flag, to, what)->type_name(type)->group("Training"));
    return options.back();
  };
  const auto list = [&](const std::string& flag, std::vector<std::string>& to, const std::string& what) {
    add(flag, to, what, "PATTERN")->allow_extra_args(false);
  };
  add("--loss", request.loss,
      "what is differentiated: NAME (one number; output:0 is the first output), sum:NAME, mean:NAME, mse:NAME "
      "(with an input target/NAME), "
      "cross-entropy:LOGITS[,ignore=N] (with an input labels; PyTorch ignores -100), causal-lm:LOGITS (the same with "
      "the label of the next token; the default of a config.json), cotangents[:NAME,...] (with "
      "inputs cotangent/NAME)",
      "FORM");
  list("--wrt", request.wrt, "parameters to differentiate by (default: all floats; with --optimizer: all weights)");
  list("--freeze", request.freeze, "parameters that get no gradient");
  list("--wrt-inputs", request.wrt_inputs, "inputs to differentiate by");
  add("--optimizer", request.update.optimizer.optimizer,
      StrCat("what updates each weight: ", OptimizerNames(), ", or DOMAIN::OP of --rules"), "NAME[:KEY=VALUE,...]");
  add("--weight-decay", request.update.optimizer.weight_decay, "in place of the optimizer's own", "X");
  list("--no-decay", request.update.optimizer.no_decay,
       "weights without decay (default: those of fewer than two dimensions)");
  add("--clip-norm", request.update.clip_norm, "the greatest norm of all gradients together", "X");
  add("--compute", request.compute,
      "compute in bf16 or f16 with casts of f32 weights; fp8: in bf16, products of data and weights of e4m3 and e5m2",
      "TYPE");
  add("--state-dtype", request.update.optimizer.state_type, "the type of optimizer states (default: f32)", "TYPE");
  add("--loss-scale", request.update.loss_scale, "multiply cotangents by X, and divide gradients by it", "X");
  add("--accumulate", request.update.accumulate, "micro-batches in a step; --dim gives the size of one", "K");
  add("--custom-vjp", request.custom_vjp,
      "ops that keep a vjp of their own: all (default), none, or OP,...; the others' "
      "expansions are differentiated",
      "OPS");
  add("--remat", request.remat,
      "what the backward pass computes again: none (default), light, selective, alternate, full; POLICY:N of the first "
      "N layers; SCOPE=POLICY of a module; POLICY+held: what it keeps stays until its backward pass is over; "
      "POLICY+fused: only what no product of it reads; auto, of "
      "`infer`, as --memory-limit needs",
      "POLICY,...");
  const auto flag = [&](const std::string& name, bool& to, const std::string& what) {
    options.push_back(app.add_flag(name, to, what)->group("Training"));
  };
  flag("--gradient-buffers", request.update.gradient_buffers,
       "sum gradients in f32 buffers that are kept throughout, also of one micro-batch (as Megatron-LM does)");
  flag("--train-mode", request.train_mode, "Dropout and BatchNormalization as in training, running statistics updated");
  flag("--decompose", request.decompose, "expand what is left of composite ops after differentiation");
  options.push_back(
      app.add_flag("--hvp", request.hvp, "inputs v/P and outputs hvp/P: the Hessian's product with a direction")
          ->group("Training"));
  for (CLI::Option* option : options) {
    if (needs != nullptr) option->needs(needs);
  }
}

}  // namespace sbp
