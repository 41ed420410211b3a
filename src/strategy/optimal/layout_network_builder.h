// Builds a LayoutNetwork: rows of layouts and tables of prices are shared by all nodes and edges that are alike.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "problem/demands.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "search/cost_network.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/held_times.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/prices_of_type.h"
#include "strategy/strategy.h"

namespace sbp {

class LayoutNetworkBuilder {
 public:
  LayoutNetworkBuilder(const Problem& problem, const LayoutNetworkOptions& options)
      : problem_(problem),
        memory_limit_(options.memory_limit),
        relaxed_(options.relaxed),
        copy_price_(options.copy_price),
        lists_(options.lists),
        start_(options.start),
        weights_(options.weights != nullptr ? *options.weights : PriceWeights()),
        result_(problem) {}
  Result<LayoutNetwork> Build() &&;

 private:
  static constexpr double kForbidden = 1e18;  // CostNetworkBuilder's infinity
  static double Finite(double seconds) { return std::isinf(seconds) ? kForbidden : seconds; }
  static void AddOnce(std::vector<uint32_t>& list, uint32_t item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }

  using Row = uint32_t;  // index into rows_
  static constexpr Row kNoRow = ~0u;
  // A layout per candidate of a node.
  struct LayoutRow {
    uint32_t type = 0;
    std::vector<uint32_t> layouts;  // ids of types_[type]
  };
  // One end of a tensor inside a kernel group: its layout and what it pays where the group is cut, per candidate.
  struct CutEnd {
    std::vector<uint32_t> layouts;
    std::vector<double> seconds;
  };
  // Whoever wants layouts of a tensor: an op by some of its operands, or a tied tensor by how it is written.
  struct Reader {
    int32_t node = 0;
    std::vector<Row> rows;  // one per operand, of the node's candidates
    uint32_t runs = 1;      // how often a step reads
    uint32_t early = 0;     // of how many early readers it is one (PriceWeights::early); 0: it is none
    bool keeps = false;     // it would keep a copy that it reads
    bool late = false;      // it reads what may be left of the tensor alone (IsReleased)
  };
  struct IntsHash {
    size_t operator()(const std::vector<uint32_t>& key) const { return HashRange(key.size(), key); }
    size_t operator()(const std::array<uint32_t, 5>& key) const { return HashRange(key.size(), key); }
    size_t operator()(const std::array<uint32_t, 6>& key) const { return HashRange(key.size(), key); }
  };

  // A tensor that is to have a node: rows of the layouts it may be written in, and of those that may be its hub.
  struct Prepared {
    TensorId tensor;
    Row written = 0, wanted = 0;
    uint32_t num_wants = 1;  // operands that read it, ties and how it must end
  };
  // A tensor with a node, and the layouts of its states.
  struct Shared {
    int32_t node = 0;
    Row written = 0, hubs = 0;
    uint32_t num_wants = 1;  // operands that read it, and ties
    Row wanted = 0;          // layouts that may be its hub
  };
  // The states of a tensor's node: pairs of how it was written and its hub.
  struct TensorStates {
    Row written = 0, hubs = 0;  // per state
    int32_t costs = 0;          // row of the network
    std::shared_ptr<const LayoutNetwork::States> layouts;
  };
  enum class Slot : uint8_t { kOperand, kResult };
  enum TableKind : uint32_t { kMatch, kReader, kStanding, kCut };  // first number of a table's key
  // A table of prices and how the ends of an edge read it.
  struct Table {
    int32_t costs = -1;  // -1: all zeros, no edge
    int32_t form = -1;
  };

  void FindUnlisted();
  bool IsUnlisted(OpId op) const { return relaxed_ && lists_ == nullptr && problem_.candidates(op).truncated; }
  Status AddOps();
  void PrepareTensor(TensorId tensor);
  void AddTensorNode(const Prepared& prepared);
  const TensorStates& StatesFor(Row written, Row wanted, uint32_t num_wants, EndRule::Kind end, uint32_t runs);
  double EndSeconds(EndRule::Kind end, uint32_t type, uint32_t written, uint32_t hub, uint32_t num_wants);
  bool IsUnreadEnd(TensorId output) const;
  bool HasUnreadEnd(OpId op) const;
  void AddEndsOfUnread(OpId op, std::vector<double>& costs);
  void Connect(TensorId tensor);
  // layout_network_cuts.cc
  void AddCuts(TensorId tensor);
  CutEnd CutEndOf(OpId op, Slot side, size_t slot, TensorId tensor);
  Table CutTable(TensorId tensor, const CutEnd& writer, std::span<const Use> uses, const std::vector<uint32_t>& key);

