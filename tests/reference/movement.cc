// Data movement: each element of a result is one element of one operand, or a constant. A kernel only says which; on a
// part, elements that the rank does not hold are 0 (the neutral element of a sum).
#include <algorithm>
#include <functional>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

struct Source {
  int operand = 0;  // -1: the constant
  Index index;      // global
  double constant = 0;
};
using Map = std::function<Source(size_t result, const Index& global)>;

std::vector<Array> Move(const Call& call, const Map& map) {
  std::vector<Array> out;
  for (size_t r = 0; r < call.result_pieces.size(); ++r) {
    out.push_back(call.MakeResult(r));
    ForEach(out[r].shape, [&](const Index& local) {
      const Source source = map(r, call.result_pieces[r].ToGlobal(local));
      if (source.operand < 0) {
        out[r].at(local) = source.constant;
        return;
      }
      const Piece& piece = call.input_pieces[source.operand];
      if (piece.Contains(source.index)) out[r].at(local) = call.in(source.operand).at(piece.ToLocal(source.index));
    });
  }
  return out;
}

int64_t Linear(const Shape& shape, const Index& index) {
  int64_t linear = 0;
  for (size_t d = 0; d < shape.size(); ++d) linear = linear * shape[d] + index[d];
  return linear;
}
Index Unlinear(const Shape& shape, int64_t linear) {
  Index index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
  return index;
}

std::vector<Array> Reshape(const Call& call) {
  return Move(call, [&](size_t r, const Index& at) {
    return Source{0, Unlinear(call.input_pieces[0].global, Linear(call.result_pieces[r].global, at))};
  });
}

std::vector<Array> Transpose(const Call& call) {
  const std::vector<int64_t>* perm = call.attributes->Ints("perm");
  return Move(call, [&](size_t, const Index& at) {
    Index index(at.size());
    for (size_t d = 0; d < at.size(); ++d) index[perm ? (*perm)[d] : at.size() - 1 - d] = at[d];
    return Source{0, index};
  });
}

// Expand and Tile: aligned at the right, modulo the operand's size.
std::vector<Array> Repeat(const Call& call) {
  const Shape& from = call.input_pieces[0].global;
  return Move(call, [&](size_t, const Index& at) {
    Index index(from.size());
    for (size_t d = 0; d < from.size(); ++d) index[d] = at[at.size() - from.size() + d] % from[d];
    return Source{0, index};
  });
}

std::vector<Array> Concat(const Call& call) {
  const int rank = static_cast<int>(call.result_pieces[0].global.size());
  const int64_t axis = (call.attributes->Int("axis", 0) + rank) % rank;
  return Move(call, [&](size_t, const Index& at) {
    Index index = at;
    int operand = 0;
    while (index[axis] >= call.input_pieces[operand].global[axis])
      index[axis] -= call.input_pieces[operand++].global[axis];
    return Source{operand, index};
  });
}

std::vector<Array> Split(const Call& call) {
  const int rank = static_cast<int>(call.input_pieces[0].global.size());
  const int64_t axis = (call.attributes->Int("axis", 0) + rank) % rank;
  return Move(call, [&](size_t r, const Index& at) {
    Index index = at;
    for (size_t before = 0; before < r; ++before) index[axis] += call.result_pieces[before].global[axis];
    return Source{0, index};
  });
}

std::vector<Array> Slice(const Call& call) {
  const Shape& from = call.input_pieces[0].global;
  const size_t rank = from.size();
  Index start(rank, 0), step(rank, 1);
  for (size_t i = 0; i < call.in(1).values.size(); ++i) {
    int64_t d = call.has(3) ? static_cast<int64_t>(call.in(3).values[i]) : static_cast<int64_t>(i);
    d = d < 0 ? d + static_cast<int64_t>(rank) : d;
    step[d] = call.has(4) ? static_cast<int64_t>(call.in(4).values[i]) : 1;
    int64_t s = static_cast<int64_t>(call.in(1).values[i]);
    s = s < 0 ? s + from[d] : s;
    start[d] = step[d] > 0 ? std::clamp<int64_t>(s, 0, from[d]) : std::clamp<int64_t>(s, 0, from[d] - 1);
  }
  return Move(call, [&](size_t, const Index& at) {
    Index index(rank);
    for (size_t d = 0; d < rank; ++d) index[d] = start[d] + at[d] * step[d];
    return Source{0, index};
  });
}

