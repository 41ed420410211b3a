// Tensors from and to files: .npz, .npy, ONNX TensorProto (.pb), and folders of the latter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_data.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

// "arrays:PREFIX" within a call of the library with C functions: tensors in memory (io/call_files.h).
//
// Values for `ids`, the inputs or outputs of `graph`, whose kinds say what the files hold. `path`: an .npz archive
// (tensors by name, the entries of a sequence as NAME/0, NAME/1, ...), an .npy file (of the only name), a TensorProto
// (its own name, else the only one), or a folder with PREFIX_0.pb, PREFIX_1.pb, ... (the i-th of `ids`; sequences and
// optionals too). Error: says file and member.
Result<std::vector<TensorData>> ReadTensors(const std::string& path, const Graph& graph,
                                            const std::vector<TensorId>& ids, const std::string& prefix);

// To an .npz archive; types that NumPy lacks are widened without loss, sequences written as ReadTensors reads them.
Status WriteTensors(const std::string& path, const std::vector<std::pair<std::string, Value>>& tensors);

// The small values that may decide sizes, as Resolve takes them; nullptr for others.
LiteralRef SmallValue(const TensorData& data);

// Weights as Hugging Face keeps them (huggingface/weight_files.h), of the graph's parameters. Error (kBadInput): some
// are missing, or of another shape or type, with their names.
Result<std::vector<TensorData>> ReadWeights(const std::string& path, const Graph& graph);
// The same without reading them; what is said of tensors that no parameter takes, "": there are none.
Result<std::string> CheckWeights(const std::string& path, const Graph& graph);

// Reads weights: from the model file itself, or from files beside it. Of a model that is a document of a call, from
// documents, whose call must outlive the reader; any thread may read.
DataReader ReadDataOf(const std::string& model_path);

}  // namespace sbp
