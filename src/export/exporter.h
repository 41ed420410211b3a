// What a model's layout problem is written as for other programs, `export --to NAME`: one file and one row in
// all_exports.cc each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "problem/problem.h"

namespace sbp {

struct ExportOptions {
  std::optional<int64_t> memory_limit;  // bytes per device
};

struct ExporterRow {
  std::string_view name;       // as in --to
  std::string_view doc;        // one line, in help
  std::string_view extension;  // of the file: "json"
  // The file's content. Errors (kBadInput): what the format cannot say, or only in a file too large to be of use.
  Result<std::string> (*write)(const Problem& problem, const ExportOptions& options);
};
std::span<const ExporterRow> AllExports();  // all_exports.cc
// Error (kUsage): no row of that name, with the nearest.
Result<const ExporterRow*> FindExporter(std::string_view name);

// Rows.
ExporterRow IopddlExporter();

}  // namespace sbp
