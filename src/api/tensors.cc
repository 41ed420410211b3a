#include "api/tensors.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "huggingface/weight_files.h"
#include "io/call_files.h"
#include "io/file.h"
#include "io/npz.h"
#include "onnx/reader.h"
#include "pipeline/external_data.h"
#include "runtime/data/value.h"

namespace sbp {
namespace {

namespace fs = std::filesystem;

Result<TensorData> ReadOne(const std::string& path, ValueKind kind) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return path.ends_with(".npy") ? ReadNpyData(bytes, path) : ReadOnnxData(bytes, path, kind);
}

Result<std::vector<TensorData>> ReadFolder(const std::string& path, const Graph& graph,
                                           const std::vector<TensorId>& ids, const std::string& prefix) {
  std::vector<TensorData> tensors;
  for (size_t i = 0;; ++i) {
    const std::string file = StrCat(path, "/", prefix, "_", i, ".pb");
    if (!fs::exists(file)) break;
    if (i >= ids.size()) {
      return BadInput(StrCat(file, ": the model has only ", ids.size(), " ", prefix, "s"));
    }
    SBP_ASSIGN_OR_RETURN(TensorData data, ReadOne(file, graph.tensor(ids[i]).type.kind));
    data.name = graph.tensor(ids[i]).name;
    tensors.push_back(std::move(data));
  }
  if (tensors.empty() && !ids.empty()) return BadInput(StrCat(path, ": a folder without ", prefix, "_0.pb"));
  return tensors;
}

// Members NAME/0, NAME/1, ... become the sequence NAME.
Status JoinSequences(const Graph& graph, const std::vector<TensorId>& ids, std::vector<TensorData>& tensors) {
  std::map<std::string, size_t> members;
  for (size_t i = 0; i < tensors.size(); ++i) members[tensors[i].name] = i;
  std::vector<bool> joined(tensors.size());
  std::vector<TensorData> sequences;
  for (const TensorId id : ids) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.type.kind != ValueKind::kSequence) continue;
    std::vector<TensorData> entries;
    for (auto at = members.end(); (at = members.find(StrCat(tensor.name, "/", entries.size()))) != members.end();) {
      entries.push_back(std::move(tensors[at->second]));
      joined[at->second] = true;
    }
    if (entries.empty()) continue;
    auto sequence = SequenceOf(tensor.name, std::move(entries));
    if (!sequence.ok()) return sequence.status().WithContext(Quote(tensor.name));
    sequences.push_back(*std::move(sequence));
  }
  size_t i = 0;
  std::erase_if(tensors, [&](const TensorData&) { return joined[i++]; });
  std::move(sequences.begin(), sequences.end(), std::back_inserter(tensors));
  return OkStatus();
}

}  // namespace

Result<std::vector<TensorData>> ReadTensors(const std::string& path, const Graph& graph,
                                            const std::vector<TensorId>& ids, const std::string& prefix) {
  if (const CallFiles* const call = CurrentCallFiles(); call != nullptr && path.starts_with(kArraysPrefix)) {
    const std::string_view of = std::string_view(path).substr(kArraysPrefix.size());
    std::vector<TensorData> arrays;
    for (const TensorData& array : call->arrays) {
      if (!array.name.starts_with(of)) continue;
      arrays.push_back(array);
      arrays.back().name.erase(0, of.size());
    }
    SBP_RETURN_IF_ERROR(JoinSequences(graph, ids, arrays).WithContext(path));
    return arrays;
  }
  if (fs::is_directory(path)) return ReadFolder(path, graph, ids, prefix);
  if (path.ends_with(".npy") || path.ends_with(".pb")) {
    SBP_ASSIGN_OR_RETURN(TensorData data,
                         ReadOne(path, ids.size() == 1 ? graph.tensor(ids[0]).type.kind : ValueKind::kTensor));
    if (data.name.empty()) {
      if (ids.size() != 1) {
        return BadInput(StrCat(path, ": its tensor has no name, and the model has ", ids.size(), " ", prefix,
                               "s; give an .npz archive"));
      }
      data.name = graph.tensor(ids[0]).name;
    }
    return std::vector<TensorData>{std::move(data)};
  }
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  SBP_ASSIGN_OR_RETURN(std::vector<TensorData> tensors, ReadNpzData(bytes, path));
  SBP_RETURN_IF_ERROR(JoinSequences(graph, ids, tensors).WithContext(path));
  return tensors;
}

namespace {

Status AddMembers(const std::string& name, const Value& value, std::vector<TensorData>& members) {
  if (value.sequence != nullptr) {
    for (size_t i = 0; i < value.sequence->size(); ++i) {
      SBP_RETURN_IF_ERROR(AddMembers(StrCat(name, "/", i), (*value.sequence)[i], members));
    }
  }
  if (!value.view.present()) return OkStatus();
  const DType dtype = value.view.dtype;
  const DType wide = NumpyHas(dtype) ? dtype : IsFloat(dtype) ? DType::kF32 : IsSigned(dtype) ? DType::kI8 : DType::kU8;
  SBP_ASSIGN_OR_RETURN(const Value written, CastTo(value, wide));
  members.push_back(DataFromValue(name, written));
  return OkStatus();
}

}  // namespace

