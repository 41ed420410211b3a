// Bounds on what a file may ask for. Real files stay far below; corrupt ones must not cost memory or stack.
#pragma once

#include <cstdint>

namespace sbp::onnx {

inline constexpr int kMaxMessageDepth = 200;  // nesting of protobuf messages: about 60 subgraphs in each other
inline constexpr int kMaxCallDepth = 100;     // calls of local functions and subgraphs in each other
inline constexpr int kMaxPlaces = 4;          // of them in an error, so that it fits one screen
// Nodes after local functions are inlined: at most this many times those in the file, plus some.
inline constexpr int64_t kMaxInlining = 256;
inline constexpr int64_t kMaxInlinedNodes = 4000000;

}  // namespace sbp::onnx
