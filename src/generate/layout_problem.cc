#include "generate/layout_problem.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cancelled.h"
#include "base/text.h"
#include "search/random.h"

namespace sbp {
namespace {

constexpr int32_t kWhole = -1;
constexpr int64_t kMostEntries = 200'000'000;  // some 10 characters each
constexpr int64_t kElement = 2;                // bytes

// What an op may do on an axis of the mesh: how its result is split there, and each operand (a dimension or kWhole).
struct Role {
  int32_t result = kWhole;
  std::array<int32_t, 3> operands = {kWhole, kWhole, kWhole};
  bool reduces = false;
};
using Roles = std::vector<Role>;

Roles SourceRoles(int32_t dims) {
  Roles roles(1);
  for (int32_t dim = 0; dim < dims; ++dim) roles.push_back({dim, {dim, dim, dim}});
  return roles;
}

// result[batch, out] = x[batch, in] weight[in, out], and the products of its backward pass.
Roles ProductRoles() { return {{}, {0, {0, kWhole, 0}}, {1, {kWhole, 1, 1}}, {kWhole, {1, 0, kWhole}, true}}; }
Roles InputGradientRoles() { return {{}, {0, {0, kWhole, 0}}, {1, {kWhole, 0, 1}}, {kWhole, {1, 1, kWhole}, true}}; }
Roles WeightGradientRoles() { return {{}, {0, {1, kWhole, 0}}, {1, {kWhole, 1, 1}}, {kWhole, {0, 0, kWhole}, true}}; }

// A choice of a role per axis, as a number: that of the first axis counts most.
class LayoutProblem {
 public:
  explicit LayoutProblem(const GenerateOptions& options) : options_(options), random_(options.seed) {
    int32_t left = std::countr_zero(static_cast<uint64_t>(options.problem.devices));
    for (int32_t axis = options.problem.axes; axis > 0; --axis) {
      const int32_t share = (left + axis - 1) / axis;
      sizes_.push_back(1 << share);
      left -= share;
    }
    kinds_ = {SourceRoles(2), SourceRoles(3), ProductRoles(), InputGradientRoles(), WeightGradientRoles()};
  }

  Result<CostNetwork> Make();

 private:
  enum Kind : int32_t { kMatrix, kCube, kProduct, kInputGradient, kWeightGradient };
  struct Node {
    Kind kind;
    int64_t bytes;  // of the whole result
    int64_t begin, end;
  };
  struct Edge {
    int32_t from, to, operand;
  };
  struct Block {  // of the model
    int32_t weight, state, in, out, skip = -1;
    int64_t bytes, weight_bytes;
  };

