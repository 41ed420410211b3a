#include "huggingface/weight_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/dtype.h"
#include "base/text.h"
#include "base/utf8.h"
#include "graph/tensor_type.h"
#include "io/call_files.h"
#include "io/file.h"
#include "io/json_text.h"

namespace sbp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json", kFileName = "model.safetensors";
constexpr size_t kShown = 10;  // names in a message

// The parameters of a graph that a checkpoint may hold, whole.
std::map<std::string, TensorType> WantedBy(const Graph& graph) {
  std::map<std::string, TensorType> wanted;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role != TensorRole::kParameter || tensor.literal != nullptr) continue;
    if (tensor.part == nullptr) {
      wanted.emplace(tensor.name, tensor.type);
    } else {
      wanted.emplace(tensor.part->whole, TensorType{tensor.type.dtype, tensor.part->type.shape});
    }
  }
  return wanted;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The names under which a checkpoint may have a parameter as it is.
std::vector<std::string> NamesOf(const std::string& name) {
  std::vector<std::string> names = {name, Replaced(name, ".mlp.gate.", ".block_sparse_moe.gate.")};
  for (const std::string_view base : {"model.", "transformer."}) {
    if (name.starts_with(base)) names.push_back(name.substr(base.size()));
  }
  return names;
}

// The names of one expert's tensors, in the order in which they lie in a joined one.
std::vector<std::vector<std::string>> ExpertNames(const std::string& name, int64_t expert) {
  constexpr std::string_view kBoth = ".experts.gate_up_proj", kDown = ".experts.down_proj";
  const bool is_both = name.ends_with(kBoth);
  if (!is_both && !name.ends_with(kDown)) return {};
  const std::string module = name.substr(0, name.size() - (is_both ? kBoth : kDown).size());
  const std::string own = StrCat(module, ".experts.", expert, ".");
  const std::string sparse = Replaced(own, ".mlp.experts.", ".block_sparse_moe.experts.");
  if (is_both)
    return {{own + "gate_proj.weight", own + "up_proj.weight"}, {sparse + "w1.weight", sparse + "w3.weight"}};
  return {{own + "down_proj.weight"}, {sparse + "w2.weight"}};
}

bool Fits(DType stored, DType wanted) {
  const auto is_wide = [](DType type) { return IsFloat(type) && DTypeBits(type) >= 16; };
  return stored == wanted || (is_wide(stored) && is_wide(wanted));
}

// Without the folder that it is in.
std::string NameOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return IsOfCall(name) ? name.substr(kMemoryPrefix.size()) : name;
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kLongest = 200;
  std::vector<std::string> first;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    first.push_back(names[i].size() <= kLongest ? names[i] : StrCat(CutAtCharacter(names[i], kLongest), "..."));
  }
  return StrCat(Join(first, ", "), names.size() > kShown ? StrCat(" and ", names.size() - kShown, " more") : "");
}

}  // namespace

// The pieces that make one parameter.
struct WeightFiles::Found {
  std::vector<std::pair<std::string, const Place*>> pieces;  // their bytes, one behind the other; empty: not there
  TensorType type;                                           // of all together
};

Status WeightFiles::AddFile(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const StoredWeights weights, ReadSafetensorsFile(path));
  files_.push_back(path);
  for (const auto& [name, weight] : weights) {
    const auto [at, is_new] = places_.emplace(name, Place{files_.size() - 1, weight});
    if (!is_new) return BadInput(StrCat(path, ": ", Quote(name), " stands in ", files_[at->second.file], ", too"));
  }
  return OkStatus();
}

Status WeightFiles::AddIndex(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SBP_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJsonObject(text, path));
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) return BadInput(StrCat(path, ": expected an object \"weight_map\""));
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    const bool is_plain =
        file.is_string() && !file.get<std::string>().empty() && file.get<std::string>().find('/') == std::string::npos;
    if (!is_plain)
      return BadInput(StrCat(path, ": ", Quote(CutAtCharacter(tensor, 200)), " is in no file of this folder"));
    names.insert(file.get<std::string>());
  }
  for (const std::string& name : names) {
    SBP_RETURN_IF_ERROR(
        AddFile(IsOfCall(path) ? BesideDocument(path, name) : (fs::path(path).parent_path() / name).string()));
  }
  for (const auto& [tensor, file] : map->items()) {
    const auto at = places_.find(tensor);
    const bool is_there = at != places_.end() && NameOf(files_[at->second.file]) == file.get<std::string>();
    if (!is_there) {
      return BadInput(StrCat(path, ": ", Quote(CutAtCharacter(tensor, 200)), " is not in ", file.get<std::string>()));
    }
  }
  return OkStatus();
}

