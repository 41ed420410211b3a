// Layouts and signatures as documents spell them, with memory: plans have many of them and few different ones.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// The number of mesh axes that the first layout of a signature's text is written for: "(S(0), B), ..." 2, "S(0), B" 1.
int CountMeshAxes(std::string_view signature);

class LayoutWriter {
 public:
  const std::string& Format(const NdSbp& layout);

 private:
  std::unordered_map<NdSbp, std::string> texts_;
};

// For one mesh.
class LayoutReader {
 public:
  explicit LayoutReader(int mesh_axes) : mesh_axes_(mesh_axes) {}
  // Error: syntax, or another number of axes.
  Result<NdSbp> Parse(const std::string& text);

 private:
  int mesh_axes_;
  std::unordered_map<std::string, NdSbp> layouts_;
};

}  // namespace sbp
