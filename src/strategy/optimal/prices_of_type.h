// Seconds of boxing between the layouts of one tensor type, each asked for once.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "boxing/boxing.h"

namespace sbp {

class TypePrices {
 public:
  TypePrices(const TensorType& type, BoxingTable& boxing) : type_(&type), boxing_(&boxing) {}

  // A number for a layout, from 0 on.
  uint32_t Id(const NdSbp& layout) {
    const auto [entry, is_new] = ids_.try_emplace(layout, static_cast<uint32_t>(layouts_.size()));
    if (is_new) {
      layouts_.push_back(layout);
      seconds_.emplace_back();
    }
    return entry->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(layouts_.size()); }
  const NdSbp& layout(uint32_t id) const { return layouts_[id]; }
  const TensorType& type() const { return *type_; }

  const BoxingPath& Path(uint32_t from, uint32_t to) { return boxing_->Path(*type_, layouts_[from], layouts_[to]); }
  // A lower price, for where `sharers` may read what boxing without communication makes: each pays its share of that
  // part, along the path where what is left is least.
  double SharedSeconds(uint32_t from, uint32_t to, uint32_t sharers) {
    const auto [entry, is_new] = shared_.try_emplace({from, to, sharers}, 0);
    if (!is_new) return entry->second;
    double least = Seconds(from, to);
    if (IsLocal(from, to)) least /= sharers;
    for (uint32_t stop = 0; stop < layouts_.size(); ++stop) {
      if (stop != from && IsLocal(from, stop))
        least = std::min(least, Seconds(from, stop) / sharers + Seconds(stop, to));
    }
    return entry->second = least;
  }
  // Without communication.
  bool IsLocal(uint32_t from, uint32_t to) { return from == to || Path(from, to).wire_bytes == 0; }
  // Infinity where no sequence of collectives leads from one to the other.
  double Seconds(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    std::vector<double>& row = seconds_[from];
    if (row.size() <= to) row.resize(layouts_.size(), std::numeric_limits<double>::quiet_NaN());
    if (std::isnan(row[to])) {
      const BoxingPath& path = Path(from, to);
      row[to] = path.reachable ? path.seconds : std::numeric_limits<double>::infinity();
    }
    return row[to];
  }

 private:
  const TensorType* type_;
  BoxingTable* boxing_;
  std::unordered_map<NdSbp, uint32_t> ids_;
  std::vector<NdSbp> layouts_;
  std::vector<std::vector<double>> seconds_;
  std::map<std::array<uint32_t, 3>, double> shared_;
};

}  // namespace sbp
