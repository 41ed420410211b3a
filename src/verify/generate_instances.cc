#include "verify/generate_instances.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "base/dtype.h"
#include "graph/graph.h"
#include "rule/overload.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct Style {
  bool uneven = false, optional = true, ellipsis = true, small_integers = false;
};

DType TypeFor(const Parameter& parameter, const std::map<std::string, DType>& known) {
  if (const auto at = known.find(parameter.type); at != known.end()) return at->second;
  for (const DType type : {DType::kF32, DType::kI64, DType::kI32, DType::kBool, DType::kU8, DType::kC64, DType::kF16}) {
    if (TypeMatches(parameter.type, type)) return type;
  }
  return ParseDType(parameter.type).value_or(DType::kF32);
}

// Sizes by letter, given out in the order in which letters are met.
class Sizes {
 public:
  explicit Sizes(const Style& style) : style_(style) {}

  Shape ShapeOf(const NotationTensor& tensor) {
    Shape shape;
    for (const NotationDim& dim : tensor) {
      if (dim.ellipsis) {
        if (style_.ellipsis) shape.insert(shape.end(), {style_.uneven ? 5 : 4, style_.uneven ? 3 : 6});
      } else if (dim.factors.empty()) {
        shape.push_back(dim.literal >= 0 ? dim.literal : 3);
      } else {
        int64_t product = 1;
        for (const NotationFactor& factor : dim.factors) product *= SizeOf(factor);
        shape.push_back(product);
      }
    }
    return shape;
  }

 private:
  int64_t SizeOf(const NotationFactor& factor) {
    static constexpr int64_t kEven[] = {8, 4, 6, 12}, kUneven[] = {7, 5, 9, 6};
    const size_t i = sizes_.size() % 4;
    return sizes_.try_emplace(factor.name, factor.granularity * (style_.uneven ? kUneven[i] : kEven[i])).first->second;
  }

  Style style_;
  std::map<std::string, int64_t> sizes_;
};

size_t CountOf(const std::vector<Parameter>& results) {
  size_t count = 0;
  for (const Parameter& result : results) count += result.variadic ? 2 : 1;
  return count;
}

// `shapes`: of the tensor parameters in their order; `line`: whose notation gives them instead, or nullptr.
OpInstance Make(const OpOverload& overload, const RuleLine* line, const Style& style, const Shape& usual) {
  OpInstance instance;
  instance.op = overload.op;
  instance.results = CountOf(overload.results);
  Sizes sizes(style);
  std::map<std::string, DType> types;
  size_t tensor = 0;
  for (const Parameter& parameter : overload.parameters) {
    if (parameter.keyword || (parameter.kind != ParameterKind::kTensor && parameter.kind != ParameterKind::kScalar)) {
      continue;
    }
    InstanceOperand operand;
    operand.type.dtype = TypeFor(parameter, types);
    types[parameter.name] = operand.type.dtype;
    if (parameter.kind == ParameterKind::kTensor) {
      const bool noted = line != nullptr && tensor < line->operands.size();
      operand.type.shape = noted ? sizes.ShapeOf(line->operands[tensor]) : usual;
      ++tensor;
    }
    if (style.small_integers && IsInteger(operand.type.dtype)) operand.bound = 3;
    operand.present = !parameter.optional || style.optional;
    for (int repeat = 0; repeat < (parameter.variadic ? 2 : 1); ++repeat) instance.operands.push_back(operand);
  }
  while (!instance.operands.empty() && !instance.operands.back().present) instance.operands.pop_back();
  return instance;
}

// The attributes of the schema: defaults, then each of value 0 or 1 with the other one.
std::vector<Attributes> AttributeSets(const OpOverload& overload) {
  std::vector<Attributes> sets(1);
  for (const Parameter& parameter : overload.parameters) {
    if (!parameter.keyword || !parameter.default_value) continue;
    const auto* value = std::get_if<int64_t>(&*parameter.default_value);
    if (value == nullptr || (*value != 0 && *value != 1)) continue;
    Attributes set;
    set.Set(parameter.name, 1 - *value);
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace

std::vector<OpInstance> GenerateInstances(const OpDefinition& op) {
  static const Shape kUsual[] = {{4, 6}, {7, 5}, {8}, {2, 4, 6}, {2, 4, 6, 6}, {4, 4}};
  std::vector<OpInstance> instances;
  const auto add = [&](OpInstance instance) {
    instance.text = ToString(instance);
    const auto same = [&](const OpInstance& known) { return known.text == instance.text; };
    if (std::none_of(instances.begin(), instances.end(), same)) instances.push_back(std::move(instance));
  };
  for (const OpOverload& overload : op.overloads) {
    for (const Attributes& set : AttributeSets(overload)) {
      const auto attributes = std::make_shared<const Attributes>(set);
      for (int bits = 0; bits < 16; ++bits) {
        const Style style{(bits & 1) != 0, (bits & 2) == 0, (bits & 4) == 0, (bits & 8) != 0};
        const auto finish = [&](OpInstance instance) {
          instance.attributes = attributes;
          add(std::move(instance));
        };
        bool noted = false;
        for (const RuleLine& line : overload.rules) {
          if (line.whole || line.inherited || !line.factorizer.empty()) continue;
          finish(Make(overload, &line, style, {}));
          noted = true;
        }
        for (const Shape& usual : kUsual) {
          if (!noted) finish(Make(overload, nullptr, style, usual));
        }
      }
    }
  }
  return instances;
}

std::optional<OpInstance> Grown(const OpInstance& instance) {
  OpInstance grown = instance;
  grown.line = 0;
  bool changed = false;
  for (InstanceOperand& operand : grown.operands) {
    if (!operand.data.empty() && operand.data.size() > 1) return std::nullopt;
    if (operand.value != nullptr) continue;
    for (int64_t& size : operand.type.shape) {
      if (size < 3) continue;
      ++size;
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  grown.text = ToString(grown);
  return grown;
}

}  // namespace sbp
