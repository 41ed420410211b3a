// Layouts of a plan, numbered: decisions and transitions name them so.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "page/sections.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {

class LayoutTable {
 public:
  uint32_t Find(const NdSbp& layout);
  Json FindAll(std::span<const NdSbp> layouts);
  // [{text, axes}], in the order of the numbers.
  Json Write() const;

 private:
  std::unordered_map<NdSbp, uint32_t> index_;
  std::vector<NdSbp> all_;
};

// Of a plan: per tensor the layout in which it is written, then those of records, then of transitions. Sections that
// name layouts make the same table.
LayoutTable LayoutsOfPlan(const Plan& plan);

}  // namespace sbp
