// NonMaxSuppression: per batch entry and class, boxes in the order of their scores, without those that overlap a better
// one too much.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

struct Box {
  float low_y, low_x, high_y, high_x;
};

// Two opposite corners (y, x), in any order; or centre x, centre y, width, height.
Box ReadBox(const float* box, bool center) {
  if (center) return {box[1] - box[3] / 2, box[0] - box[2] / 2, box[1] + box[3] / 2, box[0] + box[2] / 2};
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]), std::max(box[1], box[3])};
}

float Area(const Box& box) { return (box.high_y - box.low_y) * (box.high_x - box.low_x); }

// Intersection over union.
float Overlap(const Box& a, const Box& b) {
  const float height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const float width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (height <= 0 || width <= 0) return 0;
  const float shared = height * width, all = Area(a) + Area(b) - shared;
  return all > 0 ? shared / all : 0;
}

struct Limits {
  int64_t most = 0;   // boxes of one class
  float overlap = 0;  // more than this suppresses
  bool has_score = false;
  float score = 0;  // only better ones count
};

Limits ReadLimits(const KernelCall& call) {
  Limits limits;
  const auto number = [&](size_t i, float& value) {
    const TensorView& in = call.inputs[i];
    Convert(in.dtype, in.data, ElementBytes(in.dtype), DType::kF32, reinterpret_cast<std::byte*>(&value), 4, 1);
  };
  if (call.has(2) && call.inputs[2].elements() > 0) limits.most = IntsOf(call.inputs[2])[0];
  if (call.has(3) && call.inputs[3].elements() > 0) number(3, limits.overlap);
  limits.has_score = call.has(4) && call.inputs[4].elements() > 0;
  if (limits.has_score) number(4, limits.score);
  return limits;
}

std::vector<int64_t> Select(const std::vector<Box>& boxes, const float* scores, const Limits& limits) {
  std::vector<int64_t> order, selected;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i) {
    if (!limits.has_score || scores[i] > limits.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t i : order) {
    if (static_cast<int64_t>(selected.size()) >= limits.most) break;
    const bool covered = std::any_of(selected.begin(), selected.end(),
                                     [&](int64_t better) { return Overlap(boxes[better], boxes[i]) > limits.overlap; });
    if (!covered) selected.push_back(i);
  }
  return selected;
}

}  // namespace

Status NonMaxSuppression(KernelCall& call) {
  const TensorView &boxes = call.inputs[0], &scores = call.inputs[1];
  TensorView& out = call.outputs[0];
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.shape[2] != 4 || scores.shape[0] != boxes.shape[0] ||
      scores.shape[2] != boxes.shape[1])
    return RunFailed("boxes must be (batch, boxes, 4), scores (batch, classes, boxes)");
  const auto* corners = reinterpret_cast<const float*>(ElementsAs(boxes, DType::kF32, *call.scratch));
  const auto* values = reinterpret_cast<const float*>(ElementsAs(scores, DType::kF32, *call.scratch));
  const bool center = call.attributes->Int("center_point_box", 0) != 0;
  const Limits limits = ReadLimits(call);
  const int64_t n = boxes.shape[1], classes = scores.shape[1];
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < boxes.shape[0]; ++b) {
    std::vector<Box> read;
    for (int64_t i = 0; i < n; ++i) read.push_back(ReadBox(corners + (b * n + i) * 4, center));
    for (int64_t c = 0; c < classes; ++c) {
      for (const int64_t i : Select(read, values + (b * classes + c) * n, limits)) rows.insert(rows.end(), {b, c, i});
    }
  }
  const auto count = static_cast<int64_t>(rows.size()) / 3;
  if (count > out.shape[0]) return RunFailed("more boxes are selected than there is room for");
  SetSize(out, 0, count);
  FinishResult(reinterpret_cast<const std::byte*>(rows.data()), DType::kI64, out);
  return OkStatus();
}

}  // namespace sbp::cpu
