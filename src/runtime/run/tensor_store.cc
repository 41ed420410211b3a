#include "runtime/run/tensor_store.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <variant>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/kernel.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

uint64_t SeedOf(uint64_t seed, std::string_view name, uint32_t micro_batch) {
  uint64_t hash = HashCombine(0x5eed, seed);
  for (const char c : name) hash = HashCombine(hash, static_cast<unsigned char>(c));
  return HashCombine(hash, micro_batch);
}

bool IsRetyped(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) >= 16; }

}  // namespace

Result<Value> CastTo(const Value& value, DType dtype) {
  if (value.view.dtype == dtype) return value;
  SBP_ASSIGN_OR_RETURN(Value result, MakeTensor(dtype, value.view.shape));
  const KernelRow* cast = FindKernel("Cast", value.view.dtype);
  if (cast == nullptr) return Defect(StrCat("no kernel casts ", DTypeName(value.view.dtype)));
  Attributes attributes;
  attributes.Set("to", static_cast<int64_t>(dtype));
  Scratch scratch;
  KernelCall call;
  call.op_type = "Cast";
  call.attributes = &attributes;
  call.inputs = {value.view};
  call.outputs = {result.view};
  call.scratch = &scratch;
  SBP_RETURN_IF_ERROR(cast->run(call));
  return result;
}

bool StoresBits(DType stored, DType dtype) { return stored == DType::kU16 && dtype == DType::kBF16; }

namespace {

// Values of 8 bits are taken for those of 4 and 2, of which NumPy has no arrays.
bool MayHoldNarrow(DType given, DType type) {
  return (given == DType::kI8 || given == DType::kU8) && IsInteger(type) && DTypeBits(type) < 8;
}

// Of elements of 8 bits.
Status CheckRange(const TensorData& data, DType type) {
  const auto low = static_cast<int64_t>(LowestNumber(type)), high = static_cast<int64_t>(HighestNumber(type));
  const auto size = std::min(data.bytes.size(), static_cast<size_t>(data.type.num_elements()));
  for (size_t i = 0; i < size; ++i) {
    const int64_t value = data.type.dtype == DType::kI8 ? static_cast<int64_t>(static_cast<int8_t>(data.bytes[i]))
                                                        : static_cast<int64_t>(static_cast<uint8_t>(data.bytes[i]));
    if (value >= low && value <= high) continue;
    std::vector<int64_t> at(data.type.shape.size());
    auto rest = static_cast<int64_t>(i);
    for (size_t d = at.size(); d-- > 0; rest /= data.type.shape[d]) at[d] = rest % data.type.shape[d];
    return BadInput(
        StrCat("holds ", value, " at [", Join(at, ", "), "]; ", DTypeName(type), " is from ", low, " to ", high));
  }
  return OkStatus();
}

Result<Value> TensorFromData(const TensorData& data, const TensorType& type) {
  if (MayHoldNarrow(data.type.dtype, type.dtype)) SBP_RETURN_IF_ERROR(CheckRange(data, type.dtype));
  const bool same_bits = StoresBits(data.type.dtype, type.dtype);
  SBP_ASSIGN_OR_RETURN(Value value, MakeTensor(same_bits ? type.dtype : data.type.dtype, data.type.shape));
  if (static_cast<int64_t>(data.bytes.size()) < value.view.bytes()) {
    return BadInput(StrCat("has ", data.bytes.size(), " bytes of values for ", ToString(data.type)));
  }
  if (value.view.bytes() > 0) std::memcpy(value.view.data, data.bytes.data(), static_cast<size_t>(value.view.bytes()));
  return CastTo(value, type.dtype);
}

}  // namespace

