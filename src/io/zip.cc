// Layout: PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3.
#include "io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/text.h"

namespace sbp {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndRecord = 0x06054b50;
constexpr uint32_t kEndRecord64 = 0x06064b50;
constexpr uint32_t kEndLocator64 = 0x07064b50;
constexpr uint32_t kIn64 = 0xffffffff;  // "the value is in the zip64 extra field"

// A little-endian number of `width` bytes, or nothing beyond the end.
std::optional<uint64_t> Number(std::string_view bytes, uint64_t at, size_t width) {
  if (at > bytes.size() || bytes.size() - at < width) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

std::optional<std::string_view> Slice(std::string_view bytes, uint64_t at, uint64_t length) {
  if (at > bytes.size() || bytes.size() - at < length) return std::nullopt;
  return bytes.substr(at, length);
}

struct Directory {
  uint64_t offset = 0;
  uint64_t count = 0;
};

// The end record stands at the end, before a comment of at most 65535 bytes.
std::optional<Directory> FindDirectory(std::string_view bytes) {
  constexpr size_t kEndSize = 22;
  if (bytes.size() < kEndSize) return std::nullopt;
  const size_t first = bytes.size() - std::min(bytes.size(), kEndSize + 65535);
  for (size_t at = bytes.size() - kEndSize + 1; at-- > first;) {
    if (Number(bytes, at, 4) != kEndRecord) continue;
    Directory directory{*Number(bytes, at + 16, 4), *Number(bytes, at + 10, 2)};
    if (at >= 20 && Number(bytes, at - 20, 4) == kEndLocator64) {
      const uint64_t end64 = *Number(bytes, at - 12, 8);
      const auto count = Number(bytes, end64 + 32, 8);
      const auto offset = Number(bytes, end64 + 48, 8);
      if (Number(bytes, end64, 4) != kEndRecord64 || !count || !offset) return std::nullopt;
      directory = {*offset, *count};
    }
    return directory;
  }
  return std::nullopt;
}

// What one entry of the central directory states.
struct Entry {
  uint64_t packed = 0, size = 0, local = 0;
};

// Replaces the values that stand in the zip64 extra field.
bool ReadZip64(std::string_view extra, Entry& entry) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t tag = *Number(extra, at, 2);
    const uint64_t length = *Number(extra, at + 2, 2);
    if (tag != 1) {
      at += 4 + length;
      continue;
    }
    uint64_t next = at + 4;
    for (uint64_t* value : {&entry.size, &entry.packed, &entry.local}) {
      if (*value != kIn64) continue;
      const auto wide = Number(extra, next, 8);
      if (!wide) return false;
      *value = *wide;
      next += 8;
    }
    return true;
  }
  return true;
}

// The member at `at` of the central directory; moves `at` behind it.
std::optional<ZipMember> ReadMember(std::string_view bytes, uint64_t& at) {
  const auto header = Slice(bytes, at, 46);
  if (!header || Number(*header, 0, 4) != kCentralHeader) return std::nullopt;
  const uint64_t name_length = *Number(*header, 28, 2);
  const uint64_t extra_length = *Number(*header, 30, 2);
  const uint64_t comment_length = *Number(*header, 32, 2);
  const auto name = Slice(bytes, at + 46, name_length);
  const auto extra = Slice(bytes, at + 46 + name_length, extra_length);
  if (!name || !extra) return std::nullopt;
  Entry entry{*Number(*header, 20, 4), *Number(*header, 24, 4), *Number(*header, 42, 4)};
  if (!ReadZip64(*extra, entry)) return std::nullopt;
  // Name and extra field stand again, with lengths of their own, before the data.
  const auto local = Slice(bytes, entry.local, 30);
  if (!local || Number(*local, 0, 4) != kLocalHeader) return std::nullopt;
  const auto data = Slice(bytes, entry.local + 30 + *Number(*local, 26, 2) + *Number(*local, 28, 2), entry.packed);
  if (!data) return std::nullopt;
  at += 46 + name_length + extra_length + comment_length;
  return ZipMember{std::string(*name), static_cast<uint32_t>(*Number(*header, 10, 2)),
                   static_cast<uint32_t>(*Number(*header, 16, 4)), entry.size, *data};
}

Result<std::string> Inflate(std::string_view packed, size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Defect("zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::string out;
  std::array<char, 16384> buffer;
  while (out.size() < limit) {
    if (stream.avail_in == 0) {
      const size_t chunk = std::min<size_t>(packed.size(), size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write to it
      stream.avail_in = static_cast<uInt>(chunk);
      packed.remove_prefix(chunk);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), std::min(buffer.size() - stream.avail_out, limit - out.size()));
    if (status == Z_STREAM_END) break;
    if (status != Z_OK) return BadInput("corrupt deflated data");
  }
  return out;
}

}  // namespace

Result<std::vector<ZipMember>> ReadZipDirectory(std::string_view bytes) {
  const std::optional<Directory> directory = FindDirectory(bytes);
  if (!directory) return BadInput("not a zip archive, or cut off: it has no end record");
  std::vector<ZipMember> members;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->count; ++i) {
    std::optional<ZipMember> member = ReadMember(bytes, at);
    if (!member) return BadInput(StrCat("corrupt zip archive: entry ", i, " of its directory"));
    members.push_back(*std::move(member));
  }
  return members;
}

Result<std::string> ReadZipMember(const ZipMember& member, size_t limit) {
  std::string content;
  if (member.method == 0) {
    content = std::string(member.data.substr(0, limit));
  } else if (member.method == 8) {
    SBP_ASSIGN_OR_RETURN(content, Inflate(member.data, limit));
  } else {
    return BadInput(StrCat("compression method ", member.method, "; expected stored (0) or deflated (8)"));
  }
  if (content.size() < limit || content.size() == member.size) {
    const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    if (crc != member.crc) return BadInput("corrupt: its checksum does not agree");
  }
  return content;
}

Result<std::string> WriteZip(const std::vector<std::pair<std::string, std::string>>& members) {
  constexpr uint16_t kVersion = 20, kDay1 = 0x0021;  // 1980-01-01, as MS-DOS writes dates
  std::string out, directory;
  const auto put = [](std::string& to, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) to.push_back(i < 8 ? static_cast<char>(value >> (8 * i)) : 0);
  };
  for (const auto& [name, content] : members) {
    const uint64_t offset = out.size();
    const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    std::string common;
    for (const uint16_t field : {kVersion, uint16_t{0}, uint16_t{0}, uint16_t{0}, kDay1}) put(common, field, 2);
    put(common, crc, 4);
    put(common, content.size(), 4);
    put(common, content.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    put(out, kLocalHeader, 4);
    out += common;
    out += name;
    out += content;
    put(directory, kCentralHeader, 4);
    put(directory, kVersion, 2);
    directory += common;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, offset, 4);
    directory += name;
    if (out.size() >= kIn64) return BadInput("more than 4 GiB do not fit an archive");
  }
  const uint64_t start = out.size();
  out += directory;
  put(out, kEndRecord, 4);
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace sbp
