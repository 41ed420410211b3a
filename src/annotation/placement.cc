#include "annotation/placement.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"

namespace sbp {
namespace {

// Of tests whether a placement of N devices fits a mesh: N each.
constexpr int64_t kMostWork = 50'000'000;

// Row-major distance of neighbours along an axis.
int64_t StrideOf(const Mesh& mesh, int axis) {
  int64_t stride = 1;
  for (int a = mesh.num_axes() - 1; a > axis; --a) stride *= mesh.size(a);
  return stride;
}

// Which shard of a dimension the layout gives to a position: nested splits, outermost first.
int64_t ShardAt(const NdSbp& layout, int dim, const Mesh& mesh, int64_t position) {
  int64_t shard = 0;
  for (int a = 0; a < mesh.num_axes(); ++a) {
    if (layout[a].is_split(dim)) shard = shard * mesh.size(a) + position / StrideOf(mesh, a) % mesh.size(a);
  }
  return shard;
}

int64_t ShardsOf(const NdSbp& layout, int dim, const Mesh& mesh) {
  int64_t shards = 1;
  for (int a = 0; a < mesh.num_axes(); ++a) shards *= layout[a].is_split(dim) ? mesh.size(a) : 1;
  return shards;
}

// "model3", "model=3" -> {"model", 3}.
std::optional<MeshAxis> ReadCoordinate(std::string_view text) {
  const size_t digits = text.find_last_not_of("0123456789") + 1;  // 0: there is nothing else
  const std::optional<int64_t> value = ParseInt(text.substr(digits));
  std::string_view name = text.substr(0, digits);
  if (name.ends_with('=') || name.ends_with('_')) name.remove_suffix(1);
  if (!value || name.empty()) return std::nullopt;
  return MeshAxis{std::string(name), *value};
}

std::optional<std::vector<MeshAxis>> ReadCoordinates(std::string_view device) {
  std::vector<MeshAxis> coordinates;
  for (const std::string_view text : Split(device, device.find(',') == std::string_view::npos ? '.' : ',')) {
    std::optional<MeshAxis> coordinate = ReadCoordinate(Trim(text));
    if (!coordinate) return std::nullopt;
    coordinates.push_back(*std::move(coordinate));
  }
  return coordinates;
}

// The mesh that the names of devices spell; nothing: they spell none.
std::optional<Mesh> ReadNames(const DeviceConfiguration& configuration) {
  if (configuration.devices.empty()) return std::nullopt;
  if (static_cast<int64_t>(configuration.devices.size()) != configuration.num_devices) return std::nullopt;
  const auto last = ReadCoordinates(configuration.devices.back());
  if (!last || last->size() > kMaxMeshAxes) return std::nullopt;
  std::string text;
  for (const MeshAxis& axis : *last) {
    if (axis.size == kInt64Max) return std::nullopt;
    text += StrCat(text.empty() ? "" : ",", axis.name, "=", axis.size + 1);
  }
  const Result<Mesh> mesh = ParseMesh(text);
  if (!mesh.ok() || mesh->num_devices() != configuration.num_devices) return std::nullopt;
  for (size_t i = 0; i < configuration.devices.size(); ++i) {
    const auto coordinates = ReadCoordinates(configuration.devices[i]);
    if (!coordinates || coordinates->size() != last->size()) return std::nullopt;
    const std::vector<int64_t> expected = mesh->Coordinates(static_cast<int64_t>(i));
    for (size_t a = 0; a < expected.size(); ++a) {
      if ((*coordinates)[a].name != (*last)[a].name || (*coordinates)[a].size != expected[a]) return std::nullopt;
    }
  }
  return *mesh;
}

size_t CountFits(std::span<const Placement> placements, const Mesh& mesh) {
  return static_cast<size_t>(
      std::ranges::count_if(placements, [&](const Placement& p) { return LayoutOf(p, mesh).has_value(); }));
}

Mesh MeshOf(const std::vector<int64_t>& sizes) {
  Mesh mesh;
  for (size_t a = 0; a < sizes.size(); ++a) {
    mesh.axes.push_back({sizes.size() == 1 ? "x" : StrCat("x", a), sizes[a]});
  }
  return mesh;
}

// The factorisations of a number into so many factors above 1, the largest outermost first. At most kMaxMeshAxes deep.
class Factorisations {
 public:
  Factorisations(std::span<const Placement> placements, Mesh& best) : placements_(placements), best_(best) {
    fits_ = CountFits(placements, best);
  }
  bool done() const { return fits_ == placements_.size() || work_ >= kMostWork; }

