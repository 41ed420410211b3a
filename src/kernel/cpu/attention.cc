// sbp::FlashAttention: the softmax of each row is kept up as tiles of keys come by, as its maximum and sum so far.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "kernel/convert.h"
#include "kernel/cpu/attention_tiles.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/scalar/exp.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;  // beyond any position; sums of a few stay numbers

enum FlashOperand : size_t { kFlashQ, kFlashK, kFlashV, kFlashMask, kFlashLengths, kFlashSink };

// Several at once, so that the loops become vector code.
constexpr int64_t kLanes = 16;

template <typename T>
T LargestOf(const T* line, int64_t n) {
  T lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<T>::infinity());
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) lanes[i] = lanes[i] < line[j + i] ? line[j + i] : lanes[i];
  }
  for (; j < n; ++j) lanes[0] = lanes[0] < line[j] ? line[j] : lanes[0];
  return *std::max_element(lanes, lanes + kLanes);
}

// line = exp(line - shift); the sum.
template <typename T>
T Powers(T* line, int64_t n, T shift) {
  for (int64_t j = 0; j < n; ++j) line[j] = scalar::Exp(line[j] - shift);
  T lanes[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) lanes[i] += line[j + i];
  }
  for (; j < n; ++j) lanes[0] += line[j];
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

template <typename T>
class FlashForward {
 public:
  FlashForward(const AttentionForm& form, Scratch& scratch)
      : form_(form),
        tiles_(form, scratch),
        keys_(scratch.Allocate<T>(form.size * form.keys)),
        scores_(scratch.Allocate<T>(kTileRows * kTileKeys)) {}

  // The rows of one key/value head, whose operands and results begin where they are given. `sinks`: of each group, or
  // null, as `logs` may be.
  void Run(int64_t pair, const T* q, const T* k, const T* v, const T* sinks, T* y, T* logs) {
    TransposeTile(k, form_.keys, form_.size, form_.size, keys_, form_.keys);
    for (int64_t row = 0; row < form_.rows(); row += kTileRows) {
      const int64_t rows = std::min(kTileRows, form_.rows() - row);
      Start(row, rows, sinks);
      Block(pair, row, rows, q + row * form_.size, v, y + row * form_.value_size,
            logs == nullptr ? nullptr : logs + row);
    }
  }

 private:
  // A sink is a score that is there before any key.
  void Start(int64_t row, int64_t rows, const T* sinks) {
    for (int64_t i = 0; i < rows; ++i) {
      largest_[i] = sinks == nullptr ? -std::numeric_limits<T>::infinity() : sinks[(row + i) / form_.queries];
      sum_[i] = largest_[i] == -std::numeric_limits<T>::infinity() ? T{0} : T{1};
    }
  }

  void Block(int64_t pair, int64_t row, int64_t rows, const T* q, const T* v, T* y, T* logs) {
    const SeenKeys seen = SeenKeysOf(form_, pair / form_.heads, row, rows);
    const int64_t width = form_.value_size;
    std::fill(y, y + rows * width, T{0});
    for (int64_t key = seen.begin; key < seen.end; key += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, form_.keys - key);
      tiles_.Fill(pair, row, rows, key, keys, seen, q, keys_, scores_, nullptr);
      for (int64_t i = 0; i < rows; ++i) Take(i, keys, y + i * width);
      const GemmShape shape{rows, width, keys, kTileKeys, std::max<int64_t>(width, 1), std::max<int64_t>(width, 1)};
      Gemm(form_.type, shape, scores_, v + key * width, y, true, form_.threads);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const T factor = sum_[i] == T{0} ? T{1} : T{1} / sum_[i];
      for (int64_t e = 0; e < width; ++e) y[i * width + e] *= factor;
      if (logs != nullptr) logs[i] = largest_[i] + std::log(sum_[i]);
    }
  }

  // Row i's scores become powers; what was summed before is brought to the same shift.
  void Take(int64_t i, int64_t keys, T* y) {
    T* line = scores_ + i * kTileKeys;
    const T before = largest_[i], now = std::max(before, LargestOf(line, keys));
    if (now == -std::numeric_limits<T>::infinity()) {  // no key so far; a score that is no number stays one
      for (int64_t j = 0; j < keys; ++j) line[j] = std::isnan(line[j]) ? line[j] : T{0};
      return;
    }
    largest_[i] = now;
    const T factor = scalar::Exp(before - now);
    sum_[i] = sum_[i] * factor + Powers(line, keys, now);
    if (factor == T{1}) return;
    for (int64_t e = 0; e < form_.value_size; ++e) y[e] *= factor;
  }

  const AttentionForm& form_;
  ScoreTiles<T> tiles_;
  T *keys_, *scores_;
  T largest_[kTileRows], sum_[kTileRows];
};

