#include <span>

#include "export/exporter.h"

namespace sbp {

std::span<const ExporterRow> AllExports() {
  static const ExporterRow kRows[] = {
      IopddlExporter(),  // the default of --to
      AutoparallelExporter(), DtensorExporter(),  GalvatronExporter(),     HfTpPlanExporter(),
      JaxExporter(),          MegatronExporter(), ModelExplorerExporter(), OneflowExporter(),
      OnnxExporter(),         PaddleExporter(),   TorchtitanExporter(),
  };
  return kRows;
}

}  // namespace sbp
