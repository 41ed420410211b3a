#include "sbp/mesh.h"

#include <algorithm>
#include <cctype>

#include "base/checked_math.h"
#include "base/text.h"

namespace sbp {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 31;
constexpr int64_t kMaxListedRanks = int64_t{1} << 20;  // a range such as 0-2000000000 must not fill the memory

bool IsAxisName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

Result<std::vector<MeshAxis>> ParseAxes(std::string_view text) {
  std::vector<MeshAxis> axes;
  const std::vector<std::string_view> parts = Split(text, ',');
  if (parts.size() > kMaxMeshAxes) {
    return BadInput(StrCat("mesh ", Quote(text), ": ", parts.size(), " axes, at most ", kMaxMeshAxes, " are possible"));
  }
  int64_t devices = 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = Trim(parts[i]);
    const size_t equals = part.find('=');
    MeshAxis axis;
    axis.name = parts.size() == 1 ? "x" : "x" + std::to_string(i);
    std::string_view size = part;
    if (equals != std::string_view::npos) {
      axis.name = std::string(Trim(part.substr(0, equals)));
      size = Trim(part.substr(equals + 1));
    }
    if (!IsAxisName(axis.name)) {
      return BadInput(StrCat("mesh ", Quote(text), ": ", Quote(axis.name),
                             " is no name of an axis (a letter, then letters "
                             "and digits)"));
    }
    const auto value = ParseInt(size);
    if (!value || *value < 1) {
      return BadInput(StrCat("mesh ", Quote(text), ": axis ", Quote(axis.name), " has size ", Quote(size),
                             ", expected a whole number of at least 1 (as in data=2,model=4)"));
    }
    axis.size = *value;
    devices = SaturatingMul(devices, axis.size);
    for (const MeshAxis& other : axes) {
      if (other.name == axis.name) {
        return BadInput(StrCat("mesh ", Quote(text), ": two axes are called ", Quote(axis.name)));
      }
    }
    axes.push_back(std::move(axis));
  }
  if (devices > kMaxDevices) return BadInput(StrCat("mesh ", Quote(text), ": more than 2^31 devices"));
  return axes;
}

// "[0,4]", "0-7", "0-3,8-11".
Result<std::vector<int64_t>> ParseRanks(std::string_view text, int64_t devices) {
  const std::string_view whole = text;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<int64_t> ranks;
  for (std::string_view part : Split(text, ',')) {
    part = Trim(part);
    const size_t dash = part.find('-');
    const auto first = ParseInt(Trim(part.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : ParseInt(Trim(part.substr(dash + 1)));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxDevices) {
      return BadInput(
          StrCat("ranks ", Quote(whole), ": ", Quote(part), " is no rank and no range of ranks such as 0-7"));
    }
    if (*last - *first + 1 + static_cast<int64_t>(ranks.size()) > std::min(devices, kMaxListedRanks)) {
      return BadInput(StrCat("ranks ", Quote(whole), ": more ranks than the mesh's ", devices, " devices",
                             devices > kMaxListedRanks ? " that can be listed" : ""));
    }
    for (int64_t rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
  }
  if (static_cast<int64_t>(ranks.size()) != devices) {
    return BadInput(StrCat("ranks ", Quote(whole), ": ", ranks.size(), " ranks for a mesh of ", devices, " devices"));
  }
  std::vector<int64_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) return BadInput(StrCat("ranks ", Quote(whole), ": rank ", *repeated, " is repeated"));
  return ranks;
}

bool IsRun(const std::vector<int64_t>& ranks) {
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] != ranks[i - 1] + 1) return false;
  }
  return true;
}

// "[[0,1],[2,3]]" as "2,2@[0,1,2,3]"; what the ranks must be is checked there.
class NestedRanks {
 public:
  explicit NestedRanks(std::string_view text) : text_(text), left_(text) {}

  Result<std::string> Read() {
    SBP_RETURN_IF_ERROR(ReadList(0));
    if (!Trim(left_).empty()) return Wrong(StrCat("expected nothing after the list, found ", Quote(Trim(left_))));
    std::vector<int64_t> sorted = ranks_;
    std::sort(sorted.begin(), sorted.end());
    const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
    if (repeated != sorted.end()) return Wrong(StrCat("rank ", *repeated, " is repeated"));
    return StrCat(Join(sizes_, ","), "@[", Join(ranks_, ","), "]");
  }

 private:
  Status Wrong(std::string what) const { return BadInput(StrCat("mesh ", Quote(text_), ": ", what)); }
  bool Take(char c) {
    left_ = Trim(left_);
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }

