#include "annotation/check_specs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

std::string Bracketed(const std::vector<int64_t>& numbers) {
  constexpr size_t kShown = 16;
  const std::vector<int64_t> shown(numbers.begin(), numbers.begin() + std::min(numbers.size(), kShown));
  return StrCat("[", Join(shown, ", "), numbers.size() > kShown ? ", ...]" : "]");
}

// One spec against its configuration and its tensor. Each step needs those before it to have found nothing.
class SpecReader {
 public:
  SpecReader(const NodeAnnotation& node, const ShardingSpec& spec, const DeviceConfiguration& configuration,
             const Shape* shape, Findings& findings)
      : node_(node), spec_(spec), configuration_(configuration), shape_(shape), findings_(findings) {}

  std::optional<Placement> Read() {
    if (!ReadDims() || !ReadGroups() || !ReadDevices()) return std::nullopt;
    return Place();
  }

 private:
  bool Wrong(std::string what, std::string expected, std::string found) {
    findings_.Add(PlaceOf(node_, spec_), std::move(what), std::move(expected), std::move(found));
    return false;
  }

  bool ReadDims() {
    std::set<int64_t> seen;
    for (const ShardedDim& dim : spec_.dims) {
      int64_t axis = dim.axis;
      const int64_t rank = shape_ == nullptr ? kMaxRank : static_cast<int64_t>(shape_->size());
      if (axis < 0 && shape_ != nullptr) axis += rank;
      if (axis < 0 || axis >= rank) return WrongAxis(dim.axis, rank);
      if (!seen.insert(axis).second) {
        return Wrong(StrCat("axis ", dim.axis, " is sharded twice"), "one sharded_dim an axis",
                     StrCat("axis ", axis, " again"));
      }
      if (!ReadShards(dim, axis)) return false;
    }
    return true;
  }

  bool WrongAxis(int64_t axis, int64_t rank) {
    if (shape_ == nullptr) {
      return Wrong("axis is out of range", StrCat("0 to ", kMaxRank - 1, " (the shape of the tensor is not known)"),
                   StrCat(axis));
    }
    if (rank == 0) return Wrong("axis is out of range", "none: the tensor is a scalar", StrCat(axis));
    return Wrong("axis is out of range", StrCat(-rank, " to ", rank - 1, ", an axis of ", Bracketed(*shape_)),
                 StrCat(axis));
  }

  // The shards of one axis. Of a fused dimension they are contiguous only where all parts but the first sharded one
  // follow parts that are cut into single elements.
  bool ReadShards(const ShardedDim& dim, int64_t axis) {
    if (dim.parts.empty()) {
      return Wrong(StrCat("axis ", dim.axis, " has no simple_sharding"), "how many shards it is cut into", "nothing");
    }
    int64_t shards = 1;
    int64_t size = 1;
    bool known = true;
    bool whole_before = true;  // every part before is cut into single elements
    for (const SimpleSharding& part : dim.parts) {
      if (part.num_shards < 1) {
        return Wrong(StrCat("num_shards of axis ", dim.axis), "1 or more", StrCat(part.num_shards));
      }
      if (part.num_shards > 1 && !whole_before) {
        return Wrong(StrCat("axis ", dim.axis, ", fused of ", dim.parts.size(),
                            " dimensions, is cut into strided shards, which no layout over a mesh is"),
                     "an outer dimension that is cut into single elements before an inner one is cut",
                     StrCat(part.num_shards, " shards of an inner dimension"));
      }
      shards = SaturatingMul(shards, part.num_shards);
      known = known && part.size.has_value();
      size = SaturatingMul(size, std::max<int64_t>(part.size.value_or(1), 0));
      whole_before = whole_before && part.size == part.num_shards;
    }
    if (shape_ != nullptr) {
      const int64_t actual = (*shape_)[static_cast<size_t>(axis)];
      if (known && size != actual) {
        return Wrong(StrCat("dim_value of axis ", dim.axis), StrCat(actual, ", as the tensor is ", Bracketed(*shape_)),
                     StrCat(size));
      }
      if (shards > 1 && shards > actual) {
        return Wrong(StrCat("axis ", dim.axis, " has more shards than elements"), StrCat("at most ", actual),
                     StrCat(shards));
      }
    }
    dims_.push_back({static_cast<int>(axis), shards, {}});
    num_shards_ = SaturatingMul(num_shards_, shards);
    return true;
  }

  bool ReadGroups() {
    const std::set<int64_t> listed(spec_.devices.begin(), spec_.devices.end());
    for (const auto& [key, devices] : spec_.groups) {
      if (!groups_.emplace(key, &devices).second) {
        return Wrong(StrCat("device group ", key, " is defined twice"), "one entry a key", "two");
      }
      if (devices.empty()) return Wrong(StrCat("device group ", key, " is empty"), "at least one device", "none");
      if (!listed.contains(key)) {
        return Wrong(StrCat("device group ", key, " holds no shard"), StrCat("`device` to list ", key),
                     Bracketed(spec_.devices));
      }
    }
    return true;
  }

