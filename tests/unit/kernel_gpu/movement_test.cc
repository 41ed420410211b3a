// Boxes and combinations on a device against the same on the host (runtime/data/box.h, runtime/data/reduce.h).
#include "kernel/gpu/movement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "kernel/convert.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "support/gpu_device.h"

namespace sbp {
namespace {

constexpr DType kTypes[] = {DType::kBool, DType::kI8,   DType::kU8,  DType::kI16, DType::kU16,
                            DType::kF16,  DType::kBF16, DType::kI32, DType::kU32, DType::kF32,
                            DType::kI64,  DType::kU64,  DType::kF64, DType::kC64, DType::kC128};

std::vector<std::byte> RandomBytes(std::mt19937_64& random, int64_t n) {
  std::vector<std::byte> bytes(static_cast<size_t>(n));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// Small numbers of any type.
std::vector<std::byte> RandomNumbers(std::mt19937_64& random, DType type, int64_t n) {
  std::vector<double> values(static_cast<size_t>(n));
  for (double& v : values) v = static_cast<double>(random() % 7) - (IsSigned(type) ? 3 : 0) + 0.25;
  std::vector<std::byte> bytes(static_cast<size_t>(n * 16));
  Convert(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), 8, type, bytes.data(), ElementBytes(type), n);
  bytes.resize(static_cast<size_t>(n * ElementBytes(type)));
  return bytes;
}

int64_t Bytes(DType type, int64_t n) { return TensorView::StorageBytes(type, n); }

class MovementTest : public testing::Test {
 protected:
  MovementTest() : gpu_(OpenTestGpu()), random_(5) {}
  std::vector<std::byte> Taken(const std::byte* data, size_t bytes) {
    std::vector<std::byte> taken(bytes);
    gpu_.Take(data, taken.data(), static_cast<int64_t>(bytes));
    return taken;
  }
  // A box within `outer`, empty at times.
  Box Within(const Box& outer) {
    Box box;
    for (const Range& range : outer) {
      const auto a = range.begin + static_cast<int64_t>(random_() % static_cast<uint64_t>(range.size() + 1));
      const auto b = range.begin + static_cast<int64_t>(random_() % static_cast<uint64_t>(range.size() + 1));
      box.push_back({std::min(a, b), std::max(a, b)});
    }
    return box;
  }
  TestGpu gpu_;
  std::mt19937_64 random_;
};

TEST_F(MovementTest, CopiesBoxesOfAnyType) {
  const DType packed[] = {DType::kI4, DType::kU2, DType::kF4E2M1};
  std::vector<DType> types(std::begin(kTypes), std::end(kTypes));
  types.insert(types.end(), std::begin(packed), std::end(packed));
  for (const DType type : types) {
    for (int trial = 0; trial < 30; ++trial) {
      gpu_.Reset();
      Box a, b;
      for (int d = static_cast<int>(random_() % 4); d > 0; --d) {
        const auto begin = static_cast<int64_t>(random_() % 5);
        a.push_back({begin, begin + 1 + static_cast<int64_t>(random_() % 6)});
        b.push_back({begin + 1, begin + 2 + static_cast<int64_t>(random_() % 6)});
      }
      const Box part = Within(Intersect(a, b));
      const std::vector<std::byte> source = RandomBytes(random_, Bytes(type, Elements(a)));
      std::vector<std::byte> target = RandomBytes(random_, Bytes(type, Elements(b)));
      const std::byte* from = gpu_.Put(source.data(), static_cast<int64_t>(source.size()));
      std::byte* to = gpu_.Put(target.data(), static_cast<int64_t>(target.size()));
      const Status status = gpu_.kernels->movement.copy_box(*gpu_.stream, type, part, from, a, to, b);
      ASSERT_TRUE(status.ok()) << status.message();
      CopyBox(type, part, source.data(), a, target.data(), b);
      ASSERT_EQ(Taken(to, target.size()), target)
          << DTypeName(type) << ": " << ToString(part) << " of " << ToString(a) << " to " << ToString(b);
    }
  }
}

TEST_F(MovementTest, CopiesFromUnalignedPieces) {
  const std::vector<std::byte> source = RandomBytes(random_, 200);
  std::vector<std::byte> target(200);
  const Box a{{0, 4}, {0, 6}}, part{{0, 4}, {1, 5}};
  const std::byte* from = gpu_.Put(source.data(), 200);
  std::byte* to = gpu_.Put(target.data(), 200);
  ASSERT_TRUE(gpu_.kernels->movement.copy_box(*gpu_.stream, DType::kF32, part, from + 3, a, to + 6, part).ok());
  CopyBox(DType::kF32, part, source.data() + 3, a, target.data() + 6, part);
  EXPECT_EQ(Taken(to, 200), target);
}

TEST_F(MovementTest, CopiesElementsFromAnyOffset) {
  for (const DType type : {DType::kU4, DType::kI2, DType::kF32}) {
    for (int trial = 0; trial < 40; ++trial) {
      gpu_.Reset();
      const auto count = static_cast<int64_t>(random_() % 20);
      const auto from = static_cast<int64_t>(random_() % 9), to = static_cast<int64_t>(random_() % 9);
      const std::vector<std::byte> source = RandomBytes(random_, Bytes(type, 32));
      std::vector<std::byte> target = RandomBytes(random_, Bytes(type, 32));
      std::byte* moved = gpu_.Put(target.data(), static_cast<int64_t>(target.size()));
      const std::byte* data = gpu_.Put(source.data(), static_cast<int64_t>(source.size()));
      ASSERT_TRUE(gpu_.kernels->movement.copy_elements(*gpu_.stream, type, count, data, from, moved, to).ok());
      CopyElements(type, count, source.data(), from, target.data(), to);
      ASSERT_EQ(Taken(moved, target.size()), target) << DTypeName(type) << " " << count << " " << from << " " << to;
    }
  }
}

TEST_F(MovementTest, CombinesInOrderAndFillsWithTheNeutralElement) {
  constexpr int64_t kCount = 37;
  for (const DType type : kTypes) {
    for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
      if (!CanReduce(type, kind).ok()) continue;
      SCOPED_TRACE(StrCat(DTypeName(type), " ", ReduceKindName(kind)));
      for (const size_t sources : {1, 3, 20}) {
        gpu_.Reset();
        std::vector<std::vector<std::byte>> values;
        std::vector<const std::byte*> host, device;
        for (size_t s = 0; s < sources; ++s) values.push_back(RandomNumbers(random_, type, kCount));
        for (const auto& bytes : values) {
          host.push_back(bytes.data());
          device.push_back(gpu_.Put(bytes.data(), static_cast<int64_t>(bytes.size())));
        }
        std::vector<std::byte> expected(values[0].size());
        ReduceElements(type, kind, host, expected.data(), kCount);
        auto* target = const_cast<std::byte*>(device.back());
        const Status status = gpu_.kernels->movement.combine(*gpu_.stream, type, kind, device, target, kCount);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(Taken(target, expected.size()), expected);
      }
      std::vector<std::byte> neutral(static_cast<size_t>(Bytes(type, kCount)));
      std::byte* filled = gpu_.Put(neutral.data(), static_cast<int64_t>(neutral.size()));
      ASSERT_TRUE(gpu_.kernels->movement.fill_neutral(*gpu_.stream, type, kind, filled, kCount).ok());
      FillNeutral(type, kind, neutral.data(), kCount);
      EXPECT_EQ(Taken(filled, neutral.size()), neutral);
    }
  }
}

TEST_F(MovementTest, NotesNan) {
  for (const DType type : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kF8E4M3FN, DType::kC64}) {
    for (const bool has : {false, true}) {
      std::vector<std::byte> values(64 * 16);
      const double nan = std::nan("");
      const int64_t bytes = ElementBytes(type);
      if (has) Convert(DType::kF64, reinterpret_cast<const std::byte*>(&nan), 8, type, &values[63 * bytes], bytes, 1);
      uint32_t word = 0;
      const std::byte* data = gpu_.Put(values.data(), 64 * bytes);
      auto* noted = reinterpret_cast<uint32_t*>(gpu_.Put(&word, sizeof word));
      ASSERT_TRUE(gpu_.kernels->movement.note_nan(*gpu_.stream, type, data, 64, noted, 9).ok());
      gpu_.Take(reinterpret_cast<const std::byte*>(noted), &word, sizeof word);
      EXPECT_EQ(word, has ? 9u : 0u) << DTypeName(type);
    }
  }
}

}  // namespace
}  // namespace sbp
