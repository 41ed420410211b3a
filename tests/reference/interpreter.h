// The reference interpreter: one op on small arrays, the plainest way. It runs the unsharded op and, told where its
// parts lie, the local op of one rank; rule semantics are judged by comparing the two.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "reference/array.h"

namespace sbp::reference {

// What one rank computes. For an unsharded run every piece is whole.
struct Call {
  const Attributes* attributes = nullptr;
  std::vector<const Array*> inputs;  // local parts; null: absent
  std::vector<Piece> input_pieces;
  std::vector<DType> result_types;
  std::vector<Piece> result_pieces;  // their local() are the shapes to produce

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Array& in(size_t i) const { return *inputs[i]; }
  Array MakeResult(size_t r, double fill = 0) const { return Array(result_types[r], result_pieces[r].local(), fill); }
};

// Produces every result. Kernels follow the ONNX operator's definition (newest form).
using Kernel = std::vector<Array> (*)(const Call& call);
Kernel FindKernel(std::string_view op);  // nullptr: none
std::vector<std::string> KernelNames();

using KernelTable = std::map<std::string, Kernel, std::less<>>;
// One function per family, each in its own file.
void AddElementwise(KernelTable& table);
void AddMovement(KernelTable& table);  // reshape, transpose, slice, pad, concat, gather-free data movement
void AddReductions(KernelTable& table);
void AddLinear(KernelTable& table);    // matmul, gemm, einsum, conv, pools
void AddIndexing(KernelTable& table);  // gather, scatter, one-hot, top-k, cumsum, trilu
void AddNormalisation(KernelTable& table);
void AddSources(KernelTable& table);
void AddAttention(KernelTable& table);  // and rotary positions
void AddMicrosoftFused(KernelTable& table);
void AddImages(KernelTable& table);
void AddSignal(KernelTable& table);
void AddTraining(KernelTable& table);  // and simple preprocessing
void AddRecurrent(KernelTable& table);
void AddQuantization(KernelTable& table);        // and products of small integers
void AddMicrosoftAttention(KernelTable& table);  // of com.microsoft

}  // namespace sbp::reference
