#include "verify/missing.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "runtime/data/parts.h"
#include "runtime/data/reduce.h"
#include "runtime/data/value.h"
#include "runtime/execute/local_layouts.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/compare.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"
#include "verify/op_instance.h"

namespace sbp {
namespace {

constexpr size_t kMaxCombinations = 400;
constexpr int kSamples = 8;  // a bool is right by chance every other time

// May its data have any sign, as far as its type has them?
bool HasAnySign(const InstanceOperand& operand) {
  const InstanceOperand usual;
  return !operand.present || operand.value != nullptr ||
         (operand.bound == 0 && operand.data.empty() && operand.low == usual.low && operand.high == usual.high &&
          (IsFloat(operand.type.dtype) || IsSigned(operand.type.dtype)));
}

// Layouts on one axis that a tensor may have, the ones with least memory first.
std::vector<Sbp> LayoutsOf(const TensorType& type, int64_t parts, bool in_order) {
  std::vector<Sbp> layouts;
  for (int d = 0; d < type.rank(); ++d) {
    if (type.shape[d] >= parts) layouts.push_back(Sbp::Split(d));
  }
  layouts.push_back(Sbp::Broadcast());
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin}) {
    if (type.dtype == DType::kBool && kind == ReduceKind::kSum) continue;  // "or", as the maximum
    if (kind != ReduceKind::kSum && !in_order) continue;
    if (CanReduce(type.dtype, kind).ok()) layouts.push_back(Sbp::Partial(kind));
  }
  return layouts;
}

class MissingSearch {
 public:
  MissingSearch(const InstanceRunner& runner, const CandidateList& candidates, const Mesh& mesh,
                LocalCompiler& compiler, std::mt19937_64& random)
      : runner_(runner), candidates_(candidates), mesh_(mesh), compiler_(compiler), random_(random) {}

  std::vector<Signature> Run() {
    if (!DrawSamples()) return {};
    const std::vector<InstanceOperand>& operands = runner_.instance().operands;
    // Numbers of one sign, or within bounds, keep an order that others would not.
    const bool in_order = std::all_of(operands.begin(), operands.end(), HasAnySign);
    std::vector<std::vector<Sbp>> options;
    for (const InstanceOperand& operand : operands) {
      const bool varies = operand.present && operand.value == nullptr && operand.data.empty();
      options.push_back(varies ? LayoutsOf(operand.type, mesh_.num_devices(), in_order)
                               : std::vector<Sbp>{Sbp::Broadcast()});
    }
    std::vector<size_t> choice(operands.size(), 0);
    std::vector<Signature> missing;
    for (size_t tried = 0; tried < kMaxCombinations; ++tried) {
      Signature signature;
      for (size_t i = 0; i < choice.size(); ++i) signature.inputs.push_back(NdSbp({options[i][choice[i]]}));
      if (!IsTrivial(signature) && Try(signature) && !IsDominated(signature)) missing.push_back(std::move(signature));
      size_t i = 0;
      while (i < choice.size() && ++choice[i] == options[i].size()) choice[i++] = 0;
      if (i == choice.size()) break;
    }
    return missing;
  }

 private:
  // False: the op does not run on other data, or some result never varies.
  bool DrawSamples() {
    for (int s = 0; s < kSamples; ++s) {
      auto sample = runner_.Sample(compiler_, random_, true);
      if (!sample.ok()) return false;
      samples_.push_back(*std::move(sample));
    }
    for (size_t r = 0; r < runner_.instance().results; ++r) {
      std::set<double> seen;
      for (const SampleSet& sample : samples_) {
        const auto numbers = NumbersOf(sample.results[r]);
        if (numbers.ok()) seen.insert(numbers->begin(), numbers->end());
      }
      if (seen.size() < 2) return false;
    }
    return true;
  }

