#include "unit/boxing/simulate.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/text.h"

namespace sbp {
namespace {

int64_t Volume(const std::vector<Range>& box) {
  int64_t volume = 1;
  for (const Range& range : box) volume *= range.size();
  return volume;
}

// Calls visit(index) for each index of the box, row-major.
void EachIndex(const std::vector<Range>& box, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> index(box.size());
  for (int64_t i = 0; i < Volume(box); ++i) {
    int64_t rest = i;
    for (size_t d = box.size(); d-- > 0;) {
      index[d] = box[d].begin + rest % box[d].size();
      rest /= box[d].size();
    }
    visit(index);
  }
}

size_t Place(const std::vector<Range>& box, const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (size_t d = 0; d < box.size(); ++d) place = place * box[d].size() + index[d] - box[d].begin;
  return static_cast<size_t>(place);
}

bool Holds(const std::vector<Range>& box, const std::vector<int64_t>& index) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (index[d] < box[d].begin || index[d] >= box[d].end) return false;
  }
  return true;
}

Block Cut(const Block& block, const std::vector<Range>& box) {
  Block part{box, {}};
  EachIndex(box,
            [&](const std::vector<int64_t>& index) { part.values.push_back(block.values[Place(block.box, index)]); });
  return part;
}

double Neutral(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return 0;
    case ReduceKind::kMax:
      return -std::numeric_limits<double>::infinity();
    case ReduceKind::kMin:
      return std::numeric_limits<double>::infinity();
    case ReduceKind::kProd:
      return 1;
  }
  return 0;
}

double Combine(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::kSum:
      return a + b;
    case ReduceKind::kMax:
      return std::max(a, b);
    case ReduceKind::kMin:
      return std::min(a, b);
    case ReduceKind::kProd:
      return a * b;
  }
  return 0;
}

// The combined values of blocks that hold the same box; nothing to combine when `kind` is absent.
Block CombineAll(const std::vector<const Block*>& blocks, ReduceKind kind) {
  Block result = *blocks[0];
  for (size_t i = 1; i < blocks.size(); ++i) {
    for (size_t j = 0; j < result.values.size(); ++j) {
      result.values[j] = Combine(kind, result.values[j], blocks[i]->values[j]);
    }
  }
  return result;
}

// The union of boxes that differ in one dimension only and lie end to end there.
bool Join(const std::vector<const Block*>& blocks, int dim, Block& joined) {
  joined.box = blocks[0]->box;
  for (size_t i = 1; i < blocks.size(); ++i) {
    for (size_t d = 0; d < joined.box.size(); ++d) {
      const Range& range = blocks[i]->box[d];
      if (static_cast<int>(d) != dim) {
        if (range != joined.box[d]) return false;
      } else {
        if (range.begin != joined.box[d].end) return false;
        joined.box[d].end = range.end;
      }
    }
  }
  EachIndex(joined.box, [&](const std::vector<int64_t>& index) {
    for (const Block* block : blocks) {
      if (Holds(block->box, index)) joined.values.push_back(block->values[Place(block->box, index)]);
    }
  });
  return true;
}

// Random parts that combine to `value`.
std::vector<double> Parts(double value, size_t count, ReduceKind kind, std::mt19937& random) {
  std::vector<double> parts(count, Neutral(kind));
  const size_t carrier = random() % count;
  if (kind == ReduceKind::kSum) {
    for (size_t i = 0; i < count; ++i) {
      parts[i] = i == carrier ? 0 : static_cast<double>(random() % 16);
      value -= parts[i];
    }
  }
  if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
    for (double& part : parts) part = kind == ReduceKind::kMax ? value - random() % 9 : value + random() % 9;
  }
  parts[carrier] = value;
  return parts;
}

// For each position the positions that differ from it on partial axes only, itself included.
std::vector<std::vector<size_t>> PartialGroups(const NdSbp& sbp, const Mesh& mesh) {
  std::vector<std::vector<size_t>> groups(mesh.num_devices());
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    for (int64_t q = 0; q < mesh.num_devices(); ++q) {
      const std::vector<int64_t> a = mesh.Coordinates(p), b = mesh.Coordinates(q);
      bool together = true;
      for (int axis = 0; axis < sbp.size(); ++axis) together &= a[axis] == b[axis] || sbp[axis].is_partial();
      if (together) groups[p].push_back(static_cast<size_t>(q));
    }
  }
  return groups;
}

ReduceKind KindOf(const NdSbp& sbp) {
  for (Sbp entry : sbp) {
    if (entry.is_partial()) return entry.reduce_kind();
  }
  return ReduceKind::kSum;
}

