#include "runtime/data/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace sbp {
namespace {

std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

// The number behind `key` in lines of "key number".
std::optional<int64_t> FieldIn(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    std::string word;
    int64_t number = 0;
    if (words >> word && word == key && words >> number) return number;
  }
  return std::nullopt;
}

// What the group at `folder` leaves.
std::optional<int64_t> LeftInGroup(const std::string& folder, std::string_view limit_file, std::string_view used_file,
                                   std::string_view cache_key) {
  const std::optional<int64_t> limit = NumberIn(StrCat(folder, "/", limit_file));
  const std::optional<int64_t> used = NumberIn(StrCat(folder, "/", used_file));
  if (!limit || !used) return std::nullopt;
  const int64_t cache = FieldIn(StrCat(folder, "/memory.stat"), cache_key).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *used - cache));
}

// The path of the process's group in the hierarchy whose line in /proc/self/cgroup names `controller`.
std::optional<std::string> GroupOf(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (StrCat(",", line.substr(first + 1, second - first - 1), ",").find(StrCat(",", controller, ",")) !=
        std::string::npos) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> AvailableMemory(const std::string& root) {
  std::optional<int64_t> least;
  const auto consider = [&least](const std::optional<int64_t>& bytes) {
    if (bytes) least = std::min(least.value_or(*bytes), *bytes);
  };
  if (const auto kib = FieldIn(root + "/proc/meminfo", "MemAvailable:")) consider(*kib * 1024);
  // From the process's group up to the top, where containers see their own.
  const auto climb = [&](std::string group, const std::string& top, auto left) {
    while (true) {
      consider(left(root + top + group));
      const size_t slash = group.rfind('/');
      if (slash == std::string::npos) return;
      group.resize(slash);
    }
  };
  if (const auto group = GroupOf(root, "")) {
    climb(*group, "/sys/fs/cgroup", [](const std::string& folder) {
      return LeftInGroup(folder, "memory.max", "memory.current", "inactive_file");
    });
  }
  if (const auto group = GroupOf(root, "memory")) {
    climb(*group, "/sys/fs/cgroup/memory", [](const std::string& folder) {
      return LeftInGroup(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
    });
  }
  return least;
}

}  // namespace sbp
