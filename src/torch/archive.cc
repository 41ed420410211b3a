#include "torch/archive.h"

#include <cstdint>
#include <functional>
#include <vector>

#include "base/text.h"
#include "io/json_text.h"
#include "io/zip.h"
#include "torch/json_view.h"
#include "torch/program.h"

namespace sbp::torch {
namespace {

constexpr size_t kMaxProgram = size_t{1} << 28;  // bytes of JSON: of some 200,000 nodes
constexpr std::string_view kProgram = "models/model.json";

using Members = std::map<std::string_view, const ZipMember*, std::less<>>;

// The archive's name is the first folder of all members.
bool IsMember(std::string_view name, std::string_view path) {
  if (!name.ends_with(path)) return false;
  const std::string_view folder = name.substr(0, name.size() - path.size());
  return folder.empty() || (folder.ends_with('/') && folder.find('/') == folder.size() - 1);
}

Result<std::string_view> FolderOf(const std::vector<ZipMember>& members) {
  std::string_view folder;
  int count = 0;
  for (const ZipMember& member : members) {
    if (!IsMember(member.name, kProgram)) continue;
    folder = std::string_view(member.name).substr(0, member.name.size() - kProgram.size());
    ++count;
  }
  if (count == 1) return folder;
  return BadInput(count == 0 ? "a zip archive without models/model.json; expected what torch.export.save writes"
                             : "several models in one archive");
}

Result<std::string> Content(const ZipMember& member) {
  if (member.size > kMaxProgram) return BadInput(StrCat(Quote(member.name), " is larger than ", kMaxProgram, " bytes"));
  Result<std::string> content = ReadZipMember(member, kMaxProgram);
  if (!content.ok()) return content.status().WithContext(Quote(member.name));
  return content;
}

// Where the values of a tensor stand in the file.
Result<std::optional<DataReference>> PlaceOf(const TensorMeta& meta, const ZipMember& member, std::string_view bytes) {
  const int64_t start = BytesOf(meta.type.dtype, meta.storage_offset);
  const int64_t length = meta.type.num_bytes();
  if (member.method != 0 || !meta.contiguous || length == 0) return std::optional<DataReference>();
  const auto stored = static_cast<int64_t>(member.data.size());
  if (stored == 0) return std::optional<DataReference>();  // saved without values
  if (start > stored || length > stored - start) {
    return BadInput(StrCat(Quote(member.name), " has ", stored, " bytes; ", ToString(meta.type), " from byte ", start,
                           " on does not fit"));
  }
  return std::optional(DataReference{"", (member.data.data() - bytes.data()) + start, length});
}

// data/weights and data/constants: a table in JSON, and a member for each storage.
Status ReadTable(std::string_view bytes, const Members& members, std::string_view folder, std::string_view kind,
                 std::map<std::string, StoredTensor>& tensors) {
  const std::string data = StrCat(folder, "data/", kind, "s/");
  const auto table = members.find(StrCat(data, "model_", kind, "s_config.json"));
  if (table == members.end()) return OkStatus();
  const std::string& place = table->second->name;
  SBP_ASSIGN_OR_RETURN(const std::string text, Content(*table->second));
  SBP_ASSIGN_OR_RETURN(const Json json, ParseJsonObject(text, place));
  SBP_ASSIGN_OR_RETURN(const Json* config, ObjectIn(json, "config", Quote(place)));
  for (const auto& [name, entry] : config->items()) {
    const std::string where = StrCat(Quote(place), ", ", Quote(name));
    const Json* meta_json = Find(entry, "tensor_meta");
    if (meta_json == nullptr) continue;  // an object that is no tensor
    SBP_ASSIGN_OR_RETURN(const TensorMeta meta, ReadTensorMeta(*meta_json, where));
    StoredTensor& stored = tensors[name];
    stored.type = meta.type;
    stored.contiguous = meta.contiguous;
    const Json* pickled = Find(entry, "use_pickle");
    if (pickled != nullptr && pickled->is_boolean() && pickled->get<bool>()) continue;
    SBP_ASSIGN_OR_RETURN(const std::string path, TextIn(entry, "path_name", where));
    stored.storage = StrCat(data, path, "+", meta.storage_offset);
    const auto member = members.find(StrCat(data, path));
    if (member == members.end()) continue;  // saved without values
    // Weights of the meta device all lie in one empty member: which of them are tied is not known.
    if (member->second->size == 0) stored.storage.clear();
    SBP_ASSIGN_OR_RETURN(stored.place, PlaceOf(meta, *member->second, bytes));
  }
  return OkStatus();
}

}  // namespace

Result<Archive> ReadArchive(std::string_view bytes) {
  SBP_ASSIGN_OR_RETURN(const std::vector<ZipMember> list, ReadZipDirectory(bytes));
  SBP_ASSIGN_OR_RETURN(const std::string_view folder, FolderOf(list));
  Members members;
  for (const ZipMember& member : list) members[member.name] = &member;
  Archive archive;
  SBP_ASSIGN_OR_RETURN(archive.program, Content(*members.at(StrCat(folder, kProgram))));
  if (const auto order = members.find(StrCat(folder, "byteorder")); order != members.end()) {
    SBP_ASSIGN_OR_RETURN(const std::string text, Content(*order->second));
    if (Trim(text) != "little") return BadInput(StrCat("byte order ", Quote(text.substr(0, 20)), "; expected little"));
  }
  for (const std::string_view kind : {"weight", "constant"}) {
    SBP_RETURN_IF_ERROR(ReadTable(bytes, members, folder, kind, archive.tensors));
  }
  return archive;
}

}  // namespace sbp::torch