  Status ReadList(size_t depth) {
    if (!Take('[')) return Wrong("ranks and lists beside each other; expected lists of equal depth");
    if (depth >= kMaxMeshAxes) return Wrong(StrCat("lists nest deeper than ", kMaxMeshAxes, " axes"));
    int64_t count = 0;
    do {
      left_ = Trim(left_);
      const bool is_list = left_.starts_with('[');
      if (count == 0 && !is_list && leaf_ == 0) leaf_ = depth + 1;
      if (leaf_ != 0 && is_list == (depth + 1 >= leaf_))
        return Wrong("ranks and lists beside each other; expected lists of equal depth");
      SBP_RETURN_IF_ERROR(is_list ? ReadList(depth + 1) : ReadRank());
      ++count;
    } while (Take(','));
    if (!Take(']')) return Wrong(StrCat("expected ',' or ']' before ", left_.empty() ? "its end" : Quote(left_)));
    if (sizes_.size() <= depth) sizes_.resize(depth + 1, 0);
    if (sizes_[depth] != 0 && sizes_[depth] != count)
      return Wrong(StrCat("lists of ", sizes_[depth], " and of ", count, " at depth ", depth + 1,
                          "; expected equal lengths, as in [[0,1],[2,3]]"));
    sizes_[depth] = count;
    return OkStatus();
  }

  Status ReadRank() {
    const std::string_view word = Trim(left_.substr(0, left_.find_first_of(",[]")));
    const auto rank = ParseInt(word);
    if (!rank || *rank < 0 || *rank >= kMaxDevices)
      return Wrong(StrCat("expected a rank, found ", word.empty() ? Quote(left_.substr(0, 1)) : Quote(word)));
    if (static_cast<int64_t>(ranks_.size()) >= kMaxListedRanks) return Wrong("more ranks than can be listed");
    left_.remove_prefix(std::min(left_.find_first_of(",[]"), left_.size()));
    ranks_.push_back(*rank);
    return OkStatus();
  }

  std::string_view text_, left_;
  size_t leaf_ = 0;  // the depth of lists of ranks, once known
  std::vector<int64_t> sizes_, ranks_;
};

}  // namespace

int64_t Mesh::num_devices() const {
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices = SaturatingMul(devices, axis.size);
  return devices;
}

int64_t Mesh::Position(const std::vector<int64_t>& coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes.size(); ++i) position = position * axes[i].size + coordinates[i];
  return position;
}

std::vector<int64_t> Mesh::Coordinates(int64_t position) const {
  std::vector<int64_t> coordinates(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    coordinates[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return coordinates;
}

std::vector<std::vector<int64_t>> Mesh::Groups(int axis) const {
  int64_t stride = 1;
  for (int i = axis + 1; i < num_axes(); ++i) stride *= size(i);
  const int64_t n = size(axis);
  std::vector<std::vector<int64_t>> groups;
  for (int64_t outer = 0; outer < num_devices(); outer += n * stride) {
    for (int64_t inner = 0; inner < stride; ++inner) {
      std::vector<int64_t>& group = groups.emplace_back();
      for (int64_t i = 0; i < n; ++i) group.push_back(outer + i * stride + inner);
    }
  }
  return groups;
}

Result<Mesh> ParseMesh(std::string_view text) {
  text = Trim(text);
  if (text.empty()) return BadInput("mesh \"\": expected axes and sizes, as in data=2,model=4");
  if (text.starts_with('[')) {
    SBP_ASSIGN_OR_RETURN(const std::string flat, NestedRanks(text).Read());
    return ParseMesh(flat);
  }
  const size_t at = text.find('@');
  Mesh mesh;
  SBP_ASSIGN_OR_RETURN(mesh.axes, ParseAxes(text.substr(0, at)));
  if (at == std::string_view::npos) return mesh;
  Result<std::vector<int64_t>> ranks = ParseRanks(Trim(text.substr(at + 1)), mesh.num_devices());
  if (!ranks.ok()) return ranks.status().WithContext(StrCat("mesh ", Quote(text)));
  // 0, 1, 2, ... is what no list means.
  if (!(IsRun(*ranks) && (*ranks)[0] == 0)) mesh.ranks = std::move(*ranks);
  return mesh;
}

std::string ToString(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes) {
    if (!text.empty()) text += ',';
    text += axis.name + "=" + std::to_string(axis.size);
  }
  if (mesh.ranks.empty()) return text;
  if (IsRun(mesh.ranks)) return StrCat(text, "@", mesh.ranks.front(), "-", mesh.ranks.back());
  return text + "@[" + Join(mesh.ranks, ",") + "]";
}

}  // namespace sbp
