// Zip archives: the members of an archive in memory, read as far as is asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {

struct ZipMember {
  std::string name;
  uint32_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t size = 0;      // as stated by the archive; not trusted
  std::string_view data;  // as stored
};

// The members in the order of the central directory; zip64 is understood. Error: not an archive, cut off.
Result<std::vector<ZipMember>> ReadZipDirectory(std::string_view bytes);

// The first `limit` bytes of a member, or all of it when it is shorter. Checks the CRC of what is read whole. Errors:
// another method, corrupt data.
Result<std::string> ReadZipMember(const ZipMember& member, size_t limit);

// An archive of stored members (name, content), dated 1980-01-01 so that equal members give equal bytes. Error: an
// archive above 4 GiB.
Result<std::string> WriteZip(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace sbp
