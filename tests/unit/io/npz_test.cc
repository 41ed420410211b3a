// Archives are made here byte by byte.
#include "io/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/text.h"

namespace sbp {
namespace {

std::string Little(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

std::string Npy(std::string_view descr, std::string_view shape, std::string_view data, bool fortran = false) {
  std::string header =
      StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran ? "True" : "False", ", 'shape': ", shape, ", }\n");
  return StrCat("\x93NUMPY", std::string("\x01\x00", 2), Little(header.size(), 2), header, data);
}

std::string Deflate(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(content.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Member {
  std::string name, content;
  bool deflated = false;
  bool wide = false;  // sizes in a zip64 extra field
  uint32_t method = 0;
};

std::string Zip(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& member : members) {
    const std::string data = member.deflated ? Deflate(member.content) : member.content;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()), member.content.size());
    const uint32_t method = member.deflated ? 8 : member.method;
    const std::string extra =
        member.wide ? Little(1, 2) + Little(16, 2) + Little(member.content.size(), 8) + Little(data.size(), 8) : "";
    const std::string sizes = member.wide ? Little(0xffffffff, 4) + Little(0xffffffff, 4)
                                          : Little(data.size(), 4) + Little(member.content.size(), 4);
    const std::string common = Little(45, 2) + Little(0, 2) + Little(method, 2) + Little(0, 4) + Little(crc, 4) +
                               sizes + Little(member.name.size(), 2) + Little(extra.size(), 2);
    directory += "PK\x01\x02" + Little(45, 2) + common + Little(0, 2) + Little(0, 2) + Little(0, 2) + Little(0, 4) +
                 Little(out.size(), 4) + member.name + extra;
    out += "PK\x03\x04" + common + member.name + extra + data;
  }
  const size_t at = out.size();
  return out + directory + "PK\x05\x06" + Little(0, 4) + Little(members.size(), 2) + Little(members.size(), 2) +
         Little(directory.size(), 4) + Little(at, 4) + Little(0, 2);
}

struct NpzRow {
  std::string npy;
  std::string type;
  std::optional<std::vector<int64_t>> ints;
};

TEST(Npz, TypesAndValues) {
  const NpzRow rows[] = {
      {Npy("<i8", "(2,)", Little(7, 8) + Little(static_cast<uint64_t>(-2), 8)), "i64[2]", {{7, -2}}},
      {Npy(">i4", "()", std::string("\x00\x00\x01\x02", 4)), "i32[]", {{258}}},
      {Npy("|i1", "(1,)", "\xff"), "i8[1]", {{-1}}},
      {Npy("|u1", "(1,)", "\xff"), "u8[1]", {{255}}},
      {Npy("|b1", "(3,)", std::string("\x01\x00\x02", 3)), "bool[3]", {{1, 0, 1}}},
      {Npy("<i2", "(2, 3)", Little(0, 2) + Little(1, 2) + Little(2, 2) + Little(3, 2) + Little(4, 2) + Little(5, 2),
           true),
       "i16[2,3]",
       {{0, 2, 4, 1, 3, 5}}},
      {Npy("<i8", "(0, 4)", ""), "i64[0,4]", std::vector<int64_t>{}},
      {Npy("<f4", "(1, 2)", std::string(8, 'x')), "f32[1,2]", std::nullopt},
      {Npy("<f2", "(2,)", "abcd"), "f16[2]", std::nullopt},
      {Npy("<c16", "(1,)", std::string(16, 'x')), "c128[1]", std::nullopt},
      {Npy("bfloat16", "(1,)", "ab"), "bf16[1]", std::nullopt},
      {Npy("<U5", "(1,)", std::string(20, 'x')), "string[1]", std::nullopt},
      {Npy("<i8", "(5000,)", std::string(40000, 'x')), "i64[5000]", std::nullopt},
  };
  for (const NpzRow& row : rows) {
    for (const bool deflated : {false, true}) {
      for (const bool wide : {false, true}) {
        const Result<std::vector<NpyArray>> arrays = ReadNpz(Zip({{"a/b.npy", row.npy, deflated, wide}}), "x.npz");
        ASSERT_TRUE(arrays.ok()) << row.type << ": " << arrays.status().message();
        ASSERT_EQ(arrays->size(), 1U);
        const NpyArray& array = arrays->front();
        EXPECT_EQ(array.name, "a/b");
        EXPECT_EQ(ToString(array.type), row.type);
        ASSERT_EQ(array.literal != nullptr, row.ints.has_value()) << row.type;
        if (row.ints) {
          EXPECT_EQ(array.literal->ints, *row.ints) << row.type;
        }
      }
    }
  }
}

TEST(Npz, SeveralMembersInOrder) {
  const std::string npy = Npy("<i8", "()", Little(1, 8));
  const auto arrays = ReadNpz(Zip({{"b.npy", npy}, {"a.npy", npy, true}}), "x.npz");
  ASSERT_TRUE(arrays.ok());
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_EQ((*arrays)[0].name, "b");
  EXPECT_EQ((*arrays)[1].name, "a");
  EXPECT_TRUE(ReadNpz(Zip({}), "x.npz").value().empty());
}

struct BadNpzRow {
  std::string bytes;
  std::string_view message;
};

TEST(Npz, Errors) {
  const std::string good = Npy("<i8", "(1,)", Little(1, 8));
  std::string corrupt = Zip({{"a.npy", good}});
  corrupt[corrupt.find("'shape'") - 4] ^= 1;
  const BadNpzRow rows[] = {
      {"", "x.npz: not a zip archive, or cut off: it has no end record"},
      {Zip({{"a.npy", good}}).substr(20), "x.npz: corrupt zip archive: entry 0 of its directory"},
      {corrupt, "x.npz: member \"a.npy\": corrupt: its checksum does not agree"},
      {Zip({{"a.txt", good}}), "x.npz: member \"a.txt\": expected only .npy members"},
      {Zip({{"a.npy", "hello, world"}}), "x.npz: member \"a.npy\": not a .npy file"},
      {Zip({{"a.npy", good, false, false, 12}}),
       "x.npz: member \"a.npy\": compression method 12; expected stored (0) or deflated (8)"},
      {Zip({{"a.npy", Npy("<i8", "(2,)", Little(1, 8))}}),
       "x.npz: member \"a.npy\": its values are cut off: expected 16 bytes of i64[2], found 8"},
      {Zip({{"a.npy", Npy("<q9", "(2,)", "")}}), "x.npz: member \"a.npy\": element type \"<q9\" is not known"},
      {Zip({{"a.npy", Npy("<f16", "(2,)", "")}}), "x.npz: member \"a.npy\": element type \"<f16\" is not known"},
      {Zip({{"a.npy", Npy("<i8", "(-1,)", "")}}), "x.npz: member \"a.npy\": dimension \"-1\" is no number >= 0"},
      {Zip({{"a.npy", Npy("<i8", "(9223372036854775807, 9)", "")}}),
       "x.npz: member \"a.npy\": i64[9223372036854775807,9] is too large"},
      {Zip({{"a.npy", Npy("<i8", "3", "")}}), "x.npz: member \"a.npy\": 'shape' is no tuple"},
  };
  for (const BadNpzRow& row : rows) {
    const auto arrays = ReadNpz(row.bytes, "x.npz");
    ASSERT_FALSE(arrays.ok()) << row.message;
    EXPECT_EQ(arrays.status().code(), Code::kBadInput);
    EXPECT_EQ(arrays.status().message(), row.message);
  }
}

// All values, as hexadecimal digits.
std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    for (const int half : {static_cast<unsigned char>(c) >> 4, c & 15}) text += "0123456789abcdef"[half];
  }
  return text;
}

