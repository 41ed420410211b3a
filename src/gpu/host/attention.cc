#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "gpu/host/compute.h"
#include "gpu/host/elements.h"

namespace sbp::gpu::host {
namespace {

constexpr int64_t kMultiple = 8;

int64_t Offset(const std::array<int64_t, 3>& strides, int64_t batch, int64_t head, int64_t position) {
  return batch * strides[0] + head * strides[1] + position * strides[2];
}

// Of the elements that `strides` reach.
std::vector<float> ReadAll(const AttentionCall& call, const std::byte* data, const std::array<int64_t, 3>& strides,
                           int64_t heads, int64_t positions, int64_t size) {
  return ReadElements<float>(call.dtype, data, Offset(strides, call.batch - 1, heads - 1, positions - 1) + size);
}

void Softmax(std::span<float> row) {
  const float most = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) sum += value = std::exp(value - most);
  for (float& value : row) value /= sum;
}

}  // namespace

bool HasAttention(const AttentionCall& call) { return call.size % kMultiple == 0 && call.value_size % kMultiple == 0; }

Result<bool> Attention(const AttentionCall& call) {
  if (call.dtype != DType::kF16 && call.dtype != DType::kBF16) return Defect("no attention of this element type");
  if (!HasAttention(call)) return false;
  const std::vector<float> q = ReadAll(call, call.q, call.q_strides, call.heads, call.queries, call.size);
  const std::vector<float> k = ReadAll(call, call.k, call.k_strides, call.kv_heads, call.keys, call.size);
  const std::vector<float> v = ReadAll(call, call.v, call.v_strides, call.kv_heads, call.keys, call.value_size);
  const int64_t matrix = call.queries * call.keys;
  std::vector<float> bias;
  if (call.has_bias()) bias = ReadElements<float>(call.dtype, call.bias, call.bias_batch * call.bias_heads * matrix);
  std::vector<float> out = ReadAll(call, call.out, call.out_strides, call.heads, call.queries, call.value_size);
  std::vector<float> row;
  for (int64_t i = 0; i < call.batch * call.heads * call.queries; ++i) {
    const int64_t b = i / (call.heads * call.queries), h = i / call.queries % call.heads, s = i % call.queries;
    const int64_t kv = h / (call.heads / call.kv_heads);
    row.assign(static_cast<size_t>(call.causal ? std::min(call.keys, s + 1) : call.keys), 0);
    for (size_t t = 0; t < row.size(); ++t) {
      const auto key = static_cast<int64_t>(t);
      const int64_t from = Offset(call.q_strides, b, h, s), to = Offset(call.k_strides, b, kv, key);
      for (int64_t d = 0; d < call.size; ++d) row[t] += q[from + d] * k[to + d];
      row[t] *= static_cast<float>(call.scale);
      const int64_t plane = (call.bias_batch == 1 ? 0 : b) * call.bias_heads + (call.bias_heads == 1 ? 0 : h);
      if (!bias.empty()) row[t] += bias[plane * matrix + s * call.keys + key];
    }
    Softmax(row);
    for (int64_t e = 0; e < call.value_size; ++e) {
      float sum = 0;
      for (size_t t = 0; t < row.size(); ++t)
        sum += row[t] * v[Offset(call.v_strides, b, kv, static_cast<int64_t>(t)) + e];
      out[Offset(call.out_strides, b, h, s) + e] = sum;
    }
  }
  WriteElements(call.dtype, out, call.out);
  return true;
}

}  // namespace sbp::gpu::host
