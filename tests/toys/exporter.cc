// An exporter: how many candidates each op has.
#include "export/exporter.h"

#include "base/text.h"

namespace sbp {
namespace {

Result<std::string> Write(const Problem& problem, const ExportOptions&) {
  std::string text;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    text += StrCat(problem.graph->ops[o].name, " ", problem.candidates(OpId(o)).candidates.size(), "\n");
  }
  return text;
}

}  // namespace

ExporterRow ToyExporter() { return {.name = "toy", .doc = "candidates per op", .extension = "toy", .write = Write}; }

}  // namespace sbp
