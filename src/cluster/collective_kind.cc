// The names of collectives.
#include "cluster/collective_kind.h"

#include <iterator>

namespace sbp {
namespace {

#define SBP_NAME(kind, name) name,
constexpr std::string_view kNames[] = {SBP_COLLECTIVES(SBP_NAME)};
#undef SBP_NAME

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
