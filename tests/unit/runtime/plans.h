// Plans of generated graphs, for tests of the runtime.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace sbp {

struct PlanCase {
  std::string family;  // of generate/
  int64_t ops = 20;
  uint64_t seed = 0;
  std::string mesh;
  std::string strategy;  // or "any": some candidate of each op, chosen by the seed

  std::string name() const;
};
// Families, meshes and strategies in all combinations, random graphs with several seeds.
std::vector<PlanCase> PlanCases();
// Fails the test and returns an empty plan where planning fails.
Plan MakeTestPlan(const PlanCase& c);

}  // namespace sbp
