#include "schedule/memory_edges.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "base/checked_math.h"
#include "memory/byte_map.h"
#include "plan/physical_plan.h"

namespace sbp {
namespace {

constexpr uint32_t kNoUser = std::numeric_limits<uint32_t>::max();

struct Users {
  uint32_t writer = kNoUser;
  std::vector<uint32_t> readers;  // ascending
};

std::vector<Users> UsersOf(const PhysicalPlan& physical) {
  std::vector<Users> users(physical.registers.size());
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    for (const uint32_t r : physical.tasks[t].writes) {
      if (r != kNoRegister) users[r].writer = t;
    }
    for (const uint32_t r : physical.tasks[t].reads) {
      if (r == kNoRegister) continue;
      std::vector<uint32_t>& readers = users[r].readers;
      if (readers.empty() || readers.back() != t) readers.push_back(t);
    }
  }
  return users;
}

bool HasBytes(const Register& reg) { return reg.bytes > 0 && reg.copies == 1; }

}  // namespace

std::vector<TaskEdge> MemoryEdges(const PhysicalPlan& physical) {
  const std::vector<Users> users = UsersOf(physical);
  std::vector<TaskEdge> edges;
  ByteMap<uint32_t> memory;  // the register that holds each byte
  const auto take = [&](uint32_t r, auto visit) {
    const Register& reg = physical.registers[r];
    memory.Replace(reg.offset, SaturatingAdd(reg.offset, reg.footprint()), r, visit);
  };
  for (uint32_t r = 0; r < physical.registers.size(); ++r) {
    if (physical.registers[r].resident && HasBytes(physical.registers[r])) take(r, [](uint32_t) {});
  }
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    for (const uint32_t r : physical.tasks[t].writes) {
      if (r == kNoRegister || !HasBytes(physical.registers[r])) continue;
      take(r, [&](uint32_t owner) {
        if (owner == r) return;
        const Users& before = users[owner];
        if (before.readers.empty() && before.writer != kNoUser) edges.emplace_back(before.writer, t);
        for (const uint32_t reader : before.readers) {
          if (reader != t) edges.emplace_back(reader, t);
        }
      });
    }
    for (const uint32_t before : physical.tasks[t].after) edges.emplace_back(before, t);
  }
  return edges;
}

}  // namespace sbp
