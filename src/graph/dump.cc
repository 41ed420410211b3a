// The canonical text of a graph.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// Names as they are where that is unambiguous, else in quotes.
std::string Name(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           (c != 0 && std::string_view("_./:-+").find(static_cast<char>(c)) != std::string_view::npos);
  });
  return plain ? std::string(name) : Quote(name);
}

std::string NameOf(const Graph& graph, TensorId id) { return id.valid() ? Name(graph.tensor(id).name) : "_"; }

std::string Names(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (TensorId id : ids) names.push_back(NameOf(graph, id));
  return Join(names, ", ");
}

std::string Pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += " " + Name(key) + "=" + Quote(value);
  return text;
}

void DumpTensor(const Tensor& tensor, std::string& out) {
  constexpr std::string_view kRoles[] = {"tensor", "input", "parameter"};
  out += std::string(kRoles[static_cast<size_t>(tensor.role)]) + " " + Name(tensor.name) + " " + ToString(tensor.type);
  if (std::any_of(tensor.symbols.begin(), tensor.symbols.end(), [](const std::string& s) { return !s.empty(); })) {
    std::vector<std::string> symbols;
    for (const std::string& symbol : tensor.symbols) symbols.push_back(symbol.empty() ? "_" : symbol);
    out += " symbols=[" + Join(symbols, ", ") + "]";
  }
  if (tensor.literal) out += " value=" + ToString(*tensor.literal) + (tensor.literal->sparse ? " sparse" : "");
  if (tensor.data) {
    out += StrCat(" data=", Quote(tensor.data->location), "+", tensor.data->offset, ":", tensor.data->length);
    if (tensor.data->stored != DType::kUndefined) out += StrCat(" stored=", DTypeName(tensor.data->stored));
  }
  if (tensor.layout_pin.size() > 0) out += " pin=" + ToString(tensor.layout_pin);
  out += '\n';
}

void DumpOp(const Graph& graph, const Op& op, std::string& out) {
  out += "op " + Name(op.name) + " " + graph.type_of(op) + "(" + Names(graph, op.inputs) + ") -> (" +
         Names(graph, op.outputs) + ")";
  for (const auto& [name, value] : op.attributes->entries()) out += " " + Name(name) + "=" + ToString(value);
  if (!op.captures.empty()) out += " captures=(" + Names(graph, op.captures) + ")";
  if (op.scope != 0) out += " scope=" + Name(graph.scope_of(op));
  if (!op.metadata.empty()) out += " metadata" + Pairs(op.metadata);
  if (!op.signature_pin.empty()) {
    std::vector<std::string> layouts;
    for (const NdSbp& sbp : op.signature_pin) layouts.push_back(ToString(sbp));
    out += " pin=(" + Join(layouts, ", ") + ")";
  }
  out += '\n';
}

}  // namespace

std::string Dump(const Graph& graph) {
  std::string out = "graph " + Name(graph.name) + Pairs(graph.metadata) + "\n";
  for (const auto& [domain, version] : graph.opsets) out += StrCat("opset ", Name(domain), " ", version, "\n");
  for (const auto& [symbol, size] : graph.bindings) out += StrCat("bind ", Name(symbol), " ", size, "\n");
  for (const Assumption& assumption : graph.assumptions)
    out += StrCat("assume ", Name(assumption.input), " ", ToString(assumption), "\n");
  for (const Tensor& tensor : graph.tensors) DumpTensor(tensor, out);
  for (const Op& op : graph.ops) DumpOp(graph, op, out);
  out += "inputs (" + Names(graph, graph.inputs) + ")\n";
  out += "outputs (" + Names(graph, graph.outputs) + ")\n";
  for (const Tie& tie : graph.ties) {
    out +=
        StrCat("tie ", NameOf(graph, tie.output), " ", NameOf(graph, tie.input), tie.restarts ? " restarts" : "", "\n");
  }
  if (graph.micro_batches != 1) out += StrCat("micro-batches ", graph.micro_batches, "\n");
  return out;
}

}  // namespace sbp
