#include "fuzz/target.h"
#include "stablehlo/reader.h"

namespace sbp::fuzz {

void RunStableHlo(std::string_view bytes) { RequireModel(ReadStableHlo(bytes, "input.mlir"), "input.mlir"); }

}  // namespace sbp::fuzz
