#include "io/deflate.h"

#include <zlib.h>

namespace sbp {

Result<std::string> Deflate(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) return Defect("zlib cannot deflate");
  out.resize(size);
  return out;
}

}  // namespace sbp
