// The flags that make a training graph of a model: those of `grad`, and of `infer --train`.
#pragma once

#include <CLI/CLI.hpp>

#include "grad/request.h"

namespace sbp {

// `needs`: the flag that turns the others on, whose absence makes each of them an error; null: they hold always.
void AddTrainFlags(CLI::App& app, GradRequest& request, CLI::Option* needs = nullptr);

}  // namespace sbp
