// Steps for each parameter: forward to the product that reads it, mapping its dimension onto the product's last one;
// forward from the product to where that is cut; names.
#include "naming/fused_parts.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "naming/roles.h"

namespace sbp {
namespace {

constexpr int kMostSteps = 12;
constexpr size_t kMostParts = 64;

struct Cut {
  std::vector<int64_t> sizes;         // of the parts, along the cut dimension
  std::vector<TensorId> activations;  // per part; invalid where no op writes it
  int64_t groups = 1;
  bool of_parameter = false;  // the parameter itself is cut
  int dim = 0;                // of the parameter
};

class PartFinder {
 public:
  PartFinder(const Graph& graph, const ModuleNames& names) : graph_(graph), names_(names), uses_(BuildUses(graph)) {}

  std::vector<ModulePart> Run() const {
    std::vector<ModulePart> parts;
    for (const ModuleName& name : names_.all()) {
      const TensorType& type = graph_.tensor(name.parameter).type;
      if (type.rank() == 0 || name.role == "zero_point") continue;
      if (const std::optional<Cut> cut = CutOf(name.parameter)) Add(name, *cut, parts);
    }
    return parts;
  }

 private:
  static void Add(const ModuleName& name, const Cut& cut, std::vector<ModulePart>& parts) {
    const std::string whole = name.place.empty() ? name.scope : StrCat(name.scope, "/", name.place);
    const std::vector<std::string> scopes = PartScopes(whole, cut.sizes.size());
    int64_t begin = 0;
    for (size_t i = 0; i < cut.sizes.size(); ++i) {
      const TensorId activation = i < cut.activations.size() ? cut.activations[i] : TensorId();
      parts.push_back({name.parameter, scopes[i], name.role, cut.dim, begin, begin + cut.sizes[i], cut.groups,
                       activation, cut.of_parameter});
      begin += cut.sizes[i];
    }
  }

  bool Reads(const Use& use) const { return NamingKindOf(graph_.type_of(graph_.op(use.op))) != NamingKind::kIgnores; }
  std::vector<Use> Readers(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    std::vector<Use> readers;
    for (const Use* use = begin; use != end && readers.size() <= kMostParts; ++use) {
      if (Reads(*use)) readers.push_back(*use);
    }
    return readers;
  }
  std::string_view TypeOf(const Use& use) const { return Unqualified(graph_.type_of(graph_.op(use.op))); }
  int64_t SizeOf(TensorId id, int dim) const { return graph_.tensor(id).type.shape[static_cast<size_t>(dim)]; }
  int RankOf(TensorId id) const { return graph_.tensor(id).type.has_rank ? graph_.tensor(id).type.rank() : 0; }
  TensorId Result(const Use& use) const {
    const Op& op = graph_.op(use.op);
    return op.outputs.empty() ? TensorId() : op.outputs[0];
  }

  // From a parameter to the op that multiplies or adds it. dims[i]: the parameter's dimension that is dimension i now.
  std::optional<Cut> CutOf(TensorId parameter) const {
    std::vector<int> dims(static_cast<size_t>(RankOf(parameter)));
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int>(i);
    TensorId at = parameter;
    for (int step = 0; step < kMostSteps && at.valid() && !dims.empty(); ++step) {
      const std::vector<Use> readers = Readers(at);
      if (readers.empty()) return std::nullopt;
      if (std::optional<Cut> cut = CutByReaders(at, readers, RankOf(at) - 1)) return OfParameter(*cut, dims.back());
      if (std::optional<Cut> cut = CutByReaders(at, readers, 0)) return OfParameter(*cut, dims.front());
      const Use& use = readers.front();
      const Op& op = graph_.op(use.op);
      if (const auto dim = ResultDim(use, static_cast<int>(dims.size()))) {
        std::optional<Cut> cut = IsPackedAttention(use) ? PackedCut(SizeOf(at, *dim)) : CutOfProduct(Result(use));
        if (cut) cut->dim = dims[static_cast<size_t>(*dim)];
        return cut;
      }
      if (NamingKindOf(graph_.type_of(op)) != NamingKind::kPasses || use.operand != 0) return std::nullopt;
      at = Result(use);
      if (TypeOf(use) == "Transpose" && !Permute(op, dims)) return std::nullopt;
      if (!at.valid() || RankOf(at) != static_cast<int>(dims.size())) return std::nullopt;
    }
    return std::nullopt;
  }
  static Cut OfParameter(Cut cut, int dim) {
    cut.of_parameter = true;
    cut.dim = dim;
    return cut;
  }
  static bool Permute(const Op& op, std::vector<int>& dims) {
    const std::vector<int64_t>* perm = op.attributes->Ints("perm");
    if (perm == nullptr || perm->size() != dims.size()) return false;
    std::vector<int> permuted;
    for (const int64_t p : *perm) {
      if (p < 0 || p >= static_cast<int64_t>(dims.size())) return false;
      permuted.push_back(dims[static_cast<size_t>(p)]);
    }
    dims = std::move(permuted);
    return true;
  }

