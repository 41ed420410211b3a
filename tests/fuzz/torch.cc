#include "fuzz/target.h"
#include "io/zip.h"
#include "torch/reader.h"

namespace sbp::fuzz {

// An archive; or, where the input is a text, the program in one: mutations of archives seldom have a right checksum.
void RunTorch(std::string_view bytes) {
  std::string archive(bytes);
  if (bytes.starts_with('{')) {
    Result<std::string> zip = WriteZip({{"m/models/model.json", std::string(bytes)}});
    Require(zip.ok(), zip.status().message());
    archive = *std::move(zip);
  }
  RequireModel(ReadTorch(archive, "input.pt2"), "input.pt2");
}

}  // namespace sbp::fuzz