struct DataRow {
  std::string npy, expected;  // type and bytes, or the error
};

TEST(Npz, AllValuesOfAnArray) {
  const std::string rows_of_two = std::string("\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00", 12);
  const DataRow rows[] = {
      {Npy("<u2", "(2, 3)", rows_of_two), "u16[2,3] 010002000300040005000600"},
      {Npy("<u2", "(2, 3)", rows_of_two, true), "u16[2,3] 010003000500020004000600"},
      {Npy(">u2", "(1, 2)", std::string("\x00\x01\x00\x02", 4)), "u16[1,2] 01000200"},
      {Npy(">u2", "(2, 2)", std::string("\x00\x01\x00\x02\x00\x03\x00\x04", 8), true), "u16[2,2] 0100030002000400"},
      {Npy(">f4", "()", std::string("\x3f\x80\x00\x00", 4)), "f32[] 0000803f"},
      // Each half of a complex number is turned by itself.
      {Npy(">c8", "(1,)", std::string("\x3f\x80\x00\x00\x40\x00\x00\x00", 8)), "c64[1] 0000803f00000040"},
      {Npy("<f8", "(0, 3)", ""), "f64[0,3] "},
      {Npy("<U1", "(1,)", std::string(4, 'x')), "a.npy: values of string"},
      {Npy("<f4", "(3,)", std::string(8, 'x')), "a.npy: its values are cut off: expected 12 bytes of f32[3], found 8"},
      {"hello", "a.npy: not a .npy file"},
  };
  for (const DataRow& row : rows) {
    const Result<TensorData> data = ReadNpyData(row.npy, "a.npy");
    EXPECT_EQ(data.ok() ? StrCat(ToString(data->type), " ", Hex(data->bytes)) : data.status().message(), row.expected);
    const Result<std::vector<TensorData>> archive = ReadNpzData(Zip({{"t.npy", row.npy, true}}), "a.npz");
    ASSERT_EQ(archive.ok(), data.ok()) << row.expected;
    if (data.ok()) {
      EXPECT_EQ(archive->front().name, "t");
      EXPECT_EQ(archive->front().bytes, data->bytes);
    }
  }
}