  // The operand's dimension that becomes the last one of the result.
  std::optional<int> ResultDim(const Use& use, int rank) const {
    const std::string_view type = TypeOf(use);
    const std::string_view role = OperandRole(type, use.operand);
    if (role == "bias") return rank - 1;
    if (type == "Gemm" && use.operand == 1) return graph_.op(use.op).attributes->Int("transB", 0) != 0 ? 0 : rank - 1;
    if (type == "MatMulNBits") return use.operand > 0 && use.operand < 4 ? std::optional<int>(0) : std::nullopt;
    const bool product = type.starts_with("MatMul") || type == "FusedMatMul" || type == "DynamicQuantizeMatMul" ||
                         IsPackedAttention(use);
    if (!product || use.operand == 0 || role.empty() || rank < 1) return std::nullopt;
    return rank - 1;
  }

  bool IsPackedAttention(const Use& use) const { return TypeOf(use) == "Attention" || TypeOf(use) == "QAttention"; }
  static std::optional<Cut> PackedCut(int64_t size) {
    if (size % 3 != 0) return std::nullopt;
    return Cut{{size / 3, size / 3, size / 3}, {}, 1};
  }

  // From a product to where its last dimension is cut.
  std::optional<Cut> CutOfProduct(TensorId at) const {
    for (int step = 0; step < kMostSteps && at.valid() && RankOf(at) > 0; ++step) {
      const std::vector<Use> readers = Readers(at);
      if (readers.empty()) return std::nullopt;
      const int last = RankOf(at) - 1;
      if (std::optional<Cut> cut = CutByReaders(at, readers, last)) return cut;
      const Use& use = readers.front();
      if (TypeOf(use) == "GroupQueryAttention" && use.operand == 0)
        return PackedHeads(graph_.op(use.op), SizeOf(at, last));
      if (readers.size() > 1) return std::nullopt;
      const TensorId next = Result(use);
      if (!next.valid() || RankOf(next) == 0) return std::nullopt;
      const bool keeps = SizeOf(next, RankOf(next) - 1) == SizeOf(at, last);
      if (TypeOf(use) == "Reshape" && !keeps) return CutOfReshaped(at, next);
      const bool goes_on = TypeOf(use) == "Add" || TypeOf(use) == "Mul" || TypeOf(use) == "Cast" ||
                           TypeOf(use) == "Reshape" || TypeOf(use) == "Identity";
      if (!goes_on || !keeps) return std::nullopt;
      at = next;
    }
    return std::nullopt;
  }

  static std::optional<Cut> PackedHeads(const Op& op, int64_t size) {
    const bool packed = op.inputs.size() < 2 || !op.inputs[1].valid();
    const int64_t heads = op.attributes->Int("num_heads", 0), kv_heads = op.attributes->Int("kv_num_heads", heads);
    if (!packed || heads <= 0 || kv_heads <= 0 || size % (heads + 2 * kv_heads) != 0) return std::nullopt;
    const int64_t head = size / (heads + 2 * kv_heads);
    return Cut{{heads * head, kv_heads * head, kv_heads * head}, {}, 1};
  }

