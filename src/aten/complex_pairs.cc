#include "aten/complex_pairs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aten/table.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

std::string PairedType(std::string_view type, const std::vector<bool>& complex_operands) {
  const std::string_view op = WithoutOverload(type);
  std::string paired = StrCat("complex::", op.substr(op.find("::") + 2));
  if (complex_operands.size() == 2 && complex_operands[0] != complex_operands[1])
    paired += complex_operands[0] ? "_by_real" : "_of_real";
  return paired;
}

uint32_t NumberOfType(Graph& graph, const std::string& type) {
  const auto at = std::ranges::find(graph.op_types, type);
  const auto number = static_cast<uint32_t>(at - graph.op_types.begin());
  if (at == graph.op_types.end()) graph.op_types.push_back(type);
  return number;
}

}  // namespace

void PairComplexNumbers(Graph& graph) {
  std::vector<bool> complex(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    Tensor& tensor = graph.tensors[t];
    if (!IsComplex(tensor.type.dtype)) continue;
    complex[t] = true;
    tensor.type.dtype = tensor.type.dtype == DType::kC128 ? DType::kF64 : DType::kF32;
    tensor.type.shape.push_back(2);
    if (!tensor.symbols.empty()) tensor.symbols.emplace_back();
  }
  const auto is_complex = [&](TensorId id) { return id.valid() && complex[id.index()]; };
  for (Op& op : graph.ops) {
    if (op.attributes->Find("_operands") == nullptr) continue;
    if (std::ranges::none_of(op.inputs, is_complex) && std::ranges::none_of(op.outputs, is_complex)) continue;
    std::vector<bool> operands;
    for (const TensorId input : op.inputs) operands.push_back(is_complex(input));
    // What makes complex numbers of real ones says so by its name.
    const bool mixes = std::ranges::any_of(op.inputs, is_complex);
    op.type = NumberOfType(graph, PairedType(graph.type_of(op), mixes ? operands : std::vector<bool>()));
  }
}

}  // namespace sbp
