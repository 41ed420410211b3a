#include "meshes/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/jobs.h"
#include "base/text.h"
#include "base/time_budget.h"
#include "meshes/look.h"
#include "meshes/row.h"
#include "meshes/trial.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "schedule/measure.h"
#include "strategy/known_plan.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr size_t kAtATime = 2;          // whatever the number of threads, on which no answer may depend
constexpr double kShareOfLarge = 0.05;  // of the effort, of meshes whose networks are too large, at first
// Candidates of all ops of the meshes that are planned, by unit of effort: some eight seconds of one processor. Of
// large networks hold a few candidates of each op, and their bound is found op by op.
constexpr double kMostWork = 600'000;
constexpr double kAlike = 0.002;  // prices at a glance that differ by less
constexpr double kRoundingOfPrices = 1e-9;
constexpr double kWorkOfLarge = 0.15, kWorkOfPressed = 2;
constexpr double kRoomAboveBound = 0.05;  // between a step and its bound
constexpr int64_t kShortWork = 15'000;    // candidates of all ops: to search among so few is short, under any limit

class Chooser {
 public:
  Chooser(const std::vector<Mesh>& meshes, const RequestOnMesh& request_on, const MeshSearchOptions& options)
      : request_on_(request_on), options_(options), planned_cutoff_(options.known_seconds.value_or(kInfinite)) {
    for (const Mesh& mesh : meshes) rows_.push_back({.trial = {.mesh = mesh}});
  }

  Result<MeshChoice> Run() {
    SBP_RETURN_IF_ERROR(AskStrategy());
    if (searches_ && (rows_.size() > 1 || options_.refines)) {
      SBP_RETURN_IF_ERROR(LookAtAll());
    } else {
      for (Row& row : rows_) row.look.emplace();  // all that is known of it is that it is there
    }
    for (Wave wave = NextWave(); !wave.plans.empty() || !wave.bounds.empty(); wave = NextWave()) {
      SBP_RETURN_IF_ERROR(Do(wave));
    }
    if (planned_.empty() && HasNoneBetter()) return Finish();
    if (planned_.empty()) SBP_RETURN_IF_ERROR(PlanNearest());
    if (planned_.empty()) return NothingFits();
    SBP_RETURN_IF_ERROR(PlanBestAlone());
    SBP_RETURN_IF_ERROR(BoundBest());
    return Finish();
  }

 private:
  using Row = MeshRow;

  struct Wave {
    std::vector<size_t> plans, bounds;  // rows
    bool explains = false;              // where a plan does not fit: how small plans get, which takes long
  };

  bool Cancelled() const { return options_.cancelled && options_.cancelled(); }
  // Then what is known is all that will be; the first plan is made all the same.
  bool Ends() const { return Cancelled() || budget_.IsSpent(); }
  void Tell(std::string_view what) {
    const std::lock_guard lock(telling_);
    if (options_.progress) options_.progress(what);
  }

  // The strategy is the same on all meshes. Where no mesh can be asked for, the first says why.
  Status AskStrategy() {
    Status failure;
    for (const Row& row : rows_) {
      const Result<PlanRequest> request = request_on_(row.trial.mesh);
      if (!request.ok() && failure.ok()) failure = request.status().WithContext(ToString(row.trial.mesh));
      if (!request.ok()) continue;
      SBP_ASSIGN_OR_RETURN(const StrategyRow* strategy, FindStrategy(request->options.strategy));
      searches_ = strategy->has_bound;
      memory_limit_ = request->options.memory_limit;
      const SearchOptions search = SearchOptionsOf(request->strategy);
      effort_ = search.effort;
      if (search.seconds > 0 && rows_.size() > 1) budget_ = TimeBudget(search.seconds);
      measure_ = search.objective == Objective::kSchedule ? StepMeasure::kSchedule : StepMeasure::kSum;
      gap_ = std::max(search.gap, kRoundingOfPrices);
      return OkStatus();
    }
    return failure;
  }

  // Meshes of fewer axes first: their plans are those that finer ones begin with.
  Status LookAtAll() {
    size_t begin = 0;
    while (begin < rows_.size()) {
      size_t end = begin;
      while (end < rows_.size() && rows_[end].trial.mesh.num_axes() == rows_[begin].trial.mesh.num_axes()) ++end;
      RunJobs(end - begin, std::max(1, options_.threads), {}, {},
              [&](size_t i) { LookAtRow(rows_[begin + i], begin); });
      begin = end;
    }
    double work = 0;
    for (const Row& row : rows_) {
      if (!row.failure.ok() && !IsOfMesh(row.failure)) return row.failure.WithContext(ToString(row.trial.mesh));
      if (row.look) work += static_cast<double>(row.look->work);
    }
    is_long_ = work > kMostWork;
    const bool decides = options_.target_step || options_.known_seconds;
    return measure_ == StepMeasure::kSchedule && (!is_long_ || decides) && !budget_.IsSpent() ? BoundAll() : OkStatus();
  }

