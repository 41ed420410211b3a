// How a plan's parameters and inputs start, for programs whose framework finds out by itself how the rest lies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/exporter.h"
#include "plan/plan.h"
#include "sbp/mesh.h"

namespace sbp {

// What a framework can say of how a tensor starts.
struct StartWords {
  std::string_view framework;         // "Paddle", in errors
  bool uneven = false;                // are parts balanced, the larger ones first, where a size does not divide?
  std::string_view whole, split;      // "dist.Replicate()", "dist.Shard("
  std::string_view split_end;         // ")"
  std::string_view open, close, one;  // around a layout; `one` in the place of `close` behind a single axis
};

// Two tables in Python, PARAMETERS and INPUTS: {"name": ([16, 32], LAYOUT), ...}, names as the model's modules have
// them, in the graph's order. Inputs without dimensions, states of optimizers and sums of gradients are left out. What
// the framework cannot say is refused by name, or, in a lossy export, written whole over the axis and reported with the
// bytes that this takes more on a device. Error (kBadInput): also no parameter and no input.
Result<std::string> StartTables(const Plan& plan, const StartWords& words, const ExportOptions& options,
                                std::vector<std::string>& report);

// What stands behind the tables: functions that place a model's parameters and inputs.
std::string_view OneflowProgramText();  // oneflow.py
std::string_view PaddleProgramText();   // paddle.py

std::string PythonText(const std::string& text);  // a literal, in double quotes

// "[[0, 1], [2, 3]]": the ranks of the mesh, row by row.
std::string RanksOfMesh(const Mesh& mesh);

}  // namespace sbp
