// Small values that a model keeps in files beside it.
#pragma once

#include <string>

#include "onnx/reader.h"

namespace sbp {

// Reads from the folder of `model`, a path, and from folders below it; other places, and what is no plain file, count
// as absent. Beside a model that is a document of a call stand others ("memory:m/model.onnx", "memory:m/model.data"),
// whose call must outlive the reader. "-" or "": nothing is read.
ExternalReader ReadBeside(const std::string& model);

}  // namespace sbp
