#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace sbp {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(std::filesystem::temp_directory_path() / ("sbp_file_test." + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  size_t CountFiles() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFile(Path("f"), content).ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), content);
  ASSERT_TRUE(WriteFile(Path("f"), "").ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), "");
  EXPECT_EQ(CountFiles(), 1U);
}

TEST_F(FileTest, WritesPieces) {
  const auto produce = [](const ByteSink& sink) {
    for (const char* piece : {"ab", "", "c"}) EXPECT_TRUE(sink(piece));
  };
  ASSERT_TRUE(WriteFileInPieces(Path("f"), produce).ok());
  EXPECT_EQ(ReadFile(Path("f")).value(), "abc");
  bool wanted = true;
  const Status full = WriteFileInPieces("/dev/full", [&](const ByteSink& sink) { wanted = sink("a") || sink("b"); });
  EXPECT_THAT(full.message(), testing::HasSubstr("No space left on device"));
  EXPECT_FALSE(wanted);
}

TEST_F(FileTest, KeepsTheRightsOfTheFileItReplaces) {
  ASSERT_TRUE(WriteFile(Path("f"), "a").ok());
  ASSERT_EQ(chmod(Path("f").c_str(), 0640), 0);
  ASSERT_TRUE(WriteFile(Path("f"), "b").ok());
  struct stat info;
  ASSERT_EQ(stat(Path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(FileTest, FailureLeavesNothing) {
  const Status status = WriteFile(Path("no/such/f"), "a");
  EXPECT_EQ(status.code(), Code::kBadInput);
  EXPECT_THAT(status.message(), testing::HasSubstr("No such file or directory"));
  EXPECT_EQ(CountFiles(), 0U);
}

TEST_F(FileTest, ReadErrorsNameThePath) {
  EXPECT_EQ(ReadFile("no_such_file").status().message(), "cannot open \"no_such_file\": No such file or directory");
  EXPECT_EQ(ReadFile(folder_.string()).status().message(),
            "cannot read \"" + folder_.string() + "\": it is a folder, expected a file");
}

TEST_F(FileTest, DevicesAreWrittenToAndNotReplaced) {
  EXPECT_TRUE(WriteFile("/dev/null", "a").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace sbp
