// `rules coverage`: which ops of a model have a rule, or a derivative.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/output.h"
#include "rule/rule_set.h"

namespace sbp {

struct CoverageFlags {
  std::string model;
  bool vjp = false;
  std::vector<std::string> dims;  // of --vjp
};

Status ReportCoverage(const RuleSet& rules, const CoverageFlags& flags, const OutputFlags& output);

}  // namespace sbp
