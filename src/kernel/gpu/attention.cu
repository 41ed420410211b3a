// Attention by the library's fused kernel; what it does not have is declined, and the op's expansion runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "gpu/gpu.h"
#include "graph/graph.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/walk.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

enum Operand : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

// Heads of an operand: (batch, heads, positions, size), or (batch, positions, heads size).
struct Heads {
  int64_t batch = 0, heads = 0, positions = 0, size = 0;
  int64_t first = 0, whole = 0;  // of the heads here, and how many there are in all
  std::array<int64_t, 3> strides{};
};

// Nothing: parts of heads.
std::optional<Heads> HeadsOf(const TensorView& view, int64_t whole_heads) {
  Heads h;
  const Shape& s = view.shape;
  if (view.rank() == 4) {
    h = {s[0], s[1], s[2], s[3], view.ranges[1].begin, view.whole[1], {s[1] * s[2] * s[3], s[2] * s[3], s[3]}};
    return h;
  }
  if (view.rank() != 3 || whole_heads <= 0 || view.whole[2] % whole_heads != 0) return std::nullopt;
  const int64_t size = view.whole[2] / whole_heads;
  if (size == 0 || s[2] % size != 0 || view.ranges[2].begin % size != 0) return std::nullopt;
  h = {s[0], s[2] / size, s[1], size, view.ranges[2].begin / size, whole_heads, {s[1] * s[2], size, s[2]}};
  return h;
}

// Index: of an element of the bias.
struct MaskOne {
  DType mask_type, type;
  bool causal;
  float hidden;  // finite: libraries subtract such numbers
  int64_t heads, queries, keys;
  int64_t strides[4];
  const std::byte* mask;
  std::byte* bias;
  uint8_t* seen;  // per row: is a key seen?
  SBP_HD void operator()(int64_t i) const {
    const int64_t row = i / keys, key = i - row * keys, plane = row / queries, query = row - plane * queries;
    const int64_t batch = plane / heads, head = plane - batch * heads;
    const int64_t at = batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
    float value = hidden;
    bool kept = false;
    if (mask_type == DType::kBool) {
      kept = At<uint8_t>(mask, at) != 0;
      if (kept) value = 0;
    } else {
      const float given = LoadNumber<float>(mask_type, mask, at);
      kept = given != -HUGE_VALF;
      // The type's lowest number is what exporters write for a hidden key: less than that is hidden more.
      if (kept) value = given < hidden / 2 ? hidden / 2 : given;
    }
    StoreNumber(type, bias, i, value);
    if (kept && (!causal || key <= query)) seen[row] = 1;
  }
};

// Index: of an element of the result, by batch, head, query and element.
struct ClearUnseen {
  DType type;
  int64_t heads, queries, size;
  int64_t seen_batch, seen_head;  // steps of `seen`, in planes
  int64_t strides[3];
  const uint8_t* seen;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t row = i / size, element = i - row * size, plane = row / queries, query = row - plane * queries;
    const int64_t batch = plane / heads, head = plane - batch * heads;
    if (seen[(batch * seen_batch + head * seen_head) * queries + query] != 0) return;
    StoreNumber(type, out, batch * strides[0] + head * strides[1] + query * strides[2] + element, 0.0F);
  }
};

bool IsPlain(const KernelCall& call) {
  for (const size_t i : {kPastKey, kPastValue, kLengths}) {
    if (call.has(i)) return false;
  }
  for (size_t r = 1; r < call.outputs.size(); ++r) {
    if (call.wants(r)) return false;
  }
  const Attributes& a = *call.attributes;
  return a.Float("softcap", 0) == 0 && a.Int("left_window_size", -1) < 0 && a.Int("right_window_size", -1) < 0 &&
         a.Int("softmax_precision", 1) != 11;  // f64
}

// Room for the bias, and per row of it whether a key is seen.
struct MaskRoom {
  std::byte* bias = nullptr;
  uint8_t* seen = nullptr;
  int64_t rows = 0;
};
Result<MaskRoom> TakeMaskRoom(KernelCall& call, const gpu::AttentionCall& attention) {
  MaskRoom room;
  room.rows = attention.bias_batch * attention.bias_heads * attention.queries;
  SBP_ASSIGN_OR_RETURN(room.bias, call.stream->Scratch(room.rows * attention.keys * 2));
  SBP_ASSIGN_OR_RETURN(std::byte * seen, call.stream->Scratch(room.rows));
  room.seen = reinterpret_cast<uint8_t*>(seen);
  return room;
}

// The mask, stretched to the planes of scores that differ.
Status WriteBias(KernelCall& call, const gpu::AttentionCall& attention, const std::vector<int64_t>& strides,
                 const MaskRoom& room) {
  const TensorView& mask = call.inputs[kMask];
  SBP_RETURN_IF_ERROR(call.stream->Zero(reinterpret_cast<std::byte*>(room.seen), room.rows));
  // Far below any score, and far from where sums of two of them, or their multiples by 1.44 in powers of 2, overflow.
  const float hidden = attention.dtype == DType::kF16 ? -32768.0F : -2199023255552.0F;  // -2^15, -2^41
  MaskOne one{
      mask.dtype, attention.dtype, attention.causal, hidden,   attention.bias_heads, attention.queries, attention.keys,
      {},         mask.data,       room.bias,        room.seen};
  std::copy(strides.begin(), strides.end(), one.strides);
  return gpu::ForEach(*call.stream, room.rows * attention.keys, one);
}

