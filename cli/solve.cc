// solve: the cheapest choice of a problem in the IOPDDL contest's form, with a bound.
#include "search/solve.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "io/file.h"
#include "io/gzip.h"
#include "sbp/shard_math.h"
#include "search/cost_network.h"
#include "search/holders.h"
#include "search/iopddl.h"
#include "search/smallest_peak.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// When the process began: commands are set up first of all, and what came before was spent on the processor. Of a call
// of a library: now.
Clock::time_point Beginning() {
  if (CurrentCaller() != nullptr) return Clock::now();
  return Clock::now() - std::chrono::microseconds(int64_t{std::clock()} * 1'000'000 / CLOCKS_PER_SEC);
}

struct SolveFlags {
  OutputFlags output;
  std::string problem, out, log, start;
  SolveOptions search;
  std::string gap;
  Clock::time_point began = Beginning();
};

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// "path:line:column: ..." where the text is wrong, "path: node 3 ..." where what it says is.
Status Within(const std::string& path, const Status& status) {
  const std::string& message = status.message();
  const bool place = !message.empty() && message[0] >= '0' && message[0] <= '9';
  return BadInput(StrCat(path, place ? ":" : ": ", message));
}

Result<CostNetwork> ReadProblem(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (IsGzip(text)) {
    auto content = Gunzip(text);
    if (!content.ok()) return content.status().WithContext(path);
    text = std::move(content).value();
  }
  auto network = ParseIopddl(text);
  if (network.ok()) return network;
  return Within(path, network.status());
}

// Progress as one line on a terminal, and every line of it in a log.
class ProgressWriter {
 public:
  void Add(const SolveProgress& progress, double seconds) {
    const std::string cost = progress.feasible ? FormatDouble(progress.cost) : "";
    const std::string gap = progress.feasible ? FormatDouble(progress.gap) : "";
    const std::string line = StrCat(cost, ",", FormatDouble(progress.lower_bound), ",", gap, ",", progress.peak);
    if (line != last_) log_ += StrCat(FormatDouble(std::round(seconds * 1e3) / 1e3), ",", line, "\n");
    last_ = line;
    const std::string share = progress.feasible ? StrCat(std::round(progress.gap * 1e4) / 1e2, " %") : "none";
    tell_(StrCat("solve: cost ", progress.feasible ? cost : "none yet", ", bound ", FormatDouble(progress.lower_bound),
                 ", gap ", share, ", peak ", FormatCount(progress.peak)));
  }
  std::string log() const { return "seconds,cost,lower_bound,gap,peak\n" + log_; }

 private:
  const std::function<void(const std::string&)> tell_ = ProgressTeller();
  std::string last_, log_;
};

// A cost or bound as JSON: an integer where the problem's are.
nlohmann::ordered_json CostJson(const CostNetwork& network, int64_t units, double value) {
  return network.integral ? nlohmann::ordered_json(units) : nlohmann::ordered_json(value);
}

// `least_peak`: of what does not fit, what is proved to be needed.
std::string ResultJson(const CostNetwork& network, const SolveResult& result, int64_t least_peak, double read_seconds,
                       double seconds) {
  const Evaluation& found = result.evaluation;
  nlohmann::ordered_json json;
  json["cost"] = found.feasible ? CostJson(network, found.cost, found.value) : nullptr;
  json["lower_bound"] =
      result.proved_infeasible ? nullptr : CostJson(network, result.lower_bound_units, result.lower_bound);
  json["gap"] = found.feasible ? nlohmann::ordered_json(result.gap) : nullptr;
  json["seconds"] = seconds;
  json["read_seconds"] = read_seconds;
  json["feasible"] = found.feasible;
  json["peak"] = found.peak;
  json["peak_time"] = found.peak_time;
  if (!found.feasible) {
    json["least_peak"] = found.forbidden ? nlohmann::ordered_json() : nlohmann::ordered_json(least_peak);
    json["holders"] = nlohmann::ordered_json::array();
    for (const Holder& holder : HoldersAt(network, result.choice, found.peak_time)) {
      json["holders"].push_back({{"node", holder.node}, {"usage", holder.usage}});
    }
  }
  return json.dump(2);
}

std::string ResultText(const CostNetwork& network, const SolveResult& result, double read_seconds, double seconds) {
  const auto cost = [&](int64_t units, double value) { return network.integral ? StrCat(units) : FormatDouble(value); };
  const std::string times =
      StrCat(FormatFixed(seconds, 2), " s, of which reading ", FormatFixed(read_seconds, 2), " s");
  return StrCat("cost         ", cost(result.evaluation.cost, result.evaluation.value), "\nlower bound  ",
                cost(result.lower_bound_units, result.lower_bound), "\ngap          ",
                result.gap == 0 ? "0, proved" : StrCat(FormatGeneral(result.gap * 100), " %"), "\npeak         ",
                result.evaluation.peak, network.usage_limit ? StrCat(" of ", *network.usage_limit) : "", " at time ",
                result.evaluation.peak_time, "\ntime         ", times);
}

