#include "graph/layers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"

namespace sbp {
namespace {

constexpr int kRounds = 4;          // edges around an op that must look alike, at most
constexpr size_t kLeastLayers = 2;  // that are worth the name
constexpr size_t kLeastShare = 3;   // of the ops: one of so many

// An op as seen from another one: through which operand or result.
struct Neighbour {
  uint32_t op = 0;
  int64_t way = 0;  // position; results below 0
};

class RepeatedLayerFinder {
 public:
  explicit RepeatedLayerFinder(const Graph& graph) : graph_(graph) {}

  Layers Run() {
    const size_t size = graph_.ops.size();
    Link();
    NumberKinds();
    layers_.of_op.assign(size, Layers::kNone);
    layers_.kind = kind_;
    FindParts();
    if (layers_.count == 0) return std::move(layers_);
    NumberFirstPart();
    Spread();
    Absorb();
    return std::move(layers_);
  }

 private:
  void Link() {
    neighbours_.resize(graph_.ops.size());
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const OpId producer = graph_.tensor(operands[i]).producer;
        if (!producer.valid()) continue;
        const auto way = static_cast<int64_t>(i);
        neighbours_[o].push_back({producer.value, way});
        neighbours_[producer.index()].push_back({o, -1 - way});
      }
    }
  }

  uint32_t Number(std::unordered_map<size_t, uint32_t>& numbers, size_t hash) {
    return numbers.try_emplace(hash, static_cast<uint32_t>(numbers.size())).first->second;
  }

  size_t HashOfTensor(TensorId id) const {
    if (!id.valid()) return 0;
    const Tensor& tensor = graph_.tensor(id);
    return HashCombine(HashOf(tensor.type), static_cast<size_t>(tensor.role));
  }

  void NumberKinds() {
    std::unordered_map<size_t, uint32_t> numbers;
    for (const Op& op : graph_.ops) {
      size_t hash = HashCombine(op.type, HashAttributes(*op.attributes));
      for (const TensorId id : graph_.OperandsOf(op)) hash = HashCombine(hash, HashOfTensor(id));
      for (const TensorId id : op.outputs) hash = HashCombine(hash, HashOfTensor(id));
      kind_.push_back(Number(numbers, hash));
    }
  }

  // Parts that look alike one edge further than `part` says.
  std::vector<uint32_t> Refined(const std::vector<uint32_t>& part) {
    std::unordered_map<size_t, uint32_t> numbers;
    std::vector<uint32_t> further;
    std::vector<size_t> around;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      around.clear();
      for (const Neighbour& other : neighbours_[o])
        around.push_back(HashCombine(static_cast<size_t>(other.way), part[other.op]));
      std::ranges::sort(around);
      further.push_back(Number(numbers, HashRange(part[o], around)));
    }
    return further;
  }

  // As many layers as most ops' parts have members, with parts so deep that these are as many ops as can be: a few
  // edges tell ops of one layer apart, more cut off what is near the ends of a stack.
  void FindParts() {
    std::vector<uint32_t> part = kind_;
    size_t most = graph_.ops.size() / kLeastShare;
    for (int round = 0; round <= kRounds; ++round) {
      if (round > 0) part = Refined(part);
      std::vector<std::vector<uint32_t>> members;
      for (uint32_t o = 0; o < part.size(); ++o) {
        if (part[o] >= members.size()) members.resize(part[o] + 1);
        members[part[o]].push_back(o);
      }
      std::map<size_t, size_t> ops;  // by members of their part
      for (const std::vector<uint32_t>& one : members) ops[one.size()] += one.size();
      bool gained = false;
      for (const auto& [count, covered] : ops) {
        if (count < kLeastLayers || covered < most) continue;
        most = covered;
        layers_.count = static_cast<int32_t>(count);
        gained = true;
      }
      if (!gained) continue;
      part_ = part;
      members_ = std::move(members);
    }
  }

  void NumberFirstPart() {
    const auto count = static_cast<size_t>(layers_.count);
    const auto first = std::ranges::find(members_, count, [](const auto& part) { return part.size(); });
    for (size_t i = 0; i < count; ++i) layers_.of_op[(*first)[i]] = static_cast<int32_t>(i);
    known_.push_back(part_[first->front()]);
  }

  // The layers of a part's members, if each is linked to one op of `from` in one and the same way.
  std::optional<std::vector<int32_t>> Along(uint32_t from, const std::vector<uint32_t>& part, int64_t way) const {
    std::vector<int32_t> found;
    for (const uint32_t o : part) {
      int32_t layer = Layers::kNone;
      for (const Neighbour& other : neighbours_[o]) {
        if (part_[other.op] != from || other.way != way) continue;
        if (layer != Layers::kNone && layer != layers_.of_op[other.op]) return std::nullopt;
        layer = layers_.of_op[other.op];
      }
      if (layer == Layers::kNone) return std::nullopt;
      found.push_back(layer);
    }
    return found;
  }

  // From part to part: all members go with the layers that they are wired to in the same way.
  void Spread() {
    for (size_t next = 0; next < known_.size(); ++next) {
      const uint32_t from = known_[next];
      std::vector<std::pair<uint32_t, int64_t>> reached;  // part, and the way back
      for (const uint32_t o : members_[from]) {
        for (const Neighbour& other : neighbours_[o]) {
          if (layers_.of_op[other.op] == Layers::kNone) reached.emplace_back(part_[other.op], -1 - other.way);
        }
      }
      for (const auto& [part, way] : reached) {
        const std::vector<uint32_t>& members = members_[part];
        if (layers_.of_op[members.front()] != Layers::kNone || members.size() < static_cast<size_t>(layers_.count)) {
          continue;
        }
        const std::optional<std::vector<int32_t>> found = Along(from, members, way);
        if (!found) continue;
        for (size_t i = 0; i < members.size(); ++i) layers_.of_op[members[i]] = (*found)[i];
        known_.push_back(part);
      }
    }
  }

  // What is left at the ends of the stack: ops of kinds of which most layers have some.
  void Absorb() {
    std::map<uint32_t, int32_t> of_kind;
    for (const uint32_t kind : kind_) ++of_kind[kind];
    std::vector<uint32_t> open;
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      if (layers_.of_op[o] != Layers::kNone) open.push_back(o);
    }
    for (size_t next = 0; next < open.size(); ++next) {
      for (const Neighbour& other : neighbours_[open[next]]) {
        int32_t& layer = layers_.of_op[other.op];
        if (layer != Layers::kNone || 2 * of_kind[kind_[other.op]] < layers_.count) continue;
        layer = layers_.of_op[open[next]];
        open.push_back(other.op);
      }
    }
  }

  const Graph& graph_;
  std::vector<std::vector<Neighbour>> neighbours_;  // per op
  std::vector<uint32_t> kind_, part_;               // per op
  std::vector<std::vector<uint32_t>> members_;      // per part, ascending
  std::vector<uint32_t> known_;                     // parts whose members have layers
  Layers layers_;
};

}  // namespace

Layers FindRepeatedLayers(const Graph& graph) { return RepeatedLayerFinder(graph).Run(); }

}  // namespace sbp
