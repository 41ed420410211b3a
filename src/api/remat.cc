#include "api/remat.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "remat/policy.h"
#include "report/facts.h"
#include "schedule/measure.h"

namespace sbp {
namespace {

constexpr double kRoom = 0.8;     // of the limit
constexpr double kLittle = 0.01;  // of a step
constexpr int64_t kParts = 8;     // of the layers: a plan under a tight limit takes long

// Place `at` of the row of mixes: `at / layers` corners are behind it.
std::string MixAt(int64_t at, int64_t layers) {
  const auto policies = AllRematPolicies();
  const std::string_view base = policies[static_cast<size_t>(at / layers)].name;
  const int64_t first = at % layers;
  if (first == 0) return std::string(base);
  const std::string_view above = policies[static_cast<size_t>(at / layers + 1)].name;
  return at < layers ? StrCat(above, ":", first) : StrCat(above, ":", first, ",", base);
}

class Chooser {
 public:
  Chooser(int64_t layers, const PlanWithRemat& plan, const GraphWithRemat& graph, const BoundWithRemat& free_bound,
          const RematTimeIsSpent& is_spent)
      : layers_(layers), plan_(plan), graph_(graph), free_bound_(free_bound), is_spent_(is_spent) {}

  Result<RematChoice> Run() {
    const auto corners = static_cast<int64_t>(AllRematPolicies().size());
    int64_t corner = 0;
    SBP_ASSIGN_OR_RETURN(bool fits, Try(0));
    while (!fits && corner + 1 < corners) {
      SBP_ASSIGN_OR_RETURN(fits, Try(++corner * layers_));
    }
    if (!fits) return failure_.WithContext("--remat auto: with every layer computed again");
    if (corner > 0 && MayGain()) {
      int64_t below = (corner - 1) * layers_, above = corner * layers_;  // does not fit, fits
      const int64_t close = std::max<int64_t>(1, layers_ / kParts);
      while (above - below > close && !IsSpent()) {
        const int64_t middle = below + (above - below) / 2;
        const double before = best_seconds_;
        SBP_ASSIGN_OR_RETURN(const bool middle_fits, Try(middle));
        (middle_fits ? above : below) = middle;
        if (middle_fits && best_seconds_ >= before * (1 - kLittle)) break;  // half of what is left gains less
      }
    }
    if (corner + 1 < corners && !HasRoom() && !IsFreeOfLimit(corner) && !IsSpent())
      SBP_RETURN_IF_ERROR(Try((corner + 1) * layers_, best_seconds_).status());
    return std::move(*best_);
  }

 private:
  // Asked where there is a plan.
  bool IsSpent() {
    if (is_spent_ && is_spent_()) best_->is_cut_short = true;
    return best_->is_cut_short;
  }

  // Does the limit not press the plan at all?
  bool HasRoom() const {
    const std::optional<int64_t>& limit = best_->plan.options.memory_limit;
    return limit && static_cast<double>(best_->plan.memory.peak_bytes) <= kRoom * static_cast<double>(*limit);
  }

  // Would no plan with that policy of all layers be shorter than the best one, by more than a little, without the
  // limit?
  bool IsFreeOfLimit(int64_t corner) const {
    return free_bound_ && free_bound_(MixAt(corner * layers_, layers_)) >= best_seconds_ * (1 - kLittle);
  }

  // A mix that computes less again saves no more than what is computed again now.
  bool MayGain() const { return SumAgain(best_->plan).seconds > kLittle * best_seconds_; }

  // Does a plan fit? With `known`: one that is better.
  Result<bool> Try(int64_t at, std::optional<double> known = std::nullopt) {
    RematTrial trial{.remat = MixAt(at, layers_)};
    if (graph_) {
      SBP_ASSIGN_OR_RETURN(const std::string graph, graph_(trial.remat));
      const auto [entry, is_new] = trial_of_.try_emplace(graph, tried_.size());
      if (!is_new) {
        const RematTrial& before = tried_[entry->second];
        trial = {.remat = trial.remat, .fits = before.fits, .seconds = before.seconds, .same_as = before.remat};
        tried_.push_back(trial);
        if (best_) best_->tried = tried_;
        return trial.fits;
      }
    }
    Result<std::optional<Plan>> made = plan_(trial.remat, known);
    if (!made.ok() && made.status().code() != Code::kNoPlan) return made.status();
    trial.is_no_better = made.ok() && !*made;
    trial.fits = made.ok() && *made;
    if (trial.fits) trial.seconds = StepSeconds(**made, MeasureOf(**made));
    if (!made.ok()) failure_ = made.status();
    tried_.push_back(trial);
    const bool is_better = trial.fits && (!best_ || trial.seconds < best_seconds_);
    if (is_better) {
      best_seconds_ = trial.seconds;
      best_ = RematChoice{trial.remat, **std::move(made), {}, false};
    }
    if (best_) best_->tried = tried_;
    return trial.fits;
  }

  const int64_t layers_;
  const PlanWithRemat& plan_;
  const GraphWithRemat& graph_;
  const BoundWithRemat& free_bound_;
  const RematTimeIsSpent& is_spent_;
  std::map<std::string, size_t> trial_of_;  // by graph
  std::optional<RematChoice> best_;
  double best_seconds_ = 0;  // its, by its measure
  std::vector<RematTrial> tried_;
  Status failure_;
};

}  // namespace

Result<RematChoice> ChooseRemat(int64_t layers, const PlanWithRemat& plan, const GraphWithRemat& graph,
                                const BoundWithRemat& free_bound, const RematTimeIsSpent& is_spent) {
  return Chooser(std::max<int64_t>(layers, 1), plan, graph, free_bound, is_spent).Run();
}

std::string ToString(const RematChoice& choice) {
  std::vector<std::string> trials;
  size_t num_plans = 0;
  for (const RematTrial& trial : choice.tried) {
    const bool is_same = !trial.same_as.empty();
    trials.push_back(StrCat(trial.remat, is_same              ? StrCat(" makes the same graph as ", trial.same_as)
                                         : trial.fits         ? StrCat(" ", FormatSeconds(trial.seconds))
                                         : trial.is_no_better ? ": no plan is better"
                                                              : ": no plan was found that fits"));
    num_plans += is_same || trial.is_no_better ? 0 : 1;
  }
  return StrCat("--remat ", choice.remat, ", of ", num_plans,
                num_plans == 1 ? " plan: " : " plans: ", Join(trials, "; "),
                choice.is_cut_short ? "; then the time was spent" : "");
}

}  // namespace sbp
