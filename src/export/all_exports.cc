#include <span>

#include "export/exporter.h"

namespace sbp {

std::span<const ExporterRow> AllExports() {
  static const ExporterRow kRows[] = {
      DtensorExporter(),
      IopddlExporter(),
      OnnxExporter(),
  };
  return kRows;
}

}  // namespace sbp
