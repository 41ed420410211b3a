// What a page is told besides the plan.
#pragma once

#include <string>

namespace sbp {

struct Problem;    // problem/problem.h
struct PlanTrace;  // page/trace.h

struct PageOptions {
  // The plan's file without its folder, to tell plans of one model apart; "": none is known.
  std::string file;
  // The problem that the plan answers, built again (pipeline.h, RebuildProblem), for what only it tells: candidates and
  // their prices. Null: the page says what the plan says. It outlives the call.
  const Problem* problem = nullptr;
  // A run of the plan, to be drawn beside it; null: none. It outlives the call.
  const PlanTrace* trace = nullptr;
};

}  // namespace sbp
