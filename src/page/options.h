// What a page is told besides the plan.
#pragma once

#include <cstddef>
#include <string>

namespace sbp {

struct Problem;       // problem/problem.h
struct PlanTrace;     // page/trace.h
struct MicroBatches;  // schedule/micro_batches.h

inline constexpr size_t kMostTasksOfPage = 60'000;  // of all micro-batches that are drawn one by one

struct PageOptions {
  // The plan's file without its folder, to tell plans of one model apart; "": none is known.
  std::string file;
  // The problem that the plan answers, built again (pipeline.h, RebuildProblem), for what only it tells: candidates and
  // their prices. Null: the page says what the plan says. It outlives the call.
  const Problem* problem = nullptr;
  // A run of the plan, to be drawn beside it; null: none. It outlives the call.
  const PlanTrace* trace = nullptr;
  // The micro-batches of the physical plan, played (api/played.h); null: there are none to draw. It outlives the call.
  const MicroBatches* played = nullptr;
};

}  // namespace sbp
