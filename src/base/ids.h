// Dense, typed indices: a TensorId cannot be handed to a function that wants an OpId.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

namespace sbp {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNoneValue = std::numeric_limits<uint32_t>::max();
  uint32_t value = kNoneValue;

  constexpr Id() = default;
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNoneValue; }
  constexpr size_t index() const { return value; }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

using TensorId = Id<struct TensorTag>;  // index into Graph::tensors
using OpId = Id<struct OpTag>;          // index into Graph::ops

}  // namespace sbp

template <typename Tag>
struct std::hash<sbp::Id<Tag>> {
  size_t operator()(sbp::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.value); }
};