Result<WeightFiles> WeightFiles::Open(const std::string& path) {
  WeightFiles files;
  files.path_ = path;
  std::error_code failed;
  std::string file = path;
  if (!IsOfCall(path) && fs::is_directory(path, failed)) {
    const fs::path index = fs::path(path) / kIndexName, single = fs::path(path) / kFileName;
    if (!fs::exists(index, failed) && !fs::exists(single, failed)) {
      return BadInput(StrCat(path, ": the folder has no ", kIndexName, " and no ", kFileName));
    }
    file = fs::exists(index, failed) ? index.string() : single.string();
  }
  SBP_RETURN_IF_ERROR(file.ends_with(".json") ? files.AddIndex(file) : files.AddFile(file));
  return files;
}

WeightFiles::Found WeightFiles::Find(const std::string& name, const TensorType& type) const {
  for (const std::string& known : NamesOf(name)) {
    if (const auto at = places_.find(known); at != places_.end())
      return {{{known, &at->second}}, at->second.weight.type};
  }
  Found found;
  const int64_t experts = type.rank() == 3 ? type.shape[0] : 0;
  const size_t spellings = experts > 0 ? ExpertNames(name, 0).size() : 0;
  for (size_t spelling = 0; spelling < spellings; ++spelling) {
    found.pieces.clear();
    bool is_whole = true;
    for (int64_t expert = 0; expert < experts && is_whole; ++expert) {
      const std::vector<std::string> names = ExpertNames(name, expert)[spelling];
      for (const std::string& piece : names) {
        const auto at = places_.find(piece);
        is_whole = is_whole && at != places_.end();
        if (is_whole) found.pieces.emplace_back(piece, &at->second);
      }
    }
    if (!is_whole) continue;
    const auto each = static_cast<int64_t>(found.pieces.size()) / experts;
    const TensorType& first = found.pieces.front().second->weight.type;
    const bool are_alike =
        std::ranges::all_of(found.pieces, [&](const auto& piece) { return piece.second->weight.type == first; });
    found.type = first;
    if (are_alike && first.rank() == 2) {
      found.type.shape = {experts, first.shape[0] * each, first.shape[1]};
    }
    return found;
  }
  return {};
}

WeightFiles::Fit WeightFiles::FitTo(const Graph& graph) const {
  Fit fit;
  std::set<std::string> used;
  for (const auto& [name, type] : WantedBy(graph)) {
    const Found found = Find(name, type);
    if (found.pieces.empty()) {
      fit.missing.push_back(name);
      continue;
    }
    ++fit.found;
    for (const auto& [piece, place] : found.pieces) used.insert(piece);
    if (found.type.shape != type.shape || !Fits(found.type.dtype, type.dtype)) {
      fit.different.push_back(
          StrCat(found.pieces.front().first, " is ", ToString(found.type), ", the graph has ", ToString(type)));
    }
  }
  for (const auto& [name, place] : places_) {
    if (!used.contains(name)) fit.unexpected.push_back(name);
  }
  return fit;
}

Result<std::vector<TensorData>> WeightFiles::ReadFor(const Graph& graph) const {
  const std::string misfit = DescribeMisfit(FitTo(graph));
  if (!misfit.empty()) return BadInput(StrCat(path_, ": ", misfit));
  std::vector<TensorData> tensors;
  for (const auto& [name, type] : WantedBy(graph)) {
    const Found found = Find(name, type);
    TensorData data{.name = name, .type = found.type, .bytes = {}, .entries = {}};
    for (const auto& [piece, place] : found.pieces) {
      SBP_RETURN_IF_ERROR(AppendWeight(files_[place->file], place->weight, data.bytes));
    }
    tensors.push_back(std::move(data));
  }
  return tensors;
}

std::string DescribeMisfit(const WeightFiles::Fit& fit) {
  std::vector<std::string> parts;
  if (!fit.missing.empty()) {
    parts.push_back(StrCat(fit.missing.size(), " of ", fit.missing.size() + static_cast<size_t>(fit.found),
                           " parameters are missing: ", Listed(fit.missing)));
  }
  if (!fit.different.empty()) parts.push_back(StrCat("of another shape or type: ", Listed(fit.different)));
  const bool shows_others = !fit.missing.empty() && !fit.unexpected.empty();
  if (shows_others) parts.push_back(DescribeUnexpected(fit));
  return Join(parts, "; ");
}

std::string DescribeUnexpected(const WeightFiles::Fit& fit) {
  return StrCat("tensors that no parameter takes: ", Listed(fit.unexpected));
}

}  // namespace sbp
