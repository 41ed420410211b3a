#include "graph/kernel_groups.h"

#include <array>
#include <string_view>

namespace sbp {

std::string_view GroupKindName(GroupKind kind) {
  static constexpr std::array<std::string_view, 4> kNames = {"light", "epilogue", "attention", "attention backward"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace sbp
