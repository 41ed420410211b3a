#include "page/modules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/text.h"

namespace sbp {
namespace {

constexpr std::string_view kImport = "import ", kExport = "export ", kFrom = "from \"./";

// "other.js" of a line that ends an import; nothing of other lines.
std::optional<std::string_view> ImportedBy(std::string_view line) {
  const size_t from = line.find(kFrom);
  if (from == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(from + kFrom.size());
  return rest.substr(0, rest.find('"'));
}

class Joiner {
 public:
  explicit Joiner(std::span<const PageFile> files) : files_(files) {}

  Status Add(std::string_view name) {
    const auto file = std::ranges::find(files_, name, &PageFile::name);
    if (file == files_.end()) return Defect(StrCat("the page imports ", name, ", which is no module"));
    const auto [state, is_new] = states_.try_emplace(name, State::kOpen);
    if (!is_new) {
      return state->second == State::kDone ? OkStatus()
                                           : Defect(StrCat("modules of the page import ", name, " in a cycle"));
    }
    std::string body;
    bool importing = false;
    for (const std::string_view line : Split(file->text, '\n')) {
      importing = importing || line.starts_with(kImport);
      if (importing) {
        const std::optional<std::string_view> other = ImportedBy(line);
        if (other) SBP_RETURN_IF_ERROR(Add(*other));
        importing = !other;
        continue;
      }
      body += StrCat(line.starts_with(kExport) ? line.substr(kExport.size()) : line, "\n");
    }
    script_ += StrCat("// ", name, "\n", body);
    states_[name] = State::kDone;
    return OkStatus();
  }

  std::string& script() { return script_; }

 private:
  enum class State : uint8_t { kOpen, kDone };
  std::span<const PageFile> files_;
  std::map<std::string_view, State> states_;
  std::string script_;
};

}  // namespace

Result<std::string> JoinModules(std::span<const PageFile> files, std::string_view main) {
  Joiner joiner(files);
  SBP_RETURN_IF_ERROR(joiner.Add(main));
  return std::move(joiner.script());
}

}  // namespace sbp
