// The names of collectives.
#include "cluster/cluster.h"

namespace sbp {
namespace {

constexpr std::string_view kNames[] = {"all-gather", "all-reduce", "reduce-scatter", "all-to-all", "slice",
                                       "fill",       "pad",        "send-recv"};

}  // namespace

std::string_view CollectiveKindName(CollectiveKind kind) {
  const size_t index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::optional<CollectiveKind> ParseCollectiveKind(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<CollectiveKind>(i);
  }
  return std::nullopt;
}

}  // namespace sbp
