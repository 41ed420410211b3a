#include "runtime/data/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sbp {
namespace {

class MachineMemory : public ::testing::Test {
 protected:
  MachineMemory() : root_(std::filesystem::path(::testing::TempDir()) / "machine_memory") {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~MachineMemory() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::optional<int64_t> Available() const { return AvailableMemory(root_.string()); }

  std::filesystem::path root_;
};

TEST_F(MachineMemory, NothingIsKnown) { EXPECT_EQ(Available(), std::nullopt); }

TEST_F(MachineMemory, TheMachine) {
  Write("proc/meminfo", "MemTotal:       16384 kB\nMemFree:         100 kB\nMemAvailable:    8000 kB\n");
  EXPECT_EQ(Available(), 8'192'000);
}

TEST_F(MachineMemory, TheGroupAboveIsTighter) {
  Write("proc/meminfo", "MemAvailable:    8000 kB\n");
  Write("proc/self/cgroup", "0::/user/job\n");
  Write("sys/fs/cgroup/user/job/memory.max", "max\n");
  Write("sys/fs/cgroup/user/job/memory.current", "1000\n");
  EXPECT_EQ(Available(), 8'192'000);
  Write("sys/fs/cgroup/user/memory.max", "5000\n");
  Write("sys/fs/cgroup/user/memory.current", "3000\n");
  EXPECT_EQ(Available(), 2000);
  Write("sys/fs/cgroup/user/memory.stat", "anon 1000\ninactive_file 1500\n");
  EXPECT_EQ(Available(), 3500);
}

TEST_F(MachineMemory, VersionOneOfGroups) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "700\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n");
  EXPECT_EQ(Available(), 0);
}

TEST_F(MachineMemory, ThisMachineSays) { EXPECT_GT(AvailableMemory().value_or(0), 0); }

}  // namespace
}  // namespace sbp