// Nothing: not a form that the library takes.
std::optional<gpu::AttentionCall> Describe(const KernelCall& call) {
  const TensorView &q = call.inputs[kQ], &k = call.inputs[kK], &v = call.inputs[kV], &out = call.outputs[0];
  const DType type = q.dtype;
  if (k.dtype != type || v.dtype != type || out.dtype != type || !IsPlain(call)) return std::nullopt;
  const int64_t q_heads = call.attributes->Int("q_num_heads", 0), kv_heads = call.attributes->Int("kv_num_heads", 0);
  const auto qs = HeadsOf(q, q_heads), ks = HeadsOf(k, kv_heads), vs = HeadsOf(v, kv_heads),
             outs = HeadsOf(out, q_heads);
  if (!qs || !ks || !vs || !outs || q.elements() == 0 || k.elements() == 0 || out.elements() == 0) return std::nullopt;
  // The heads here go together as all of them do.
  if (ks->whole == 0 || qs->whole % ks->whole != 0) return std::nullopt;
  const int64_t shared = qs->whole / ks->whole;
  const bool together = ks->whole == 1 || (qs->heads == ks->heads * shared && qs->first == ks->first * shared);
  if (!together || vs->heads != ks->heads || outs->heads != qs->heads) return std::nullopt;
  gpu::AttentionCall a;
  a.dtype = type;
  a.batch = qs->batch;
  a.heads = qs->heads;
  a.kv_heads = ks->heads;
  a.queries = qs->positions;
  a.keys = ks->positions;
  a.size = qs->size;
  a.value_size = vs->size;
  a.q_strides = qs->strides;
  a.k_strides = ks->strides;
  a.v_strides = vs->strides;
  a.out_strides = outs->strides;
  a.q = q.data;
  a.k = k.data;
  a.v = v.data;
  a.out = out.data;
  a.causal = call.attributes->Int("is_causal", 0) != 0;
  a.scale = call.attributes->Float("scale", 1 / std::sqrt(static_cast<double>(qs->size)));
  const size_t position = q.rank() == 4 ? 2 : 1;
  if (a.causal && q.ranges[position].begin != 0) return std::nullopt;  // queries further on see more keys
  if (!call.has(kMask)) return a;
  const TensorView& mask = call.inputs[kMask];
  const bool known = mask.dtype == DType::kBool || mask.dtype == type;
  if (!known || mask.rank() == 0 || mask.rank() > 4 || mask.shape.back() != a.keys) return std::nullopt;
  return a;
}

// What the library is asked for, and the room that it takes.
struct PreparedAttention {
  gpu::AttentionCall call;
  std::vector<int64_t> mask_strides;  // by batch, head, query and key; 0 where the mask has one for all
  MaskRoom room;
};
// Nothing: the library does not have this form.
Result<std::optional<PreparedAttention>> Prepare(KernelCall& call) {
  const std::optional<gpu::AttentionCall> described = Describe(call);
  if (!described) return std::optional<PreparedAttention>();
  PreparedAttention prepared{.call = *described, .mask_strides = {}, .room = {}};
  gpu::AttentionCall& a = prepared.call;
  if (call.has(kMask)) {
    SBP_ASSIGN_OR_RETURN(prepared.mask_strides,
                         StretchedStrides(call.inputs[kMask], {a.batch, a.heads, a.queries, a.keys}));
    a.bias_batch = prepared.mask_strides[0] == 0 ? 1 : a.batch;
    a.bias_heads = prepared.mask_strides[1] == 0 ? 1 : a.heads;
  }
  SBP_ASSIGN_OR_RETURN(const bool has, call.stream->HasAttention(a));
  if (!has) return std::optional<PreparedAttention>();
  if (call.has(kMask)) {
    SBP_ASSIGN_OR_RETURN(prepared.room, TakeMaskRoom(call, a));
  }
  return std::optional<PreparedAttention>(std::move(prepared));
}

}  // namespace

Result<bool> AttentionDeclines(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const std::optional<PreparedAttention> prepared, Prepare(call));
  return !prepared.has_value();
}

Status Attention(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(std::optional<PreparedAttention> prepared, Prepare(call));
  call.declined = !prepared.has_value();
  if (call.declined) return OkStatus();
  gpu::AttentionCall& a = prepared->call;
  const MaskRoom& room = prepared->room;
  if (call.has(kMask)) {
    SBP_RETURN_IF_ERROR(WriteBias(call, a, prepared->mask_strides, room));
    a.bias = room.bias;
  }
  SBP_ASSIGN_OR_RETURN(const bool done, call.stream->Attention(a));
  call.declined = !done;
  if (call.declined || room.seen == nullptr) return OkStatus();
  ClearUnseen clear{a.dtype,
                    a.heads,
                    a.queries,
                    a.value_size,
                    a.bias_batch == 1 ? 0 : a.bias_heads,
                    a.bias_heads == 1 ? 0 : 1,
                    {a.out_strides[0], a.out_strides[1], a.out_strides[2]},
                    room.seen,
                    a.out};
  return gpu::ForEach(*call.stream, a.batch * a.heads * a.queries * a.value_size, clear);
}

}  // namespace sbp::SBP_GPU_BUILD
