#include "meshes/factorisations.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/text.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr size_t kMostWritten = 4096;  // of one number of axes, whether or not they respect nodes

// Divisors above 1, the largest first. Devices are at most 2^31 (ParseMesh): some thousand divisions of at most 2^16.
std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    if (d > 1) divisors.push_back(d);
    if (d * d != number) divisors.push_back(number / d);
  }
  std::ranges::sort(divisors, std::greater<>());
  return divisors;
}

// All ways to write a number as a product of factors above 1, in order, of at most so many.
class Writer {
 public:
  Writer(int64_t devices, size_t most) : divisors_(DivisorsOf(devices)), most_(most) {}

  // Of exactly so many factors, in order of the first, second, ..., the largest first. Ends early where that are more
  // than `most`.
  std::vector<std::vector<int64_t>> Of(int64_t devices, size_t count) {
    found_.clear();
    sizes_.clear();
    Extend(devices, count);
    return std::move(found_);
  }

 private:
  void Extend(int64_t rest, size_t count) {  // no deeper than kMaxMeshAxes
    if (found_.size() > most_) return;
    if (count == 1) {
      if (rest < 2) return;
      found_.push_back(sizes_);
      found_.back().push_back(rest);
      return;
    }
    for (const int64_t divisor : divisors_) {
      if (divisor >= rest || rest % divisor != 0) continue;
      sizes_.push_back(divisor);
      Extend(rest / divisor, count - 1);
      sizes_.pop_back();
    }
  }

  const std::vector<int64_t> divisors_;
  const size_t most_;
  std::vector<std::vector<int64_t>> found_;
  std::vector<int64_t> sizes_;
};

// The names for so many axes: which of them, in order.
std::vector<std::vector<size_t>> NamesFor(size_t count, size_t names, AxisNaming naming) {
  std::vector<std::vector<size_t>> choices;
  if (naming != AxisNaming::kNamed) {
    std::vector<size_t> choice;
    for (size_t i = 0; i + 1 < count; ++i) choice.push_back(i);
    choice.push_back(count == 1 ? 0 : names - 1);
    choices.push_back(std::move(choice));
    return choices;
  }
  for (uint32_t set = 1; set < (uint32_t{1} << names); ++set) {
    std::vector<size_t> choice;
    for (size_t i = 0; i < names; ++i) {
      if ((set >> i & 1) != 0) choice.push_back(i);
    }
    if (choice.size() == count) choices.push_back(std::move(choice));
  }
  std::ranges::sort(choices);
  return choices;
}

Mesh MeshOf(const std::vector<std::string>& names, std::span<const size_t> choice, std::span<const int64_t> sizes) {
  Mesh mesh;
  for (size_t i = 0; i < choice.size(); ++i) mesh.axes.push_back({names[choice[i]], sizes[i]});
  return mesh;
}

}  // namespace

Result<std::vector<std::string>> ParseAxisNames(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : Split(text, ',')) {
    const std::string name(Trim(part));
    const auto usage = [&](std::string_view what) {
      return UsageError(StrCat("--axes ", Quote(text), ": ", what, " (as in data,model: names, outermost first)"));
    };
    if (name.empty()) return usage("a name is missing");
    if (name.find('=') != std::string::npos) return usage(StrCat(Quote(name), ": --mesh gives sizes, --axes names"));
    if (const Result<Mesh> mesh = ParseMesh(StrCat(name, "=2")); !mesh.ok() || mesh->axes[0].name != name) {
      return usage(StrCat(Quote(name), " is no name of an axis"));
    }
    if (std::ranges::find(names, name) != names.end()) return usage(StrCat(Quote(name), " is there twice"));
    names.push_back(name);
    if (names.size() > kMaxMeshAxes) return usage(StrCat("more than ", kMaxMeshAxes, " names"));
  }
  return names;
}

bool RespectsNodes(const Cluster& cluster, const Mesh& mesh) {
  const int64_t per_node = cluster.devices_per_node;
  if (mesh.num_devices() <= per_node) return true;
  int64_t inside = 1;
  for (int axis = mesh.num_axes() - 1; axis >= 0; --axis) {
    inside *= mesh.size(axis);
    if (per_node % inside != 0 && inside % per_node != 0) return false;
  }
  return true;
}

Result<std::vector<Mesh>> MeshesOf(int64_t devices, const std::vector<std::string>& names, AxisNaming naming,
                                   const Cluster& cluster, size_t most) {
  std::vector<Mesh> meshes, respectful;
  if (devices == 1) {
    meshes.push_back({.axes = {{names.front(), 1}}});
    return meshes;
  }
  Writer writer(devices, kMostWritten);
  bool too_many = false;
  for (size_t count = naming == AxisNaming::kAll ? names.size() : 1; count <= names.size(); ++count) {
    const std::vector<std::vector<size_t>> choices = NamesFor(count, names.size(), naming);
    const std::vector<std::vector<int64_t>> written = writer.Of(devices, count);
    too_many = too_many || written.size() > kMostWritten;
    for (const std::vector<int64_t>& sizes : written) {
      for (const std::vector<size_t>& choice : choices) {
        meshes.push_back(MeshOf(names, choice, sizes));
        if (RespectsNodes(cluster, meshes.back())) respectful.push_back(meshes.back());
      }
    }
  }
  if (meshes.empty()) {
    return BadInput(StrCat("--devices ", devices, " is no product of ", names.size(),
                           " sizes above 1, one for each of ", Join(names, ","), ", which pins give layouts for"));
  }
  std::vector<Mesh>& tried = respectful.empty() ? meshes : respectful;
  if (too_many || tried.size() > most) {
    return BadInput(StrCat("--devices ", devices, ": more than ", most, " meshes of up to ", names.size(),
                           " axes; name fewer (--axes data,model)"));
  }
  return std::move(tried);
}

std::vector<int64_t> SizesOf(const Cluster& cluster, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= std::min(most, cluster.devices_per_node); ++size) {
    if (cluster.devices_per_node % size == 0) sizes.push_back(size);
  }
  for (int64_t nodes = 2; nodes <= most / cluster.devices_per_node; nodes *= 2) {
    sizes.push_back(nodes * cluster.devices_per_node);
  }
  if (sizes.back() != most) sizes.push_back(most);
  return sizes;
}

}  // namespace sbp
