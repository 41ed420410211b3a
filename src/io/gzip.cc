#include "io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace sbp {
namespace {

constexpr size_t kMostBytes = size_t{16} << 30;
constexpr size_t kTrailer = 8;          // CRC and size modulo 2^32, both little-endian
constexpr size_t kLargestRatio = 1032;  // of deflate

// The size that the trailer states, as far as it can be true: the first guess of how much to allocate.
size_t StatedSize(std::string_view bytes) {
  if (bytes.size() < kTrailer) return 0;
  uint32_t size = 0;
  for (int i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - i]);
  return std::min<size_t>(size, bytes.size() * kLargestRatio);
}

struct Inflater {
  z_stream stream{};
  bool ready = false;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

Result<std::string> Gunzip(std::string_view bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return Defect("zlib cannot start");
  inflater.ready = true;
  std::string content(StatedSize(bytes) + 1, '\0');
  size_t read = 0;
  size_t written = 0;
  while (true) {
    if (written == content.size()) {
      if (content.size() > kMostBytes) return BadInput("gzip: more than 16 GiB");
      content.resize(content.size() + content.size() / 2 + 4096);
    }
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    const auto in = static_cast<uInt>(std::min(bytes.size() - read, kMost));
    const auto out = static_cast<uInt>(std::min(content.size() - written, kMost));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
    stream.avail_out = out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (code == Z_STREAM_END) {
      if (read == bytes.size()) break;
      if (!IsGzip(bytes.substr(read))) return BadInput(StrCat("gzip: byte ", read, ": something behind the end"));
      if (inflateReset(&stream) != Z_OK) return Defect("zlib cannot start again");
    } else if (code == Z_BUF_ERROR || (code == Z_OK && read == bytes.size() && stream.avail_out > 0)) {
      if (read == bytes.size() && stream.avail_out > 0) return BadInput("gzip: the file is cut off");
    } else if (code != Z_OK) {
      return BadInput(StrCat("gzip: corrupt near byte ", read));
    }
  }
  content.resize(written);
  return content;
}

}  // namespace sbp