// The new block of the rank at `at` in a group; false if the step cannot be done with what the group holds.
bool NewBlock(const BoxingStep& step, const std::vector<const Block*>& group, size_t at, Block& result) {
  const Sbp from = step.from[step.axis], to = step.to[step.axis];
  const auto part_of = [&](const Block& block) {
    std::vector<Range> box = block.box;
    box[to.dim()] = BalancedPart(box[to.dim()], static_cast<int64_t>(group.size()), static_cast<int64_t>(at));
    return Cut(block, box);
  };
  Block whole;
  const bool same_box =
      std::all_of(group.begin(), group.end(), [&](const Block* b) { return b->box == group[0]->box; });
  switch (step.kind) {
    case CollectiveKind::kAllGather:
      return Join(group, from.dim(), result);
    case CollectiveKind::kAllReduce:
      if (!same_box) return false;
      result = CombineAll(group, from.reduce_kind());
      return true;
    case CollectiveKind::kReduceScatter:
      if (!same_box) return false;
      result = part_of(CombineAll(group, from.reduce_kind()));
      return true;
    case CollectiveKind::kAllToAll:
      if (!Join(group, from.dim(), whole)) return false;
      result = part_of(whole);
      return true;
    case CollectiveKind::kSlice:
      if (!same_box) return false;
      result = part_of(*group[at]);
      return true;
    case CollectiveKind::kFill:
      if (!same_box) return false;
      result = *group[at];
      if (at > 0) std::fill(result.values.begin(), result.values.end(), Neutral(to.reduce_kind()));
      return true;
    case CollectiveKind::kPad:
      if (!Join(group, from.dim(), result)) return false;
      std::fill(result.values.begin(), result.values.end(), Neutral(to.reduce_kind()));
      EachIndex(group[at]->box, [&](const std::vector<int64_t>& index) {
        result.values[Place(result.box, index)] = group[at]->values[Place(group[at]->box, index)];
      });
      return true;
    case CollectiveKind::kSendRecv:
      break;
  }
  return false;
}

}  // namespace

Block WholeTensor(const Shape& shape, std::mt19937& random) {
  Block whole;
  for (int64_t size : shape) whole.box.push_back({0, size});
  for (int64_t i = 0; i < Volume(whole.box); ++i) whole.values.push_back(static_cast<double>(random() % 1000) + 1);
  return whole;
}

std::vector<Block> Distribute(const Block& whole, const Shape& shape, const NdSbp& sbp, const Mesh& mesh,
                              std::mt19937& random) {
  std::vector<Block> blocks;
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    blocks.push_back(Cut(whole, LocalSlice(shape, sbp, mesh, mesh.Coordinates(p))));
  }
  if (!sbp.has_partial()) return blocks;
  const std::vector<std::vector<size_t>> groups = PartialGroups(sbp, mesh);
  for (size_t p = 0; p < blocks.size(); ++p) {
    if (groups[p][0] != p) continue;  // once a group
    for (size_t j = 0; j < blocks[p].values.size(); ++j) {
      const std::vector<double> parts = Parts(blocks[p].values[j], groups[p].size(), KindOf(sbp), random);
      for (size_t i = 0; i < parts.size(); ++i) blocks[groups[p][i]].values[j] = parts[i];
    }
  }
  return blocks;
}

std::string Execute(const BoxingStep& step, const Mesh& mesh, std::vector<Block>& blocks) {
  std::vector<Block> after(blocks.size());
  for (const std::vector<int64_t>& positions : mesh.Groups(step.axis)) {
    std::vector<const Block*> group;
    for (int64_t p : positions) group.push_back(&blocks[p]);
    for (size_t at = 0; at < group.size(); ++at) {
      if (!NewBlock(step, group, at, after[positions[at]])) {
        return StrCat(CollectiveKindName(step.kind), " cannot make ", ToString(step.to), " of ", ToString(step.from));
      }
    }
  }
  blocks = std::move(after);
  return "";
}

std::string Compare(const std::vector<Block>& blocks, const Block& whole, const Shape& shape, const NdSbp& sbp,
                    const Mesh& mesh) {
  const std::vector<std::vector<size_t>> groups = PartialGroups(sbp, mesh);
  for (size_t p = 0; p < blocks.size(); ++p) {
    const std::vector<Range> box = LocalSlice(shape, sbp, mesh, mesh.Coordinates(static_cast<int64_t>(p)));
    if (blocks[p].box != box) return StrCat("rank ", p, " holds another box");
    std::vector<const Block*> group;
    for (size_t q : groups[p]) group.push_back(&blocks[q]);
    if (CombineAll(group, KindOf(sbp)).values != Cut(whole, box).values)
      return StrCat("rank ", p, " holds other values");
  }
  return "";
}

}  // namespace sbp
