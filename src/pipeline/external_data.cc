#include "pipeline/external_data.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "graph/literal.h"
#include "io/call_files.h"

namespace sbp {
namespace {

namespace fs = std::filesystem;

// The file that a model in `folder` calls `location`; links are followed before it is asked where it is.
std::optional<fs::path> Inside(const fs::path& folder, const std::string& location) {
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute()) return std::nullopt;
  std::error_code failed;
  const fs::path root = fs::canonical(folder, failed);
  if (failed) return std::nullopt;
  fs::path file = fs::canonical(root / relative, failed);
  if (failed || !fs::is_regular_file(file, failed) || failed) return std::nullopt;
  const auto [at_root, at_file] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (at_root != root.end()) return std::nullopt;
  return file;
}

ExternalReader ReadBesideDocument(const CallFiles& files, const std::string& model) {
  return [&files, model](const DataReference& place, int64_t bytes) -> std::optional<std::string> {
    const std::optional<std::string_view> document = DocumentOf(files, BesideDocument(model, place.location));
    if (!document || place.offset < 0 || bytes < 0) return std::nullopt;
    const auto offset = static_cast<uint64_t>(place.offset), count = static_cast<uint64_t>(bytes);
    if (offset > document->size() || count > document->size() - offset) return std::nullopt;
    return std::string(document->substr(offset, count));
  };
}

}  // namespace

ExternalReader ReadBeside(const std::string& model) {
  if (model.empty() || model == "-") return {};
  if (IsOfCall(model)) return ReadBesideDocument(*CurrentCallFiles(), model);
  fs::path folder = fs::path(model).parent_path();
  if (folder.empty()) folder = ".";
  return [folder](const DataReference& place, int64_t bytes) -> std::optional<std::string> {
    const std::optional<fs::path> path = Inside(folder, place.location);
    if (!path) return std::nullopt;
    std::error_code failed;
    const uintmax_t size = fs::file_size(*path, failed);  // before so much memory is taken
    if (failed || place.offset < 0 || bytes < 0 || static_cast<uintmax_t>(place.offset) > size ||
        static_cast<uintmax_t>(bytes) > size - static_cast<uintmax_t>(place.offset)) {
      return std::nullopt;
    }
    std::ifstream file(*path, std::ios::binary);
    std::string content(static_cast<size_t>(bytes), '\0');
    if (!file.seekg(place.offset) || !file.read(content.data(), bytes)) return std::nullopt;
    return content;
  };
}

}  // namespace sbp
