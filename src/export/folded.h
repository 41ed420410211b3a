// What exporters to training frameworks share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "export/exporter.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "sbp/mesh.h"

namespace sbp {

// Refuses what a form cannot say, by name and reason, or, where the export is lossy, puts it into the report.
class FoldedReport {
 public:
  FoldedReport(std::string_view form, const Fold& fold, const Mesh& mesh)
      : form_(form),
        recipe_(NearestRecipe(fold, mesh)),
        follows_(fold.follows_nearest),
        left_(fold.unfolded),
        derived_(fold.derived) {}
  // For forms without names of modules: what lies whole where tensor parallelism splits cannot be said.
  void CannotListModules(const Fold& fold) { left_.insert(left_.end(), fold.whole.begin(), fold.whole.end()); }
  // For forms whose framework says itself which ranks form a group.
  void CannotOrderRanks(const Mesh& mesh);
  void Cannot(std::string name, std::string reason) { left_.push_back({std::move(name), std::move(reason)}); }
  void Note(std::string line) { notes_.push_back(std::move(line)); }
  // Error (kBadInput): something cannot be said, and the export is not lossy.
  Status Finish(const ExportOptions& options, std::vector<std::string>& report) const;

 private:
  std::string form_, recipe_;
  bool follows_;  // was the plan made by that recipe?
  std::vector<Unfolded> left_, derived_;
  std::vector<std::string> notes_;
};

// Does one stage stand for all axes of a use? The largest; axes of stage 0 beside it are `outer` copies of its groups.
struct ShardedData {
  int zero = 0;
  int zero_of_copies = 0;  // parallelism/words.h
  bool regathers = false;
  int64_t sharded = 1;     // ranks over which something is split, ...
  int64_t context = 1;     // ... of these, those that split the sequence
  int64_t replicated = 1;  // data ranks over which nothing is
};
// Of data and expert axes; and of context axes where they hold parts. What differs is reported.
ShardedData DataOf(const Fold& fold, const Plan& plan, FoldedReport& report);

// How a parameter is split over all tensor axes together; kOther: not alike over each, or experts lie apart over one.
ParameterStyle StyleOverTensor(const Fold& fold, const FoldedParameter& parameter);

// Reports a batch that so many ranks do not split evenly, and parameters that tensor or expert ranks do not, with what
// the nearest sizes cost.
void CheckEven(const Fold& fold, const Plan& plan, int64_t batch_ranks, FoldedReport& report);

// Is a matrix split as nn.Linear's, [out, in], is not: by columns along dimension 1, or by rows along 0? Such is
// Conv1D's, as GPT-2 has it, and that of graphs from elsewhere. Not tables, which lie alike everywhere.
bool IsTurned(const Plan& plan, const Fold& fold, const FoldedParameter& parameter);

// "model.layers.12.mlp" -> "model.layers.*.mlp": a level of digits only stands for every layer.
std::string ModulePattern(std::string_view module);

// Does any tensor axis, of more than one rank, leave this between layers?
bool HasResidual(const Fold& fold, ResidualUse use);

// The recomputation that all layers have; layers of another one are reported.
Recomputation UniformRecomputation(const Fold& fold, FoldedReport& report);

}  // namespace sbp
