#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "huggingface/reader.h"
#include "io/documents.h"
#include "onnx/reader.h"
#include "pipeline/external_data.h"
#include "pipeline/pipeline.h"
#include "stablehlo/reader.h"
#include "torch/reader.h"

namespace sbp {

Result<Graph> LoadModel(std::string_view bytes, std::string_view where, const std::string& path) {
  if (LooksLikeMlir(bytes)) return ReadStableHlo(bytes, where);
  SBP_ASSIGN_OR_RETURN(const DocumentInfo info, Recognise(bytes, where));
  switch (info.kind) {
    case DocumentKind::kOnnx:
      return ReadOnnx(bytes, where, ReadBeside(path));
    case DocumentKind::kTorch:
      return ReadTorch(bytes, where);
    case DocumentKind::kConfig:
      return ReadConfig(bytes, where);
    case DocumentKind::kGraph:
      return ReadGraph(bytes, where);
    case DocumentKind::kCluster:
      return BadInput(
          StrCat(where, ": this is a cluster; expected a model (ONNX, .pt2, config.json, or a graph document)"));
    case DocumentKind::kPlan:
      return BadInput(
          StrCat(where, ": this is a plan; expected a model (ONNX, .pt2, config.json, or a graph document)"));
  }
  return Defect("a document of no kind");
}

}  // namespace sbp
