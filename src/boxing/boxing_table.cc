#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/hash.h"
#include "boxing/boxing.h"
#include "boxing/search.h"
#include "cluster/cluster.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr size_t kSharedSpace = 4096;  // up to so many layouts one search from a layout serves all targets
constexpr size_t kLargestSpace = 64;   // above, a search of its own for every pair would be too dear
constexpr size_t kMostSearchedLayouts = size_t{1} << 22;  // of searches and arcs kept: forgotten and made again beyond
constexpr size_t kMostArcs = size_t{1} << 23;
constexpr size_t kMostPrices = size_t{1} << 20;  // likewise: networks of one problem ask for the same ones

// The layouts that a path may pass through: B, the splits of `dims`, and P where it starts or ends.
std::vector<std::vector<Sbp>> ChoicesWith(const NdSbp& from, const NdSbp& to, const std::vector<int>& dims) {
  std::vector<std::vector<Sbp>> choices(from.size());
  for (int axis = 0; axis < from.size(); ++axis) {
    choices[axis] = {Sbp::Broadcast(), from[axis], to[axis]};
    for (int dim : dims) choices[axis].push_back(Sbp::Split(dim));
    std::sort(choices[axis].begin(), choices[axis].end());
    choices[axis].erase(std::unique(choices[axis].begin(), choices[axis].end()), choices[axis].end());
  }
  return choices;
}

size_t SizeOf(const std::vector<std::vector<Sbp>>& choices) {
  int64_t size = 1;
  for (const std::vector<Sbp>& axis : choices) size = SaturatingMul(size, static_cast<int64_t>(axis.size()));
  return static_cast<size_t>(size);
}

// The kinds of partial values at either end, ascending: at most two, as a layout has one.
NdSbp PartialKinds(const NdSbp& from, const NdSbp& to) {
  NdSbp kinds;
  for (const NdSbp* sbp : {&from, &to}) {
    const auto* kind = std::find_if(sbp->begin(), sbp->end(), [](Sbp entry) { return entry.is_partial(); });
    if (kind == sbp->end() || (kinds.size() > 0 && kinds[0] == *kind)) continue;
    kinds.push_back(*kind);
  }
  if (kinds.size() == 2 && kinds[1] < kinds[0]) std::swap(kinds[0], kinds[1]);
  return kinds;
}

// All layouts of a tensor with the given kinds of partial values.
std::vector<std::vector<Sbp>> AllChoices(const TensorType& type, int axes, std::span<const Sbp> kinds) {
  std::vector<Sbp> choices = {Sbp::Broadcast()};
  if (type.kind == ValueKind::kTensor) {
    choices.insert(choices.end(), kinds.begin(), kinds.end());
    for (int dim = 0; dim < type.rank(); ++dim) choices.push_back(Sbp::Split(dim));
  }
  return std::vector<std::vector<Sbp>>(static_cast<size_t>(axes), choices);
}

std::vector<int> SplitDims(const NdSbp& from, const NdSbp& to) {
  std::vector<int> dims;
  for (const NdSbp* sbp : {&from, &to}) {
    for (Sbp entry : *sbp) {
      if (entry.is_split()) dims.push_back(entry.dim());
    }
  }
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

// The largest set of layouts below the limit; none: too large even without any detour.
std::optional<std::vector<std::vector<Sbp>>> ChoicesFor(const TensorType& type, const NdSbp& from, const NdSbp& to) {
  std::vector<int> dims = SplitDims(from, to);
  std::vector<int> with_spare = dims;
  int spare = -1;  // the longest dimension that neither end splits: a detour over it can be cheaper than gathering
  for (int d = 0; d < type.rank(); ++d) {
    if (!std::binary_search(dims.begin(), dims.end(), d) && (spare < 0 || type.shape[d] > type.shape[spare])) spare = d;
  }
  if (spare >= 0) with_spare.push_back(spare);
  for (const std::vector<int>& tried : {with_spare, dims, std::vector<int>()}) {
    std::vector<std::vector<Sbp>> choices = ChoicesWith(from, to, tried);
    if (SizeOf(choices) <= kLargestSpace) return choices;
  }
  return std::nullopt;
}

// Searches from one layout differ only in where P may be entered.
NdSbp OnlyPartials(const NdSbp& sbp) {
  NdSbp partials;
  for (Sbp entry : sbp) partials.push_back(entry.is_partial() ? entry : Sbp::Broadcast());
  return partials;
}

bool HasLayouts(const TensorType& type, const NdSbp& from, const NdSbp& to, const Mesh& mesh) {
  return type.kind == ValueKind::kTensor && type.is_static() && from.size() == mesh.num_axes() &&
         to.size() == mesh.num_axes();
}

}  // namespace

