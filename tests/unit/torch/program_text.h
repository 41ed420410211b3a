// Programs of torch.export for tests: JSON that is changed here and there, in an archive.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/zip.h"

namespace sbp {

// x[s0, 3] through a linear layer, split, changed in place and added; see the file.
inline nlohmann::json LinearProgram() {
  std::ifstream file(std::string(SBP_SOURCE_DIR) + "/tests/fuzz/corpus/torch/linear.json");
  return nlohmann::json::parse(file);
}

// With the members that the tests need, stored.
inline std::string ArchiveOf(const nlohmann::json& program,
                             std::vector<std::pair<std::string, std::string>> members = {}) {
  members.emplace_back("m/models/model.json", program.dump());
  return *WriteZip(members);
}

// The table of weights with one, of 4 x 3 floats: {"mlp.weight": at `path`}.
inline std::string WeightTable(const std::string& path, int64_t offset = 0) {
  const nlohmann::json meta = {{"dtype", 7},
                               {"sizes", {{{"as_int", 4}}, {{"as_int", 3}}}},
                               {"strides", {{{"as_int", 3}}, {{"as_int", 1}}}},
                               {"storage_offset", {{"as_int", offset}}}};
  const nlohmann::json entry = {{"path_name", path}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta}};
  return nlohmann::json({{"config", {{"mlp.weight", entry}}}}).dump();
}

}  // namespace sbp
