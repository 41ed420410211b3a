#include "verify/execute.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "runtime/data/parts.h"
#include "runtime/data/space.h"
#include "runtime/exchange/halo.h"
#include "runtime/execute/local_program.h"
#include "runtime/run/compare.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "verify/sample_data.h"

namespace sbp {
namespace {

constexpr uint64_t kOpSeed = 7;  // of random ops: the same on every device

PreparedOp Prepared(OpForm form, const OpInstance& instance) {
  PreparedOp op;
  op.name = instance.op;
  op.seed = kOpSeed;
  op.form = std::move(form);
  for (const InstanceOperand& operand : instance.operands) {
    op.operands.push_back(operand.present ? operand.type : TensorType{});
    op.values.push_back(operand.value);
  }
  return op;
}

std::vector<TensorView> ViewsOf(const std::vector<Value>& values) {
  std::vector<TensorView> views;
  for (const Value& value : values) views.push_back(value.view);
  return views;
}

// The results of the program on one device; each with room for the largest part, and guards of the whole's size.
Result<std::vector<Value>> RunOn(OpRunner& runner, const PreparedOp& op, const LocalProgram& program,
                                 const std::vector<Value>& operands, const Mesh& mesh) {
  std::vector<Value> results;
  for (size_t r = 0; r < op.form.wanted.size(); ++r) {
    if (!op.form.wanted[r]) {
      results.emplace_back();
      continue;
    }
    const LocalSlot& slot = program.slots[program.num_operands + r];
    SBP_ASSIGN_OR_RETURN(Value value, MakeGuarded(slot.type.dtype, LocalShape(slot.type.shape, slot.layout, mesh),
                                                  slot.type.num_bytes()));
    results.push_back(std::move(value));
  }
  std::vector<TensorView> views = ViewsOf(results);
  SBP_RETURN_IF_ERROR(runner.Run(op, program, ViewsOf(operands), views));
  for (size_t r = 0; r < results.size(); ++r) {
    if (!op.form.wanted[r]) continue;
    if (!GuardsIntact(results[r])) return RunFailed(StrCat("result ", r, ": something is written outside its part"));
    results[r].view = views[r];
  }
  return results;
}

// "element 3 is 0.5, unsharded 0.25"; "": none differs. `is_sum`: parts add up to it; a sum of infinities of either
// sign, as one by zero is in parts, is no number where the whole is infinite.
std::string FirstDifference(const std::vector<double>& out, const std::vector<double>& ref, double allowed,
                            bool is_sum) {
  for (size_t i = 0; i < out.size(); ++i) {
    const bool same =
        out[i] == ref[i] || (std::isnan(out[i]) && (std::isnan(ref[i]) || (is_sum && std::isinf(ref[i]))));
    if (!same && !(std::abs(out[i] - ref[i]) <= allowed)) {
      return StrCat("element ", i, " is ", FormatDouble(out[i]), ", unsharded ", FormatDouble(ref[i]));
    }
  }
  return "";
}

}  // namespace

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return 1e-10;
    case DType::kF32:
    case DType::kC64:
      return 1e-4;
    default:
      return IsFloat(dtype) ? 2e-2 : 0;
  }
}

Result<std::vector<Value>> RunWhole(LocalCompiler& compiler, const PreparedOp& op, const std::vector<Value>& operands) {
  SBP_ASSIGN_OR_RETURN(const LocalProgramRef program, compiler.Compile(op.form, op.operands, op.values));
  OpRunner runner(compiler, DevicePlace{});
  return RunOn(runner, op, *program, operands, compiler.mesh());
}

OpForm InstanceRunner::Form(Signature signature) const {
  OpForm form;
  form.type = instance_->op;
  form.attributes = instance_->attributes;
  form.signature = std::move(signature);
  form.wanted = instance_->Wanted();
  return form;
}

Result<InstanceRunner> InstanceRunner::Make(const RuleSet& rules, const OpInstance& instance, uint64_t seed) {
  InstanceRunner runner;
  runner.instance_ = &instance;
  SBP_ASSIGN_OR_RETURN(runner.rule_, rules.Instantiate(instance.Query()));
  LocalCompiler compiler(rules, Mesh());
  std::mt19937_64 random(seed);
  SBP_ASSIGN_OR_RETURN(runner.sample_, runner.Sample(compiler, random, false));
  for (const std::vector<TensorType>* types : {&runner.rule_->operands, &runner.rule_->results}) {
    for (const TensorType& type : *types) runner.tolerance_ = std::max(runner.tolerance_, ToleranceOf(type.dtype));
  }
  return runner;
}

Result<SampleSet> InstanceRunner::Sample(LocalCompiler& whole_compiler, std::mt19937_64& random, bool beyond) const {
  SampleSet sample;
  for (InstanceOperand operand : instance_->operands) {
    if (beyond && IsFloat(operand.type.dtype)) {
      operand.high = std::max(std::abs(operand.low), std::abs(operand.high));
      operand.low = -operand.high;
    }
    Value value;
    if (operand.present) {
      SBP_ASSIGN_OR_RETURN(value, MakeOperand(operand, random));
    }
    sample.operands.push_back(std::move(value));
  }
  SBP_ASSIGN_OR_RETURN(sample.results, RunWhole(whole_compiler, Prepared(Form({}), *instance_), sample.operands));
  return sample;
}

