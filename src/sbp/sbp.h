// Sbp: how one tensor lies along one mesh axis. NdSbp: along all of them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

namespace sbp {

// How the values of a partial tensor are combined over the ranks of an axis. On bool tensors kMax is "or", kMin is
// "and".
enum class ReduceKind : uint8_t { kSum, kMax, kMin, kProd };
std::string_view ReduceKindName(ReduceKind kind);  // "sum", "max", "min", "prod"
// Is a value combined with itself that value?
constexpr bool IsIdempotent(ReduceKind kind) { return kind == ReduceKind::kMax || kind == ReduceKind::kMin; }

// One tensor along one mesh axis: S(dim), B, or P(kind). Value type, two bytes.
struct Sbp {
  enum class Kind : uint8_t { kBroadcast, kSplit, kPartial };
  Kind kind = Kind::kBroadcast;
  uint8_t arg = 0;  // kSplit: the dimension; kPartial: a ReduceKind; kBroadcast: 0

  static constexpr Sbp Broadcast() { return {}; }
  static constexpr Sbp Split(int dim) { return {Kind::kSplit, static_cast<uint8_t>(dim)}; }
  static constexpr Sbp Partial(ReduceKind k = ReduceKind::kSum) { return {Kind::kPartial, static_cast<uint8_t>(k)}; }

  constexpr bool is_broadcast() const { return kind == Kind::kBroadcast; }
  constexpr bool is_split() const { return kind == Kind::kSplit; }
  constexpr bool is_split(int d) const { return kind == Kind::kSplit && arg == d; }
  constexpr bool is_partial() const { return kind == Kind::kPartial; }
  constexpr int dim() const { return arg; }                                          // kSplit only
  constexpr ReduceKind reduce_kind() const { return static_cast<ReduceKind>(arg); }  // kPartial only

  friend constexpr bool operator==(Sbp, Sbp) = default;
  friend constexpr auto operator<=>(Sbp, Sbp) = default;
};

// "S(0)", "B", "P(sum)".
std::string ToString(Sbp sbp);

inline constexpr int kMaxMeshAxes = 8;
inline constexpr int kMaxRank = 64;  // dimensions of a tensor

// One Sbp per mesh axis, outermost first. Nested splits of one dimension are in mesh order. Fixed size, no allocation:
// millions of these are compared and hashed.
class NdSbp {
 public:
  NdSbp() = default;
  // `axes` copies of `fill`. Requires 0 <= axes <= kMaxMeshAxes.
  explicit NdSbp(int axes, Sbp fill = Sbp::Broadcast());
  NdSbp(std::initializer_list<Sbp> sbps);

  int size() const { return size_; }
  Sbp operator[](int axis) const { return sbps_[axis]; }
  Sbp& operator[](int axis) { return sbps_[axis]; }
  const Sbp* begin() const { return sbps_.data(); }
  const Sbp* end() const { return sbps_.data() + size_; }
  void push_back(Sbp sbp) { sbps_[size_++] = sbp; }
  void pop_back() { sbps_[--size_] = Sbp::Broadcast(); }

  bool is_broadcast() const;  // on every axis
  bool has_partial() const;
  bool has_split() const;

  friend bool operator==(const NdSbp& a, const NdSbp& b) { return a.size_ == b.size_ && a.sbps_ == b.sbps_; }
  friend auto operator<=>(const NdSbp&, const NdSbp&) = default;

 private:
  uint8_t size_ = 0;
  std::array<Sbp, kMaxMeshAxes> sbps_{};  // entries from size_ on stay B, so that == may compare all of them
};

// "(S(0), B)"; one axis without brackets: "S(0)".
std::string ToString(const NdSbp& sbp);
// Reads ToString's form and its usual variants: "S0", "P", "P(sum)", "P(or)" (= max), "R" (= B), with or without
// brackets, blanks ignored. The error says what was found and what is expected.
Result<Sbp> ParseSbp(std::string_view text);
Result<NdSbp> ParseNdSbp(std::string_view text);

}  // namespace sbp

template <>
struct std::hash<sbp::Sbp> {
  size_t operator()(sbp::Sbp s) const noexcept { return (static_cast<size_t>(s.kind) << 8) | s.arg; }
};
template <>
struct std::hash<sbp::NdSbp> {
  size_t operator()(const sbp::NdSbp& s) const noexcept { return sbp::HashRange(s.size(), s); }
};
