#include "export/exporter.h"

#include <vector>

#include "base/text.h"

namespace sbp {

Result<const ExporterRow*> FindExporter(std::string_view name) {
  std::vector<std::string> names;
  for (const ExporterRow& row : AllExports()) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  return UsageError(StrCat("unknown form ", Quote(name), "; known are ", Join(names, ", "), DidYouMean(name, names)));
}

}  // namespace sbp
