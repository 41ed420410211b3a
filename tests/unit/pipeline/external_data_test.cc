#include "pipeline/external_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace sbp {
namespace {

namespace fs = std::filesystem;

// FOLDER/model/{m.onnx, m.data, deep/d.data, link, out -> ../secret}, FOLDER/secret
class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / StrCat("sbp_external_data_", getpid());
    fs::create_directories(folder_ / "model" / "deep");
    for (const char* name : {"model/m.data", "model/deep/d.data", "secret"})
      std::ofstream(folder_ / name) << "0123456789";
    fs::create_symlink("m.data", folder_ / "model" / "link");
    fs::create_symlink("../secret", folder_ / "model" / "out");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Read(const std::string& location, int64_t offset, int64_t bytes) const {
    const ExternalReader reader = ReadBeside((folder_ / "model" / "m.onnx").string());
    return reader(DataReference{location, offset, -1}, bytes).value_or("absent");
  }

  fs::path folder_;
};

TEST_F(ExternalDataTest, ReadsBesideTheModel) {
  EXPECT_EQ(Read("m.data", 2, 4), "2345");
  EXPECT_EQ(Read("deep/d.data", 0, 10), "0123456789");
  EXPECT_EQ(Read("link", 9, 1), "9");
  EXPECT_EQ(Read("deep/../m.data", 0, 1), "0");
}

TEST_F(ExternalDataTest, NothingElse) {
  EXPECT_EQ(Read("m.data", 8, 4), "absent");
  EXPECT_EQ(Read("m.data", int64_t{1} << 62, 4), "absent");
  for (const char* location : {"", ".", "deep", "none", "../secret", "out", "deep/../../secret"}) {
    EXPECT_EQ(Read(location, 0, 1), "absent") << location;
  }
  EXPECT_EQ(Read((folder_ / "model" / "m.data").string(), 0, 1), "absent");
  EXPECT_FALSE(ReadBeside("-"));
  EXPECT_FALSE(ReadBeside(""));
}

}  // namespace
}  // namespace sbp
