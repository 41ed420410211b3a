// Strategies: one question (which candidate per op?), several answers. One file each, one row in all_strategies.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// What a strategy returns: one candidate per op, the layouts in which inputs and parameters start, and why.
struct OpChoice {
  uint32_t candidate = 0;    // index into the op's list
  int32_t alternative = -1;  // the best one not chosen; -1: there was no other
  double price = 0;          // in the strategy's own unit
  double alternative_price = 0;
  uint32_t reason = 0;  // index into Assignment::reasons
};
struct Assignment {
  std::vector<OpChoice> ops;
  std::vector<NdSbp> sources;        // per tensor; meaningful for inputs and parameters
  std::vector<std::string> reasons;  // shared texts
  std::string price_unit;            // the row's, or the criterion's: "order value", "bytes", "seconds"
  std::vector<LayoutConflict> conflicts;
  double lower_bound_seconds = 0;
  bool has_bound = false;
  std::optional<double> schedule_bound_seconds;  // as Plan has it
  std::optional<double> uniformity_cost;         // as Plan has it
  bool cut_short = false;                        // as Plan::cut_short
};

// How far a search has come.
struct SearchState {
  double seconds = 0;      // since it began
  double cost = 0;         // step time of the best plan so far, in seconds; 0: none yet
  double lower_bound = 0;  // 0: none yet
};

// The value of a strategy's own option: as its kind says.
using OptionValue = std::variant<double, int64_t, uint64_t, std::string>;

// An earlier plan of the same problem, its pins and memory limit perhaps other ones.
struct EarlierAnswer {
  std::shared_ptr<const Plan> plan;
  Pins pins;
};

struct StrategyOptions {
  std::string criterion = "bytes";      // of strategies that have criteria: a row of all_criteria.cc
  std::optional<int64_t> memory_limit;  // bytes per device
  std::optional<int64_t> prefetch;      // as PlanOptions has it
  // The strategy's own options of kinds kNumber to kName, by name; absent: the strategy's default.
  std::map<std::string, OptionValue, std::less<>> values;
  // Of kAssignment: a signature per op and the layouts of sources.
  std::vector<Signature> given_signatures;
  std::vector<NdSbp> given_sources;
  // Of kStart: an earlier plan, by this graph's ops and tensors; absent: not in that plan. Empty: no plan.
  std::vector<std::optional<Signature>> start_signatures;
  std::vector<std::optional<NdSbp>> start_sources;
  bool start_waits = false;  // sums are searched as if there were none: what comes of it is then compared by schedule
  double start_bound_seconds = 0;  // no assignment's prices add up to less, as is known from elsewhere; 0: nothing is
  std::optional<EarlierAnswer> start_answer;  // that plan, where it answers this problem but for pins and limit
  // Ways known in the field to solve such a problem, each the problem with pins: where a search may begin, and which it
  // must not fall behind. Candidates have the problem's numbers. Error: the pins do not fit.
  size_t num_ways = 0;
  std::function<Result<Problem>(size_t way)> way;
  std::function<void(const SearchState&)> found;  // now and then
  bool only_bound = false;                        // the bounds are all that is wanted of the answer
  bool only_begins = false;                       // another search begins with the answer: no need to polish it
  bool explains = true;  // where nothing fits, is it found out how small plans get? Else the error only says so
  // Asked now and then in long searches; true: stop and return the best so far.
  std::function<bool()> cancelled;
  std::function<void(double done)> progress;  // 0..1
};

// What an option of a strategy is, and so who reads it: the strategy itself from `values`, or for the last ones whoever
// makes the request (api/planning.h), since strategies know no files.
enum class OptionKind : uint8_t {
  kNumber,      // double, least to most
  kCount,       // int64_t, least to most
  kSeed,        // uint64_t
  kShare,       // double of at least 0 and below 1; as text also "1%"
  kShareOrOff,  // likewise, or -1: as text "off"
  kName,        // std::string, one of those that value_name lists: "schedule|sum"
  kCriterion,   // a name of all_criteria.cc: StrategyOptions::criterion
  kAssignment,  // a file, a plan or pins for every op: given_*
  kStart,       // a file, an earlier plan: start_*
  kLog,         // a file that is written: what `found` is told
};

struct StrategyOption {
  std::string_view name;  // "effort": --effort
  OptionKind kind;
  std::string_view value_name;  // what stands for its value in help: "X"
  std::string_view doc;
  double least = 0, most = 0;  // kNumber, kCount
  bool required = false;
};

// When a search may end, and what to try where it ended too early.
struct SearchGoal {
  double gap = 0;
  std::string more_effort;  // "--effort 20"
};

struct StrategyRow {
  std::string_view name;
  std::string_view doc;
  std::span<const StrategyOption> options;
  std::string_view unit;  // of OpChoice's prices; "": that of the criterion
  bool has_bound;         // on several devices, Assignment::has_bound
  Result<Assignment> (*solve)(const Problem& problem, const StrategyOptions& options);
  // Are the values good together? null: any are. Error: kUsage, options named as flags.
  Status (*check)(const StrategyOptions& options) = nullptr;
  SearchGoal (*goal)(const StrategyOptions& options) = nullptr;  // null: it does not search
  double (*uniform)(const StrategyOptions& options) = nullptr;   // PlanOptions::uniform; null: it asks no such thing
  // May the step run ops in another order than the graph's, where that is shorter? null: no.
  bool (*reorders)(const StrategyOptions& options) = nullptr;
};
std::span<const StrategyRow> AllStrategies();  // all_strategies.cc; the first one is the default
Result<const StrategyRow*> FindStrategy(std::string_view name);

// The row's option of this kind, or name; null: it has none.
const StrategyOption* OptionOfKind(const StrategyRow& row, OptionKind kind);
const StrategyOption* OptionNamed(const StrategyRow& row, std::string_view name);

// By which criterion a plan of this strategy was made; "": the strategy has none, or there is no such strategy.
std::string_view CriterionOf(std::string_view strategy, std::string_view criterion);

// A criterion of the greedy walk, `--cost NAME`: one file and one row in all_criteria.cc. An answer may depend on the
// op's class, its allowed candidates, the produced layouts and the batch axes of its tensors only: equal questions are
// asked once.
struct CriterionQuery {
  const Problem* problem;
  OpId op;
  const CandidateList* list;
  std::span<const NdSbp> produced;    // per operand: the layout its producer wrote
  std::span<const uint32_t> allowed;  // indices into list->candidates, in registration order
};
struct CriterionAnswer {
  uint32_t candidate = 0;
  int32_t alternative = -1;
  double price = 0, alternative_price = 0;
};
// One line of a price, for explain: "input a: -3 (as produced)".
struct PriceTerm {
  std::string what;
  double value = 0;
};
struct CriterionRow {
  std::string_view name;
  std::string_view unit;
  std::string_view doc;
  // Chooses among query.allowed (not empty).
  CriterionAnswer (*choose)(const CriterionQuery& query);
  // The price of one candidate, term by term; their sum is its price.
  std::vector<PriceTerm> (*terms)(const CriterionQuery& query, uint32_t candidate);
};
std::span<const CriterionRow> AllCriteria();  // all_criteria.cc
Result<const CriterionRow*> FindCriterion(std::string_view name);

// Where greedy walks start: pinned layouts; else parameters and states (tied inputs) B, data inputs S(0) on the
// outermost mesh axis of size above 1 and B on the others (B everywhere when the rank is 0 or dimension 0 too small).
// One device in all: S(0), rank 0: B. Entries of tensors that an op writes are B.
std::vector<NdSbp> InitialSourceLayouts(const Problem& problem);

}  // namespace sbp
