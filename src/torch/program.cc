#include "torch/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/text.h"
#include "base/utf8.h"

namespace sbp::torch {
namespace {

struct TypeRow {
  int64_t scalar_type;
  DType dtype;
};
constexpr std::array<TypeRow, 19> kTypes = {{
    {1, DType::kU8},          {2, DType::kI8},          {3, DType::kI16},  {4, DType::kI32},       {5, DType::kI64},
    {6, DType::kF16},         {7, DType::kF32},         {8, DType::kF64},  {10, DType::kC64},      {11, DType::kC128},
    {12, DType::kBool},       {13, DType::kBF16},       {28, DType::kU16}, {29, DType::kF8E4M3FN}, {30, DType::kF8E5M2},
    {31, DType::kF8E4M3FNUZ}, {32, DType::kF8E5M2FNUZ}, {34, DType::kU32}, {35, DType::kU64},
}};

// A size or another integer: a number, or an expression over symbols.
struct Size {
  int64_t number = 0;
  std::string text;  // "": a number
};

Result<Size> ReadSize(const Json& json, std::string_view place) {
  SBP_ASSIGN_OR_RETURN(const Choice choice, ChoiceOf(json, place));
  if (choice.name == "as_int" && choice.value->is_number_integer()) return Size{choice.value->get<int64_t>(), ""};
  if (choice.name != "as_expr") return BadInput(StrCat(place, " is no size but ", Quote(choice.name)));
  SBP_ASSIGN_OR_RETURN(const std::string text, TextIn(*choice.value, "expr_str", place));
  return Size{0, PlainExpression(text)};
}

using SizeTable = std::unordered_map<std::string, Size>;

// Arguments of the nodes of one graph.
class ArgumentReader {
 public:
  ArgumentReader(const SizeTable& sizes, int depth) : sizes_(sizes), depth_(depth) {}

  Result<Argument> Read(const Json& json, std::string_view place) const;

 private:
  Status Tensors(const Json& list, std::string_view place, Argument& out) const;
  Status Sizes(const Json& list, std::string_view place, Argument& out) const;
  Result<Size> Named(const Json& json, std::string_view place) const;
  static Status Numbers(const Json& list, std::string_view place, Argument& out);