std::vector<Array> Pad(const Call& call) {
  const Shape& from = call.input_pieces[0].global;
  const size_t rank = from.size();
  Index before(rank, 0);
  const size_t n = call.in(1).values.size() / 2;
  for (size_t i = 0; i < n; ++i) {
    int64_t d = call.has(3) ? static_cast<int64_t>(call.in(3).values[i]) : static_cast<int64_t>(i);
    before[d < 0 ? d + static_cast<int64_t>(rank) : d] = static_cast<int64_t>(call.in(1).values[i]);
  }
  const std::string mode = call.attributes->String("mode", "constant");
  const double constant = call.has(2) ? call.in(2).values[0] : 0;
  return Move(call, [&](size_t, const Index& at) {
    Index index(rank);
    for (size_t d = 0; d < rank; ++d) {
      int64_t i = at[d] - before[d];
      const int64_t n_d = from[d];
      if (i < 0 || i >= n_d) {
        if (mode == "constant") return Source{-1, {}, constant};
        if (mode == "edge") i = std::clamp<int64_t>(i, 0, n_d - 1);
        if (mode == "reflect") i = i < 0 ? -i : 2 * (n_d - 1) - i;
        if (mode == "wrap") i = (i % n_d + n_d) % n_d;
      }
      index[d] = i;
    }
    return Source{0, index};
  });
}

std::vector<Array> DepthToSpace(const Call& call) {
  const int64_t b = call.attributes->Int("blocksize", 1);
  const bool crd = call.attributes->String("mode", "DCR") == "CRD";
  const int64_t channels = call.result_pieces[0].global[1];
  return Move(call, [&](size_t, const Index& at) {
    const int64_t block = (at[2] % b) * b + at[3] % b;
    const int64_t c = crd ? at[1] * b * b + block : block * channels + at[1];
    return Source{0, {at[0], c, at[2] / b, at[3] / b}};
  });
}

std::vector<Array> SpaceToDepth(const Call& call) {
  const int64_t b = call.attributes->Int("blocksize", 1);
  const int64_t channels = call.input_pieces[0].global[1];
  return Move(call, [&](size_t, const Index& at) {
    const int64_t block = at[1] / channels;
    return Source{0, {at[0], at[1] % channels, at[2] * b + block / b, at[3] * b + block % b}};
  });
}

std::vector<Array> CenterCropPad(const Call& call) {
  const Shape &in = call.input_pieces[0].global, &out = call.result_pieces[0].global;
  return Move(call, [&](size_t, const Index& at) {
    Index from = at;
    for (size_t d = 0; d < in.size(); ++d) {
      // An odd element is cropped, or padded, at the end.
      from[d] += in[d] > out[d] ? (in[d] - out[d]) / 2 : -((out[d] - in[d]) / 2);
      if (from[d] < 0 || from[d] >= in[d]) return Source{-1, {}, 0};
    }
    return Source{0, from};
  });
}

// Adds columns (batch, channels * block, positions) into an image; a part adds those that it holds.
std::vector<Array> Col2Im(const Call& call) {
  const std::vector<double>&image = call.in(1).values, &block = call.in(2).values;
  const auto list = [&](const char* name, size_t d, int64_t fallback) {
    const auto* given = call.attributes->Ints(name);
    return given ? (*given)[d] : fallback;
  };
  Shape blocks, positions;
  int64_t elements = 1;
  for (size_t d = 0; d < image.size(); ++d) {
    const int64_t size = static_cast<int64_t>(block[d]), reach = (size - 1) * list("dilations", d, 1) + 1;
    const int64_t padded = static_cast<int64_t>(image[d]) + list("pads", d, 0) + list("pads", d + image.size(), 0);
    positions.push_back((padded - reach) / list("strides", d, 1) + 1);
    blocks.push_back(size);
    elements *= size;
  }
  Array out = call.MakeResult(0);
  ForEach(call.in(0).shape, [&](const Index& local) {
    const Index at = call.input_pieces[0].ToGlobal(local);
    const Index element = Unlinear(blocks, at[1] % elements), position = Unlinear(positions, at[2]);
    Index to{at[0], at[1] / elements};
    for (size_t d = 0; d < image.size(); ++d)
      to.push_back(position[d] * list("strides", d, 1) + element[d] * list("dilations", d, 1) - list("pads", d, 0));
    for (size_t d = 0; d < image.size(); ++d) {
      if (to[d + 2] < 0 || to[d + 2] >= static_cast<int64_t>(image[d])) return;
    }
    out.at(call.result_pieces[0].ToLocal(to)) += call.in(0).at(local);
  });
  return {out};
}

}  // namespace

void AddMovement(KernelTable& t) {
  for (const char* name : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) t[name] = Reshape;
  t["Transpose"] = Transpose;
  t["Expand"] = Repeat;
  t["Tile"] = Repeat;
  t["Concat"] = Concat;
  t["Split"] = Split;
  t["Slice"] = Slice;
  t["Pad"] = Pad;
  t["CenterCropPad"] = CenterCropPad;
  t["Col2Im"] = Col2Im;
  t["DepthToSpace"] = DepthToSpace;
  t["SpaceToDepth"] = SpaceToDepth;
}

}  // namespace sbp::reference