  void Try(int64_t rest, int axes) {
    if (done()) return;
    if (axes == 1) {
      sizes_.push_back(rest);
      Weigh();
      sizes_.pop_back();
      return;
    }
    for (const int64_t factor : DivisorsDescending(rest)) {
      if (factor == rest || factor == 1) continue;
      sizes_.push_back(factor);
      Try(rest / factor, axes - 1);
      sizes_.pop_back();
    }
  }

 private:
  static std::vector<int64_t> DivisorsDescending(int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= number / d; ++d) {
      if (number % d != 0) continue;
      divisors.push_back(d);
      if (d != number / d) divisors.push_back(number / d);
    }
    std::ranges::sort(divisors, std::greater<>());
    return divisors;
  }

  void Weigh() {
    const Mesh mesh = MeshOf(sizes_);
    const size_t fits = CountFits(placements_, mesh);
    for (const Placement& placement : placements_) work_ += placement.num_devices;
    if (fits <= fits_) return;
    fits_ = fits;
    best_ = mesh;
  }

  std::span<const Placement> placements_;
  Mesh& best_;
  size_t fits_ = 0;
  int64_t work_ = 0;
  std::vector<int64_t> sizes_;
};

// The devices of each shard of `layout`, shards numbered row-major over `dims`.
std::vector<std::vector<int64_t>> DevicesOfShards(const NdSbp& layout, const std::vector<int>& dims, const Mesh& mesh) {
  int64_t shards = 1;
  for (const int dim : dims) shards *= ShardsOf(layout, dim, mesh);
  std::vector<std::vector<int64_t>> devices(static_cast<size_t>(shards));
  for (int64_t position = 0; position < mesh.num_devices(); ++position) {
    int64_t shard = 0;
    for (const int dim : dims) shard = shard * ShardsOf(layout, dim, mesh) + ShardAt(layout, dim, mesh, position);
    devices[static_cast<size_t>(shard)].push_back(position);
  }
  return devices;
}

}  // namespace

std::optional<NdSbp> LayoutOf(const Placement& placement, const Mesh& mesh) {
  if (placement.num_devices != mesh.num_devices()) return std::nullopt;
  NdSbp layout(mesh.num_axes());
  for (int a = 0; a < mesh.num_axes(); ++a) {
    if (mesh.size(a) == 1) continue;
    for (const SplitDim& split : placement.dims) {
      if (split.shard_of[0] == split.shard_of[static_cast<size_t>(StrideOf(mesh, a))]) continue;
      if (layout[a].is_split()) return std::nullopt;  // two dimensions are cut between the same neighbours
      layout[a] = Sbp::Split(split.dim);
    }
  }
  for (const SplitDim& split : placement.dims) {
    if (ShardsOf(layout, split.dim, mesh) != split.shards) return std::nullopt;
    for (int64_t position = 0; position < placement.num_devices; ++position) {
      if (split.shard_of[static_cast<size_t>(position)] != ShardAt(layout, split.dim, mesh, position)) {
        return std::nullopt;
      }
    }
  }
  return layout;
}

Mesh InferMesh(const DeviceConfiguration& configuration, std::span<const Placement> placements) {
  if (std::optional<Mesh> named = ReadNames(configuration)) {
    if (CountFits(placements, *named) == placements.size()) return *std::move(named);
  }
  Mesh best = MeshOf({configuration.num_devices});
  Factorisations search(placements, best);
  for (int axes = 2; axes <= kMaxMeshAxes && !search.done(); ++axes) search.Try(configuration.num_devices, axes);
  return best;
}

ShardingSpec SpecOf(const std::string& tensor, const Shape& shape, const NdSbp& layout, const Mesh& mesh) {
  ShardingSpec spec;
  spec.tensor = tensor;
  std::vector<int> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t shards = ShardsOf(layout, static_cast<int>(dim), mesh);
    if (shards == 1) continue;
    dims.push_back(static_cast<int>(dim));
    spec.dims.push_back({static_cast<int64_t>(dim), {{shape[dim], shards}}});
  }
  for (std::vector<int64_t>& devices : DevicesOfShards(layout, dims, mesh)) {
    if (devices.size() == 1) {
      spec.devices.push_back(devices.front());
      continue;
    }
    spec.devices.push_back(-1 - static_cast<int64_t>(spec.groups.size()));
    spec.groups.emplace_back(spec.devices.back(), std::move(devices));
  }
  return spec;
}

std::string DeviceName(const Mesh& mesh, int64_t position) {
  std::string name;
  const std::vector<int64_t> coordinates = mesh.Coordinates(position);
  for (size_t a = 0; a < coordinates.size(); ++a) {
    name += StrCat(a == 0 ? "" : ",", mesh.axes[a].name, "=", coordinates[a]);
  }
  return name;
}

}  // namespace sbp