struct BoxingTable::Cache {
  struct PairKey {
    uint32_t type;
    NdSbp from, to;
    friend bool operator==(const PairKey&, const PairKey&) = default;
  };
  struct PairHash {
    size_t operator()(const PairKey& key) const {
      return HashCombine(HashCombine(key.type, HashOf(key.from)), HashOf(key.to));
    }
  };

  BoxingPath nothing;
  BoxingPath unreachable;
  std::unordered_map<TensorType, uint32_t> types;
  std::unordered_map<PairKey, BoxingPath, PairHash> paths;
  std::unordered_map<PairKey, BoxingPrice, PairHash> prices;      // of shared searches
  std::unordered_map<PairKey, BoxingArcs, PairHash> arcs;         // `from` holds the kinds of partial values only
  std::unordered_map<PairKey, CheapestPaths, PairHash> searches;  // `to` holds the targets' partial axes only
  // `type` is the number of choices of an axis, `from` as in arcs.
  std::unordered_map<PairKey, std::shared_ptr<LegalArcs>, PairHash> legal;

  size_t num_arcs = 0, searched_layouts = 0;
  TensorType last_type;  // often asked about again
  uint32_t last_id;

  Cache() : last_id(types.emplace(last_type, 0).first->second) { unreachable.reachable = false; }

  uint32_t TypeId(const TensorType& type) {
    if (type != last_type) {
      last_id = types.emplace(type, static_cast<uint32_t>(types.size())).first->second;
      last_type = type;
    }
    return last_id;
  }

  // Arcs and searches can be made again; paths were handed out.
  void KeepSmall() {
    if (searched_layouts > kMostSearchedLayouts) {
      searches.clear();
      searched_layouts = 0;
    }
    if (num_arcs > kMostArcs) {
      arcs.clear();
      num_arcs = 0;
    }
  }
};

BoxingTable::BoxingTable(Mesh mesh, Cluster cluster, bool even_only, BoxingCriterion criterion)
    : mesh_(std::move(mesh)),
      cluster_(std::move(cluster)),
      even_only_(even_only),
      criterion_(criterion),
      asks_runs_(AsksRuns(cluster_)),
      cache_(std::make_shared<Cache>()) {
  for (int axis = 0; axis < mesh_.num_axes(); ++axis) groups_.push_back(AxisGroupShape(cluster_, mesh_, axis));
}

BoxingWorld BoxingTable::world() const { return {mesh_, cluster_, groups_, even_only_, criterion_, asks_runs_}; }

size_t BoxingTable::cache_size() const { return cache_->paths.size(); }

const BoxingPath& BoxingTable::Path(const TensorType& type, const NdSbp& from, const NdSbp& to) {
  if (from == to) return cache_->nothing;
  const Cache::PairKey key{cache_->TypeId(type), from, to};
  const auto known = cache_->paths.find(key);
  if (known != cache_->paths.end()) return known->second;
  return cache_->paths.emplace(key, FindPath(type, from, to)).first->second;
}

BoxingArcs& BoxingTable::Arcs(const TensorType& type, std::span<const Sbp> kinds) {
  cache_->KeepSmall();
  Cache::PairKey key{cache_->TypeId(type), {}, {}};
  for (const Sbp kind : kinds) key.from.push_back(kind);
  auto found = cache_->arcs.find(key);
  if (found == cache_->arcs.end()) {
    LayoutSpace space(AllChoices(type, mesh_.num_axes(), kinds));
    const auto num_choices = static_cast<uint32_t>(mesh_.num_axes() > 0 ? space.choices(0).size() : 0);
    std::shared_ptr<LegalArcs>& legal = cache_->legal[{num_choices, key.from, {}}];
    if (legal == nullptr) legal = std::make_shared<LegalArcs>(std::move(space));
    found = cache_->arcs.emplace(key, BoxingArcs(legal)).first;
    cache_->num_arcs += found->second.most();
  }
  return found->second;
}

