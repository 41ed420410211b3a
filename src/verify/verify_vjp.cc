#include "verify/verify_vjp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/jobs.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/evaluate.h"
#include "decompose/vjp.h"
#include "grad/grad.h"
#include "grad/request.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "runtime/run/tensor_store.h"
#include "sbp/mesh.h"
#include "verify/generate_instances.h"
#include "verify/inner_ops.h"
#include "verify/op_instance.h"
#include "verify/sample_data.h"
#include "verify/verify.h"

namespace sbp {
namespace {

constexpr int kEntries = 12;         // compared of each operand
constexpr double kStep = 1e-4;       // of a central difference, relative to the element
constexpr double kSmallest = 1e-2;   // element that it is relative to
constexpr double kNoise = 1e-8;      // of differences: depends on the machine, and is not reported
constexpr double kTolerance = 1e-6;  // of a cotangent against a difference
constexpr double kSame = 1e-9;       // of a vjp against the derivative of the expansion

// The instance with all floats in f64.
OpInstance InF64(OpInstance instance, const OpDefinition& op) {
  const auto widen = [](DType type) { return IsFloat(type) ? DType::kF64 : type; };
  for (InstanceOperand& operand : instance.operands) {
    operand.type.dtype = widen(operand.type.dtype);
    if (operand.value == nullptr || !IsFloat(operand.value->type.dtype)) continue;
    Literal value = *operand.value;
    value.type.dtype = DType::kF64;
    operand.value = std::make_shared<const Literal>(std::move(value));
  }
  Attributes attributes = *instance.attributes;
  for (const Parameter& p : op.overloads.front().parameters) {
    const bool is_type = p.kind == ParameterKind::kType || p.name == "stash_type";
    const AttributeValue* given = is_type ? attributes.Find(p.name) : nullptr;
    const AttributeValue* value = given != nullptr ? given : is_type && p.default_value ? &*p.default_value : nullptr;
    if (value == nullptr) continue;
    const auto* code = std::get_if<int64_t>(value);
    const auto* name = std::get_if<std::string>(value);
    const DType type = code != nullptr   ? static_cast<DType>(*code)
                       : name != nullptr ? ParseDType(*name).value_or(DType::kUndefined)
                                         : DType::kUndefined;
    if (IsFloat(type)) attributes.Set(p.name, static_cast<int64_t>(DType::kF64));
  }
  instance.attributes = std::make_shared<const Attributes>(std::move(attributes));
  return instance;
}

// The op as a graph: operands of known value are parameters, the others inputs.
Result<Graph> GraphOf(const OpInstance& instance, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef rule, rules.Instantiate(instance.Query()));
  GraphBuilder builder(instance.op);
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    const InstanceOperand& operand = instance.operands[i];
    inputs.push_back(operand.present ? rule->operand_names[i] : "");
    if (!operand.present) continue;
    if (operand.value != nullptr) {
      builder.AddParameter(inputs.back(), operand.type, operand.value);
    } else {
      builder.AddInput(inputs.back(), operand.type);
    }
  }
  for (size_t r = 0; r < rule->results.size(); ++r) {
    outputs.push_back(rule->result_names[r]);
    builder.DescribeTensor(outputs.back(), rule->results[r]);
  }
  builder.AddOp(instance.op, "op", inputs, outputs, *instance.attributes);
  for (const std::string& output : outputs) builder.AddOutput(output);
  return builder.Build(instance.op);
}

using Numbers = std::vector<double>;

Numbers DoublesOf(const Value& value) {
  const double* data = value.view.as<double>();
  return Numbers(data, data + value.view.elements());
}

// Runs a graph of literals and inputs.
class Runner {
 public:
  // `seen`, unless null, gets the value of each tensor.
  Runner(const RuleSet& rules, const Graph& graph, std::vector<Value>* seen = nullptr)
      : compiler_(rules, Mesh()),
        graph_(graph),
        interpreter_(compiler_,
                     {.parameter = [](const Graph& of, TensorId id) { return MakeTensor(*of.tensor(id).literal); },
                      .seen = Keeper(seen)}) {}

  Result<std::vector<Value>> Run(const std::map<std::string, Value>& values) {
    std::vector<Value> inputs;
    for (const TensorId id : graph_.inputs) inputs.push_back(values.at(graph_.tensor(id).name));
    return interpreter_.Run(graph_, std::move(inputs));
  }