Status WriteTensors(const std::string& path, const std::vector<std::pair<std::string, Value>>& tensors) {
  std::vector<TensorData> data;
  for (const auto& [name, value] : tensors) SBP_RETURN_IF_ERROR(AddMembers(name, value, data));
  if (CallFiles* const call = CurrentCallFiles(); call != nullptr && path.starts_with(kArraysPrefix)) {
    for (TensorData& tensor : data) {
      tensor.name.insert(0, path, kArraysPrefix.size());
      call->arrays_written.push_back(std::move(tensor));
    }
    return OkStatus();
  }
  SBP_ASSIGN_OR_RETURN(const std::string archive, WriteNpz(data));
  return WriteFile(path, archive);
}

LiteralRef SmallValue(const TensorData& data) {
  if (data.type.kind != ValueKind::kTensor) return nullptr;
  constexpr int64_t kMaxFloats = 64;  // scales, ratios
  const bool integral = IsInteger(data.type.dtype) || data.type.dtype == DType::kBool;
  if (!integral && (!IsFloat(data.type.dtype) || data.type.num_elements() > kMaxFloats)) return nullptr;
  const auto value = ValueFromData(data, data.type);
  if (!value.ok()) return nullptr;
  if (integral) return SmallValues(value->view);
  const auto wide = CastTo(*value, DType::kF64);
  if (!wide.ok()) return nullptr;
  auto literal = std::make_shared<Literal>();
  literal->type = data.type;
  literal->floats.assign(wide->view.as<double>(), wide->view.as<double>() + wide->view.elements());
  return literal;
}

Result<std::vector<TensorData>> ReadWeights(const std::string& path, const Graph& graph) {
  SBP_ASSIGN_OR_RETURN(const WeightFiles files, WeightFiles::Open(path));
  return files.ReadFor(graph);
}

Result<std::string> CheckWeights(const std::string& path, const Graph& graph) {
  SBP_ASSIGN_OR_RETURN(const WeightFiles files, WeightFiles::Open(path));
  const WeightFiles::Fit fit = files.FitTo(graph);
  if (const std::string misfit = DescribeMisfit(fit); !misfit.empty()) return BadInput(StrCat(path, ": ", misfit));
  return fit.unexpected.empty() ? "" : StrCat(path, ": ", DescribeUnexpected(fit));
}

namespace {

// Of a model that is a document of this call.
DataReader ReadDataOfDocument(const std::string& path) {
  const std::optional<std::string_view> document = DocumentOf(*CurrentCallFiles(), path);
  return [path, document, beside = ReadBeside(path)](const DataReference& place, int64_t bytes) -> Result<std::string> {
    if (!place.location.empty()) {
      std::optional<std::string> content = beside ? beside(place, bytes) : std::nullopt;
      if (content) return *std::move(content);
      return BadInput(StrCat("the call has no document ", Quote(BesideDocument(path, place.location)), " of ",
                             place.offset + bytes, " bytes or more, which holds weights of ", path));
    }
    const size_t size = document ? document->size() : 0;
    if (place.offset < 0 || bytes < 0 || static_cast<uint64_t>(place.offset) > size ||
        static_cast<uint64_t>(bytes) > size - static_cast<uint64_t>(place.offset)) {
      return BadInput(StrCat(path, ": has no ", bytes, " bytes at ", place.offset));
    }
    return std::string(document->substr(static_cast<size_t>(place.offset), static_cast<size_t>(bytes)));
  };
}

}  // namespace

DataReader ReadDataOf(const std::string& model_path) {
  if (IsOfCall(model_path)) return ReadDataOfDocument(model_path);
  return
      [model_path, beside = ReadBeside(model_path)](const DataReference& place, int64_t bytes) -> Result<std::string> {
        if (!place.location.empty()) {
          std::optional<std::string> content = beside ? beside(place, bytes) : std::nullopt;
          if (content) return *std::move(content);
          return BadInput(StrCat(place.location, ": not found beside the model"));
        }
        std::error_code failed;
        const uintmax_t size = fs::file_size(model_path, failed);
        if (failed || place.offset < 0 || bytes < 0 || static_cast<uintmax_t>(place.offset) > size ||
            static_cast<uintmax_t>(bytes) > size - static_cast<uintmax_t>(place.offset)) {
          return BadInput(StrCat(model_path, ": has no ", bytes, " bytes at ", place.offset));
        }
        std::ifstream file(model_path, std::ios::binary);
        std::string content(static_cast<size_t>(bytes), '\0');
        if (!file.seekg(place.offset) || !file.read(content.data(), bytes)) {
          return BadInput(StrCat(model_path, ": cannot be read"));
        }
        return content;
      };
}

}  // namespace sbp