  bool IsTrivial(const Signature& signature) const {
    const bool all_b = std::all_of(signature.inputs.begin(), signature.inputs.end(),
                                   [](const NdSbp& layout) { return layout.is_broadcast(); });
    return all_b || std::any_of(candidates_.candidates.begin(), candidates_.candidates.end(),
                                [&](const Candidate& c) { return c.signature.inputs == signature.inputs; });
  }

  static bool AllLocal(const std::vector<NdSbp>& from, const std::vector<NdSbp>& to) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (!(from[i] == to[i]) && !IsLocalChange(from[i], to[i])) return false;
    }
    return true;
  }
  bool IsDominated(const Signature& signature) const {
    return std::any_of(candidates_.candidates.begin(), candidates_.candidates.end(), [&](const Candidate& c) {
      return AllLocal(signature.inputs, c.signature.inputs) && AllLocal(c.signature.outputs, signature.outputs);
    });
  }

  // Fills in the results' layouts; false: for some result there is none that is right on every sample.
  bool Try(Signature& signature) {
    const RuleInstance& rule = *runner_.rule();
    std::vector<std::vector<Sbp>> possible;
    for (const TensorType& type : rule.results) possible.push_back(LayoutsOf(type, mesh_.num_devices(), true));
    for (const SampleSet& sample : samples_) {
      const auto results = RunLocally(sample, signature);
      if (!results.ok()) return false;
      for (size_t r = 0; r < possible.size(); ++r) {
        std::erase_if(possible[r], [&](Sbp layout) { return !Fits(sample, r, (*results)[r], NdSbp({layout})); });
        if (possible[r].empty()) return false;
      }
    }
    for (const std::vector<Sbp>& layouts : possible) signature.outputs.push_back(NdSbp({layouts.front()}));
    return true;
  }

  // What each device gets from the op on its parts, as if they were whole. By result, device.
  Result<std::vector<std::vector<Value>>> RunLocally(const SampleSet& sample, const Signature& signature) {
    SBP_ASSIGN_OR_RETURN(const auto parts, runner_.Parts(sample, signature.inputs, mesh_, random_));
    std::vector<std::vector<Value>> results(runner_.instance().results);
    for (int64_t device = 0; device < mesh_.num_devices(); ++device) {
      PreparedOp op;
      op.form = runner_.Form({});
      op.seed = 1;
      std::vector<Value> operands;
      for (size_t i = 0; i < parts.size(); ++i) {
        Value part = parts[i][device];
        if (part.present()) part.view = WholeView(part.view.dtype, part.view.shape, part.view.data);
        op.operands.push_back({part.view.dtype, part.view.shape});
        op.values.push_back(runner_.instance().operands[i].value);
        operands.push_back(std::move(part));
      }
      SBP_ASSIGN_OR_RETURN(std::vector<Value> local, RunWhole(compiler_, op, operands));
      for (size_t r = 0; r < results.size(); ++r) results[r].push_back(std::move(local[r]));
    }
    return results;
  }

  bool Fits(const SampleSet& sample, size_t r, std::vector<Value> parts, const NdSbp& layout) const {
    const TensorView& whole = sample.results[r].view;
    for (int64_t device = 0; device < mesh_.num_devices(); ++device) {
      TensorView& view = parts[device].view;
      const TensorView expected =
          PartView(whole.dtype, whole.whole, layout, mesh_, mesh_.Coordinates(device), view.data);
      if (view.shape != expected.shape || view.dtype != expected.dtype) return false;
      view = expected;
    }
    return runner_.Judge(sample, r, parts, layout, mesh_).outcome == Execution::Outcome::kRight;
  }

  const InstanceRunner& runner_;
  const CandidateList& candidates_;
  const Mesh& mesh_;
  LocalCompiler& compiler_;
  std::mt19937_64& random_;
  std::vector<SampleSet> samples_;
};

}  // namespace

std::vector<Signature> FindMissing(const InstanceRunner& runner, const CandidateList& candidates, const Mesh& mesh,
                                   LocalCompiler& whole_compiler, std::mt19937_64& random) {
  return MissingSearch(runner, candidates, mesh, whole_compiler, random).Run();
}

}  // namespace sbp