  // Does a Split, or do Slices or Gathers cut `at` along `dim`?
  std::optional<Cut> CutByReaders(TensorId at, const std::vector<Use>& readers, int dim) const {
    if (readers.size() == 1 && TypeOf(readers[0]) == "Split") return CutBySplit(readers[0], dim);
    if (readers.size() < 2 || readers.size() > kMostParts) return std::nullopt;
    std::vector<std::pair<int64_t, TensorId>> pieces;  // begin
    for (const Use& use : readers) {
      const std::optional<int64_t> begin = TypeOf(use) == "Slice"    ? SliceBegin(use, dim)
                                           : TypeOf(use) == "Gather" ? GatherIndex(use, dim)
                                                                     : std::nullopt;
      if (!begin) return std::nullopt;
      pieces.emplace_back(*begin, Result(use));
    }
    std::sort(pieces.begin(), pieces.end());
    Cut cut;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int64_t end = i + 1 < pieces.size() ? pieces[i + 1].first : SizeOf(at, dim);
      if (end <= pieces[i].first || (i == 0 && pieces[i].first != 0)) return std::nullopt;
      cut.sizes.push_back(end - pieces[i].first);
      cut.activations.push_back(pieces[i].second);
    }
    return cut;
  }
  std::optional<Cut> CutBySplit(const Use& use, int dim) const {
    const Op& op = graph_.op(use.op);
    const int rank = RankOf(op.inputs[0]);
    int64_t axis = op.attributes->Int("axis", 0);
    if (axis < 0) axis += rank;
    if (axis != dim || op.outputs.size() < 2 || op.outputs.size() > kMostParts || use.operand != 0) return std::nullopt;
    Cut cut;
    for (const TensorId output : op.outputs) {
      if (!output.valid() || RankOf(output) != rank) return std::nullopt;
      cut.sizes.push_back(SizeOf(output, dim));
      cut.activations.push_back(output);
    }
    return cut;
  }
  std::optional<int64_t> OnlyValue(const Op& op, size_t operand) const {
    if (operand >= op.inputs.size() || !op.inputs[operand].valid()) return std::nullopt;
    const LiteralRef& literal = graph_.tensor(op.inputs[operand]).literal;
    if (literal == nullptr || literal->ints.size() != 1) return std::nullopt;
    return literal->ints[0];
  }
  std::optional<int64_t> SliceBegin(const Use& use, int dim) const {
    const Op& op = graph_.op(use.op);
    const std::optional<int64_t> begin = OnlyValue(op, 1), axis = OnlyValue(op, 3);
    if (use.operand != 0 || !begin || !axis || op.inputs.empty()) return std::nullopt;
    if ((*axis < 0 ? *axis + RankOf(op.inputs[0]) : *axis) != dim) return std::nullopt;
    if (op.inputs.size() > 4 && op.inputs[4].valid() && OnlyValue(op, 4) != 1) return std::nullopt;
    return *begin < 0 ? *begin + SizeOf(op.inputs[0], dim) : *begin;
  }
  std::optional<int64_t> GatherIndex(const Use& use, int dim) const {
    const Op& op = graph_.op(use.op);
    const std::optional<int64_t> index = OnlyValue(op, 1);
    int64_t axis = op.attributes->Int("axis", 0);
    if (axis < 0) axis += RankOf(op.inputs[0]);
    if (use.operand != 0 || axis != dim || !index) return std::nullopt;
    return *index < 0 ? *index + SizeOf(op.inputs[0], dim) : *index;
  }

