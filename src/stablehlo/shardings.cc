#include "stablehlo/shardings.h"

#include <algorithm>
#include <set>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

class LayoutReader {
 public:
  LayoutReader(const Shardings& shardings, const Mesh& mesh) : shardings_(shardings), mesh_(mesh) {}

  Result<NdSbp> Read(const Sharding& sharding, const TensorType& type) const {
    NdSbp layout(mesh_.num_axes());
    const bool is_known = type.dtype != DType::kUndefined;  // of results only once the graph is resolved
    if (is_known && static_cast<int>(sharding.dims.size()) != type.rank()) {
      return BadInput(StrCat("the sharding has ", sharding.dims.size(), " dimensions, the tensor ", type.rank()));
    }
    for (size_t d = 0; d < sharding.dims.size(); ++d) {
      int before = -1;
      for (const std::string& axis : sharding.dims[d].axes) {
        SBP_ASSIGN_OR_RETURN(const int a, Axis(sharding, axis));
        if (a < before) {
          return BadInput(StrCat("dimension ", d, " is split over ", Quote(axis),
                                 " within an axis that stands behind it in the mesh ", ToString(mesh_),
                                 ": expected the mesh's order; declare the mesh in that order"));
        }
        before = a;
        SBP_RETURN_IF_ERROR(Set(a, Sbp::Split(static_cast<int>(d)), layout));
      }
    }
    for (const auto& [axis, kind] : sharding.unreduced) {
      SBP_ASSIGN_OR_RETURN(const int a, Axis(sharding, axis));
      SBP_RETURN_IF_ERROR(Set(a, Sbp::Partial(kind), layout));
    }
    for (const std::string& axis : sharding.replicated) SBP_RETURN_IF_ERROR(Axis(sharding, axis).status());
    return layout;
  }

 private:
  // The size of the axis where it was declared; 0: nowhere.
  int64_t Declared(const Sharding& sharding, const std::string& axis) const {
    for (const auto& [name, size] : sharding.inlined) {
      if (name == axis) return size;
    }
    const auto mesh = shardings_.meshes.find(sharding.mesh);
    if (mesh == shardings_.meshes.end()) return 0;
    const auto found = std::ranges::find(mesh->second.axes, axis, &MeshAxis::name);
    return found == mesh->second.axes.end() ? 0 : found->size;
  }

  Result<int> Axis(const Sharding& sharding, const std::string& axis) const {
    const int64_t size = Declared(sharding, axis);
    if (size == 0) return BadInput(StrCat("no mesh of the file declares an axis ", Quote(axis), " for it"));
    std::vector<std::string> names;
    for (const MeshAxis& own : mesh_.axes) names.push_back(own.name);
    const auto found = std::ranges::find(names, axis);
    if (found == names.end()) {
      return BadInput(StrCat("the mesh ", ToString(mesh_), " has no axis ", Quote(axis), DidYouMean(axis, names)));
    }
    const auto a = static_cast<int>(found - names.begin());
    if (mesh_.size(a) == size) return a;
    return BadInput(StrCat("axis ", Quote(axis), " is of ", size, " devices in the file, of ", mesh_.size(a),
                           " in the mesh ", ToString(mesh_)));
  }

  Status Set(int axis, Sbp sbp, NdSbp& layout) const {
    if (!layout[axis].is_broadcast()) return BadInput(StrCat("axis ", Quote(mesh_.axes[axis].name), " is named twice"));
    layout[axis] = sbp;
    return OkStatus();
  }

  const Shardings& shardings_;
  const Mesh& mesh_;
};

// May the tensor be split over more axes than it names?
bool IsOpen(const Sharding& sharding, const NdSbp& layout) {
  size_t open = 0, named = sharding.replicated.size();
  for (const Sharding::Dim& dim : sharding.dims) open += dim.open ? 1 : 0;
  for (const Sbp sbp : layout) named += sbp.is_broadcast() ? 0 : 1;
  return open > 0 && named < static_cast<size_t>(layout.size());
}

std::string FirstOf(const std::set<std::string>& tensors) {
  return StrCat(Quote(*tensors.begin()), tensors.size() > 1 ? StrCat(" and ", tensors.size() - 1, " more") : "");
}

}  // namespace

std::optional<Mesh> MeshOfShardings(const Shardings& shardings) {
  std::map<std::string, int64_t> uses;
  for (const ShardingMark& mark : shardings.marks) {
    if (shardings.meshes.contains(mark.sharding.mesh)) ++uses[mark.sharding.mesh];
  }
  const auto most = std::ranges::max_element(uses, {}, [](const auto& use) { return use.second; });
  if (most != uses.end()) return shardings.meshes.at(most->first);
  if (shardings.meshes.size() == 1) return shardings.meshes.begin()->second;
  return std::nullopt;
}

Result<ShardingPins> PinShardings(const Shardings& shardings, const Mesh& mesh, Graph& graph) {
  SBP_RETURN_IF_ERROR(shardings.problem);
  const NameIndex names(graph);
  const LayoutReader reader(shardings, mesh);
  ShardingPins pins;
  pins.notes = shardings.notes;
  std::set<std::string> open, ordered;
  for (const ShardingMark& mark : shardings.marks) {
    const TensorId id = names.tensor(mark.tensor);
    if (!id.valid()) continue;  // nothing reads it
    Tensor& tensor = graph.tensor(id);
    const Result<NdSbp> layout = reader.Read(mark.sharding, tensor.type);
    if (!layout.ok()) return BadInput(StrCat(mark.place, ": ", layout.status().message()));
    if (IsOpen(mark.sharding, *layout)) {
      if (layout->has_split() || layout->has_partial()) open.insert(mark.tensor);
      continue;
    }
    if (tensor.layout_pin.size() > 0 && tensor.layout_pin != *layout) {
      return BadInput(StrCat(mark.place, ": ", Quote(mark.tensor), " is ", ToString(tensor.layout_pin),
                             " by another sharding, here ", ToString(*layout)));
    }
    if (mark.sharding.has_priority) ordered.insert(mark.tensor);
    tensor.layout_pin = *layout;
    ++pins.pinned;
  }
  if (!open.empty()) {
    pins.notes.push_back(StrCat("shardings that leave axes open (\"?\") are not pins, as these say all axes: ",
                                FirstOf(open), "; --pin says the whole layout"));
  }
  if (!ordered.empty()) pins.notes.push_back(StrCat("priorities are not read, all are pins: ", FirstOf(ordered)));
  return pins;
}

}  // namespace sbp
