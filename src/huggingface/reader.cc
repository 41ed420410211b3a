#include "huggingface/reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "graph/producers.h"
#include "huggingface/config.h"
#include "huggingface/families.h"
#include "io/json_text.h"

namespace sbp {
namespace {

using huggingface::AllFamilies;
using huggingface::Config;
using huggingface::FamilyRow;
using huggingface::Json;

std::vector<std::string> KnownTypes() {
  std::vector<std::string> names;
  for (const FamilyRow& row : AllFamilies()) names.emplace_back(row.model_type);
  return names;
}

Result<const FamilyRow*> FamilyOf(const Json& json) {
  const auto type = json.find("model_type");
  if (type == json.end() || !type->is_string()) {
    return BadInput(StrCat("config.json without a text \"model_type\"; known: ", Join(KnownTypes(), ", ")));
  }
  const std::string name = type->get<std::string>();
  for (const FamilyRow& row : AllFamilies()) {
    if (row.model_type == name) return &row;
  }
  if (json.contains("text_config")) {
    return BadInput(StrCat("model_type ", Quote(CutAtCharacter(name, 60)),
                           " holds a model of images and text; give what is under \"text_config\" as a config.json of "
                           "its own"));
  }
  return BadInput(StrCat("unknown model_type ", Quote(CutAtCharacter(name, 60)), "; known: ", Join(KnownTypes(), ", "),
                         DidYouMean(CutAtCharacter(name, 60), KnownTypes())));
}

// Some of the names: a file may have as many as it likes.
std::string KeysListed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 40, kLongest = 80;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) shown.emplace_back(CutAtCharacter(names[i], kLongest));
  if (names.size() > kShown) shown.push_back(StrCat("and ", names.size() - kShown, " more"));
  return Join(shown, ", ");
}

// Heads other than a language model's are not read: says so of the first such class.
void NoteOtherHead(const Json& json, Config& config) {
  const auto classes = json.find("architectures");
  if (classes == json.end() || !classes->is_array()) return;
  for (const Json& entry : *classes) {
    if (!entry.is_string()) continue;
    const std::string name = entry.get<std::string>();
    if (name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel")) continue;
    config.Note(
        StrCat("architectures: ", Quote(CutAtCharacter(name, 60)),
               " is read as the causal language model of its family, with lm_head in the place of its own head"));
    return;
  }
}

Result<Graph> Read(const Json& json) {
  SBP_ASSIGN_OR_RETURN(const FamilyRow* family, FamilyOf(json));
  Config config(json);
  NoteOtherHead(json, config);
  Result<Graph> graph = family->read(config);
  if (!graph.ok()) return graph.status().WithContext(StrCat("model_type ", family->model_type));
  graph->metadata.emplace_back(kProducerName, kConfigProducer);
  graph->metadata.emplace_back("model_type", std::string(family->model_type));
  if (!config.defaults().empty()) graph->metadata.emplace_back("defaults", Join(config.defaults(), ", "));
  for (const std::string& note : config.notes()) graph->metadata.emplace_back("note", note);
  if (const std::vector<std::string> unread = config.Unread(); !unread.empty()) {
    graph->metadata.emplace_back("unread", KeysListed(unread));
  }
  return graph;
}

}  // namespace

Result<Graph> ReadConfig(std::string_view bytes, std::string_view where) {
  SBP_ASSIGN_OR_RETURN(const Json json, ParseJsonObject(bytes, where));
  Result<Graph> graph = Read(json);
  if (!graph.ok()) return graph.status().WithContext(where);
  return graph;
}

bool IsOfConfig(const Graph& graph) { return IsProducedBy(graph, kConfigProducer); }

std::vector<std::string> NotesOnConfig(const Graph& graph) {
  std::vector<std::string> notes;
  if (!IsOfConfig(graph)) return notes;
  for (const auto& [key, value] : graph.metadata) {
    if (key == "defaults") notes.push_back(StrCat("keys that are missing have transformers' defaults: ", value));
    if (key == "note") notes.push_back(value);
    if (key == "unread") notes.push_back(StrCat("keys that are not known, and not looked at: ", value));
  }
  return notes;
}

}  // namespace sbp