Result<Value> ValueFromData(const TensorData& data, const TensorType& type) {
  const bool tensor = data.type.kind == ValueKind::kTensor;
  const bool fits = data.type.dtype == type.dtype || (IsFloat(data.type.dtype) && IsFloat(type.dtype)) ||
                    StoresBits(data.type.dtype, type.dtype) || MayHoldNarrow(data.type.dtype, type.dtype);
  const bool empty = !tensor && data.entries.empty();  // says nothing of element type and sizes
  if (data.type.kind != type.kind || (!empty && (data.type.shape != type.shape || !fits))) {
    return BadInput(StrCat("is ", ToString(data.type), "; the model wants ", ToString(type)));
  }
  if (tensor) return TensorFromData(data, type);
  Value value;
  std::vector<Value> entries;
  for (const TensorData& entry : data.entries) {
    SBP_ASSIGN_OR_RETURN(Value part, ValueFromData(entry, {type.dtype, entry.type.shape, entry.type.kind}));
    entries.push_back(std::move(part));
  }
  if (type.kind == ValueKind::kSequence) {
    value.sequence = std::make_shared<const std::vector<Value>>(std::move(entries));
  } else if (entries.empty()) {
    value.none = true;
  } else {
    value = std::move(entries[0]);
  }
  return value;
}

TensorData DataFromValue(std::string name, const Value& value) {
  return {std::move(name),
          {value.view.dtype, value.view.shape},
          std::string(reinterpret_cast<const char*>(value.view.data), static_cast<size_t>(value.view.bytes()))};
}

namespace {

// The part of a parameter's values that a tensor of `type` holds.
Result<Value> CutPart(const Value& whole, const WeightPart& part, const TensorType& type) {
  SBP_ASSIGN_OR_RETURN(Value result, MakeTensor(type.dtype, type.shape));
  const auto axis = static_cast<size_t>(part.axis);
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= type.shape[d];
  for (size_t d = axis + 1; d < type.shape.size(); ++d) inner *= type.shape[d];
  const int64_t bits = DTypeBits(type.dtype), from = part.type.shape[axis] * inner, to = type.shape[axis] * inner;
  if (bits % 8 != 0) return Defect("a part of packed elements");
  for (int64_t o = 0; o < outer; ++o) {
    std::memcpy(result.view.data + o * to * bits / 8, whole.view.data + (o * from + part.start * inner) * bits / 8,
                static_cast<size_t>(to * bits / 8));
  }
  return result;
}

}  // namespace

Status TensorStore::Give(const std::vector<TensorData>& tensors) {
  std::multimap<std::string, TensorId> known;  // a parameter's parts by its name
  std::vector<std::string> names;
  for (uint32_t t = 0; t < graph_.tensors.size(); ++t) {
    const Tensor& tensor = graph_.tensors[t];
    if (tensor.role == TensorRole::kActivation) continue;
    names.push_back(tensor.part != nullptr ? tensor.part->whole : tensor.name);
    known.emplace(names.back(), TensorId(t));
  }
  for (const TensorData& data : tensors) {
    const auto [begin, end] = known.equal_range(data.name);
    if (begin == end) {
      return BadInput(StrCat("no input or parameter is named ", Quote(data.name), DidYouMean(data.name, names)));
    }
    for (auto at = begin; at != end; ++at) SBP_RETURN_IF_ERROR(GiveTo(at->second, data).WithContext(Quote(data.name)));
    given_[data.name] = {};
  }
  return OkStatus();
}

Status TensorStore::Give(TensorId id, const Value& value) {
  const Tensor& tensor = graph_.tensor(id);
  if (!value.view.present() || value.view.shape != tensor.type.shape) {
    const TensorType type{value.view.dtype, value.view.shape};
    return Defect(StrCat(Quote(tensor.name), " is given ", ToString(type), "; it is ", ToString(tensor.type)));
  }
  SBP_ASSIGN_OR_RETURN(Value own, CastTo(value, tensor.type.dtype));
  const std::lock_guard<std::mutex> lock(mutex_);
  values_[{id.value, 0}] = std::move(own);
  given_[tensor.name] = {};
  return OkStatus();
}