// One for each (key/value head, group).
template <typename T>
const T* Sinks(const AttentionForm& form, const TensorView& view, const T* given, Scratch& scratch) {
  T* all = scratch.Allocate<T>(form.heads * form.groups);
  for (int64_t h = 0; h < form.heads; ++h) {
    for (int64_t g = 0; g < form.groups; ++g) {
      const int64_t row = view.shape[0] == 1 ? 0 : h, column = view.shape[1] == 1 ? 0 : g;
      all[h * form.groups + g] = given[row * view.shape[1] + column];
    }
  }
  return all;
}

template <typename T>
void RunFlash(const AttentionForm& form, KernelCall& call) {
  Scratch& scratch = *call.scratch;
  const auto elements = [&](size_t i) {
    return reinterpret_cast<const T*>(ElementsAs(call.inputs[i], form.type, scratch));
  };
  const T *q = elements(kFlashQ), *k = elements(kFlashK), *v = elements(kFlashV);
  const int64_t rows = form.rows();
  const T* sinks = call.has(kFlashSink) ? Sinks(form, call.inputs[kFlashSink], elements(kFlashSink), scratch) : nullptr;
  T* y = call.wants(0) ? reinterpret_cast<T*>(ResultAs(call.outputs[0], form.type, scratch))
                       : scratch.Allocate<T>(form.pairs() * rows * form.value_size);
  T* logs = call.wants(1) ? reinterpret_cast<T*>(ResultAs(call.outputs[1], form.type, scratch)) : nullptr;
  FlashForward<T> forward(form, scratch);
  for (int64_t pair = 0; pair < form.pairs(); ++pair) {
    forward.Run(pair, q + pair * rows * form.size, k + pair * form.keys * form.size,
                v + pair * form.keys * form.value_size,
                sinks == nullptr ? nullptr : sinks + pair % form.heads * form.groups, y + pair * rows * form.value_size,
                logs == nullptr ? nullptr : logs + pair * rows);
  }
  if (call.wants(0)) FinishResult(reinterpret_cast<const std::byte*>(y), form.type, call.outputs[0]);
  if (logs != nullptr) FinishResult(reinterpret_cast<const std::byte*>(logs), form.type, call.outputs[1]);
}

}  // namespace

AttentionForm AttentionFormOf(const KernelCall& call) {
  const TensorView &q = call.inputs[kFlashQ], &v = call.inputs[kFlashV];
  const Attributes& a = *call.attributes;
  AttentionForm form;
  form.type = a.Int("softmax_precision", 0) == static_cast<int64_t>(DType::kF64) ? DType::kF64 : GemmType(q.dtype);
  form.batch = q.shape[0];
  form.heads = q.shape[1];
  form.groups = q.shape[2];
  form.queries = q.shape[3];
  form.size = q.shape[4];
  form.keys = v.shape[2];
  form.value_size = v.shape[3];
  form.first_query = q.ranges[3].begin;
  form.all_queries = q.whole[3];
  form.scale = a.Float("scale", 1);
  form.softcap = a.Float("softcap", 0);
  form.causal = a.Int("is_causal", 0) != 0;
  form.left = std::min(a.Int("left_window_size", -1), kFar);
  form.right = std::min(a.Int("right_window_size", -1), kFar);
  form.past = std::min(a.Int("past", 0), kFar);
  if (call.has(kFlashMask)) form.mask = &call.inputs[kFlashMask];
  if (call.has(kFlashLengths)) form.lengths = &call.inputs[kFlashLengths];
  form.threads = call.threads;
  return form;
}

SeenKeys SeenKeysOf(const AttentionForm& form, int64_t batch, int64_t row, int64_t rows) {
  SeenKeys seen;
  int64_t shift = form.first_query + form.past, all = form.keys;
  if (form.lengths != nullptr) {
    const int64_t length = std::clamp(form.lengths->as<int64_t>()[batch], -kFar, kFar);
    shift += length - form.all_queries;
    all = std::clamp<int64_t>(length, 0, all);
  }
  seen.begin = form.keys;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t query = (row + i) % form.queries + shift;
    int64_t first = 0, last = all;
    if (form.causal) last = std::min(last, query + 1);
    if (form.right >= 0) last = std::min(last, query + form.right + 1);
    if (form.left >= 0) first = std::max(first, query - form.left);
    seen.first[i] = first;
    seen.last[i] = std::max(first, last);
    if (first >= last) continue;
    seen.begin = std::min(seen.begin, first);
    seen.end = std::max(seen.end, last);
  }
  seen.begin = seen.begin / kTileKeys * kTileKeys;
  return seen;
}

Status FlashAttention(KernelCall& call) {
  const AttentionForm form = AttentionFormOf(call);
  if (form.type == DType::kF64) {
    RunFlash<double>(form, call);
  } else {
    RunFlash<float>(form, call);
  }
  return OkStatus();
}

}  // namespace sbp::cpu
