// Small values that a model keeps in files beside it.
#pragma once

#include <string>

#include "onnx/reader.h"

namespace sbp {

// Reads from the folder of `model`, a path, and from folders below it; other places, and what is no plain file, count
// as absent. "-" or "": nothing is read.
ExternalReader ReadBeside(const std::string& model);

}  // namespace sbp