 private:
  static std::function<Status(TensorId, const Value&)> Keeper(std::vector<Value>* seen) {
    if (seen == nullptr) return nullptr;
    return [seen](TensorId id, const Value& value) {
      (*seen)[id.index()] = value;
      return OkStatus();
    };
  }

  LocalCompiler compiler_;
  const Graph& graph_;
  Interpreter interpreter_;
};

// One instance: its data, cotangents of its results, and what both give.
class Trial {
 public:
  Trial(const RuleSet& rules, const OpInstance& instance) : rules_(rules), instance_(instance) {}

  // False: no float reaches a float, so that there is nothing to differentiate.
  Result<bool> Prepare(std::mt19937_64& random) {
    SBP_ASSIGN_OR_RETURN(forward_, GraphOf(instance_, rules_));
    for (const TensorId id : forward_.inputs) {
      const Tensor& tensor = forward_.tensor(id);
      if (IsFloat(tensor.type.dtype)) floats_.push_back(tensor.name);
    }
    bool any = false;
    for (const TensorId id : forward_.outputs) {
      const DType type = forward_.tensor(id).type.dtype;
      any = any || type == DType::kF64;
      if (IsFloat(type) && type != DType::kF64) return false;  // too coarse for differences, whatever goes in
    }
    if (floats_.empty() || !any) return false;
    size_t input = 0;
    for (const InstanceOperand& operand : instance_.operands) {
      if (!operand.present || operand.value != nullptr) continue;
      SBP_ASSIGN_OR_RETURN(values_[forward_.tensor(forward_.inputs[input++]).name], MakeOperand(operand, random));
    }
    runner_ = std::make_unique<Runner>(rules_, forward_);
    SBP_ASSIGN_OR_RETURN(const std::vector<Value> results, runner_->Run(values_));
    for (size_t r = 0; r < results.size(); ++r) {
      const Tensor& tensor = forward_.tensor(forward_.outputs[r]);
      if (!IsFloat(tensor.type.dtype)) continue;
      InstanceOperand any_float{.type = {DType::kF64, results[r].view.shape}};
      SBP_ASSIGN_OR_RETURN(values_["cotangent/" + tensor.name], MakeOperand(any_float, random));
    }
    return true;
  }

  const std::vector<std::string>& floats() const { return floats_; }

  // By operand; one that is absent is zero. `custom`: as GradRequest has it.
  // `inner`, unless null, gets the ops that compute them.
  Result<std::map<std::string, Numbers>> Cotangents(const std::vector<std::string>& expanded,
                                                    InnerOps* inner = nullptr) {
    GradRequest request{.loss = "cotangents", .wrt_inputs = floats_, .may_be_zero = true, .expanded = expanded};
    SBP_ASSIGN_OR_RETURN(const GradGraph made, MakeGradGraph(forward_, rules_, request));
    std::vector<Value> seen(inner != nullptr ? made.graph.tensors.size() : 0);
    Runner runner(rules_, made.graph, inner != nullptr ? &seen : nullptr);
    SBP_ASSIGN_OR_RETURN(const std::vector<Value> outputs, runner.Run(values_));
    if (inner != nullptr) inner->Add(instance_.op, instance_.text, made.graph, rules_, seen);
    std::map<std::string, Numbers> cotangents;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = made.graph.tensor(made.graph.outputs[i]).name;
      const bool is_input = name.starts_with("grad/") && values_.contains(name.substr(5));  // a known value stays
      if (is_input) cotangents[name.substr(5)] = DoublesOf(outputs[i]);
    }
    for (const std::string& name : floats_) {
      cotangents.try_emplace(name, Numbers(static_cast<size_t>(values_.at(name).view.elements()), 0.0));
    }
    return cotangents;
  }

  // Goes on without the operands by which there is no derivative. False: none is left, or there are none such.
  bool LeaveOutRefused() {
    const std::vector<std::string> all = floats_;
    std::vector<std::string> kept;
    for (const std::string& name : all) {
      floats_ = {name};
      if (Cotangents({}).ok()) kept.push_back(name);
    }
    floats_ = kept;
    return !kept.empty() && kept.size() < all.size();
  }

  // The derivative by one element: five points; nothing where two widths disagree.
  Result<std::optional<double>> Difference(const std::string& name, int64_t element) {
    double* place = values_.at(name).view.as<double>() + element;
    const double middle = *place;
    double estimates[2];
    for (int width = 0; width < 2; ++width) {
      const double h = kStep * std::max(kSmallest, std::abs(middle)) / (width + 1);
      double at[4];
      const double steps[4] = {-2 * h, -h, h, 2 * h};
      for (int i = 0; i < 4; ++i) {
        *place = middle + steps[i];
        const Result<double> value = Weighted();
        *place = middle;
        if (!value.ok()) return value.status();
        at[i] = *value;
      }
      estimates[width] = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
    }
    const bool agree = std::abs(estimates[0] - estimates[1]) <= kTolerance * (1 + std::abs(estimates[0]));
    return agree ? std::optional(estimates[0]) : std::nullopt;
  }

 private:
  // The sum of the results, weighted by their cotangents.
  Result<double> Weighted() {
    SBP_ASSIGN_OR_RETURN(const std::vector<Value> results, runner_->Run(values_));
    double sum = 0;
    for (size_t r = 0; r < results.size(); ++r) {
      const Tensor& tensor = forward_.tensor(forward_.outputs[r]);
      if (!IsFloat(tensor.type.dtype)) continue;
      const Numbers weights = DoublesOf(values_.at("cotangent/" + tensor.name)), numbers = DoublesOf(results[r]);
      for (size_t i = 0; i < numbers.size(); ++i) sum += numbers[i] * weights[i];
    }
    return sum;
  }

  const RuleSet& rules_;
  const OpInstance& instance_;
  Graph forward_;
  std::vector<std::string> floats_;      // inputs
  std::map<std::string, Value> values_;  // of inputs and cotangents
  std::unique_ptr<Runner> runner_;
};

