#include "problem/classes.h"

#include <unordered_map>

#include "base/hash.h"
#include "base/ids.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;

// Numbers attribute sets and literals by value; pointers are only a short cut.
template <typename T, typename HashValue, typename EqualValue>
class ValueNumbers {
 public:
  ValueNumbers(HashValue hash, EqualValue equal) : hash_(hash), equal_(equal) {}

  uint32_t Number(const T* value) {
    if (value == nullptr) return kAbsent;
    const auto [known, is_new] = by_pointer_.try_emplace(value, 0);
    if (!is_new) return known->second;
    std::vector<const T*>& same_hash = by_hash_[hash_(*value)];
    for (const T* other : same_hash) {
      if (equal_(*other, *value)) return known->second = by_pointer_.at(other);
    }
    same_hash.push_back(value);
    return known->second = count_++;
  }

 private:
  HashValue hash_;
  EqualValue equal_;
  uint32_t count_ = 0;
  std::unordered_map<const T*, uint32_t> by_pointer_;
  std::unordered_map<size_t, std::vector<const T*>> by_hash_;
};

struct KeyHash {
  size_t operator()(const std::vector<uint32_t>& key) const { return HashRange(key.size(), key); }
};

// Makes the key of an op: a row of small numbers that is equal exactly for equal ops.
class KeyMaker {
 public:
  KeyMaker(const Graph& graph, const RuleSet& rules)
      : graph_(graph),
        rules_(rules),
        reads_(graph.op_types.size()),
        attributes_(HashAttributes, Equal),
        literals_(HashLiteral, [](const Literal& a, const Literal& b) { return a == b; }) {
    type_numbers_.reserve(graph.tensors.size());
    std::unordered_map<TensorType, uint32_t> numbers;
    for (const Tensor& tensor : graph.tensors) {
      type_numbers_.push_back(numbers.try_emplace(tensor.type, static_cast<uint32_t>(numbers.size())).first->second);
    }
  }

  const std::vector<uint32_t>& Key(const Op& op) {
    key_.assign({op.type, attributes_.Number(op.attributes.get()), static_cast<uint32_t>(op.inputs.size()),
                 static_cast<uint32_t>(op.captures.size())});
    size_t operand = 0;
    for (TensorId tensor : op.inputs) AddOperand(op, tensor, operand++);
    for (TensorId tensor : op.captures) AddOperand(op, tensor, operand++);
    for (TensorId tensor : op.outputs) key_.push_back(tensor.valid() ? type_numbers_[tensor.index()] : kAbsent);
    return key_;
  }

 private:
  void AddOperand(const Op& op, TensorId tensor, size_t operand) {
    key_.push_back(tensor.valid() ? type_numbers_[tensor.index()] : kAbsent);
    if (!tensor.valid() || !Reads(op.type, operand)) return;
    key_.push_back(literals_.Number(graph_.tensor(tensor).literal.get()));
  }

  bool Reads(uint32_t type, size_t operand) {
    std::vector<bool>& known = reads_[type];
    while (known.size() <= operand) known.push_back(rules_.ReadsValue(graph_.op_types[type], known.size()));
    return known[operand];
  }

  const Graph& graph_;
  const RuleSet& rules_;
  std::vector<uint32_t> type_numbers_;    // per tensor
  std::vector<std::vector<bool>> reads_;  // per op type, per operand
  ValueNumbers<Attributes, size_t (*)(const Attributes&), bool (*)(const Attributes&, const Attributes&)> attributes_;
  ValueNumbers<Literal, size_t (*)(const Literal&), bool (*)(const Literal&, const Literal&)> literals_;
  std::vector<uint32_t> key_;
};

}  // namespace

OpClasses ClassifyOps(const Graph& graph, const RuleSet& rules) {
  OpClasses classes;
  classes.class_of.reserve(graph.ops.size());
  KeyMaker keys(graph, rules);
  std::unordered_map<std::vector<uint32_t>, uint32_t, KeyHash> known;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const auto [entry, is_new] = known.try_emplace(keys.Key(graph.ops[o]), static_cast<uint32_t>(classes.first.size()));
    if (is_new) classes.first.push_back(OpId(o));
    classes.class_of.push_back(entry->second);
  }
  return classes;
}

}  // namespace sbp