  // Where planning is short, or bounds decide whether there is anything to plan.
  Status BoundAll() {
    Wave wave;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const std::optional<Look>& look = rows_[i].look;
      if (!look || look->proved_too_large || look->is_schedule_bound_final) continue;
      if (options_.known_seconds && IsExcluded(rows_[i])) continue;
      if (is_long_ && !options_.target_step && IsPressed(rows_[i])) continue;  // it would take as long as a plan
      wave.bounds.push_back(i);
    }
    return Do(wave);
  }

  void LookAtRow(Row& row, size_t coarser_rows) {
    const Mesh& mesh = row.trial.mesh;
    Tell(StrCat("looking at ", ToString(mesh)));
    std::vector<const KnownPlan*> coarser;
    for (size_t i = 0; i < coarser_rows; ++i) {
      const std::optional<Look>& look = rows_[i].look;
      if (look && look->known && PartsOfAxes(look->known->mesh, mesh)) coarser.push_back(&*look->known);
    }
    Result<PlanRequest> request = request_on_(mesh);
    const LookOptions options = {.coarser = coarser,
                                 .schedules = measure_ == StepMeasure::kSchedule,
                                 .enough = options_.target_step ? kInfinite : Cutoff(false, coarser_rows),
                                 .gap = gap_,
                                 .known_seconds = options_.known_seconds,
                                 .cancelled = options_.cancelled,
                                 .stop = [this] { return Ends(); }};
    Result<Look> look = request.ok() ? LookAt(*std::move(request), options) : Result<Look>(request.status());
    if (look.ok()) {
      row.look = *std::move(look);
    } else {
      row.failure = look.status();
    }
  }

  // What the `keep`-th best plan costs: of those planned, or of all that are known of the first so many rows. No more
  // than the one from elsewhere.
  double Cutoff(bool planned_only, size_t rows) const {
    std::vector<double> seconds;
    for (const Row& row : std::span(rows_).first(rows)) {
      if (planned_only && row.trial.outcome != MeshOutcome::kPlanned) continue;
      if (const double price = PriceOf(row); price < kInfinite) seconds.push_back(price);
    }
    const double elsewhere = options_.known_seconds.value_or(kInfinite);
    if (seconds.size() < options_.keep) return elsewhere;
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<ptrdiff_t>(options_.keep) - 1);
    return std::min(elsewhere, seconds[options_.keep - 1]);
  }
  bool IsPressed(const Row& row) const { return sbp::IsPressed(row, memory_limit_); }
  double PriceOf(const Row& row) const { return sbp::PriceOf(row, measure_); }

  // Is there a target that no plan keeps to?
  bool MissesTarget() const {
    const auto keeps = [&](const auto& p) {
      return rows_[p.first].trial.StepSeconds(measure_) <= *options_.target_step;
    };
    return options_.target_step && std::ranges::none_of(planned_, keeps);
  }

  // Nothing on it is better than what is kept, but for what is good enough. A plan that was found at a glance is
  // promised to be made: its own mesh it does not exclude.
  bool IsExcluded(const Row& row) const {
    if (MissesTarget()) return row.look->Bound(measure_) > *options_.target_step;
    const auto excludes = [&](double cutoff) { return row.look->Bound(measure_) >= cutoff * (1 - gap_); };
    return excludes(planned_cutoff_) || (PriceOf(row) > known_cutoff_ && excludes(known_cutoff_));
  }

  // Those neither planned nor excluded, the most promising first.
  std::vector<size_t> RowsLeft() const {
    std::vector<size_t> left;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (row.is_planned || !row.look || row.look->proved_too_large || IsExcluded(row)) continue;
      if (!options_.plans_pressed && IsPressed(row) && row.look->work > kShortWork) continue;
      left.push_back(i);
    }
    const auto promise = [&](size_t i) {
      const Look& look = *rows_[i].look;
      const int64_t excess = look.known && memory_limit_ ? std::max<int64_t>(0, look.peak_bytes - *memory_limit_) : 0;
      // Of those that are alike the one of fewest axes, which stands first.
      const double seconds = std::max(look.known ? look.KnownStep(measure_) : look.Bound(measure_), 1e-12);
      return std::tuple(!look.known, excess, std::floor(std::log(seconds) / kAlike), i);
    };
    std::ranges::sort(left, {}, promise);
    return left;
  }

  // The most promising meshes that are left are planned. Where that takes long, those that would hardly be planned
  // next, or ever, have their bounds raised meanwhile, which may exclude them; the others' are found as they are
  // planned. Empty: all are planned or excluded, or the effort is spent.
  Wave NextWave() {
    Wave wave;
    wave.explains = options_.explains && rows_.size() == 1;
    if (Ends() && !planned_.empty()) return wave;
    planned_cutoff_ = Cutoff(true, rows_.size());
    known_cutoff_ = Cutoff(false, rows_.size());
    std::vector<size_t> left = RowsLeft();
    for (const size_t i : left) {
      if (wave.plans.size() == kAtATime) break;
      const double share = IsPressed(rows_[i]) ? kWorkOfPressed : rows_[i].look->is_large ? kWorkOfLarge : 1;
      const double work = share * static_cast<double>(rows_[i].look->work);
      const double most = kMostWork * std::max(1.0, effort_);
      // What is kept, and the next best; where nothing that fits is found, the search for it ends, too.
      const size_t found = planned_.size() + wave.plans.size() + (IsPressed(rows_[i]) ? 1 : 0);
      const bool wanted = MissesTarget() || found <= options_.keep;
      const bool must = wanted && (work_ < 2 * most || planned_.size() > 0);
      if (searches_ && !must && work_ + work > most) continue;
      work_ += work;
      wave.plans.push_back(i);
    }
    if (!searches_ || measure_ != StepMeasure::kSchedule || rows_.size() == 1 || budget_.IsSpent()) return wave;
    std::erase_if(left, [&](size_t i) { return std::ranges::find(wave.plans, i) != wave.plans.end(); });
    for (size_t l = wave.plans.empty() ? 0 : kAtATime; l < left.size(); ++l) {
      // Under a limit that presses a bound takes as long as a plan.
      const Row& row = rows_[left[l]];
      if (!row.look->is_schedule_bound_final && !IsPressed(row)) wave.bounds.push_back(left[l]);
    }
    return wave;
  }

  Status Do(const Wave& wave) {
    const std::vector<size_t>& plans = wave.plans;
    std::vector<Result<Plan>> made(plans.size(), NoPlan("not yet"));
    std::vector<Status> bounded(wave.bounds.size());
    const int threads = std::max(1, options_.threads / static_cast<int>(std::max<size_t>(1, plans.size())));
    RunJobs(plans.size() + bounded.size(), std::max(1, options_.threads), {}, {}, [&](size_t w) {
      const bool is_plan = w < plans.size();
      Row& row = rows_[is_plan ? plans[w] : wave.bounds[w - plans.size()]];
      Tell(StrCat(is_plan ? "planning " : "bounding ", ToString(row.trial.mesh)));
      if (is_plan) {
        made[w] = PlanRow(row, threads, wave.explains);
      } else {
        bounded[w - plans.size()] = BoundRow(row);
      }
    });
    for (size_t b = 0; b < bounded.size(); ++b) {
      if (!bounded[b].ok()) return bounded[b].WithContext(ToString(rows_[wave.bounds[b]].trial.mesh));
    }
    for (size_t w = 0; w < plans.size(); ++w) {
      Row& row = rows_[plans[w]];
      row.is_planned = true;
      row.is_explained = wave.explains;
      if (!made[w].ok()) {
        row.failure = made[w].status();
        if (!IsOfMesh(row.failure)) return row.failure.WithContext(ToString(row.trial.mesh));
        continue;
      }
      Describe(row.look ? &*row.look : nullptr, *made[w], row.trial);
      planned_.emplace_back(plans[w], *std::move(made[w]));
    }
    std::ranges::stable_sort(planned_, [&](const auto& a, const auto& b) {
      const auto seconds = [&](size_t row) { return rows_[row].trial.StepSeconds(measure_); };
      return std::pair(seconds(a.first), a.first) < std::pair(seconds(b.first), b.first);
    });
    if (planned_.size() > options_.keep + 1) planned_.resize(options_.keep + 1);
    return OkStatus();
  }

  // As far as is of use: what is above what is kept excludes the mesh.
  Status BoundRow(Row& row) {
    const double known = row.look->known_schedule;
    const double enough = options_.target_step ? known : std::min({planned_cutoff_, known_cutoff_, known});
    SBP_ASSIGN_OR_RETURN(PlanRequest request, request_on_(row.trial.mesh));
    const Status bounded = BoundSchedulesOn(
        std::move(request), enough, gap_, [this] { return Ends(); }, *row.look);
    row.look->is_schedule_bound_final = true;
    return !bounded.ok() && IsOfMesh(bounded) ? OkStatus() : bounded;
  }

  Result<Plan> PlanRow(const Row& row, int threads, bool explains) {
    SBP_ASSIGN_OR_RETURN(PlanRequest request, request_on_(row.trial.mesh));
    if (!searches_) {
      request.bound = false;
    } else {
      request.strategy.values["threads"] = static_cast<int64_t>(threads);
      request.strategy.explains = explains;
      if (budget_.is_limited()) request.strategy.values["time"] = budget_.NextPiece();
      request.begins_coarser = rows_.size() == 1;  // else the looks have
      // A start that does not fit leads a search astray, and of few candidates one is short without.
      const bool is_pressed = rows_.size() > 1 && IsPressed(row);
      const bool starts = !is_pressed || row.look->work > kShortWork;
      if (request.strategy.start_signatures.empty() && row.look->known && starts) {
        BeginFrom(*row.look->known, row.trial.mesh, request.strategy);
        request.strategy.start_bound_seconds = row.look->bound;
      }
      if (options_.refines) request.strategy.start_bound_seconds = row.look->bound;
      if ((row.look->is_large && (is_long_ || options_.refines)) || (is_pressed && starts)) {
        request.strategy.values["effort"] = effort_ * kShareOfLarge;
        request.num_ways = 0;  // what it begins with has seen those
      }
    }
    return Make(std::move(request));
  }

  Result<Plan> Make(PlanRequest request) const {
    StageObserver observer;
    observer.cancelled = options_.cancelled;
    return MakePlan(std::move(request), observer);
  }

  // As a request for its mesh alone would be planned.
  Result<Plan> PlanAlone(size_t number) {
    SBP_ASSIGN_OR_RETURN(PlanRequest request, request_on_(rows_[number].trial.mesh));
    if (searches_) request.strategy.values["threads"] = static_cast<int64_t>(std::max(1, options_.threads));
    if (budget_.is_limited()) request.strategy.values["time"] = budget_.NextPiece();
    return Make(std::move(request));
  }

  // What is found from where a look left off may be longer than what is found from nothing: where the bound leaves room
  // for that, the best mesh is also planned so.
  Status PlanBestAlone() {
    auto& [number, plan] = planned_.front();
    Row& row = rows_[number];
    const double step = row.trial.StepSeconds(measure_);
    const bool will_do = options_.target_step && !MissesTarget();
    const bool begins_so = options_.refines || options_.known_seconds || rows_.size() == 1;
    if (!searches_ || will_do || begins_so || row.look->is_large || IsPressed(row) || Ends() ||
        row.trial.StepBound(measure_).value_or(step) >= step * (1 - kRoomAboveBound))
      return OkStatus();
    Tell(StrCat("planning ", ToString(row.trial.mesh), " from nothing"));
    Result<Plan> alone = PlanAlone(number);
    if (!alone.ok()) return IsOfMesh(alone.status()) ? OkStatus() : alone.status();
    MeshTrial trial{.mesh = row.trial.mesh};
    alone->lower_bound_seconds = std::max(alone->lower_bound_seconds, plan.lower_bound_seconds);
    Describe(&*row.look, *alone, trial);
    if (trial.StepSeconds(measure_) < step) {
      row.trial = std::move(trial);
      plan = *std::move(alone);
    }
    return OkStatus();
  }

  // Of strategies that have no bound of their own.
  Status BoundBest() {
    if (searches_) return OkStatus();
    for (size_t k = 0; k < std::min(options_.keep, planned_.size()); ++k) {
      auto& [number, plan] = planned_[k];
      SBP_ASSIGN_OR_RETURN(plan, PlanAlone(number));
      Describe(rows_[number].look ? &*rows_[number].look : nullptr, plan, rows_[number].trial);
    }
    return OkStatus();
  }

  const Row* FastestOfBounds() const { return sbp::FastestOfBounds(rows_, measure_); }

  // Than the plan from elsewhere, on any mesh: that is proved.
  bool HasNoneBetter() const {
    const Row* fastest = FastestOfBounds();
    return options_.known_seconds && fastest != nullptr && IsExcluded(*fastest) &&
           std::ranges::none_of(rows_, &Row::is_planned);
  }

  // Where no plan was found and the effort is spent: the nearest mesh may have one; else its words say what is missing.
  Status PlanNearest() {
    if (!options_.plans_pressed || (options_.target_step && FastestOfBounds() != nullptr)) return OkStatus();
    const std::optional<size_t> nearest = NearestRow(rows_);
    if (!nearest) return OkStatus();
    const Row& row = rows_[*nearest];
    const bool says_more = options_.explains && searches_ && memory_limit_ && !row.is_explained;
    if (row.is_planned && !says_more) return OkStatus();
    if (row.look->proved_too_large && !options_.explains) return OkStatus();
    Wave wave;
    wave.plans = {*nearest};
    wave.explains = options_.explains;
    return Do(wave);
  }

  // The words of the mesh that comes nearest.
  Status NothingFits() const {
    if (!options_.plans_pressed) return NoPlan("no plan that is found at a glance fits into --memory-limit");
    if (const Row* fastest = FastestOfBounds(); options_.target_step && fastest != nullptr) {
      return NoPlan(StrCat("no step takes less than ", FormatSeconds(fastest->look->Bound(measure_)), " on ",
                           ToString(fastest->trial.mesh), ", --target-step is ", FormatSeconds(*options_.target_step)));
    }
    const std::optional<size_t> nearest = NearestRow(rows_);
    if (!nearest) {
      return rows_.front().failure.WithContext(StrCat("no mesh has a plan; ", ToString(rows_.front().trial.mesh)));
    }
    const Row& row = rows_[*nearest];
    if (!options_.explains && row.look->proved_too_large) return NoPlan(PeakProved(*row.look));
    const std::string name = ToString(row.trial.mesh);
    return row.failure.WithContext(
        rows_.size() == 1 ? name : StrCat("no plan on any of ", rows_.size(), " meshes; the nearest is ", name));
  }

  // Outcomes of meshes that have no plan of their own.
  void Judge(Row& row) const {
    MeshTrial& trial = row.trial;
    if (trial.outcome == MeshOutcome::kPlanned) return;
    const bool too_large = row.look && row.look->proved_too_large;
    if (too_large || !row.failure.ok()) {
      const bool not_found = searches_ && !too_large && IsPressed(row);
      const bool for_memory = too_large || (!searches_ && row.failure.lacks_memory());
      trial.outcome = not_found ? MeshOutcome::kNotFound : for_memory ? MeshOutcome::kTooLarge : MeshOutcome::kNoPlan;
      trial.why = too_large ? PeakProved(*row.look) : row.failure.message();
      if (not_found) Describe(*row.look, measure_, trial);
      return;
    }
    Describe(*row.look, measure_, trial);
    trial.outcome = IsExcluded(row) ? MeshOutcome::kPruned : MeshOutcome::kLookedAt;
  }

  MeshChoice Finish() {
    MeshChoice choice;
    const auto free = measure_ == StepMeasure::kSchedule ? &Look::free_schedule_bound : &Look::free_bound;
    std::vector<double> free_bounds;  // a mesh that cannot be asked for has no plan at all
    for (Row& row : rows_) {
      Judge(row);
      if (row.look) free_bounds.push_back(*row.look.*free);
      choice.trials.push_back(std::move(row.trial));
    }
    choice.measure = measure_;
    if (!free_bounds.empty()) choice.free_bound_seconds = std::ranges::min(free_bounds);
    SortTrials(measure_, choice.trials);
    for (auto& [number, plan] : planned_) choice.plans.push_back(std::move(plan));
    if (Cancelled() && !choice.plans.empty())
      choice.plans.front().warnings.push_back("interrupted: meshes that were left were only looked at");
    choice.kept = std::min(options_.keep, choice.plans.size());
    choice.bound_seconds = LeastBound(choice.trials, StepMeasure::kSum);
    choice.schedule_bound_seconds = LeastBound(choice.trials, StepMeasure::kSchedule);
    return choice;
  }

  const RequestOnMesh& request_on_;
  const MeshSearchOptions& options_;
  std::vector<Row> rows_;
  bool searches_ = false, is_long_ = false;
  StepMeasure measure_ = StepMeasure::kSum;
  double effort_ = 1, gap_ = 0;
  TimeBudget budget_;                                 // of all meshes together
  double planned_cutoff_, known_cutoff_ = kInfinite;  // before the last wave
  std::optional<int64_t> memory_limit_;
  double work_ = 0;
  std::vector<std::pair<size_t, Plan>> planned_;  // row and plan, the best first: as many as are kept, and one more
  std::mutex telling_;
};

}  // namespace

std::optional<double> MeshChoice::StepBound() const {
  return measure == StepMeasure::kSchedule ? schedule_bound_seconds : bound_seconds;
}

Result<MeshChoice> ChooseMesh(const std::vector<Mesh>& meshes, const RequestOnMesh& request_on,
                              const MeshSearchOptions& options) {
  return Chooser(meshes, request_on, options).Run();
}

}  // namespace sbp
