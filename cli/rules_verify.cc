#include "cli/rules_verify.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/number_text.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "verify/op_instance.h"
#include "verify/verify.h"
#include "verify/verify_vjp.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

Json FindingsJson(const std::vector<VerifyFinding>& findings) {
  Json list = Json::array();
  for (const VerifyFinding& finding : findings) {
    Json json = {{"op", finding.op}};
    if (!finding.instance.empty()) json["instance"] = finding.instance;
    if (!finding.mesh.empty()) json["mesh"] = finding.mesh;
    if (!finding.signature.empty()) json["signature"] = finding.signature;
    json["reason"] = finding.reason;
    if (!finding.inner.empty()) json["inner"] = finding.inner;
    if (finding.count > 1) json["count"] = finding.count;
    list.push_back(std::move(json));
  }
  return list;
}

Json ReportJson(const VerifyReport& report) {
  Json ops = Json::array();
  for (const VerifiedOp& op : report.ops) {
    ops.push_back({{"op", op.op},
                   {"instances", op.instances},
                   {"candidates", op.candidates},
                   {"worst_error", op.worst_error},
                   {"failed", op.failed},
                   {"missing", op.missing},
                   {"skipped", op.skipped}});
  }
  return {{"rules", report.ops.size()},
          {"candidates", report.candidates},
          {"failed", FindingsJson(report.failed)},
          {"missing", FindingsJson(report.missing)},
          {"skipped", FindingsJson(report.skipped)},
          {"ops", ops}};
}

std::string FindingsText(const char* title, const std::vector<VerifyFinding>& findings) {
  if (findings.empty()) return "";
  std::string text = StrCat(title, "\n");
  for (const VerifyFinding& finding : findings) {
    text += StrCat("  ", finding.instance.empty() ? finding.op : finding.instance);
    if (!finding.inner.empty()) text += StrCat("  inner ", finding.inner);
    if (!finding.mesh.empty()) text += StrCat("  mesh ", finding.mesh);
    if (!finding.signature.empty()) text += StrCat("  ", finding.signature);
    if (!finding.reason.empty()) text += StrCat(": ", finding.reason);
    text += finding.count > 1 ? StrCat("  (", finding.count, " times)\n") : "\n";
  }
  return text;
}

std::string Padded(const std::string& text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + " ";
}

std::string ReportText(const VerifyReport& report) {
  std::string text = "op                                        instances  candidates  worst error  missing\n";
  for (const VerifiedOp& op : report.ops) {
    const std::string error = op.worst_error > 0 ? FormatScientific(op.worst_error, 1) : "0";
    text += StrCat(Padded(op.op, 42), Padded(StrCat(op.instances), 11), Padded(StrCat(op.candidates), 12),
                   Padded(error, 13), op.missing, op.failed > 0 ? StrCat("  ", op.failed, " FAILED") : "", "\n");
  }
  text += FindingsText("missing: right when executed, not offered", report.missing);
  text += FindingsText("skipped", report.skipped);
  text += FindingsText("failed", report.failed);
  return StrCat(text, report.candidates, " candidates of ", report.ops.size(), " rules: ", report.failed.size(),
                " failed; ", report.missing.size(), " missing");
}

Json VjpJson(const VjpReport& report) {
  Json ops = Json::array();
  for (const VerifiedVjp& op : report.ops) {
    ops.push_back({{"op", op.op},
                   {"instances", op.instances},
                   {"entries", op.entries},
                   {"at_kinks", op.at_kinks},
                   {"worst_error", op.worst_error},
                   {"by_expansion", op.by_expansion}});
  }
  return {{"vjps", report.ops.size()},
          {"entries", report.entries},
          {"failed", FindingsJson(report.failed)},
          {"skipped", FindingsJson(report.skipped)},
          {"inner",
           {{"ops", report.inner.ops},
            {"candidates", report.inner.candidates},
            {"wrong", report.inner.wrong},
            {"failed", FindingsJson(report.inner.failed)},
            {"skipped", FindingsJson(report.inner.skipped)}}},
          {"ops", ops}};
}

std::string VjpText(const VjpReport& report) {
  std::string text = "op                                        instances  entries  kinks  worst error  by\n";
  for (const VerifiedVjp& op : report.ops) {
    const std::string error = op.worst_error > 0 ? FormatScientific(op.worst_error, 1) : "0";
    text += StrCat(Padded(op.op, 42), Padded(StrCat(op.instances), 11), Padded(StrCat(op.entries), 9),
                   Padded(StrCat(op.at_kinks), 7), Padded(error, 13), op.by_expansion ? "expansion" : "vjp", "\n");
  }
  text += FindingsText("without a derivative", report.skipped);
  text += FindingsText("failed", report.failed);
  text += FindingsText("inner ops that are not executed sharded", report.inner.skipped);
  text += FindingsText("failed when sharded", report.inner.failed);
  return StrCat(text, report.entries, " entries of ", report.ops.size(), " ops: ", report.failed.size(), " failed\n",
                report.inner.candidates, " layouts of ", report.inner.ops,
                " inner ops on 2, 3 and 2x2 devices: ", report.inner.wrong, " failed");
}

Status VerifyDerivatives(const RuleSet& rules, const VerifyOptions& options, const OutputFlags& output) {
  SBP_ASSIGN_OR_RETURN(const VjpReport report, VerifyVjps(rules, options));
  SBP_RETURN_IF_ERROR(Print(output.json() ? VjpJson(report).dump(2) : VjpText(report)));
  std::vector<std::string> wrong;
  if (!report.failed.empty()) wrong.push_back(StrCat(report.failed.size(), " derivatives are wrong"));
  if (report.inner.wrong > 0) wrong.push_back(StrCat(report.inner.wrong, " layouts of ops in derivatives are wrong"));
  return wrong.empty() ? OkStatus() : Status(Code::kMismatch, Join(wrong, "; "));
}

}  // namespace

Status VerifyAndReport(const RuleSet& rules, const VerifyFlags& flags, const OutputFlags& output) {
  VerifyOptions options;
  options.ops = flags.ops;
  options.seed = flags.seed;
  options.threads = flags.threads;
  options.progress = [tell = ProgressTeller()](size_t done, size_t total) {
    tell(StrCat("rules verify: ", done, " of ", total, " ops"));
  };
  options.cancelled = InterruptAsker();
  for (const std::string& row : flags.instances) {
    auto instance = ParseInstance(row);
    if (!instance.ok()) return UsageError(StrCat("--instance ", Quote(row), ": ", instance.status().message()));
    if (rules.Find(instance->op) == nullptr) {
      return BadInput(StrCat("--instance ", Quote(row), ": no rule for op ", Quote(instance->op),
                             DidYouMean(instance->op, rules.Names())));
    }
    options.instances.push_back(*std::move(instance));
  }
  if (flags.vjp) return VerifyDerivatives(rules, options, output);
  SBP_ASSIGN_OR_RETURN(const VerifyReport report, VerifyRules(rules, options));
  SBP_RETURN_IF_ERROR(Print(output.json() ? ReportJson(report).dump(2) : ReportText(report)));
  if (report.failed.empty()) return OkStatus();
  return Status(Code::kMismatch, StrCat(report.failed.size(), " candidates are wrong"));
}

}  // namespace sbp