  const SizeTable& sizes_;
  int depth_;
};

Status ArgumentReader::Tensors(const Json& list, std::string_view place, Argument& out) const {
  out.kind = Argument::Kind::kTensors;
  out.is_list = true;
  for (const Json& item : list) {
    const Json* tensor = Find(item, "as_tensor");  // of optional ones
    if (Find(item, "as_none") != nullptr) {
      out.tensors.emplace_back();
      continue;
    }
    SBP_ASSIGN_OR_RETURN(out.tensors.emplace_back(), TextIn(tensor != nullptr ? *tensor : item, "name", place));
  }
  return OkStatus();
}

// {"as_int": 2} or {"as_name": "sym_size_int_1"}.
Result<Size> ArgumentReader::Named(const Json& json, std::string_view place) const {
  SBP_ASSIGN_OR_RETURN(const Choice choice, ChoiceOf(json, place));
  if (choice.value->is_number_integer()) return Size{choice.value->get<int64_t>(), ""};
  if (!choice.value->is_string()) return BadInput(StrCat(place, " is no size"));
  const auto known = sizes_.find(choice.value->get<std::string>());
  if (known == sizes_.end()) {
    return BadInput(StrCat(place, " is the size ", Quote(choice.value->get<std::string>()), ", which nothing defines"));
  }
  return known->second;
}

Status ArgumentReader::Sizes(const Json& list, std::string_view place, Argument& out) const {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  bool symbolic = false;
  for (const Json& item : list) {
    SBP_ASSIGN_OR_RETURN(Size size, Named(item, place));
    symbolic = symbolic || !size.text.empty();
    numbers.push_back(size.number);
    texts.push_back(size.text.empty() ? StrCat(size.number) : std::move(size.text));
  }
  out.kind = symbolic ? Argument::Kind::kExpression : Argument::Kind::kValue;
  out.is_list = true;
  if (symbolic) {
    out.value = std::move(texts);
  } else {
    out.value = std::move(numbers);
  }
  return OkStatus();
}

Status ArgumentReader::Numbers(const Json& list, std::string_view place, Argument& out) {
  out.kind = Argument::Kind::kValue;
  out.is_list = true;
  const bool whole =
      std::ranges::all_of(list, [](const Json& item) { return item.is_number_integer() || item.is_boolean(); });
  std::vector<int64_t> ints;
  std::vector<double> floats;
  for (const Json& item : list) {
    if (!item.is_number() && !item.is_boolean()) return BadInput(StrCat(place, " has an entry that is no number"));
    if (whole) ints.push_back(item.is_boolean() ? int64_t{item.get<bool>()} : item.get<int64_t>());
    if (!whole) floats.push_back(item.is_boolean() ? static_cast<double>(item.get<bool>()) : item.get<double>());
  }
  if (whole) {
    out.value = std::move(ints);
  } else {
    out.value = std::move(floats);
  }
  return OkStatus();
}

// JSON has no infinities: they are texts.
std::optional<double> FloatOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity" || text == "inf") return kInfinity;
  if (text == "-Infinity" || text == "-inf") return -kInfinity;
  if (text == "NaN" || text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

Result<Argument> ArgumentReader::Read(const Json& json, std::string_view place) const {
  SBP_ASSIGN_OR_RETURN(const Choice choice, ChoiceOf(json, place));
  const std::string& kind = choice.name;
  const Json* value = choice.value;
  Argument out;
  const auto wrong = [&] { return BadInput(StrCat(place, ": ", Quote(kind), " holds something else")); };
  if (kind == "as_tensor" || kind == "as_optional_tensor") {
    out.kind = Argument::Kind::kTensors;
    const Json* tensor = Find(*value, "as_tensor");
    if (kind == "as_optional_tensor" && tensor == nullptr) return Argument();
    SBP_ASSIGN_OR_RETURN(out.tensors.emplace_back(), TextIn(tensor != nullptr ? *tensor : *value, "name", place));
  } else if (kind == "as_tensors" || kind == "as_optional_tensors") {
    if (!value->is_array()) return wrong();
    SBP_RETURN_IF_ERROR(Tensors(*value, place, out));
  } else if (kind == "as_sym_ints") {
    if (!value->is_array()) return wrong();
    SBP_RETURN_IF_ERROR(Sizes(*value, place, out));
  } else if (kind == "as_ints" || kind == "as_floats" || kind == "as_bools") {
    if (!value->is_array()) return wrong();
    SBP_RETURN_IF_ERROR(Numbers(*value, place, out));
  } else if (kind == "as_sym_int") {
    SBP_ASSIGN_OR_RETURN(Size size, Named(*value, place));
    out.kind = size.text.empty() ? Argument::Kind::kValue : Argument::Kind::kExpression;
    if (size.text.empty()) out.value = size.number;
    if (!size.text.empty()) out.value = std::vector<std::string>{std::move(size.text)};
  } else if (kind == "as_int" || kind == "as_bool") {
    if (!value->is_number_integer() && !value->is_boolean()) return wrong();
    out.kind = Argument::Kind::kValue;
    out.value = value->is_boolean() ? int64_t{value->get<bool>()} : value->get<int64_t>();
  } else if (kind == "as_float") {
    const std::optional<double> number = FloatOf(*value);
    if (!number) return wrong();
    out.kind = Argument::Kind::kValue;
    out.value = *number;
  } else if (kind == "as_string") {
    if (!value->is_string()) return wrong();
    out.kind = Argument::Kind::kValue;
    out.value = value->get<std::string>();
  } else if (kind == "as_scalar_type") {
    const DType dtype = value->is_number_integer() ? DTypeOf(value->get<int64_t>()) : DType::kUndefined;
    if (dtype == DType::kUndefined) return BadInput(StrCat(place, ": no element type of ours"));
    out.kind = Argument::Kind::kValue;
    out.value = static_cast<int64_t>(dtype);
  } else if (kind == "as_graph") {
    SBP_ASSIGN_OR_RETURN(const Json* graph, ObjectIn(*value, "graph", place));
    out.kind = Argument::Kind::kSubgraph;
    auto read = std::make_shared<Subgraph>();
    SBP_RETURN_IF_ERROR(ReadGraph(*graph, depth_ + 1, *read));
    out.subgraph = std::move(read);
  } else if (kind == "as_complex" || kind == "as_sym_float" || kind == "as_custom_obj" || kind == "as_int_lists" ||
             kind == "as_nested_tensors" || kind == "as_sym_floats") {
    return BadInput(StrCat(place, ": arguments of kind ", Quote(kind), " are not read"));
  }  // else a device, a layout, an operator, a condition on sizes: it does not change what is computed
  return out;
}

// "L__self__,,M;L__self__mlp,layers.0.mlp,torch.nn.Linear" -> "layers.0/mlp": each entry's path is longer by a level.
std::string ModuleOf(std::string_view stack) {
  std::vector<std::string> levels;
  std::string_view before;
  for (const std::string_view entry : Split(stack, ';')) {
    const std::vector<std::string_view> fields = Split(entry, ',');
    if (fields.size() < 3 || fields[1].empty() || fields[1].starts_with('_')) continue;
    std::string_view path = fields[1];
    path = path.substr(0, path.find('@'));  // a module's second call
    const bool deeper = !before.empty() && path.starts_with(before) && path.size() > before.size() + 1;
    if (path == before) continue;
    if (!deeper) levels.clear();
    levels.emplace_back(deeper ? path.substr(before.size() + 1) : path);
    before = path;
  }
  return Join(levels, "/");
}

// The last line of the model's own code in a Python traceback, "model.py:12"; of torch's own where there is none.
std::string SourceOf(std::string_view trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  std::string found;
  for (size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at + 1)) {
    const std::string_view rest = trace.substr(at + kFile.size());
    const size_t line = rest.find('"');
    if (line == std::string_view::npos || !rest.substr(line).starts_with(kLine)) continue;
    const std::string_view path = rest.substr(0, line);
    if (path.find(" in ") != std::string_view::npos) continue;  // of torch's tracer
    if ((path.starts_with("torch/") || path.find("/torch/") != std::string_view::npos) && !found.empty()) continue;
    const std::string_view number = rest.substr(line + kLine.size());
    found = StrCat(path.substr(path.rfind('/') + 1), ":", number.substr(0, number.find_first_not_of("0123456789")));
  }
  return found;
}

Status ReadArguments(const Json& list, const ArgumentReader& reader, std::string_view place,
                     std::vector<Argument>& out) {
  out.reserve(list.size());
  for (const Json& item : list) {
    SBP_ASSIGN_OR_RETURN(out.emplace_back(), reader.Read(item, place));
  }
  return OkStatus();
}

Status ReadNode(const Json& json, const ArgumentReader& reader, size_t index, Node& node) {
  SBP_ASSIGN_OR_RETURN(node.target, TextIn(json, "target", StrCat("node ", index)));
  if (const Json* name = Find(json, "name"); name != nullptr && name->is_string()) node.name = name->get<std::string>();
  const std::string place = PlaceOf(node);
  constexpr size_t kLongestTarget = 1000;  // messages show it
  if (node.target.size() > kLongestTarget) {
    return BadInput(StrCat(place, ": a target of ", node.target.size(), " characters"));
  }
  SBP_ASSIGN_OR_RETURN(const Json* inputs, ListIn(json, "inputs", place));
  for (const Json& input : *inputs) {
    SBP_ASSIGN_OR_RETURN(const std::string name, TextIn(input, "name", place));
    SBP_ASSIGN_OR_RETURN(const Json* argument, Member(input, "arg", place));
    SBP_ASSIGN_OR_RETURN(Argument read, reader.Read(*argument, StrCat(place, ", argument ", Quote(name))));
    read.name = name;
    node.inputs.push_back(std::move(read));
  }
  SBP_ASSIGN_OR_RETURN(const Json* outputs, ListIn(json, "outputs", place));
  SBP_RETURN_IF_ERROR(ReadArguments(*outputs, reader, StrCat(place, ", results"), node.outputs));
  const Json* metadata = Find(json, "metadata");
  if (metadata == nullptr) return OkStatus();
  const auto text = [&](std::string_view name) -> std::string_view {
    const Json* value = Find(*metadata, name);
    return value != nullptr && value->is_string() ? value->get_ref<const std::string&>() : std::string_view();
  };
  node.module = ModuleOf(text("nn_module_stack"));
  node.source = SourceOf(text("stack_trace"));
  return OkStatus();
}

}  // namespace

Status ReadGraph(const Json& json, int depth, Subgraph& graph) {
  if (depth > kMaxSubgraphDepth) return BadInput("graphs are nested too deeply");
  constexpr std::string_view kPlace = "the graph";
  SBP_ASSIGN_OR_RETURN(const Json* metas, ObjectIn(json, "tensor_values", kPlace));
  for (const auto& [name, meta] : metas->items()) {
    SBP_ASSIGN_OR_RETURN(graph.tensors[name], ReadTensorMeta(meta, StrCat("tensor ", Quote(name))));
  }
  SizeTable sizes;
  if (const Json* values = Find(json, "sym_int_values")) {
    for (const auto& [name, value] : values->items()) {
      SBP_ASSIGN_OR_RETURN(sizes[name], ReadSize(value, StrCat("size ", Quote(name))));
    }
  }
  const ArgumentReader reader(sizes, depth);
  SBP_ASSIGN_OR_RETURN(const Json* inputs, ListIn(json, "inputs", kPlace));
  SBP_RETURN_IF_ERROR(ReadArguments(*inputs, reader, "an input of the graph", graph.inputs));
  SBP_ASSIGN_OR_RETURN(const Json* outputs, ListIn(json, "outputs", kPlace));
  SBP_RETURN_IF_ERROR(ReadArguments(*outputs, reader, "an output of the graph", graph.outputs));
  SBP_ASSIGN_OR_RETURN(const Json* nodes, ListIn(json, "nodes", kPlace));
  graph.nodes.reserve(nodes->size());
  for (const Json& node : *nodes) {
    SBP_RETURN_IF_ERROR(ReadNode(node, reader, graph.nodes.size(), graph.nodes.emplace_back()));
  }
  return OkStatus();
}

std::string PlaceOf(const Node& node) {
  constexpr size_t kLongest = 200;  // a name may be as long as the file
  return StrCat(CutAtCharacter(node.target, kLongest), " ", Quote(CutAtCharacter(node.name, kLongest)),
                node.source.empty() ? "" : StrCat(" (", node.source, ")"));
}

DType DTypeOf(int64_t scalar_type) {
  for (const TypeRow& row : kTypes) {
    if (row.scalar_type == scalar_type) return row.dtype;
  }
  return DType::kUndefined;
}

Result<TensorMeta> ReadTensorMeta(const Json& json, std::string_view place) {
  TensorMeta meta;
  SBP_ASSIGN_OR_RETURN(const int64_t scalar_type, IntIn(json, "dtype", place));
  meta.type.dtype = DTypeOf(scalar_type);
  if (meta.type.dtype == DType::kUndefined) {
    return BadInput(StrCat(place, " has torch's element type ", scalar_type, ", which has no counterpart"));
  }
  SBP_ASSIGN_OR_RETURN(const Json* sizes, ListIn(json, "sizes", place));
  constexpr size_t kMaxRank = 64;  // torch's own
  if (sizes->size() > kMaxRank) {
    return BadInput(StrCat(place, " has ", sizes->size(), " dimensions; torch has at most ", kMaxRank));
  }
  bool symbolic = false;
  for (const Json& size : *sizes) {
    SBP_ASSIGN_OR_RETURN(Size read, ReadSize(size, StrCat("a size of ", place)));
    if (read.text.empty() && read.number < 0) return BadInput(StrCat(place, " has the size ", read.number));
    symbolic = symbolic || !read.text.empty();
    meta.type.shape.push_back(read.text.empty() ? read.number : kUnknownDim);
    meta.symbols.push_back(std::move(read.text));
  }
  if (!symbolic) meta.symbols.clear();
  if (const Json* offset = Find(json, "storage_offset")) {
    SBP_ASSIGN_OR_RETURN(const Size read, ReadSize(*offset, StrCat("the offset of ", place)));
    meta.storage_offset = read.number;
    if (read.number < 0) return BadInput(StrCat(place, " starts before its storage"));
  }
  const Json* strides = Find(json, "strides");
  if (strides == nullptr || !strides->is_array() || symbolic || strides->size() != sizes->size()) return meta;
  int64_t expected = 1;
  for (size_t d = sizes->size(); d-- > 0;) {
    SBP_ASSIGN_OR_RETURN(const Size stride, ReadSize((*strides)[d], StrCat("a stride of ", place)));
    meta.contiguous = meta.contiguous && (stride.number == expected || meta.type.shape[d] == 1);
    expected = SaturatingMul(expected, std::max<int64_t>(meta.type.shape[d], 1));
  }
  return meta;
}

}  // namespace sbp::torch
