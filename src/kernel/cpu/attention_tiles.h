// Attention in tiles of rows and keys: what the kernels of both passes have in common. The scores are never whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/dtype.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/kernel.h"
#include "kernel/scalar/exp.h"
#include "kernel/view.h"

namespace sbp::cpu {

inline constexpr int64_t kTileRows = 64, kTileKeys = 128;

// Of sbp::FlashAttention and its backward pass. A row is a query of one of the heads that share their keys.
struct AttentionForm {
  DType type = DType::kF32;                                                                   // of the arithmetic
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, size = 0, value_size = 0;  // of the part
  int64_t first_query = 0, all_queries = 0;                                                   // in the whole
  double scale = 1, softcap = 0;
  bool causal = false;
  int64_t left = -1, right = -1, past = 0;
  const TensorView *mask = nullptr, *lengths = nullptr;  // null: absent
  int threads = 1;

  int64_t rows() const { return groups * queries; }
  int64_t pairs() const { return batch * heads; }
};
AttentionForm AttentionFormOf(const KernelCall& call);

// Which keys the rows of a tile see: each row those from first[i] to before last[i].
struct SeenKeys {
  int64_t first[kTileRows], last[kTileRows];
  int64_t begin = 0, end = 0;  // of all these rows; `begin` is that of a tile
};
SeenKeys SeenKeysOf(const AttentionForm& form, int64_t batch, int64_t row, int64_t rows);

// `target` (columns x rows) = `source` (rows x columns); rows follow each other at the given distances.
template <typename T>
void TransposeTile(const T* source, int64_t rows, int64_t columns, int64_t source_row, T* target, int64_t target_row) {
  constexpr int64_t kSide = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kSide) {
    const int64_t r1 = std::min(rows, r0 + kSide);
    for (int64_t c0 = 0; c0 < columns; c0 += kSide) {
      const int64_t c1 = std::min(columns, c0 + kSide);
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) target[c * target_row + r] = source[r * source_row + c];
      }
    }
  }
}

// The scores of one tile: rows of kTileKeys elements.
template <typename T>
class ScoreTiles {
 public:
  ScoreTiles(const AttentionForm& form, Scratch& scratch) : form_(form), given_(scratch.Allocate<T>(kTileKeys)) {
    if (form.mask == nullptr) return;
    int64_t stride = 1;
    for (size_t d = 5; d-- > 0;) {
      strides_[d] = form.mask->shape[d] == 1 ? 0 : stride;
      stride *= form.mask->shape[d];
    }
  }

  // Scores of rows from `row` on against `keys` keys from `key` on, those that are not seen -inf. `q`: the first row;
  // `k`: keys as (size x all keys). `slopes`: if not null, the derivatives of the cap.
  void Fill(int64_t pair, int64_t row, int64_t rows, int64_t key, int64_t keys, const SeenKeys& seen, const T* q,
            const T* k, T* scores, T* slopes) {
    const GemmShape shape{rows, keys, form_.size, std::max<int64_t>(form_.size, 1), form_.keys, kTileKeys};
    Gemm(form_.type, shape, q, k + key, scores, false, form_.threads);
    const auto scale = static_cast<T>(form_.scale);
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < rows; ++i) {
      T* line = scores + i * kTileKeys;
      for (int64_t j = 0; j < keys; ++j) line[j] *= scale;
      if (form_.softcap > 0) Cap(line, keys, slopes == nullptr ? nullptr : slopes + i * kTileKeys);
      if (form_.mask != nullptr) Mask(pair, row + i, key, keys, line);
      const int64_t first = std::clamp<int64_t>(seen.first[i] - key, 0, keys);
      const int64_t last = std::clamp<int64_t>(seen.last[i] - key, first, keys);
      std::fill(line, line + first, kHidden);
      std::fill(line + last, line + keys, kHidden);
    }
  }

 private:
  void Cap(T* line, int64_t keys, T* slopes) const {
    const auto cap = static_cast<T>(form_.softcap);
    for (int64_t j = 0; j < keys; ++j) line[j] = scalar::Tanh(line[j] / cap);
    for (int64_t j = 0; slopes != nullptr && j < keys; ++j) slopes[j] = T{1} - line[j] * line[j];
    for (int64_t j = 0; j < keys; ++j) line[j] *= cap;
  }

  void Mask(int64_t pair, int64_t row, int64_t key, int64_t keys, T* line) {
    const TensorView& mask = *form_.mask;
    const int64_t at[5] = {pair / form_.heads, pair % form_.heads, row / form_.queries, row % form_.queries, key};
    int64_t offset = 0;
    for (size_t d = 0; d < 5; ++d) offset += at[d] * strides_[d];
    if (mask.dtype == DType::kBool) {
      const auto* kept = mask.as<uint8_t>() + offset;
      for (int64_t j = 0; j < keys; ++j) line[j] = kept[j] != 0 ? line[j] : -std::numeric_limits<T>::infinity();
      return;
    }
    const int64_t bytes = ElementBytes(mask.dtype);
    const std::byte* source = mask.data + offset * bytes;
    const T* given = reinterpret_cast<const T*>(source);
    if (mask.dtype != form_.type) {
      Convert(mask.dtype, source, bytes, form_.type, reinterpret_cast<std::byte*>(given_), sizeof(T), keys);
      given = given_;
    }
    for (int64_t j = 0; j < keys; ++j) line[j] += given[j];
  }

  const AttentionForm& form_;
  T* given_;  // numbers of a mask of another type
  int64_t strides_[5] = {};
};

}  // namespace sbp::cpu