// In as many digits as a difference has.
std::string Short(double value) { return FormatGeneral(value); }

double Largest(const Numbers& numbers) {
  double largest = 1;
  for (const double v : numbers) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

// A line of its rules says so (rules/README.md).
bool IsDetached(const OpDefinition& op) {
  return std::ranges::any_of(op.overloads, [](const OpOverload& overload) {
    return std::ranges::any_of(overload.rules, [](const RuleLine& line) {
      return std::ranges::any_of(line.clauses, [](const RuleClause& clause) { return clause.kind == "detached"; });
    });
  });
}

// All instances of one op: a job of one thread.
class VjpVerifier {
 public:
  VjpVerifier(const RuleSet& rules, const OpDefinition& op, std::vector<OpInstance> given, uint64_t seed)
      : rules_(rules), op_(op), given_(std::move(given)), seed_(seed) {
    report_.op = op.name;
    report_.by_expansion = std::ranges::all_of(op.overloads, [](const OpOverload& o) { return o.vjps.empty(); });
  }

  void Run() {
    if (FindSpecialOp(op_.name) != nullptr) return;
    for (const OpInstance& instance : given_) RunInstance(instance);
    if (!given_.empty() && op_.builtin) return;
    for (const OpInstance& instance : GenerateInstances(op_)) RunInstance(instance);
  }

  const VerifiedVjp& report() const { return report_; }
  const InnerOps& inner() const { return inner_; }
  std::vector<VerifyFinding> failed, skipped;

 private:
  void Skip(const std::string& instance, const std::string& reason) {
    for (VerifyFinding& known : skipped) {
      if (known.reason != reason) continue;
      ++known.count;
      return;
    }
    skipped.push_back({op_.name, instance, "", "", reason});
  }

  // Is it a vjp's own word that there is no derivative, or a value that it needs, and no mistake in it?
  static bool MayRefuse(const std::string& why) {
    return why.find(kNoDerivative) != std::string::npos || why.find(kMustBeKnown) != std::string::npos;
  }

  void RunInstance(const OpInstance& written) {
    const OpInstance instance = InF64(written, op_);
    std::mt19937_64 random(HashRange(seed_, instance.text));
    Trial trial(rules_, instance);
    const Result<bool> differentiable = trial.Prepare(random);
    if (!differentiable.ok()) {  // `rules verify` says why those of our ops do not run
      if (!op_.builtin) Skip(instance.text, StrCat("does not run: ", differentiable.status().message()));
      return;
    }
    if (!*differentiable) return;
    auto cotangents = trial.Cotangents({}, &inner_);
    if (!cotangents.ok() && MayRefuse(cotangents.status().message()) && trial.LeaveOutRefused()) {
      cotangents = trial.Cotangents({}, &inner_);
    }
    if (!cotangents.ok()) {
      const std::string message = cotangents.status().message(), why = message.substr(0, message.find('\n'));
      if (report_.by_expansion || MayRefuse(why)) {
        Skip(instance.text, why);
      } else {
        failed.push_back({op_.name, instance.text, "", "", why});
      }
      return;
    }
    ++report_.instances;
    if (IsDetached(op_)) return ExpectNothing(instance, *cotangents);
    for (const auto& [name, numbers] : *cotangents) CompareWithDifferences(trial, instance, name, numbers, random);
    if (!report_.by_expansion && HasExpansion(op_.name, rules_)) CompareWithExpansion(trial, instance, *cotangents);
  }

  void ExpectNothing(const OpInstance& instance, const std::map<std::string, Numbers>& cotangents) {
    for (const auto& [name, numbers] : cotangents) {
      report_.entries += static_cast<int64_t>(numbers.size());
      if (std::ranges::all_of(numbers, [](double number) { return number == 0; })) continue;
      failed.push_back({op_.name, instance.text, "", "", StrCat("d.", name, " is not 0, and the rule says detached")});
    }
  }

  void CompareWithDifferences(Trial& trial, const OpInstance& instance, const std::string& name, const Numbers& numbers,
                              std::mt19937_64& random) {
    std::vector<size_t> elements(numbers.size());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = i;
    for (size_t i = 0; i < elements.size() && i < kEntries; ++i) {
      std::swap(elements[i], elements[i + random() % (elements.size() - i)]);
    }
    elements.resize(std::min<size_t>(elements.size(), kEntries));
    const double scale = Largest(numbers);
    for (const size_t element : elements) {
      const auto difference = trial.Difference(name, static_cast<int64_t>(element));
      if (!difference.ok()) {
        Skip(instance.text, difference.status().message());
        return;
      }
      if (!*difference || !std::isfinite(**difference)) {
        ++report_.at_kinks;
        continue;
      }
      ++report_.entries;
      const double error = std::abs(numbers[element] - **difference) / scale;
      if (error <= kTolerance) {
        if (error > kNoise) report_.worst_error = std::max(report_.worst_error, error);
        continue;
      }
      failed.push_back({op_.name, instance.text, "", "",
                        StrCat("d.", name, ", element ", element, ", is ", Short(numbers[element]),
                               "; the central difference is ", Short(**difference))});
      return;
    }
  }

  void CompareWithExpansion(Trial& trial, const OpInstance& instance, const std::map<std::string, Numbers>& own) {
    const auto expanded = trial.Cotangents({op_.name});
    if (!expanded.ok()) return;  // an expansion may stop at what has no derivative
    for (const auto& [name, numbers] : *expanded) {
      const Numbers& mine = own.at(name);
      const double scale = Largest(numbers);
      for (size_t i = 0; i < numbers.size(); ++i) {
        // Where the expansion divides 0 by 0 the vjp may know better.
        if (!std::isfinite(numbers[i]) || std::abs(mine[i] - numbers[i]) <= kSame * scale) continue;
        failed.push_back(
            {op_.name, instance.text, "", "",
             StrCat("d.", name, ", element ", i, ", is ", Short(mine[i]), "; of the expansion ", Short(numbers[i]))});
        return;
      }
    }
  }

  const RuleSet& rules_;
  const OpDefinition& op_;
  std::vector<OpInstance> given_;
  uint64_t seed_;
  VerifiedVjp report_;
  InnerOps inner_;
};

}  // namespace

Result<VjpReport> VerifyVjps(const RuleSet& rules, const VerifyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const auto by_op, InstancesByOp(rules, options));
  std::vector<VjpVerifier> jobs;
  for (const auto& [name, instances] : by_op) jobs.emplace_back(rules, *rules.Find(name), instances, options.seed);
  RunJobs(jobs.size(), options.threads, options.progress, options.cancelled, [&](size_t i) { jobs[i].Run(); });
  SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
  InnerOps inner;
  for (const VjpVerifier& job : jobs) inner.Merge(job.inner());
  VjpReport report;
  for (const VjpVerifier& job : jobs) {
    if (job.report().entries > 0) report.ops.push_back(job.report());
    report.entries += job.report().entries;
    report.failed.insert(report.failed.end(), job.failed.begin(), job.failed.end());
    report.skipped.insert(report.skipped.end(), job.skipped.begin(), job.skipped.end());
  }
  report.inner = VerifyInnerOps(inner, rules, options);
  return report;
}

}  // namespace sbp