  int64_t Choices(Kind kind) const {
    return std::llround(std::pow(static_cast<double>(kinds_[kind].size()), options_.problem.axes));
  }
  const Role& RoleOf(Kind kind, int64_t choice, int32_t axis) const {
    const auto count = static_cast<int64_t>(kinds_[kind].size());
    for (int32_t last = options_.problem.axes - 1; last > axis; --last) choice /= count;
    return kinds_[kind][choice % count];
  }
  // Prices are per byte; the last axis is the fastest.
  int64_t Slowness(int32_t axis) const { return int64_t{1} << 2 * (options_.problem.axes - 1 - axis); }
  int32_t Add(Kind kind, int64_t bytes) {
    nodes_.push_back({kind, bytes, time_, time_ + 1});
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  void Read(int32_t from, int32_t to, int32_t operand) {
    edges_.push_back({from, to, operand});
    nodes_[from].end = std::max(nodes_[from].end, time_ + 1);
  }
  int32_t Op(Kind kind, int64_t bytes, std::span<const int32_t> operands);
  void Forward(std::vector<Block>& blocks);
  void Backward(const std::vector<Block>& blocks);
  int64_t Part(const Node& node, int64_t choice) const;
  int64_t ReduceCost(const Node& node, int64_t choice) const;
  int64_t MoveCost(const Edge& edge, int64_t from, int64_t to) const;
  int64_t Limit() const;
  Status CheckSize() const;

  const GenerateOptions& options_;
  Random random_;
  std::vector<int32_t> sizes_;  // of the axes
  std::vector<Roles> kinds_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  int64_t time_ = 0;
};

int32_t LayoutProblem::Op(Kind kind, int64_t bytes, std::span<const int32_t> operands) {
  const int32_t node = Add(kind, bytes);
  for (size_t i = 0; i < operands.size(); ++i) Read(operands[i], node, static_cast<int32_t>(i));
  ++time_;
  return node;
}

// Blocks of one product each. Widths double and halve along the way, and places in both directions the other way round,
// as strides do; so a few weights and a few activations are far larger than most tensors. Some blocks read what an
// earlier one of their width wrote, too.
void LayoutProblem::Forward(std::vector<Block>& blocks) {
  constexpr int64_t kLeastWidth = 7, kMostWidth = 13;  // powers of two
  constexpr int64_t kVolume = 34;                      // places x width x width, likewise
  int64_t width = kLeastWidth + 2;
  std::map<int64_t, std::vector<int32_t>> written;  // by width
  int32_t x = Add(kMatrix, kElement << (kVolume - width));
  // The backward pass of a block makes three nodes.
  while (blocks.empty() ||
         static_cast<int64_t>(nodes_.size()) + 3 * static_cast<int64_t>(blocks.size()) < options_.ops) {
    int64_t next = width;
    if (random_.Below(4) == 0) next += random_.Below(2) == 0 ? 1 : -1;
    next = std::clamp(next, kLeastWidth, kMostWidth);
    Block block;
    block.in = x;
    block.weight_bytes = kElement * (random_.Below(3) == 0 ? 9 : 1) << (width + next);
    block.bytes = kElement << (kVolume - next);
    block.weight = Add(kMatrix, block.weight_bytes);
    block.state = Add(kMatrix, 2 * block.weight_bytes);
    std::vector<int32_t> operands = {x, block.weight};
    const std::vector<int32_t>& earlier = written[next];
    if (!earlier.empty() && random_.Below(3) == 0) {
      block.skip = earlier[random_.Below(static_cast<int64_t>(earlier.size()))];
      operands.push_back(block.skip);
    }
    block.out = Op(kProduct, block.bytes, operands);
    written[next].push_back(block.out);
    x = block.out;
    width = next;
    blocks.push_back(block);
  }
}

void LayoutProblem::Backward(const std::vector<Block>& blocks) {
  if (blocks.empty()) return;
  std::map<int32_t, int32_t> skipped;  // gradients that reach a node past the blocks between
  int32_t gradient = Op(kMatrix, blocks.back().bytes, std::array{blocks.back().out});
  for (size_t i = blocks.size(); i-- > 0;) {
    const Block& block = blocks[i];
    const int32_t of_weight = Op(kWeightGradient, block.weight_bytes, std::array{block.in, gradient});
    const int32_t updated = Op(kMatrix, block.weight_bytes, std::array{block.weight, of_weight, block.state});
    nodes_[updated].end = -1;  // to the end of the step
    if (block.skip >= 0) skipped.try_emplace(block.skip, gradient);
    if (i == 0) break;
    std::vector<int32_t> operands = {gradient, block.weight};
    const auto other = skipped.find(block.in);
    if (other != skipped.end()) operands.push_back(other->second);
    gradient = Op(kInputGradient, blocks[i - 1].bytes, operands);
  }
  // Parameters and states are there all the time.
  for (const Block& block : blocks) {
    for (const int32_t node : {block.weight, block.state}) nodes_[node].begin = 0, nodes_[node].end = -1;
  }
  for (Node& node : nodes_) {
    if (node.end < 0) node.end = time_;
  }
}

// Bytes of a device.
int64_t LayoutProblem::Part(const Node& node, int64_t choice) const {
  int64_t bytes = node.bytes;
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (RoleOf(node.kind, choice, static_cast<int32_t>(axis)).result != kWhole) bytes /= sizes_[axis];
  }
  return bytes;
}

int64_t LayoutProblem::ReduceCost(const Node& node, int64_t choice) const {
  int64_t cost = 0;
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (!RoleOf(node.kind, choice, static_cast<int32_t>(axis)).reduces) continue;
    cost += 2 * Slowness(static_cast<int32_t>(axis)) * (Part(node, choice) / sizes_[axis]) * (sizes_[axis] - 1);
  }
  return cost;
}

// Axis by axis, from the last: what is gathered there makes what the others move larger.
int64_t LayoutProblem::MoveCost(const Edge& edge, int64_t from, int64_t to) const {
  const Node& source = nodes_[edge.from];
  const Node& reader = nodes_[edge.to];
  int64_t bytes = Part(source, from), cost = 0;
  for (int32_t axis = options_.problem.axes; axis-- > 0;) {
    const int32_t written = RoleOf(source.kind, from, axis).result;
    const int32_t read = RoleOf(reader.kind, to, axis).operands[edge.operand];
    const int64_t size = sizes_[axis];
    if (written == read) continue;
    if (written == kWhole) {
      bytes /= size;  // each device keeps its part
    } else if (read == kWhole) {
      cost += Slowness(axis) * bytes * (size - 1);
      bytes *= size;
    } else {
      cost += Slowness(axis) * (bytes / size) * (size - 1);
    }
  }
  return cost;
}

// The smallest peak that each tensor's smallest part leaves, and the slack.
int64_t LayoutProblem::Limit() const {
  std::vector<int64_t> change(time_ + 1, 0);
  for (const Node& node : nodes_) {
    int64_t least = node.bytes;
    for (int64_t choice = 0; choice < Choices(node.kind); ++choice) least = std::min(least, Part(node, choice));
    change[node.begin] += least;
    change[node.end] -= least;
  }
  int64_t held = 0, peak = 0;
  for (const int64_t more : change) peak = std::max(peak, held += more);
  return static_cast<int64_t>(static_cast<double>(peak) * (1 + options_.problem.slack));
}

Status LayoutProblem::CheckSize() const {
  double entries = 0;
  for (const Edge& edge : edges_) {
    entries += static_cast<double>(Choices(nodes_[edge.from].kind) * Choices(nodes_[edge.to].kind));
  }
  if (entries <= kMostEntries) return OkStatus();
  return UsageError(StrCat("--ops ", options_.ops, " with --axes ", options_.problem.axes, ": tables of ",
                           static_cast<int64_t>(entries), " entries, expected at most ", kMostEntries));
}

Result<CostNetwork> LayoutProblem::Make() {
  std::vector<Block> blocks;
  Forward(blocks);
  Backward(blocks);
  SBP_RETURN_IF_ERROR(CheckSize());
  CostNetworkBuilder builder;
  builder.SetName(StrCat("iopddl-like-", options_.ops, "-", options_.seed));
  std::vector<int64_t> costs, usages;
  for (const Node& node : nodes_) {
    costs.clear();
    usages.clear();
    for (int64_t choice = 0; choice < Choices(node.kind); ++choice) {
      costs.push_back(ReduceCost(node, choice));
      usages.push_back(Part(node, choice));
    }
    const int32_t costs_row = builder.AddCosts(std::span<const int64_t>(costs));
    builder.nodes().push_back({costs_row, builder.AddUsages(usages), node.begin, node.end});
  }
  std::map<std::tuple<Kind, Kind, int32_t, int64_t>, int32_t> tables;  // equal edges have the same
  for (const Edge& edge : edges_) {
    SBP_RETURN_IF_ERROR(RefuseCancelled(options_.cancelled));
    const Node &from = nodes_[edge.from], &to = nodes_[edge.to];
    const auto [table, is_new] = tables.try_emplace({from.kind, to.kind, edge.operand, from.bytes}, 0);
    if (is_new) {
      costs.clear();
      for (int64_t a = 0; a < Choices(from.kind); ++a) {
        for (int64_t b = 0; b < Choices(to.kind); ++b) costs.push_back(MoveCost(edge, a, b));
      }
      table->second = builder.AddCosts(std::span<const int64_t>(costs));
    }
    builder.edges().push_back({{edge.from, edge.to}, table->second});
  }
  builder.SetUsageLimit(Limit());
  return std::move(builder).Build();
}

}  // namespace

Result<CostNetwork> GenerateLayoutProblem(const GenerateOptions& options) {
  const ProblemSizes& sizes = options.problem;
  const int64_t least = int64_t{1} << sizes.axes;
  if (!std::has_single_bit(static_cast<uint64_t>(sizes.devices)) || sizes.devices < least) {
    const auto nearest = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(sizes.devices)));
    return UsageError(StrCat("--devices ", sizes.devices, ": expected a power of two, at least ", least, " on ",
                             sizes.axes, " axes (say ", std::max(least, nearest), ")"));
  }
  // Each node has an edge at least, between ends of three roles an axis at least.
  if (static_cast<double>(options.ops) * std::pow(9.0, sizes.axes) > kMostEntries) {
    return UsageError(
        StrCat("--ops ", options.ops, " with --axes ", sizes.axes, ": tables of more than ", kMostEntries, " entries"));
  }
  return LayoutProblem(options).Make();
}

}  // namespace sbp