Result<std::vector<std::vector<Value>>> InstanceRunner::Parts(const SampleSet& sample,
                                                              const std::vector<NdSbp>& layouts, const Mesh& mesh,
                                                              std::mt19937_64& random) const {
  std::vector<std::vector<Value>> parts(sample.operands.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(static_cast<size_t>(mesh.num_devices()));
    if (!sample.operands[i].present()) continue;
    SBP_ASSIGN_OR_RETURN(parts[i], MakeParts(sample.operands[i], instance_->operands[i], layouts[i], mesh, {}, random));
  }
  return parts;
}

Execution InstanceRunner::Run(const Candidate& candidate, const Mesh& mesh, LocalCompiler& compiler,
                              std::mt19937_64& random) const {
  const auto wrong = [](const Status& status) { return Execution{Execution::Outcome::kWrong, 0, status.message()}; };
  PreparedOp op = Prepared(Form(candidate.signature), *instance_);
  auto program = compiler.Compile(op.form, op.operands, op.values);
  if (!program.ok()) return wrong(program.status());
  op.program = *program;
  std::vector<std::vector<Value>> parts(sample_.operands.size());  // operand, device
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!sample_.operands[i].present()) continue;
    auto made = MakeParts(sample_.operands[i], instance_->operands[i], candidate.signature.inputs[i], mesh,
                          HaloOf(rule_->map, candidate, i), random);
    if (!made.ok()) return {Execution::Outcome::kNotRun, 0, made.status().message()};
    parts[i] = *std::move(made);
  }
  std::vector<std::vector<Value>> results(instance_->results);  // result, device
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    OpRunner runner(compiler, DevicePlace{mesh.Coordinates(device)});
    std::vector<Value> operands(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].empty()) operands[i] = parts[i][device];
    }
    auto local = RunOn(runner, op, **program, operands, mesh);
    if (!local.ok()) return wrong(local.status().WithContext(StrCat("device ", device)));
    for (size_t r = 0; r < results.size(); ++r) results[r].push_back(std::move((*local)[r]));
  }
  Execution all;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!op.form.wanted[r]) continue;
    const Execution one = Judge(sample_, r, results[r], candidate.signature.outputs[r], mesh);
    all.error = std::max(all.error, one.error);
    if (one.outcome == Execution::Outcome::kRight || all.outcome == Execution::Outcome::kWrong) continue;
    all.outcome = one.outcome;
    all.what = StrCat(rule_->result_names[r], ": ", one.what);
  }
  return all;
}

Execution InstanceRunner::RunInPlace(const InPlacePair& pair, LocalCompiler& whole_compiler) const {
  const auto wrong = [](std::string what) { return Execution{Execution::Outcome::kWrong, 0, std::move(what)}; };
  const PreparedOp op = Prepared(Form({}), *instance_);
  const auto program = whole_compiler.Compile(op.form, op.operands, op.values);
  if (!program.ok()) return wrong(program.status().message());
  std::vector<Value> operands = sample_.operands, results(instance_->results);
  HostSpace space;
  const auto operand = static_cast<size_t>(pair.operand), over = static_cast<size_t>(pair.result);
  auto copy = space.CopyOf(operands[operand].view);
  if (!copy.ok()) return wrong(copy.status().message());
  operands[operand] = *std::move(copy);
  std::vector<TensorView> views;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!op.form.wanted[r]) {
      views.emplace_back();
      continue;
    }
    const TensorView& expected = sample_.results[r].view;
    auto room = MakeTensor(expected.dtype, expected.shape);
    if (!room.ok()) return wrong(room.status().message());
    results[r] = *std::move(room);
    views.push_back(
        WholeView(expected.dtype, expected.shape, r == over ? operands[operand].view.data : results[r].view.data));
  }
  OpRunner runner(whole_compiler, DevicePlace{});
  const Status status = runner.Run(op, **program, ViewsOf(operands), views);
  if (!status.ok()) return wrong(status.message());
  for (size_t r = 0; r < results.size(); ++r) {
    if (!op.form.wanted[r]) continue;
    const TensorView& expected = sample_.results[r].view;
    const auto size = static_cast<size_t>(expected.bytes());
    if (size > 0 && std::memcmp(views[r].data, expected.data, size) != 0)
      return wrong(StrCat("result ", r, " is another one than with memory of its own"));
  }
  return {};
}

Execution InstanceRunner::Judge(const SampleSet& sample, size_t r, const std::vector<Value>& parts, const NdSbp& layout,
                                const Mesh& mesh) const {
  const auto wrong = [](std::string what) { return Execution{Execution::Outcome::kWrong, 0, std::move(what)}; };
  const Value& reference = sample.results[r];
  const auto copies = AssembleCopies(parts, layout, mesh);
  if (!copies.ok()) return wrong(copies.status().message());
  const auto ref = NumbersOf(reference);
  if (!ref.ok()) return {Execution::Outcome::kNotRun, 0, ref.status().message()};
  double scale = 1;
  for (const double v : *ref) scale = std::isfinite(v) ? std::max(scale, std::abs(v)) : scale;
  Execution all;
  for (const Value& copy : *copies) {
    const auto difference = Compare(copy, reference);
    if (!difference.ok()) return wrong(difference.status().message());
    const double error = difference->max_abs_error / scale;
    const double tolerance = ToleranceOf(reference.view.dtype) > 0 ? tolerance_ : 0;
    if (error <= tolerance) {
      all.error = std::max(all.error, error);
      continue;
    }
    const auto out = NumbersOf(copy);
    if (!out.ok()) return wrong(out.status().message());
    std::string difference_text = FirstDifference(*out, *ref, tolerance * scale, layout.has_partial());
    if (!difference_text.empty()) return {Execution::Outcome::kWrong, all.error, std::move(difference_text)};
  }
  return all;
}

}  // namespace sbp