  bool ReadDevices() {
    if (num_shards_ != static_cast<int64_t>(spec_.devices.size())) {
      std::string how;
      for (const SplitDim& dim : dims_) how += StrCat(how.empty() ? "" : " x ", dim.shards);
      return Wrong("number of shards and of devices differ",
                   spec_.dims.empty()
                       ? "1 element of `device`, as no axis is sharded: a device group, which is negative, "
                         "where the tensor is replicated"
                       : StrCat(Counted(num_shards_, "element"), " of `device`, one a shard (", how, ")"),
                   Counted(static_cast<int64_t>(spec_.devices.size()), "element"));
    }
    size_t first_size = 0;
    for (size_t i = 0; i < spec_.devices.size(); ++i) {
      const auto group = groups_.find(spec_.devices[i]);
      const std::vector<int64_t> alone = {spec_.devices[i]};
      if (group == groups_.end() && spec_.devices[i] < 0) return NoGroup(spec_.devices[i]);
      const std::vector<int64_t>& devices = group == groups_.end() ? alone : *group->second;
      if (i == 0) first_size = devices.size();
      if (devices.size() != first_size) {
        return Wrong("shards have different numbers of replicas",
                     StrCat(Counted(static_cast<int64_t>(first_size), "device"), ", as shard 0 has"),
                     StrCat(Counted(static_cast<int64_t>(devices.size()), "device"), " of shard ", i));
      }
      for (const int64_t device : devices) {
        if (!Take(device, static_cast<int64_t>(i))) return false;
      }
    }
    return CheckAllTaken();
  }

  bool NoGroup(int64_t key) {
    std::vector<int64_t> keys;
    for (const auto& [known, devices] : groups_) keys.push_back(known);
    return Wrong(StrCat("no device group ", key),
                 keys.empty() ? "index_to_device_group_map to have it"
                              : StrCat("a key of index_to_device_group_map, one of ", Bracketed(keys)),
                 StrCat(key));
  }

  bool Take(int64_t device, int64_t shard) {
    if (device < 0 || device >= configuration_.num_devices) {
      return Wrong("device is out of range",
                   StrCat("0 to ", configuration_.num_devices - 1, ": configuration ", Quote(configuration_.name),
                          " has ", Counted(configuration_.num_devices, "device")),
                   StrCat(device));
    }
    const auto [it, is_new] = shard_of_.emplace(device, shard);
    if (is_new) return true;
    if (it->second == shard) {
      return Wrong(StrCat("device ", device, " stands twice in a group"), "each device once", StrCat("shard ", shard));
    }
    return Wrong(StrCat("device ", device, " holds two shards"), "one shard a device",
                 StrCat("shards ", it->second, " and ", shard));
  }

  bool CheckAllTaken() {
    if (static_cast<int64_t>(shard_of_.size()) == configuration_.num_devices) return true;
    std::vector<int64_t> missing;
    for (int64_t device = 0; device < configuration_.num_devices && missing.size() < 8; ++device) {
      if (!shard_of_.contains(device)) missing.push_back(device);
    }
    const int64_t count = configuration_.num_devices - static_cast<int64_t>(shard_of_.size());
    return Wrong("devices without a shard",
                 StrCat("all ", configuration_.num_devices, " devices of configuration ", Quote(configuration_.name),
                        " to hold one (a layout covers its mesh)"),
                 StrCat(Counted(count, "device"), " without: ", Join(missing, ", "),
                        count > static_cast<int64_t>(missing.size()) ? ", ..." : ""));
  }

  Placement Place() {
    Placement placement;
    placement.num_devices = configuration_.num_devices;
    for (auto dim = dims_.rbegin(); dim != dims_.rend(); ++dim) {  // the last is the fastest
      if (dim->shards == 1) continue;
      for (auto& [device, shard] : shard_of_) {
        dim->shard_of.push_back(shard % dim->shards);
        shard /= dim->shards;
      }
      placement.dims.push_back(std::move(*dim));
    }
    std::ranges::sort(placement.dims, {}, &SplitDim::dim);
    return placement;
  }

  const NodeAnnotation& node_;
  const ShardingSpec& spec_;
  const DeviceConfiguration& configuration_;
  const Shape* shape_;
  Findings& findings_;
  std::vector<SplitDim> dims_;  // in the spec's order
  int64_t num_shards_ = 1;
  std::map<int64_t, const std::vector<int64_t>*> groups_;
  std::map<int64_t, int64_t> shard_of_;  // by device
};