  void AddMemory();
  std::vector<int64_t> UsagesOf(TensorId tensor, const HeldTimes& held, Row written, Row hubs);
  void Hold(int32_t node, std::span<const int64_t> usages, int64_t begin, int64_t end);
  int32_t AddHolder(int32_t producer, Row produced);
  double CopySeconds(uint32_t type, uint32_t layout);
  int64_t BytesOf(uint32_t type, uint32_t layout);
  int64_t LeastBytesOf(TensorId tensor);
  uint32_t FirstLate(TensorId tensor) const;
  bool WaitsLong(TensorId tensor) const;
  bool IsReleased(uint32_t type, uint32_t written, uint32_t hub);

  std::vector<Reader> ReadersOf(TensorId tensor);
  uint32_t HubRuns(TensorId tensor);
  uint32_t RunsOfTie(TensorId output) const;
  double LeastSeconds(OpId op) const;
  std::vector<NdSbp> LayoutsOfSource(TensorId tensor) const;
  uint32_t TypeOf(TensorId tensor);
  Row RowOf(uint32_t type, std::vector<uint32_t> layouts);
  Row SlotRow(OpId op, Slot side, size_t slot, TensorId tensor);
  const std::vector<uint32_t>& Distinct(Row row);

  // Rows of a table and who reads which.
  struct Side {
    std::vector<uint32_t> of_line;            // what each line of the table stands for
    std::vector<int32_t> first, second = {};  // per candidate; `second` may be empty
  };
  // Makes the table of this key of entry(line of rows, line of columns).
  template <typename Entry>
  Table MakeTable(const std::vector<uint32_t>& key, const Side& rows, const Side& columns, Entry entry);
  // The same of entries that are there, row by row, finite.
  Table AddTable(const std::vector<uint32_t>& key, const Side& rows, const Side& columns,
                 std::span<const double> values);
  Table MatchTable(Row produced, Row states);
  Table StandingTable(Row produced, Row states, uint32_t runs);
  Table ReaderTable(Row written, Row hubs, const Reader& reader, uint32_t num_wants);
  double ReaderSeconds(uint32_t type, uint32_t written, uint32_t hub, std::span<const uint32_t> wanted,
                       std::span<const uint32_t> own_hubs, uint32_t num_wants, uint32_t early);
  double KeptSeconds(uint32_t type, uint32_t written, std::span<const uint32_t> wanted);
  static Side LayoutsOf(const LayoutRow& row);
  Side StatesOf(Row written, Row hubs, bool apart) const;
  Side StatesOfLate(Row written, Row hubs);
  // `place`: the op in a sweep beside which the node stands.
  int32_t AddNode(int32_t costs, size_t place);
  void AddEdge(int32_t from, int32_t to, Table table);

  const Problem& problem_;
  std::optional<int64_t> memory_limit_;
  bool relaxed_;
  double copy_price_;
  const CandidateLists* lists_;  // null: all
  const Assignment* start_;
  const PriceWeights weights_;
  LayoutNetwork result_;
  CostNetworkBuilder network_;
  std::vector<int32_t> places_;  // of nodes
  std::deque<TypePrices> types_;
  std::unordered_map<TensorType, std::vector<std::pair<BoxingWeights, uint32_t>>> type_numbers_;
  std::vector<uint32_t> type_of_tensor_;
  std::vector<bool> unlisted_;  // per tensor: an op that writes or reads it has candidates that its list lacks
  std::deque<LayoutRow> rows_;
  std::vector<std::vector<uint32_t>> distinct_;  // per row; empty: not asked yet
  std::unordered_map<std::vector<uint32_t>, Row, IntsHash> row_by_key_;
  // By class, allowed candidates, side, slot and type.
  std::unordered_map<std::array<uint32_t, 5>, Row, IntsHash> row_of_slot_;
  std::unordered_map<std::array<uint32_t, 6>, TensorStates, IntsHash> states_by_key_;
  std::unordered_map<std::vector<uint32_t>, Table, IntsHash> table_by_key_;
  std::vector<Prepared> prepared_;
  std::vector<int64_t> always_held_;          // of the relaxed network: whatever is chosen, per op and at the end
  std::unordered_set<uint64_t> stops_known_;  // pairs of rows
  std::unordered_map<TensorId, Shared> shared_;
  std::unordered_map<uint64_t, double> end_seconds_;   // by type and layout: FindCheapestEnd
  std::unordered_map<uint64_t, int64_t> bytes_;        // by type and layout
  std::unordered_map<TensorId, TensorId> tied_input_;  // by output
  std::unordered_set<TensorId> tied_sources_, accumulators_;
};

}  // namespace sbp
