// What one mesh axis may do in a candidate, before it is known how large the parts are that the outer axes leave.
#pragma once

#include <cstdint>
#include <vector>

#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {

// One slot of an op along one axis. Operands are numbered first, then results.
struct SlotSbp {
  uint32_t slot = 0;
  Sbp sbp;
  friend bool operator==(const SlotSbp&, const SlotSbp&) = default;
};

struct AxisOption {
  AxisChoice choice;
  std::vector<SlotSbp> layouts;   // ascending slots, without those that are B
  std::vector<uint32_t> same_as;  // earlier options with equal layouts: if one of them is legal, this is a duplicate
};

struct AxisOptions {
  std::vector<AxisOption> options;  // in registration order
  bool truncated = false;           // there are more than kMostOptions, or they have more than kMostEntries in all
};
inline constexpr size_t kMostOptions = size_t{1} << 18;
inline constexpr size_t kMostEntries = size_t{1} << 24;

// All-B is not listed. With a filter, only options that agree with it along some axis.
AxisOptions MakeAxisOptions(const RuleInstance& instance, const LayoutFilter* only);

// The filter's layouts by slot; nullptr: any.
std::vector<const NdSbp*> WantedBySlot(const RuleInstance& instance, const LayoutFilter* only);

// How long a list may be. What every reader of a list does is bounded by candidates x slots, its memory by candidates x
// rows.
struct LengthBounds {
  size_t most_cells = size_t{1} << 22;  // candidates x rows
  size_t most_visits = 100'000'000;     // candidates x slots

  size_t MostCandidates(size_t most, size_t rows, size_t slots) const;
};

// Of `legal` (indices into options, ascending), `count` to keep, ascending (see CandidateOptions::max_candidates).
std::vector<uint32_t> MostUseful(const RuleInstance& instance, const std::vector<AxisOption>& options,
                                 const std::vector<uint32_t>& legal, size_t count);

// Slots that lie alike in every one of these options, and on one device.
struct SlotRows {
  LayoutRows::Table operands, results;
  size_t num_operands = 0, num_results = 0;  // rows
  size_t count() const { return num_operands + num_results; }
  uint32_t row_of(uint32_t slot) const;  // operands' rows first
};
SlotRows GroupSlots(const RuleInstance& instance, const std::vector<AxisOption>& options,
                    const std::vector<bool>& kept);

}  // namespace sbp
