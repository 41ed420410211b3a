// The tables of a layout network's edges: what boxing between an edge's ends takes, for each pair of what they choose.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/cost_network.h"
#include "strategy/optimal/layout_network_builder.h"
#include "strategy/optimal/prices_of_type.h"

namespace sbp {
namespace {

constexpr double kKeptPrice = 2;  // of a copy that is kept, by what it takes to make it again

}  // namespace

// A line per layout.
LayoutNetworkBuilder::Side LayoutNetworkBuilder::LayoutsOf(const LayoutRow& row) {
  Side side;
  for (const uint32_t layout : row.layouts) {
    const auto known = std::find(side.of_line.begin(), side.of_line.end(), layout);
    side.first.push_back(static_cast<int32_t>(known - side.of_line.begin()));
    if (known == side.of_line.end()) side.of_line.push_back(layout);
  }
  return side;
}

// Lines of states: where the tensor was written and its hub. Where `apart`, a state without a hub has lines of its own:
// 2 * layout, and 2 * layout + 1 for those with one.
LayoutNetworkBuilder::Side LayoutNetworkBuilder::StatesOf(Row written, Row hubs, bool apart) const {
  const std::vector<uint32_t>& w = rows_[written].layouts;
  const std::vector<uint32_t>& h = rows_[hubs].layouts;
  LayoutRow both;
  for (const std::vector<uint32_t>* layouts : {&w, &h}) {
    for (size_t s = 0; s < w.size(); ++s) {
      const uint32_t layout = (*layouts)[s];
      both.layouts.push_back(apart ? 2 * layout + (w[s] != h[s] ? 1 : 0) : layout);
    }
  }
  Side side = LayoutsOf(both);
  side.second.assign(side.first.begin() + static_cast<int64_t>(w.size()), side.first.end());
  side.first.resize(w.size());
  return side;
}

// For a late reader: where the tensor as it was written is released, lines of the hub alone, 2 * layout + 1.
LayoutNetworkBuilder::Side LayoutNetworkBuilder::StatesOfLate(Row written, Row hubs) {
  const std::vector<uint32_t>& w = rows_[written].layouts;
  const std::vector<uint32_t>& h = rows_[hubs].layouts;
  LayoutRow both;
  for (const std::vector<uint32_t>* layouts : {&w, &h}) {
    for (size_t s = 0; s < w.size(); ++s)
      both.layouts.push_back(IsReleased(rows_[written].type, w[s], h[s]) ? 2 * h[s] + 1 : 2 * (*layouts)[s]);
  }
  Side side = LayoutsOf(both);
  side.second.assign(side.first.begin() + static_cast<int64_t>(w.size()), side.first.end());
  side.first.resize(w.size());
  return side;
}

LayoutNetworkBuilder::Table LayoutNetworkBuilder::MatchTable(Row produced, Row states) {
  const std::vector<uint32_t> key = {kMatch, produced, states};
  if (const auto known = table_by_key_.find(key); known != table_by_key_.end()) return known->second;
  return MakeTable(key, LayoutsOf(rows_[produced]), LayoutsOf(rows_[states]),
                   [](uint32_t a, uint32_t b) { return a == b ? 0.0 : kForbidden; });
}

// From what the producer writes to where all readers start.
LayoutNetworkBuilder::Table LayoutNetworkBuilder::StandingTable(Row produced, Row states, uint32_t runs) {
  const std::vector<uint32_t> key = {kStanding, produced, states, runs};
  if (const auto known = table_by_key_.find(key); known != table_by_key_.end()) return known->second;
  const uint32_t type = rows_[produced].type;
  return MakeTable(key, LayoutsOf(rows_[produced]), LayoutsOf(rows_[states]), [&](uint32_t a, uint32_t b) {
    return runs * (types_[type].Seconds(a, b) + (a == b ? 0 : CopySeconds(type, b)));
  });
}

// What an op pays that wants these layouts of a tensor. Of hubs the tensor's node has paid what they cost late readers;
// `early` ones, so many of them, pay the rest together.
double LayoutNetworkBuilder::ReaderSeconds(uint32_t type, uint32_t written, uint32_t hub,
                                           std::span<const uint32_t> wanted, std::span<const uint32_t> own_hubs,
                                           uint32_t num_wants, uint32_t early) {
  TypePrices& prices = types_[type];
  const uint32_t sharers = relaxed_ && num_wants > 2 ? num_wants : 1;
  const bool is_early = early > 0;
  const auto rest_of = [&](uint32_t h) {
    if (!is_early || h == written || num_wants < 2) return 0.0;
    const double rest =
        sharers > 1 ? prices.LeastOfEarly(written, h) : prices.Seconds(written, h, true) - prices.Seconds(written, h);
    return rest / early;
  };
  // What is made of the tensor as it is written, and of a hub, but for what the hub itself adds.
  const auto price = [&](uint32_t h, uint32_t layout, bool of_hub) {
    const uint32_t start = of_hub ? h : written;
    if (sharers > 1) {
      const double share = h == written ? 1 : 1.0 / (sharers - 1);
      const double rest = is_early ? prices.LeastOfEarly(start, layout) / early : 0;
      return share * prices.SharedSeconds(start, layout, sharers) + rest;
    }
    const double copy = layout == written || layout == h ? 0 : CopySeconds(type, layout);
    return prices.Seconds(start, layout, is_early) + copy;
  };
  const auto sum = [&](uint32_t h) {
    double without_hub = 0, with_hub = rest_of(h);
    for (const uint32_t layout : wanted) {
      const double as_written = price(h, layout, false);
      without_hub += as_written;
      with_hub += std::min(as_written, price(h, layout, true));
    }
    return std::min(without_hub, with_hub);
  };
  double least = sum(hub);
  if (num_wants > 1 || wanted.size() < 2) return least;
  // No node for a hub: an op that reads the tensor twice may have one of its own.
  const auto consider = [&](uint32_t own) {
    least = std::min(least, prices.Seconds(written, own, is_early) + sum(own));
  };
  for (const uint32_t own : own_hubs) consider(own);
  for (const uint32_t layout : wanted) {
    if (layout == written) continue;
    const std::vector<uint32_t> stops = prices.Stops(written, layout);  // a copy: prices that are asked move it
    for (const uint32_t stop : stops) consider(stop);
  }
  return least;
}

// Under a memory limit: what a Refetch reads but the tensor as it was written is a copy, held from the forward pass to
// the backward pass. As the network does not count it, its price is such that to make it again is cheaper. Little is
// lost: where there is room for the copy, there is room for a tensor that is written so.
double LayoutNetworkBuilder::KeptSeconds(uint32_t type, uint32_t written, std::span<const uint32_t> wanted) {
  double seconds = 0;
  for (const uint32_t layout : wanted) seconds += kKeptPrice * types_[type].Seconds(written, layout);
  return seconds;
}

LayoutNetworkBuilder::Table LayoutNetworkBuilder::ReaderTable(Row written, Row hubs, const Reader& reader,
                                                              uint32_t num_wants) {
  const uint32_t type = rows_[written].type;
  const uint32_t runs = reader.runs;
  const bool shares = relaxed_ && num_wants > 2;
  std::vector<uint32_t> key = {kReader,
                               written,
                               hubs,
                               shares ? num_wants : 1,
                               runs,
                               reader.early,
                               reader.keeps ? 1U : 0U,
                               reader.late ? 1U : 0U};
  key.insert(key.end(), reader.rows.begin(), reader.rows.end());
  if (const auto known = table_by_key_.find(key); known != table_by_key_.end()) return known->second;
  // A line per set of layouts that a candidate wants.
  std::vector<std::vector<uint32_t>> sets;
  LayoutRow set_of_candidate;
  bool one_each = true;
  for (size_t c = 0; c < rows_[reader.rows[0]].layouts.size(); ++c) {
    std::vector<uint32_t> wanted;
    for (const Row row : reader.rows) AddOnce(wanted, rows_[row].layouts[c]);
    one_each = one_each && wanted.size() == 1;
    const auto known = std::find(sets.begin(), sets.end(), wanted);
    set_of_candidate.layouts.push_back(static_cast<uint32_t>(known - sets.begin()));
    if (known == sets.end()) sets.push_back(std::move(wanted));
  }
  // Those that the evaluator may take, at least: with pins it also knows layouts that these leave out.
  std::vector<uint32_t> own_hubs;
  for (const Row row : reader.rows) {
    for (const uint32_t layout : rows_[row].layouts) AddOnce(own_hubs, layout);
  }
  for (uint32_t layout = 0; relaxed_ && layout < types_[type].size(); ++layout) AddOnce(own_hubs, layout);
  const Side columns = LayoutsOf(set_of_candidate);
  // What is released is there as the hub alone. A plan that makes something else of that may well read the tensor as it
  // was written, and hold it; only where nothing may be left out is it as if it did not.
  const auto of_hub = [&](uint32_t hub, uint32_t set) {
    const bool is_hub = std::ranges::all_of(sets[set], [&](uint32_t layout) { return layout == hub; });
    if (!relaxed_) return is_hub ? 0 : kForbidden;
    return runs * ReaderSeconds(type, hub, hub, sets[set], own_hubs, num_wants, reader.early);
  };
  if (reader.late && one_each && reader.early == 0 && !reader.keeps) {
    return MakeTable(key, StatesOfLate(written, hubs), columns, [&](uint32_t line, uint32_t set) {
      if (line % 2 == 1) return of_hub(line / 2, set);
      return runs * ReaderSeconds(type, line / 2, line / 2, sets[set], own_hubs, num_wants, 0);
    });
  }
  if (one_each && reader.early == 0 && !reader.keeps) {  // the lesser of what either place asks
    return MakeTable(key, StatesOf(written, hubs, shares), columns, [&](uint32_t line, uint32_t set) {
      const uint32_t from = shares ? line / 2 : line;
      const double seconds = runs * ReaderSeconds(type, from, from, sets[set], own_hubs, num_wants, 0);
      return shares && line % 2 == 1 ? seconds / (num_wants - 1) : seconds;
    });
  }
  Side states;
  for (uint32_t s = 0; s < rows_[written].layouts.size(); ++s) states.of_line.push_back(s);
  return MakeTable(key, states, columns, [&](uint32_t state, uint32_t set) {
    const uint32_t from = rows_[written].layouts[state];
    const uint32_t hub = rows_[hubs].layouts[state];
    if (reader.late && IsReleased(type, from, hub)) return of_hub(hub, set);
    const double kept = reader.keeps ? KeptSeconds(type, from, sets[set]) : 0;
    return runs * (ReaderSeconds(type, from, hub, sets[set], own_hubs, num_wants, reader.early) + kept);
  });
}

template <typename Entry>
LayoutNetworkBuilder::Table LayoutNetworkBuilder::MakeTable(const std::vector<uint32_t>& key, const Side& rows,
                                                            const Side& columns, Entry entry) {
  std::vector<double> values;
  values.reserve(rows.of_line.size() * columns.of_line.size());
  for (const uint32_t row : rows.of_line) {
    for (const uint32_t column : columns.of_line) values.push_back(Finite(entry(row, column)));
  }
  return AddTable(key, rows, columns, values);
}

LayoutNetworkBuilder::Table LayoutNetworkBuilder::AddTable(const std::vector<uint32_t>& key, const Side& rows,
                                                           const Side& columns, std::span<const double> values) {
  Table& table = table_by_key_[key];
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0; })) return table;
  table.costs = network_.AddCosts(values);
  const auto lines = [&](const Side& side) {
    CostNetwork::Lines result;
    if (!side.first.empty()) result.first = network_.AddMap(side.first);
    if (!side.second.empty() && side.second != side.first) result.second = network_.AddMap(side.second);
    return result;
  };
  table.form = network_.AddForm({.rows = static_cast<int32_t>(rows.of_line.size()),
                                 .columns = static_cast<int32_t>(columns.of_line.size()),
                                 .lines = {lines(rows), lines(columns)}});
  return table;
}

}  // namespace sbp
