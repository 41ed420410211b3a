// An attention operator that reads query, key and value one after the other in one tensor, as one that reads three: the
// product that writes the packed tensor can then be cut into parts (split_weights.cc), which heads split alike.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kLongestTail = 4;  // biases and the like between the product and its reader

// Operand 0 is packed where operands 1 and 2 are absent; its last dimension has heads of equal size.
struct PackedRow {
  std::string_view op, query_heads, key_heads;  // attributes
};
constexpr PackedRow kPacked[] = {{"com.microsoft::GroupQueryAttention", "num_heads", "kv_num_heads"}};

class HeadUnpacker {
 public:
  HeadUnpacker(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const auto* row = std::ranges::find(kPacked, std::string_view(graph_.type_of(graph_.ops[o])), &PackedRow::op);
      if (row != std::end(kPacked)) Unpack(o, *row);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool IsOnlyRead(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    return !edit_.IsKept(id) && end - begin == 1;
  }
  bool IsWeight(TensorId id) const {
    if (!id.valid()) return false;
    const Op* producer = edit_.Producer(id);
    if (producer != nullptr && graph_.type_of(*producer) == "Transpose") id = producer->inputs[0];
    return graph_.tensor(id).role == TensorRole::kParameter;
  }

  // Where nothing cuts the product, the parts would only be copies.
  bool IsProjection(TensorId packed) const {
    for (size_t i = 0; i < kLongestTail && IsOnlyRead(packed); ++i) {
      const Op* op = edit_.Producer(packed);
      if (op == nullptr || !op->signature_pin.empty()) return false;
      const std::string& type = graph_.type_of(*op);
      if (type == "MatMul" || type == "Gemm") return IsWeight(op->inputs[1]);
      if (type != "Add" && type != "Cast") return false;
      const auto from = std::ranges::find_if(op->inputs, [&](TensorId id) { return edit_.Producer(id) != nullptr; });
      if (from == op->inputs.end()) return false;
      packed = *from;
    }
    return false;
  }

  void Unpack(size_t o, const PackedRow& row) {
    Op op = graph_.ops[o];
    const auto has = [&](size_t operand) { return operand < op.inputs.size() && op.inputs[operand].valid(); };
    if (!op.signature_pin.empty() || !has(0) || has(1) || has(2)) return;
    const TensorId packed = op.inputs[0];
    if (packed.index() < computed_.size() && computed_[packed.index()]) return;
    const TensorType type = graph_.tensor(packed).type;
    const int64_t query = op.attributes->Int(row.query_heads, 0), key = op.attributes->Int(row.key_heads, 0);
    if (query <= 0 || key <= 0 || type.rank() != 3 || type.num_elements() == 0) return;
    const int64_t heads = query + 2 * key;
    if (type.shape[2] % heads != 0 || !IsProjection(packed)) return;
    const int64_t size = type.shape[2] / heads;

    op.inputs.resize(std::max<size_t>(op.inputs.size(), 3));
    int64_t start = 0;
    const std::pair<std::string_view, int64_t> parts[] = {{"query", query}, {"key", key}, {"value", key}};
    for (size_t i = 0; i < std::size(parts); ++i) {
      const auto& [part, count] = parts[i];
      op.inputs[i] = Slice(o, packed, part, start * size, count * size);
      start += count;
    }
    edit_.Remove(o);
    edit_.Insert(o, std::move(op));
  }

  TensorId Slice(size_t o, TensorId packed, std::string_view part, int64_t start, int64_t count) {
    const TensorType type = graph_.tensor(packed).type;
    const Shape shape = {type.shape[0], type.shape[1], count};
    const TensorId to = edit_.AddTensor(StrCat(graph_.tensor(packed).name, "/", part), {type.dtype, shape});
    Op like = graph_.ops[o];
    like.metadata.emplace_back(kSimplifiedFrom, like.name);
    like.name += StrCat("/", part);
    for (Op& op : edit_.MakeSteps(like, {{ElementView::Step::Kind::kSlice, shape, {0, 0, start}, {}}}, packed, to))
      edit_.Insert(o, std::move(op));
    return to;
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
};

}  // namespace

bool UnpackHeads(Graph& graph, const std::vector<bool>& computed) { return HeadUnpacker(graph, computed).Run(); }

}  // namespace sbp::simplify
