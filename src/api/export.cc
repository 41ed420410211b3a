#include "api/export.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "io/call_files.h"
#include "io/file.h"

namespace sbp {

Status WriteExport(const PlanExport& made, const std::string& out) {
  if (made.files.size() == 1) return WriteFile(out, made.files.front().content);
  if (out == "-") return UsageError("-o -: this form is several files; give a folder");
  std::error_code error;
  if (!IsOfCall(out)) std::filesystem::create_directories(out, error);
  if (error) return BadInput(StrCat(out, ": cannot make this folder: ", error.message()));
  for (const ExportedFile& file : made.files) {
    SBP_RETURN_IF_ERROR(WriteFile((std::filesystem::path(out) / file.name).string(), file.content));
  }
  return OkStatus();
}

}  // namespace sbp
