// Which ops a step waits for, and which may be computed meanwhile: places of ops, by which bounds of schedules weigh
// them (schedule_forms.h).
//
// The longest chain of a step waits for what is sent between its ops. Branches leave the chain and join it again soon
// after, as keys and values do beside queries: little is sent that they might be computed beside. Ops aside depend on
// little and are wanted late (tables of positions, a transposed weight, a counter of steps), or nothing but the end of
// the step waits for them (gradients of weights and updates by them): much is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace sbp {

enum class OpPlace : uint8_t { kChain, kBranch, kAside };

// What is set aside: ops that stand further than `near` ops before what reads them or behind what they read, of at most
// this share of the step's compute together, a quarter of it each. From 1 on: whatever it takes.
struct AsideOptions {
  double share = 0.01;
  size_t near = 24;
};

// Seconds of a step in some plan, which say which ops are small and which chain is the longest; what is found serves
// bounds over all plans.
struct StreamSeconds {
  std::vector<double> ops;      // per op: computed
  std::vector<double> tensors;  // per tensor: sent
};

// Per op. Linear in ops and operands.
std::vector<OpPlace> PlacesOfOps(const Problem& problem, const StreamSeconds& seconds, const AsideOptions& options);

}  // namespace sbp
