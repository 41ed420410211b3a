// diff: two plans by meaning.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "api/plan_file.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plan_pages.h"
#include "io/file.h"
#include "plan/plan.h"
#include "report/report.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct DiffFlags {
  std::string a, b;
  double tolerance = 0;
  bool all = false;
  std::string page;
  OutputFlags output;
};

// Both plans side by side.
Status WritePageOf(const Plan& a, const Plan& b, const DiffFlags& flags) {
  SBP_RETURN_IF_ERROR(CheckWritable(flags.page));
  SBP_ASSIGN_OR_RETURN(const std::string page, PageOf(a, flags.a, b, flags.b));
  return WriteFile(flags.page, page);
}

Status Diff(const DiffFlags& flags) {
  if (flags.a == "-" && flags.b == "-") return UsageError("only one of the two plans can be stdin");
  const bool page_alone = flags.page == "-";  // stdout holds one thing
  if (page_alone && flags.output.json())
    return UsageError("-o - and --format json both go to stdout; expected -o FILE.html");
  if (!flags.page.empty() && !page_alone && !IsPagePath(flags.page)) {
    return UsageError(StrCat(Quote(flags.page), ": a page's extension is html or htm; the text goes to stdout"));
  }
  if (!flags.page.empty() && flags.output.layout_notation() != Notation::kSbp) {
    return UsageError("--notation dims-mapping is for the text alone; a page (-o) spells layouts as sbp");
  }
  SBP_ASSIGN_OR_RETURN(const Plan a, ReadPlanFile(flags.a));
  SBP_ASSIGN_OR_RETURN(const Plan b, ReadPlanFile(flags.b));
  if (!flags.page.empty()) SBP_RETURN_IF_ERROR(WritePageOf(a, b, flags));
  const std::vector<PlanDifference> differences =
      DiffPlans(a, b, {.tolerance = flags.tolerance, .notation = flags.output.layout_notation()});
  if (page_alone) {
    // It says what differs.
  } else if (flags.output.json()) {
    SBP_RETURN_IF_ERROR(Print(DifferencesJson(differences)));
  } else {
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    const std::string totals = differences.empty() ? "" : FormatTotals(a, b) + "\n";
    SBP_RETURN_IF_ERROR(
        Print(totals + (flags.all ? FormatDifferences(differences, kAll) : FormatDifferences(differences))));
  }
  return differences.empty() ? OkStatus() : Status(Code::kMismatch, "");
}

}  // namespace

Command SetupDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("before", flags->a, "a plan; - is stdin")->required()->type_name("PLAN");
  app.add_option("after", flags->b, "a plan; - is stdin")->required()->type_name("PLAN");
  app.add_option("--tolerance", flags->tolerance, "relative difference of times and bytes that is allowed")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_flag("--all", flags->all, "in text: every difference, not the sums by kind and scope");
  app.add_option(
         "-o,--output", flags->page,
         "also both plans side by side, as a page that opens from disk; - is stdout, which holds nothing else then")
      ->type_name("FILE.html");
  AddFormatFlag(app, flags->output);
  AddNotationFlag(app, flags->output);
  return [flags] { return Diff(*flags); };
}

}  // namespace sbp