  // [.., C] as [.., n, C / n] or [.., groups, n, C / groups / n], and then cut along n.
  std::optional<Cut> CutOfReshaped(TensorId before, TensorId after) const {
    const int64_t whole = SizeOf(before, RankOf(before) - 1);
    int64_t product = 1;
    int first = RankOf(after);
    while (first > 0 && product < whole) product *= std::max<int64_t>(SizeOf(after, --first), 1);
    if (product != whole) return std::nullopt;
    for (int dim = first; dim < std::min(first + 2, RankOf(after)); ++dim) {
      const int64_t count = SizeOf(after, dim);
      if (count < 2 || count > 3) continue;
      std::optional<Cut> cut = CutAlong(after, dim);
      if (!cut || cut->sizes.size() != static_cast<size_t>(count)) continue;
      cut->groups = dim == first ? 1 : SizeOf(after, first);
      cut->sizes.assign(static_cast<size_t>(count), whole / cut->groups / count);
      return cut;
    }
    return std::nullopt;
  }
  std::optional<Cut> CutAlong(TensorId at, int dim) const {
    for (int step = 0; step < kMostSteps && at.valid(); ++step) {
      const std::vector<Use> readers = Readers(at);
      if (readers.empty()) return std::nullopt;
      if (std::optional<Cut> cut = CutByReaders(at, readers, dim)) return cut;
      const Use& use = readers.front();
      const TensorId next = Result(use);
      if (readers.size() > 1 || !next.valid()) return std::nullopt;
      const std::optional<int> moved = DimAfter(use, next, dim);
      if (!moved) return std::nullopt;
      dim = *moved;
      at = next;
    }
    return std::nullopt;
  }
  // Where a dimension is after an op that only moves dimensions. Ones that come and go stand before or after it.
  std::optional<int> DimAfter(const Use& use, TensorId next, int dim) const {
    const Op& op = graph_.op(use.op);
    const std::string_view type = TypeOf(use);
    if (type == "Transpose") {
      const std::vector<int64_t>* perm = op.attributes->Ints("perm");
      if (perm == nullptr) return std::nullopt;
      const auto found = std::find(perm->begin(), perm->end(), dim);
      if (found == perm->end()) return std::nullopt;
      return static_cast<int>(found - perm->begin());
    }
    if (type != "Unsqueeze" && type != "Squeeze" && type != "Reshape") return std::nullopt;
    const int64_t count = SizeOf(op.inputs[0], dim);
    int64_t before = 1;
    for (int i = 0; i < dim; ++i) before *= SizeOf(op.inputs[0], i);
    int64_t product = 1;
    for (int i = 0; i < RankOf(next); ++i) {
      if (product == before && SizeOf(next, i) == count) return i;
      product *= SizeOf(next, i);
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const ModuleNames& names_;
  const UseTable uses_;
};

// The last level without `word`, which is replaced by each of `parts`.
std::vector<std::string> Replaced(const std::string& scope, size_t at, size_t length,
                                  std::initializer_list<std::string_view> parts) {
  std::vector<std::string> scopes;
  for (const std::string_view part : parts) {
    std::string with = scope;
    with.replace(at, length, part);
    scopes.push_back(std::move(with));
  }
  return scopes;
}

}  // namespace

std::vector<ModulePart> FindFusedParts(const Graph& graph, const ModuleNames& names) {
  return PartFinder(graph, names).Run();
}

std::vector<std::string> PartScopes(const std::string& scope, size_t count) {
  const size_t last = scope.find_last_of("/.") == std::string::npos ? 0 : scope.find_last_of("/.") + 1;
  const auto in_last = [&](std::string_view word) { return scope.find(word, last); };
  if (count == 3) {
    // A number after the module ("qkv.0" of a list) leaves the word in the level before.
    for (const std::string_view word : {"qkv", "query_key_value"}) {
      const size_t at = scope.rfind(word);
      if (at == std::string::npos || scope.find('/', at) != std::string::npos) continue;
      if (word == "qkv") return Replaced(scope, at, word.size(), {"q", "k", "v"});
      return Replaced(scope, at, word.size(), {"query", "key", "value"});
    }
    const bool attends = in_last("attn") != std::string::npos || in_last("attention") != std::string::npos ||
                         in_last("in_proj") != std::string::npos || in_last("Attention") != std::string::npos;
    if (attends) return {scope + "/q", scope + "/k", scope + "/v"};
  }
  if (count == 2) {
    for (const auto& [word, first, second] : {std::tuple("gate_up", "gate", "up"), {"up_gate", "up", "gate"}}) {
      if (const size_t at = in_last(word); at != std::string::npos) {
        return Replaced(scope, at, std::string_view(word).size(), {first, second});
      }
    }
  }
  std::vector<std::string> scopes;
  for (size_t i = 0; i < count; ++i) scopes.push_back(StrCat(scope, "/part.", i));
  return scopes;
}

}  // namespace sbp
