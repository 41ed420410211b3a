// The same layouts and step in less memory.
#pragma once

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// Evaluates as strategy/evaluate.h does, boxing sent ahead. Of sums of gradients and other copies that are smaller than
// what they are made of, each may come as late as its reader allows, or as soon as it can (memory/shrink.h): the latter
// where it lowers the peak, and the step takes no longer. Errors: as Evaluate.
Status EvaluateInLessMemory(const Problem& problem, const Assignment& assignment, Plan& plan);

}  // namespace sbp
