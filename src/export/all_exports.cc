#include <span>

#include "export/exporter.h"

namespace sbp {

std::span<const ExporterRow> AllExports() {
  static const ExporterRow kRows[] = {
      IopddlExporter(),
      OnnxExporter(),
  };
  return kRows;
}

}  // namespace sbp
