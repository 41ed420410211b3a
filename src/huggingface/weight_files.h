// Weights as Hugging Face keeps them, for the parameters of a graph: one file of safetensors, or a folder with several
// and model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"
#include "huggingface/safetensors.h"

namespace sbp {

class WeightFiles {
 public:
  // `path`: a .safetensors file, an index of such (*.index.json), or a folder with model.safetensors.index.json or
  // model.safetensors. Reads headers only. Errors (kBadInput): see safetensors.h; an index that names files outside its
  // folder, or tensors that their files lack.
  static Result<WeightFiles> Open(const std::string& path);

  // How the tensors fit the parameters of a graph that have no value of their own. A parameter is found by its name; by
  // it without the name of the base model before it ("h.0.ln_1.weight"); the experts of a layer one by one, as
  // checkpoints of Mixtral, Qwen3 and DeepSeek have them.
  struct Fit {
    std::vector<std::string> missing;     // parameters that are not there
    std::vector<std::string> different;   // "NAME is f32[4,8], the graph has f32[8,8]"; of floats the type may differ
    std::vector<std::string> unexpected;  // tensors that no parameter takes
    int64_t found = 0;                    // parameters
  };
  Fit FitTo(const Graph& graph) const;

  // The values of all parameters that are there. Error (kBadInput): some are missing or different, with their names.
  Result<std::vector<TensorData>> ReadFor(const Graph& graph) const;

 private:
  struct Place {
    size_t file = 0;  // of files_
    StoredWeight weight;
  };
  struct Found;

  Status AddFile(const std::string& path);
  Status AddIndex(const std::string& path);
  Found Find(const std::string& name, const TensorType& type) const;

  std::string path_;
  std::vector<std::string> files_;
  std::map<std::string, Place, std::less<>> places_;
};

// What is wrong with the fit, a line each; "" where nothing is missing or different.
std::string DescribeMisfit(const WeightFiles::Fit& fit);

// Requires that there are any.
std::string DescribeUnexpected(const WeightFiles::Fit& fit);

}  // namespace sbp
