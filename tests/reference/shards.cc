#include "reference/shards.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/text.h"

namespace sbp::reference {
namespace {

// The coordinates on the axes of one kind, as a key: devices with equal keys differ on the other axes only.
template <typename Keep>
std::vector<int64_t> KeyOf(const std::vector<int64_t>& coordinates, const NdSbp& sbp, Keep keep) {
  std::vector<int64_t> key;
  for (int axis = 0; axis < sbp.size(); ++axis) key.push_back(keep(sbp[axis]) ? coordinates[axis] : 0);
  return key;
}

ReduceKind KindOf(const NdSbp& sbp) {
  for (const Sbp s : sbp) {
    if (s.is_partial()) return s.reduce_kind();
  }
  return ReduceKind::kSum;
}

double Neutral(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return 0;
    case ReduceKind::kProd:
      return 1;
    case ReduceKind::kMax:
      return -std::numeric_limits<double>::infinity();
    case ReduceKind::kMin:
      return std::numeric_limits<double>::infinity();
  }
  return 0;
}

double Combine(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::kSum:
      return a + b;
    case ReduceKind::kProd:
      return a * b;
    case ReduceKind::kMax:
      return std::max(a, b);
    case ReduceKind::kMin:
      return std::min(a, b);
  }
  return 0;
}

double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// `n` arrays that combine to `whole`.
std::vector<Array> Partials(const Array& whole, ReduceKind kind, int64_t n, std::mt19937_64& random, Domain domain) {
  std::vector<Array> parts(n, whole);
  for (size_t i = 0; i < whole.values.size(); ++i) {
    const double v = whole.values[i];
    const size_t owner = random() % n;
    double rest = v;
    for (int64_t p = 0; p < n; ++p) {
      double& part = parts[p].values[i];
      switch (kind) {
        case ReduceKind::kSum:
          part = p + 1 == n ? rest
                            : (IsFloat(whole.dtype) ? 4 * Uniform(random) - 2 : static_cast<double>(random() % 5) - 2);
          rest -= part;
          break;
        case ReduceKind::kProd:
          part = p + 1 == n ? rest : IsFloat(whole.dtype) ? 0.5 + Uniform(random) : random() % 2 == 0 ? 1 : -1;
          rest /= part;
          break;
        case ReduceKind::kMax:
          if (whole.dtype == DType::kBool)
            part = static_cast<size_t>(p) == owner ? v : (v != 0 ? static_cast<double>(random() % 2) : 0);
          else if (static_cast<size_t>(p) != owner)
            part = v - (v - std::min(v, domain.low)) * Uniform(random);
          break;
        case ReduceKind::kMin:
          if (whole.dtype == DType::kBool)
            part = static_cast<size_t>(p) == owner ? v : (v != 0 ? 1 : static_cast<double>(random() % 2));
          else if (static_cast<size_t>(p) != owner)
            part = v + (std::max(v, domain.high) - v) * Uniform(random);
          break;
      }
      if (!IsFloat(whole.dtype) && kind != ReduceKind::kProd) part = std::floor(part);
    }
  }
  return parts;
}

// A sum of integers as its type holds it: modulo a power of two.
double Wrapped(DType type, double value) {
  const int bits = DTypeBits(type);
  if (!IsInteger(type) || bits > 32) return value;
  const double period = std::ldexp(1, bits), low = IsSigned(type) ? -period / 2 : 0;
  return value - period * std::floor((value - low) / period);
}

bool Near(double a, double b, double scale, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance * std::max(scale, 1.0);
}

}  // namespace

Piece PieceOf(const Shape& shape, const NdSbp& sbp, const Mesh& mesh, int64_t position, const HaloWidths& halo) {
  Piece piece{LocalSlice(shape, sbp, mesh, mesh.Coordinates(position)), shape};
  for (size_t d = 0; d < halo.size(); ++d) {
    Range& range = piece.ranges[d];
    range = {std::max<int64_t>(0, range.begin - halo[d].first), std::min(shape[d], range.end + halo[d].second)};
  }
  return piece;
}

std::vector<Array> Shard(const Array& whole, const NdSbp& sbp, const Mesh& mesh, std::mt19937_64& random, Domain domain,
                         const HaloWidths& halo) {
  const auto partial = [](Sbp s) { return s.is_partial(); };
  // One array per point of the partial axes; all other axes cut or copy it.
  std::map<std::vector<int64_t>, size_t> points;
  for (int64_t p = 0; p < mesh.num_devices(); ++p)
    points.emplace(KeyOf(mesh.Coordinates(p), sbp, partial), points.size());
  std::vector<Array> arrays{whole};
  if (points.size() > 1) arrays = Partials(whole, KindOf(sbp), static_cast<int64_t>(points.size()), random, domain);
  std::vector<Array> parts;
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    parts.push_back(
        Cut(arrays[points[KeyOf(mesh.Coordinates(p), sbp, partial)]], PieceOf(whole.shape, sbp, mesh, p, halo)));
  }
  return parts;
}

std::string CompareParts(const std::vector<Array>& parts, const Array& whole, const NdSbp& sbp, const Mesh& mesh,
                         double tolerance) {
  const ReduceKind kind = KindOf(sbp);
  std::map<std::vector<int64_t>, Array> replicas;  // by coordinates on the broadcast axes
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    const Piece piece = PieceOf(whole.shape, sbp, mesh, p);
    if (parts[p].shape != piece.local()) {
      return StrCat("device ", p, " has shape [", Join(parts[p].shape, ","), "], its layout asks for [",
                    Join(piece.local(), ","), "]");
    }
    const auto key = KeyOf(mesh.Coordinates(p), sbp, [](Sbp s) { return s.is_broadcast(); });
    const double start = sbp.has_partial() ? Neutral(kind) : std::numeric_limits<double>::quiet_NaN();
    Array& replica = replicas.try_emplace(key, Array(whole.dtype, whole.shape, start)).first->second;
    ForEach(parts[p].shape, [&](const Index& at) {
      double& cell = replica.at(piece.ToGlobal(at));
      cell = sbp.has_partial() ? Combine(kind, cell, parts[p].at(at)) : parts[p].at(at);
    });
  }
  double scale = 0;
  for (const double v : whole.values) {
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  }
  for (const auto& [key, replica] : replicas) {
    for (size_t i = 0; i < whole.values.size(); ++i) {
      if (!Near(Wrapped(whole.dtype, replica.values[i]), whole.values[i], scale, tolerance)) {
        return StrCat("element ", i, " is ", replica.values[i], ", unsharded ", whole.values[i]);
      }
    }
  }
  return "";
}

}  // namespace sbp::reference
