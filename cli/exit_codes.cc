#include "cli/exit_codes.h"

namespace sbp {

std::span<const ExitCodeRow> AllExitCodes() {
  static constexpr ExitCodeRow kRows[] = {
      {Code::kOk, "good"},
      {Code::kMismatch, "a difference, violation or mismatch"},
      {Code::kUsage, "wrong usage"},
      {Code::kBadInput, "bad input"},
      {Code::kNoPlan, "no plan satisfies the pins and limits"},
      {Code::kRunFailed, "a run failed"},
      {Code::kDefect, "a defect of ours"},
  };
  return kRows;
}

}  // namespace sbp
