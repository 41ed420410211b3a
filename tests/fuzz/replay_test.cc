// Replays the corpus: every file must pass its target.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace sbp::fuzz {
namespace {

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, Corpus) {
  const auto folder = std::filesystem::path(SBP_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_FALSE(paths.empty()) << folder;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    GetParam().run(bytes);
    // What is cut off must be refused as calmly.
    for (size_t part = 1; part < 8; ++part) GetParam().run(std::string_view(bytes).substr(0, bytes.size() * part / 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(AllTargets().begin(), AllTargets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sbp::fuzz