void CheckConfigurations(const ShardingAnnotations& annotations, Findings& findings) {
  std::set<std::string> names;
  for (const DeviceConfiguration& configuration : annotations.configurations) {
    const std::string place = StrCat("configuration ", Quote(configuration.name));
    if (configuration.name.empty()) findings.Add(place, "has no name", "a name, which nodes refer to", "none");
    if (!names.insert(configuration.name).second) {
      findings.Add(place, "is defined twice", "names that differ", configuration.name);
    }
    if (configuration.num_devices < 1) {
      findings.Add(place, "num_devices", "1 or more", StrCat(configuration.num_devices));
    }
    const auto named = static_cast<int64_t>(configuration.devices.size());
    if (named != 0 && named != configuration.num_devices) {
      findings.Add(place, "number of device names", StrCat(configuration.num_devices, ", as num_devices says, or none"),
                   StrCat(named));
    }
    if (std::set<std::string>(configuration.devices.begin(), configuration.devices.end()).size() !=
        configuration.devices.size()) {
      findings.Add(place, "devices have equal names", "names that differ", Join(configuration.devices, ", "));
    }
  }
}

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Does the node read or write the spec's tensor, and is this its only spec for it?
bool IsOfNode(const NodeAnnotation& node, const ShardingSpec& spec, const ShardingAnnotations& annotations,
              Findings& findings) {
  std::vector<std::string> own;
  for (const std::vector<std::string>* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) {
      if (!name.empty() && !Holds(own, name)) own.push_back(name);
    }
  }
  if (!Holds(own, spec.tensor)) {
    const bool exists = std::ranges::binary_search(annotations.tensors, spec.tensor);
    const std::string near = exists ? "" : DidYouMean(spec.tensor, own);
    findings.Add(PlaceOf(node, spec),
                 exists ? "the node neither reads nor writes this tensor" : StrCat("no such tensor", near),
                 StrCat("one that the node reads or writes: ", Join(own, ", ")),
                 exists ? "a tensor of other nodes" : "a name that nothing in the graph has");
    return false;
  }
  const auto first = std::ranges::find(node.specs, spec.tensor, &ShardingSpec::tensor);
  if (&*first == &spec) return true;
  findings.Add(PlaceOf(node, spec), "the node has two specs for it", "one a tensor", "two");
  return false;
}

}  // namespace

std::map<size_t, std::vector<PlacedSpec>> PlaceSpecs(const ShardingAnnotations& annotations, const ShapeOf& shape_of,
                                                     Findings& findings) {
  CheckConfigurations(annotations, findings);
  std::vector<std::string> known;
  for (const DeviceConfiguration& configuration : annotations.configurations) known.push_back(configuration.name);
  std::map<size_t, std::vector<PlacedSpec>> placed;
  std::set<std::pair<int64_t, std::string>> seen;
  for (const NodeAnnotation& node : annotations.nodes) {
    const auto found = std::ranges::find(known, node.configuration);
    if (found == known.end()) {
      findings.Add(PlaceOf(node),
                   StrCat("no configuration ", Quote(node.configuration), DidYouMean(node.configuration, known)),
                   known.empty() ? "the model to define it (ModelProto.configuration is empty)"
                                 : StrCat("one of the model's: ", Join(known, ", ")),
                   node.configuration.empty() ? "no configuration_id" : node.configuration);
      continue;
    }
    if (!seen.emplace(node.number, node.configuration).second) {
      findings.Add(PlaceOf(node), StrCat("is annotated twice for configuration ", Quote(node.configuration)),
                   "one device_configurations entry a configuration", "two");
      continue;
    }
    const auto index = static_cast<size_t>(found - known.begin());
    std::vector<PlacedSpec>& specs = placed[index];
    for (const ShardingSpec& spec : node.specs) {
      if (!IsOfNode(node, spec, annotations, findings)) continue;
      SpecReader reader(node, spec, annotations.configurations[index], shape_of(spec.tensor), findings);
      if (std::optional<Placement> placement = reader.Read()) specs.push_back({&node, &spec, *std::move(placement)});
    }
  }
  return placed;
}

const Shape* ShapesByName::operator()(std::string_view name) const {
  const TensorId id = names_.tensor(name);
  return id.valid() && graph_.tensor(id).type.has_rank ? &graph_.tensor(id).type.shape : nullptr;
}

std::string Counted(int64_t count, std::string_view what) {
  return StrCat(FormatCount(count), " ", what, count == 1 ? "" : "s");
}

std::vector<Placement> DistinctPlacements(const std::vector<PlacedSpec>& specs) {
  std::set<Placement> distinct;
  for (const PlacedSpec& spec : specs) distinct.insert(spec.placement);
  return {distinct.begin(), distinct.end()};
}

std::string PlaceOf(const NodeAnnotation& node, const ShardingSpec& spec) {
  return StrCat(PlaceOf(node), ", tensor ", Quote(spec.tensor));
}

}  // namespace sbp