TEST(Npz, WhatIsWrittenReadsBack) {
  std::vector<TensorData> tensors;
  for (int t = 1; t <= 26; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (!NumpyHas(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{2, 1, 3}}) {
      TensorData data{StrCat("net/", DTypeName(dtype), ".", tensors.size()), {dtype, shape}, ""};
      for (int64_t i = 0; i < data.type.num_bytes(); ++i) data.bytes += static_cast<char>(i * 37 + t);
      tensors.push_back(std::move(data));
    }
  }
  EXPECT_EQ(tensors.size(), 14U * 4);
  const std::string archive = WriteNpz(tensors).value();
  EXPECT_EQ(archive, WriteNpz(tensors).value());
  const auto read = ReadNpzData(archive, "x.npz");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*read)[i].name, tensors[i].name);
    EXPECT_EQ((*read)[i].type, tensors[i].type);
    EXPECT_EQ((*read)[i].bytes, tensors[i].bytes) << tensors[i].name;
  }
  EXPECT_FALSE(NumpyHas(DType::kBF16));
  EXPECT_FALSE(NumpyHas(DType::kI4));
}

TEST(Npz, EveryPrefixAndFlipIsHandled) {
  const std::string good = Zip({{"a.npy", Npy("<i8", "(3,)", std::string(24, 'x')), true}, {"b.npy", "x"}});
  for (size_t i = 0; i < good.size(); ++i) {
    (void)ReadNpz(good.substr(0, i), "x.npz").ok();
    (void)ReadNpzData(good.substr(0, i), "x.npz").ok();
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0xff);
    (void)ReadNpz(bad, "x.npz").ok();
    (void)ReadNpzData(bad, "x.npz").ok();
  }
}

}  // namespace
}  // namespace sbp