Status TensorStore::GiveTo(TensorId id, const TensorData& data) {
  const Tensor& tensor = graph_.tensor(id);
  TensorType type = tensor.type;
  if (tensor.part != nullptr) type.shape = tensor.part->type.shape;
  SBP_ASSIGN_OR_RETURN(Value value, ValueFromData(data, type));
  if (tensor.part != nullptr) {
    SBP_ASSIGN_OR_RETURN(value, CutPart(value, *tensor.part, tensor.type));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  values_[{id.value, 0}] = std::move(value);
  return OkStatus();
}

Result<Value> TensorStore::Get(TensorId id, uint32_t micro_batch) {
  const Tensor& tensor = graph_.tensor(id);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tensor.role == TensorRole::kParameter || given_.count(tensor.name) > 0) micro_batch = 0;
  const auto known = values_.find({id.value, micro_batch});
  if (known != values_.end()) return known->second;
  SBP_RETURN_IF_ERROR(RefuseCancelled(cancelled_));
  auto value = Make(id, micro_batch);
  if (!value.ok()) return value.status().WithContext(StrCat("tensor ", Quote(tensor.name)));
  values_[{id.value, micro_batch}] = *value;
  return value;
}

Result<Value> TensorStore::DrawnFor(const Tensor& tensor, uint32_t micro_batch) {
  TensorId id;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (by_name_.empty()) {
      for (uint32_t t = 0; t < graph_.tensors.size(); ++t) {
        if (graph_.tensors[t].role != TensorRole::kActivation) by_name_.emplace(graph_.tensors[t].name, TensorId(t));
      }
    }
    const auto found = by_name_.find(tensor.name);
    if (found == by_name_.end()) return Value();
    id = found->second;
    const Tensor& own = graph_.tensor(id);
    if (own.type != tensor.type || own.role != tensor.role || own.literal != nullptr || own.data != tensor.data)
      return Value();
  }
  return Get(id, micro_batch);
}

Result<Value> TensorStore::GetIn(const Graph& of, TensorId id, uint32_t micro_batch) {
  if (&of == &graph_) return Get(id, micro_batch);
  const Tensor& tensor = of.tensor(id);
  if (tensor.literal != nullptr) return MakeTensor(*tensor.literal);
  return RunFailed(StrCat("tensor ", Quote(tensor.name), " of a subgraph: its value is not known"));
}

Result<Value> TensorStore::Make(TensorId id, uint32_t micro_batch) {
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.literal != nullptr) return MakeTensor(*tensor.literal);
  if (shared_ != nullptr && tensor.part == nullptr) {
    SBP_ASSIGN_OR_RETURN(Value drawn, shared_->DrawnFor(tensor, micro_batch));
    if (drawn.view.present()) return drawn;
  }
  const Tensor& stored = stored_.tensor(id);
  if (tensor.part == nullptr) {
    TensorType type = stored.type;
    if (tensor.data && tensor.data->stored != DType::kUndefined) type.dtype = tensor.data->stored;
    return MakeWhole(id, tensor.name, tensor.type, type, micro_batch);
  }
  TensorType whole = tensor.part->type;
  whole.dtype = tensor.type.dtype;
  SBP_ASSIGN_OR_RETURN(const Value value, MakeWhole(id, tensor.part->whole, whole, stored.part->type, micro_batch));
  return CutPart(value, *tensor.part, tensor.type);
}

Result<Value> TensorStore::MakeWhole(TensorId id, const std::string& name, const TensorType& type,
                                     const TensorType& stored, uint32_t micro_batch) {
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.data && reader_) {
    const Result<std::string> bytes = reader_(*tensor.data, stored.num_bytes());
    if (bytes.ok()) {
      SBP_ASSIGN_OR_RETURN(Value value, ValueFromData({name, stored, *bytes}, stored));
      return CastTo(value, type.dtype);
    }
  }
  if (type.kind != ValueKind::kTensor)
    return RunFailed(StrCat("is ", ToString(type), ", which has no random values; give it with --inputs: a folder of ",
                            "input_N.pb, or an .npz archive (entries of a sequence: NAME/0, NAME/1, ...)"));
  random_[name] = tensor.role == TensorRole::kParameter;
  SBP_ASSIGN_OR_RETURN(Value value, MakeTensor(type.dtype, type.shape));
  SBP_RETURN_IF_ERROR(FillRandom(roles_.RoleOf(id), SeedOf(seed_, name, micro_batch), value.view, cancelled_));
  return value;
}

