#include "cli/completion.h"

namespace sbp {

std::span<const ShellRow> AllShells() {
  static constexpr ShellRow kRows[] = {
      {"bash", "share/bash-completion/completions/sbp-plan", BashCompletion},
      {"fish", "share/fish/vendor_completions.d/sbp-plan.fish", FishCompletion},
      {"zsh", "share/zsh/vendor-completions/_sbp-plan", ZshCompletion},
  };
  return kRows;
}

}  // namespace sbp
