// Boxing between the layouts of one tensor type, each pair asked for once; weighted where asked so.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "boxing/boxing.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "strategy/optimal/price_weights.h"

namespace sbp {

// Of one tensor's boxing, as PriceWeights has them.
struct BoxingWeights {
  double sent = 1, early = 1, local = 1;
  bool operator==(const BoxingWeights&) const = default;
};

class TypePrices {
 public:
  // Paths stay the cheapest by seconds, as plans take them.
  TypePrices(const TensorType& type, BoxingTable& boxing, const BoxingWeights& weights = {})
      : type_(&type), boxing_(&boxing), weights_(weights) {}

  // A number for a layout, from 0 on.
  uint32_t Id(const NdSbp& layout) {
    const auto [entry, is_new] = ids_.try_emplace(layout, static_cast<uint32_t>(layouts_.size()));
    if (is_new) {
      layouts_.push_back(layout);
      pairs_.emplace_back();
    }
    return entry->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(layouts_.size()); }
  const NdSbp& layout(uint32_t id) const { return layouts_[id]; }
  const TensorType& type() const { return *type_; }

  // Infinity where no sequence of collectives leads from one to the other.
  double Seconds(uint32_t from, uint32_t to, bool early = false) {
    return from == to ? 0 : Of(from, to).seconds[early ? 1 : 0];
  }
  // Does what is sent for early readers cost more?
  bool has_early() const { return weights_.early != weights_.sent; }
  // Of a path of this type's; infinity where there is none.
  double SecondsOf(const BoxingPrice& price) const { return SecondsOf(price, weights_.sent); }
  // Without communication.
  bool IsLocal(uint32_t from, uint32_t to) { return from == to || Of(from, to).local; }
  // The layouts on the way, `to` included; they have numbers then.
  const std::vector<uint32_t>& Stops(uint32_t from, uint32_t to) {
    Pair& pair = Of(from, to);
    if (pair.stops.empty()) {
      std::vector<uint32_t> stops;
      for (const BoxingStep& step : boxing_->Path(*type_, layouts_[from], layouts_[to]).steps) {
        stops.push_back(Id(step.to));
      }
      Of(from, to).stops = std::move(stops);
    }
    return Of(from, to).stops;
  }
  // A lower price, for where `sharers` may read what boxing without communication makes: each pays its share of that
  // part, along the path where what is left is least. All layouts that may be made must have their numbers before.
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
  // What an early reader adds at least, along any of these paths; that it shares with nobody.
  double LeastOfEarly(uint32_t from, uint32_t to) {
    if (!has_early() || from == to) return 0;
    const auto [entry, is_new] = shared_.try_emplace({from, to, 0}, 0);
    if (!is_new) return entry->second;
    const auto added = [&](uint32_t a, uint32_t b) { return Seconds(a, b, true) - Seconds(a, b); };
    double least = std::isfinite(Seconds(from, to)) ? added(from, to) : 0;
    for (uint32_t stop = 0; stop < layouts_.size(); ++stop) {
      if (stop != from && IsLocal(from, stop) && std::isfinite(Seconds(stop, to)))
        least = std::min(least, added(from, stop) + added(stop, to));
    }
    return entry->second = least;
  }

 private:
  double SecondsOf(const BoxingPrice& price, double sent) const { return WeightedSeconds(price, sent, weights_.local); }
  struct Pair {
    std::array<double, 2> seconds = {-1, -1};  // for early readers second; below 0: not asked yet
    bool local = false;
    std::vector<uint32_t> stops;
  };
  Pair& Of(uint32_t from, uint32_t to) {
    std::vector<Pair>& row = pairs_[from];
    if (row.size() <= to) row.resize(layouts_.size());
    Pair& pair = row[to];
    if (pair.seconds[0] < 0) {
      const BoxingPrice price = boxing_->Price(*type_, layouts_[from], layouts_[to]);
      pair.seconds = {SecondsOf(price, weights_.sent), SecondsOf(price, weights_.early)};
      pair.local = price.local;
    }
    return pair;
  }

  const TensorType* type_;
  BoxingTable* boxing_;
  BoxingWeights weights_;
  std::unordered_map<NdSbp, uint32_t> ids_;
  std::vector<NdSbp> layouts_;
  std::vector<std::vector<Pair>> pairs_;              // by number of either
  std::map<std::array<uint32_t, 3>, double> shared_;  // sharers 0: LeastOfEarly
};

}  // namespace sbp