std::vector<std::string> TensorStore::random_inputs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, is_parameter] : random_) {
    if (!is_parameter) names.push_back(name);
  }
  return names;
}

int64_t TensorStore::random_parameters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(random_.begin(), random_.end(), [](const auto& entry) { return entry.second; });
}

namespace {

LiteralRef RetypedLiteral(const LiteralRef& literal, DType to) {
  if (literal == nullptr || !IsRetyped(literal->type.dtype)) return literal;
  auto copy = std::make_shared<Literal>(*literal);
  copy->type.dtype = to;
  copy->raw.clear();
  return copy;
}

// Does an attribute name an element type? As its op's schema says, or, where that says a number, by its name.
bool NamesType(std::string_view attribute, const OpDefinition* op) {
  static constexpr std::string_view kNames[] = {"to",           "dtype",          "stash_type", "softmax_precision",
                                                "output_dtype", "output_datatype"};
  if (std::find(std::begin(kNames), std::end(kNames), attribute) != std::end(kNames)) return true;
  if (op == nullptr) return false;
  const std::vector<Parameter>& parameters = op->overloads.front().parameters;
  return std::ranges::any_of(parameters,
                             [&](const Parameter& p) { return p.kind == ParameterKind::kType && p.name == attribute; });
}

// The types that an op's attributes name where they are not given, as its first overload has them.
void RetypeDefaults(const OpDefinition& op, DType to, Attributes& attributes) {
  for (const Parameter& parameter : op.overloads.front().parameters) {
    if (!NamesType(parameter.name, &op) || !parameter.default_value || attributes.Find(parameter.name) != nullptr)
      continue;
    const auto* number = std::get_if<int64_t>(&*parameter.default_value);
    if (number != nullptr && *number > 0 && *number < 32 && IsRetyped(static_cast<DType>(*number))) {
      attributes.Set(parameter.name, static_cast<int64_t>(to));
    }
  }
}

AttributesRef RetypedAttributes(const AttributesRef& attributes, const OpDefinition* op, const RuleSet& rules,
                                DType to) {
  auto changed = std::make_shared<Attributes>(*attributes);
  for (auto& [name, value] : changed->mutable_entries()) {
    if (auto* number = std::get_if<int64_t>(&value)) {
      if (NamesType(name, op) && *number > 0 && *number < 32 && IsRetyped(static_cast<DType>(*number))) {
        *number = static_cast<int64_t>(to);
      }
    } else if (auto* literal = std::get_if<LiteralRef>(&value)) {
      *literal = RetypedLiteral(*literal, to);
    } else if (auto* body = std::get_if<std::shared_ptr<const Graph>>(&value)) {
      *body = std::make_shared<const Graph>(Retyped(**body, rules, to));
    }
  }
  if (op != nullptr) RetypeDefaults(*op, to, *changed);
  return changed;
}

}  // namespace

Graph Retyped(const Graph& graph, const RuleSet& rules, DType to) {
  Graph result = graph;
  for (Tensor& tensor : result.tensors) {
    if (IsRetyped(tensor.type.dtype)) tensor.type.dtype = to;
    tensor.literal = RetypedLiteral(tensor.literal, to);
  }
  std::map<std::pair<uint32_t, const Attributes*>, AttributesRef> changed;  // equal sets of one op stay shared
  for (Op& op : result.ops) {
    AttributesRef& shared = changed[{op.type, op.attributes.get()}];
    if (shared == nullptr) shared = RetypedAttributes(op.attributes, rules.Find(graph.type_of(op)), rules, to);
    op.attributes = shared;
  }
  return result;
}

}  // namespace sbp
