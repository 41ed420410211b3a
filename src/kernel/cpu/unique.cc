// Unique: the distinct elements, or slices along an axis, ascending or in the order of their first occurrence.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/order.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

struct Groups {
  std::vector<int64_t> first;    // per group, its first item
  std::vector<int64_t> group;    // per item
  std::vector<int64_t> members;  // per group, how many
};

// Items of `length` consecutive elements.
template <typename T>
Groups GroupsOf(const T* items, int64_t n, int64_t length, bool sorted) {
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < length; ++i) {
      const T x = items[a * length + i], y = items[b * length + i];
      if (scalar::Before(x, y)) return -1;
      if (scalar::Before(y, x)) return 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  Groups groups;
  groups.group.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.members.push_back(0);
    }
    ++groups.members.back();
    groups.group[order[i]] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  // By first occurrence instead.
  std::vector<int64_t> by_first(groups.first.size()), place(groups.first.size());
  std::iota(by_first.begin(), by_first.end(), int64_t{0});
  std::sort(by_first.begin(), by_first.end(), [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Groups moved = groups;
  for (size_t i = 0; i < by_first.size(); ++i) {
    place[by_first[i]] = static_cast<int64_t>(i);
    moved.first[i] = groups.first[by_first[i]];
    moved.members[i] = groups.members[by_first[i]];
  }
  for (int64_t& group : moved.group) group = place[group];
  return moved;
}

// Result r holds these numbers.
Status WriteList(KernelCall& call, size_t r, const std::vector<int64_t>& values) {
  if (!call.wants(r)) return OkStatus();
  const auto n = static_cast<int64_t>(values.size());
  TensorView& out = call.outputs[r];
  if (n > out.shape[0]) return RunFailed("there are more distinct elements than there is room for");
  SetSize(out, 0, n);
  FinishResult(reinterpret_cast<const std::byte*>(values.data()), DType::kI64, out);
  return OkStatus();
}

Groups GroupItems(const TensorView& items, DType type, int64_t n, int64_t length, bool sorted, Scratch& scratch) {
  const std::byte* elements = ElementsAs(items, type, scratch);
  if (type == DType::kF32) return GroupsOf(reinterpret_cast<const float*>(elements), n, length, sorted);
  if (type == DType::kF64) return GroupsOf(reinterpret_cast<const double*>(elements), n, length, sorted);
  if (type == DType::kU64) return GroupsOf(reinterpret_cast<const uint64_t*>(elements), n, length, sorted);
  return GroupsOf(reinterpret_cast<const int64_t*>(elements), n, length, sorted);
}

}  // namespace

Status Unique(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  const bool flat = call.attributes->Find("axis") == nullptr;
  int64_t axis = 0, n = in.elements(), length = 1;
  TensorView items = in;  // (n, length)
  std::vector<int64_t> strides = ByteStrides(in);
  Shape shape = in.shape;
  const int64_t bytes = ElementBytes(in.dtype);
  if (!flat) {
    SBP_ASSIGN_OR_RETURN(axis, AxisIn(call.attributes->Int("axis", 0), in.rank()));
    n = in.shape[axis];
    std::rotate(shape.begin(), shape.begin() + axis, shape.begin() + axis + 1);
    std::rotate(strides.begin(), strides.begin() + axis, strides.begin() + axis + 1);
    for (size_t d = 1; d < shape.size(); ++d) length *= shape[d];
    items.shape = shape;
    items.data = call.scratch->Allocate(n * length * bytes);
    CopyStrided(shape, bytes, in.data, strides, items.data, ByteStrides(items));
  }
  const Groups groups =
      GroupItems(items, ComputeType(in.dtype), n, length, call.attributes->Int("sorted", 1) != 0, *call.scratch);
  const auto count = static_cast<int64_t>(groups.first.size());
  if (call.wants(0)) {
    TensorView& out = call.outputs[0];
    if (count > out.shape[axis]) return RunFailed("there are more distinct elements than there is room for");
    SetSize(out, static_cast<size_t>(axis), count);
    // One item at a time into its place along the axis.
    std::vector<int64_t> to = ByteStrides(out);
    std::rotate(to.begin(), to.begin() + axis, to.begin() + axis + 1);
    std::vector<int64_t> from = flat ? std::vector<int64_t>(1, bytes) : ByteStrides(items);
    Shape item = flat ? Shape{1} : shape;
    item[0] = 1;
    for (int64_t i = 0; i < count; ++i)
      CopyStrided(item, bytes, items.data + groups.first[i] * length * bytes, from, out.data + i * to[0], to);
  }
  SBP_RETURN_IF_ERROR(WriteList(call, 1, groups.first));
  SBP_RETURN_IF_ERROR(WriteList(call, 2, groups.group));
  return WriteList(call, 3, groups.members);
}

}  // namespace sbp::cpu
