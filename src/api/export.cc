#include "api/export.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "io/call_files.h"
#include "io/file.h"
#include "io/files.h"

namespace sbp {

Status WriteExport(const PlanExport& made, const std::string& out) {
  if (made.files.size() == 1) return WriteFile(out, made.files.front().content);
  if (out == "-") return UsageError("-o -: this form is several files; give a folder");
  std::error_code error;
  if (!IsOfCall(out)) std::filesystem::create_directories(out, error);
  if (error) return BadInput(StrCat(out, ": cannot make this folder: ", error.message()));
  std::vector<std::pair<std::string, std::string_view>> files;
  for (const ExportedFile& file : made.files)
    files.emplace_back((std::filesystem::path(out) / file.name).string(), file.content);
  return WriteFiles(files);
}

}  // namespace sbp