// Why there is no choice: what is the least that was reached and that can be, and who holds it.
std::string Shortage(const CostNetwork& network, const SolveResult& result, int64_t least_peak) {
  constexpr size_t kMost = 10;
  if (result.evaluation.forbidden) {
    return StrCat("every choice found is forbidden", result.why_infeasible.empty() ? "" : ": " + result.why_infeasible);
  }
  std::string text = StrCat(result.proved_infeasible ? "no choice keeps" : "no choice was found that keeps",
                            " within the usage limit ", network.usage_limit.value_or(0), "; the smallest peak ");
  if (least_peak == result.evaluation.peak) {
    text += StrCat("of any choice is ", least_peak, " (proved)");
  } else {
    text += StrCat("reached is ", result.evaluation.peak, " (proved: no choice needs less than ", least_peak, ")");
  }
  text += StrCat(", at time ", result.evaluation.peak_time, ", held by");
  const std::vector<Holder> holders = HoldersAt(network, result.choice, result.evaluation.peak_time);
  for (size_t i = 0; i < std::min(holders.size(), kMost); ++i) {
    text += StrCat(i > 0 ? "," : "", " node ", holders[i].node, " (", holders[i].usage, ")");
  }
  if (holders.size() > kMost) text += StrCat(" and ", holders.size() - kMost, " more");
  return text;
}

Status CheckFlags(SolveFlags& flags) {
  if (!flags.gap.empty()) {
    SBP_ASSIGN_OR_RETURN(flags.search.gap, ParseShare("gap", flags.gap));
  }
  if (flags.out == "-" && flags.output.json()) return UsageError("-o - and --format json both write to stdout");
  for (const std::string& path : {flags.out, flags.log}) {
    if (!path.empty()) SBP_RETURN_IF_ERROR(CheckWritable(path));
  }
  return OkStatus();
}

// The choice of the smallest peak in place of one that does not fit; returns what any choice is proved to need. `last`:
// seconds since the process began when this must end.
int64_t Shrink(const CostNetwork& network, SolveFlags& flags, double last, SolveResult& result) {
  SolveOptions& options = flags.search;
  const double now = SecondsSince(flags.began);
  const auto stop_at = [&flags](double seconds) {
    return [&flags, seconds, interrupted = InterruptAsker()] {
      return interrupted() || SecondsSince(flags.began) >= seconds;
    };
  };
  options.stop = stop_at(now + (last - now) / 2);
  result.choice = SmallestPeak(network, result.choice, options);
  result.evaluation = Evaluate(network, result.choice);
  if (result.evaluation.feasible || result.evaluation.forbidden) return 0;
  options.stop = stop_at(last);
  const int64_t known = result.proved_infeasible ? network.usage_limit.value_or(0) + 1 : 0;
  return LeastPeak(network, known, result.evaluation.peak, options);
}

Status RunSolve(SolveFlags flags) {
  SBP_RETURN_IF_ERROR(CheckFlags(flags));
  const InterruptScope interrupt;
  SBP_ASSIGN_OR_RETURN(const CostNetwork network, ReadProblem(flags.problem));
  const double read_seconds = SecondsSince(flags.began);
  if (!flags.start.empty()) {
    SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.start));
    auto start = ParseSolution(network, text);
    if (!start.ok()) return Within(flags.start, start.status());
    flags.search.start = std::move(start).value();
  }
  ProgressWriter progress;
  SolveOptions& options = flags.search;
  double last = 1e9;  // when the search must end
  if (options.seconds > 0) {
    // Some time is left for the way back to the whole problem and for writing.
    const double tail = 0.08 + 3e-6 * static_cast<double>(network.nodes.size());
    last = options.seconds - tail;
    options.seconds = std::max(1e-3, last - read_seconds);
  }
  options.stop = InterruptAsker();
  const Clock::time_point search_began = Clock::now();
  const double before = std::chrono::duration<double>(search_began - flags.began).count();
  if (ProgressShown() || !flags.log.empty()) {
    options.progress = [&](const SolveProgress& now) { progress.Add(now, before + now.seconds); };
  }
  SolveResult result = Solve(network, options);
  const int64_t least_peak = result.evaluation.feasible ? 0 : Shrink(network, flags, last, result);
  if (!flags.log.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.log, progress.log()));
  const bool feasible = result.evaluation.feasible;
  if (feasible && !flags.out.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.out, FormatSolution(result.choice)));
  const double seconds = SecondsSince(flags.began);
  if (flags.output.json()) {
    SBP_RETURN_IF_ERROR(Print(ResultJson(network, result, least_peak, read_seconds, seconds)));
  } else if (feasible && flags.out != "-") {
    SBP_RETURN_IF_ERROR(Print(ResultText(network, result, read_seconds, seconds)));
  }
  return feasible ? OkStatus() : NoPlan(Shortage(network, result, least_peak));
}

}  // namespace

Command SetupSolve(CLI::App& app) {
  auto flags = std::make_shared<SolveFlags>();
  app.add_option("problem", flags->problem, "in the IOPDDL contest's JSON, also gzipped; - is stdin")
      ->required()
      ->type_name("PROBLEM");
  auto* time = app.add_option("--time", flags->search.seconds,
                              "seconds from the start of the process until the answer; the search ends early once the "
                              "answer is proved")
                   ->type_name("S")
                   ->check(CLI::Range(0.001, 1e9));
  app.add_option("--effort", flags->search.effort,
                 "amount of work, about seconds of one processor: the same answer on any machine")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->excludes(time);
  app.add_option("--gap", flags->gap, "stop once cost and bound are this close, e.g. 1%")->type_name("SHARE");
  app.add_option("--threads", flags->search.threads, "at most this many; the answer does not depend on it")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--seed", flags->search.seed, "of the random choices")
      ->type_name("N")
      ->check(RefuseNegative)
      ->capture_default_str();
  app.add_option("--start", flags->start, "a solution to begin with")->type_name("FILE");
  app.add_option("--log", flags->log, "cost, bound, gap and peak over time, as CSV")->type_name("FILE");
  app.add_option("-o,--output", flags->out, "the solution, as JSON; - is stdout")->type_name("FILE");
  AddFormatFlag(app, flags->output);
  return [flags] { return RunSolve(*flags); };
}

}  // namespace sbp
