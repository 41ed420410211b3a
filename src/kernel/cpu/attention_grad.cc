// sbp::FlashAttentionGrad: the scores of each tile are computed again, and the weights from them and the log-sum-exp.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/cpu/attention_tiles.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/scalar/exp.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

enum FlashGradOperand : size_t {
  kGradQ,
  kGradK,
  kGradV,
  kGradMask,
  kGradLengths,
  kGradY,
  kGradLogs,
  kGradDy,
  kGradDlogs
};

// The operands and results of one key/value head.
template <typename T>
struct FlashHead {
  const T *q, *k, *v, *y, *logs, *dy, *dlogs;  // dlogs: null where there is none
  T *dq, *dk, *dv;
};

template <typename T>
class FlashBackward {
 public:
  FlashBackward(const AttentionForm& form, Scratch& scratch)
      : form_(form),
        tiles_(form, scratch),
        keys_(scratch.Allocate<T>(form.size * form.keys)),
        values_(scratch.Allocate<T>(form.value_size * form.keys)),
        weights_(scratch.Allocate<T>(kTileRows * kTileKeys)),
        cotangents_(scratch.Allocate<T>(kTileRows * kTileKeys)),
        turned_(scratch.Allocate<T>(kTileRows * kTileKeys)),
        slopes_(form.softcap > 0 ? scratch.Allocate<T>(kTileRows * kTileKeys) : nullptr) {}

  void Run(int64_t pair, const FlashHead<T>& head) {
    TransposeTile(head.k, form_.keys, form_.size, form_.size, keys_, form_.keys);
    TransposeTile(head.v, form_.keys, form_.value_size, form_.value_size, values_, form_.keys);
    std::fill(head.dq, head.dq + form_.rows() * form_.size, T{0});
    std::fill(head.dk, head.dk + form_.keys * form_.size, T{0});
    std::fill(head.dv, head.dv + form_.keys * form_.value_size, T{0});
    for (int64_t row = 0; row < form_.rows(); row += kTileRows) {
      Block(pair, row, std::min(kTileRows, form_.rows() - row), head);
    }
  }

 private:
  void Block(int64_t pair, int64_t row, int64_t rows, const FlashHead<T>& head) {
    const SeenKeys seen = SeenKeysOf(form_, pair / form_.heads, row, rows);
    const int64_t width = form_.value_size;
    for (int64_t i = 0; i < rows; ++i) {
      const T *dy = head.dy + (row + i) * width, *y = head.y + (row + i) * width;
      T sum = 0;
      for (int64_t e = 0; e < width; ++e) sum += dy[e] * y[e];
      mean_[i] = head.dlogs == nullptr ? sum : sum - head.dlogs[row + i];
      shift_[i] = std::isinf(head.logs[row + i]) ? T{0} : head.logs[row + i];
    }
    for (int64_t key = seen.begin; key < seen.end; key += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, form_.keys - key);
      tiles_.Fill(pair, row, rows, key, keys, seen, head.q + row * form_.size, keys_, weights_, slopes_);
      Tile(row, rows, key, keys, head);
    }
  }

  // From scores in weights_.
  void Tile(int64_t row, int64_t rows, int64_t key, int64_t keys, const FlashHead<T>& head) {
    const int64_t size = form_.size, width = form_.value_size;
    const int64_t size_row = std::max<int64_t>(size, 1), width_row = std::max<int64_t>(width, 1);
    const T *q = head.q + row * size, *dy = head.dy + row * width;
    const auto product = [&](const GemmShape& shape, const T* a, const T* b, T* c, bool accumulate) {
      Gemm(form_.type, shape, a, b, c, accumulate, form_.threads);
    };
    product({rows, keys, width, width_row, form_.keys, kTileKeys}, dy, values_ + key, cotangents_, false);
    const auto scale = static_cast<T>(form_.scale);
    for (int64_t i = 0; i < rows; ++i) {
      T *p = weights_ + i * kTileKeys, *ds = cotangents_ + i * kTileKeys;
      for (int64_t j = 0; j < keys; ++j) p[j] = scalar::Exp(p[j] - shift_[i]);
      for (int64_t j = 0; j < keys; ++j) ds[j] = p[j] * (ds[j] - mean_[i]) * scale;
      if (slopes_ == nullptr) continue;
      const T* slopes = slopes_ + i * kTileKeys;
      for (int64_t j = 0; j < keys; ++j) ds[j] *= slopes[j];
    }
    TransposeTile(weights_, rows, keys, kTileKeys, turned_, kTileRows);
    product({keys, width, rows, kTileRows, width_row, width_row}, turned_, dy, head.dv + key * width, true);
    product({rows, size, keys, kTileKeys, size_row, size_row}, cotangents_, head.k + key * size, head.dq + row * size,
            true);
    TransposeTile(cotangents_, rows, keys, kTileKeys, turned_, kTileRows);
    product({keys, size, rows, kTileRows, size_row, size_row}, turned_, q, head.dk + key * size, true);
  }

  const AttentionForm& form_;
  ScoreTiles<T> tiles_;
  T *keys_, *values_, *weights_, *cotangents_, *turned_, *slopes_;
  T mean_[kTileRows], shift_[kTileRows];
};

template <typename T>
void RunFlashGrad(const AttentionForm& form, KernelCall& call) {
  Scratch& scratch = *call.scratch;
  const auto elements = [&](size_t i) {
    return reinterpret_cast<const T*>(ElementsAs(call.inputs[i], form.type, scratch));
  };
  const int64_t rows = form.rows(), per_q = rows * form.size, per_y = rows * form.value_size;
  const int64_t per_k = form.keys * form.size, per_v = form.keys * form.value_size;
  const int64_t sizes[] = {per_q, per_k, per_v};
  T* results[3];
  for (size_t r = 0; r < 3; ++r) {
    results[r] = call.wants(r) ? reinterpret_cast<T*>(ResultAs(call.outputs[r], form.type, scratch))
                               : scratch.Allocate<T>(form.pairs() * sizes[r]);
  }
  FlashHead<T> head{elements(kGradQ),
                    elements(kGradK),
                    elements(kGradV),
                    elements(kGradY),
                    elements(kGradLogs),
                    elements(kGradDy),
                    call.has(kGradDlogs) ? elements(kGradDlogs) : nullptr,
                    results[0],
                    results[1],
                    results[2]};
  FlashBackward<T> backward(form, scratch);
  for (int64_t pair = 0; pair < form.pairs(); ++pair) {
    backward.Run(pair, head);
    head.q += per_q;
    head.dq += per_q;
    head.k += per_k;
    head.dk += per_k;
    head.v += per_v;
    head.dv += per_v;
    head.y += per_y;
    head.dy += per_y;
    head.logs += rows;
    if (head.dlogs != nullptr) head.dlogs += rows;
  }
  for (size_t r = 0; r < 3; ++r) {
    if (call.wants(r)) FinishResult(reinterpret_cast<const std::byte*>(results[r]), form.type, call.outputs[r]);
  }
}

}  // namespace

Status FlashAttentionGrad(KernelCall& call) {
  const AttentionForm form = AttentionFormOf(call);
  if (form.type == DType::kF64) {
    RunFlashGrad<double>(form, call);
  } else {
    RunFlashGrad<float>(form, call);
  }
  return OkStatus();
}

}  // namespace sbp::cpu
