#include "naming/buffer_label.h"

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"

namespace sbp {

std::string BufferLabel(const Graph& graph, const NameIndex& index, const ModuleNames& names, std::string_view name) {
  constexpr std::string_view kBoxing = "boxing of ", kFor = " for ";
  if (const TensorId tensor = index.tensor(name); tensor.valid()) return names.Label(graph, tensor);
  if (!name.starts_with(kBoxing)) return std::string(name);
  // Both names may hold " for ": the first place where a tensor ends.
  for (size_t at = name.find(kFor); at != name.npos; at = name.find(kFor, at + 1)) {
    const TensorId tensor = index.tensor(name.substr(kBoxing.size(), at - kBoxing.size()));
    if (!tensor.valid()) continue;
    const std::string_view reader = name.substr(at + kFor.size());
    const OpId op = index.op(reader);
    return StrCat(kBoxing, names.Label(graph, tensor), kFor, reader, op.valid() ? ScopeBeside(graph, op) : "");
  }
  return std::string(name);
}

}  // namespace sbp