bool BoxingTable::IsShared(const TensorType& type, size_t num_kinds) const {
  int64_t layouts = 1;
  for (int axis = 0; axis < mesh_.num_axes(); ++axis)
    layouts = SaturatingMul(layouts, 1 + type.rank() + static_cast<int64_t>(num_kinds));
  return layouts <= static_cast<int64_t>(kSharedSpace);
}

BoxingTable::SharedSearch BoxingTable::Search(const TensorType& type, const NdSbp& from, const NdSbp& to, NdSbp kinds) {
  // Most searches of a type share its arcs so; without an end that has them, no path enters partial values.
  if (kinds.size() == 0 && IsShared(type, 1)) kinds.push_back(Sbp::Partial());
  BoxingArcs& arcs = Arcs(type, {kinds.begin(), kinds.end()});
  const std::optional<size_t> start = arcs.space().number(from), end = arcs.space().number(to);
  for (const std::optional<size_t>& layout : {start, end}) {
    if (!layout || !arcs.IsValid(world(), type, static_cast<uint32_t>(*layout))) return {};
  }
  const NdSbp partials = OnlyPartials(to);
  const auto [entry, is_new] =
      cache_->searches.try_emplace({cache_->TypeId(type), from, partials}, arcs.space(), *start, partials);
  if (is_new) cache_->searched_layouts += arcs.space().size();
  return {&arcs, &entry->second, *end};
}

BoxingPrice BoxingTable::Price(const TensorType& type, const NdSbp& from, const NdSbp& to) {
  if (from == to) return {};
  const NdSbp kinds = PartialKinds(from, to);
  if (!HasLayouts(type, from, to, mesh_)) return kUnreachable;
  if (criterion_ == BoxingCriterion::kSeconds && IsShared(type, static_cast<size_t>(kinds.size()))) {
    if (cache_->prices.size() >= kMostPrices) cache_->prices.clear();
    const auto [known, is_new] = cache_->prices.try_emplace({cache_->TypeId(type), from, to}, kUnreachable);
    if (!is_new) return known->second;
    const SharedSearch search = Search(type, from, to, kinds);
    if (search.arcs != nullptr) known->second = search.paths->PriceTo(world(), type, *search.arcs, search.target);
    return known->second;
  }
  const BoxingPath& path = Path(type, from, to);
  if (!path.reachable) return kUnreachable;
  BoxingPrice price{.local = path.wire_bytes == 0, .seconds = path.seconds};
  for (const BoxingStep& step : path.steps) price.local_seconds += RowOf(step.kind).local ? step.seconds : 0;
  return price;
}

double BoxingTable::SecondsUpTo(const TensorType& type, const NdSbp& from, const NdSbp& to, double most) {
  if (from == to) return 0;
  const NdSbp kinds = PartialKinds(from, to);
  const bool is_searched = HasLayouts(type, from, to, mesh_) && criterion_ == BoxingCriterion::kSeconds &&
                           IsShared(type, static_cast<size_t>(kinds.size()));
  if (!is_searched) return Price(type, from, to).seconds;
  const SharedSearch search = Search(type, from, to, kinds);
  if (search.arcs == nullptr) return kUnreachable.seconds;
  return search.paths->SecondsTo(world(), type, *search.arcs, search.target, most);
}

BoxingPath BoxingTable::FindPath(const TensorType& type, const NdSbp& from, const NdSbp& to) {
  if (!HasLayouts(type, from, to, mesh_)) return cache_->unreachable;
  const NdSbp kinds = PartialKinds(from, to);
  if (IsShared(type, static_cast<size_t>(kinds.size()))) {
    const SharedSearch search = Search(type, from, to, kinds);
    if (search.arcs == nullptr) return cache_->unreachable;
    return PathAlong(world(), type, search.arcs->space(), search.paths->To(world(), type, *search.arcs, search.target));
  }
  for (const NdSbp* end : {&from, &to}) {
    if (!ValidateLayout(type.shape, *end, mesh_, even_only_).ok()) return cache_->unreachable;
  }
  std::optional<std::vector<std::vector<Sbp>>> choices = ChoicesFor(type, from, to);
  if (!choices) return CheapestOfOrders(world(), type, from, to);
  BoxingArcs arcs(std::make_shared<LegalArcs>(LayoutSpace(std::move(*choices))));
  const size_t start = *arcs.space().number(from), end = *arcs.space().number(to);
  return PathAlong(world(), type, arcs.space(),
                   CheapestPaths(arcs.space(), start, OnlyPartials(to)).To(world(), type, arcs, end));
}

}  // namespace sbp
