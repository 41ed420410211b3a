// The part of shard_math.h that converts to and from the other spelling.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// A reader of "[0,-1] partial=[1:sum]". All texts here are short; positions are given in errors.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool Take(std::string_view word) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  // The run of characters up to one of ",]:[" or a blank.
  std::string_view Word() {
    SkipBlanks();
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]:[ \t", at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  Result<int> Axis(int least) {
    const std::string_view word = Word();
    const auto axis = ParseInt(word);
    if (!axis || *axis < least || *axis >= kMaxMeshAxes) return Error(StrCat("a mesh axis, not ", Quote(word)));
    return static_cast<int>(*axis);
  }
  Status Error(std::string_view expected) const {
    return BadInput(StrCat("dims mapping ", Quote(text_), ": expected ", expected, " at character ", at_ + 1));
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

// One dimension: "-1", "0", or "[0,1]".
Result<std::vector<int>> ReadDim(Reader& reader) {
  std::vector<int> axes;
  if (!reader.Take("[")) {
    SBP_ASSIGN_OR_RETURN(const int axis, reader.Axis(-1));
    if (axis >= 0) axes.push_back(axis);
    return axes;
  }
  if (reader.Take("]")) return axes;
  do {
    SBP_ASSIGN_OR_RETURN(const int axis, reader.Axis(0));
    axes.push_back(axis);
  } while (reader.Take(","));
  if (!reader.Take("]")) return reader.Error("\"]\"");
  return axes;
}

// "1" or "1:sum".
Result<std::pair<int, ReduceKind>> ReadPartial(Reader& reader) {
  SBP_ASSIGN_OR_RETURN(const int axis, reader.Axis(0));
  if (!reader.Take(":")) return std::pair(axis, ReduceKind::kSum);
  const Result<Sbp> sbp = ParseSbp(StrCat("P(", reader.Word(), ")"));
  if (!sbp.ok()) return reader.Error("sum, max, min or prod");
  return std::pair(axis, sbp->reduce_kind());
}

}  // namespace

DimsMapping ToDimsMapping(const NdSbp& sbp, int rank) {
  DimsMapping mapping;
  mapping.dims.resize(rank);
  for (int axis = 0; axis < sbp.size(); ++axis) {
    if (sbp[axis].is_split()) {
      if (sbp[axis].dim() >= static_cast<int>(mapping.dims.size())) mapping.dims.resize(sbp[axis].dim() + 1);
      mapping.dims[sbp[axis].dim()].push_back(axis);
    }
    if (sbp[axis].is_partial()) mapping.partial.emplace_back(axis, sbp[axis].reduce_kind());
  }
  return mapping;
}

Result<NdSbp> FromDimsMapping(const DimsMapping& mapping, int mesh_axes) {
  if (mapping.dims.size() > kMaxRank) return BadInput(StrCat("dims mapping of more than ", kMaxRank, " dimensions"));
  NdSbp sbp(mesh_axes);
  const auto set = [&](int axis, Sbp value) -> Status {
    const auto where = [&] { return StrCat("dims mapping ", ToString(mapping), ": mesh axis ", axis); };
    if (axis < 0 || axis >= mesh_axes) return BadInput(StrCat(where(), " of a mesh of ", mesh_axes, " axes"));
    if (!sbp[axis].is_broadcast()) return BadInput(where() + " is used twice");
    sbp[axis] = value;
    return OkStatus();
  };
  for (size_t dim = 0; dim < mapping.dims.size(); ++dim) {
    if (!std::ranges::is_sorted(mapping.dims[dim])) {
      return BadInput(StrCat("dims mapping ", ToString(mapping), ": dimension ", dim,
                             " is split in another order than the mesh's; nested splits go outermost axis first"));
    }
    for (int axis : mapping.dims[dim]) SBP_RETURN_IF_ERROR(set(axis, Sbp::Split(static_cast<int>(dim))));
  }
  for (const auto& [axis, kind] : mapping.partial) SBP_RETURN_IF_ERROR(set(axis, Sbp::Partial(kind)));
  return sbp;
}

std::string ToString(const DimsMapping& mapping) {
  std::vector<std::string> dims;
  for (const std::vector<int>& axes : mapping.dims) {
    if (axes.empty()) {
      dims.emplace_back("-1");
    } else if (axes.size() == 1) {
      dims.push_back(std::to_string(axes[0]));
    } else {
      dims.push_back("[" + Join(axes, ",") + "]");
    }
  }
  std::string text = "[" + Join(dims, ",") + "]";
  if (mapping.partial.empty()) return text;
  std::vector<std::string> partial;
  for (const auto& [axis, kind] : mapping.partial) partial.push_back(StrCat(axis, ":", ReduceKindName(kind)));
  return text + " partial=[" + Join(partial, ",") + "]";
}

Result<DimsMapping> ParseDimsMapping(std::string_view text) {
  Reader reader(Trim(text));
  DimsMapping mapping;
  if (!reader.Take("[")) return reader.Error("\"[\"");
  if (!reader.Take("]")) {
    do {
      if (mapping.dims.size() == kMaxRank) return reader.Error(StrCat("at most ", kMaxRank, " dimensions"));
      SBP_ASSIGN_OR_RETURN(std::vector<int> axes, ReadDim(reader));
      mapping.dims.push_back(std::move(axes));
    } while (reader.Take(","));
    if (!reader.Take("]")) return reader.Error("\",\" or \"]\"");
  }
  if (reader.Take("partial")) {
    if (!reader.Take("=") || !reader.Take("[")) return reader.Error("\"=[\"");
    if (!reader.Take("]")) {
      do {
        SBP_ASSIGN_OR_RETURN(const auto entry, ReadPartial(reader));
        mapping.partial.push_back(entry);
      } while (reader.Take(","));
      if (!reader.Take("]")) return reader.Error("\",\" or \"]\"");
    }
  }
  if (!reader.AtEnd()) return reader.Error("the end, or partial=[...]");
  std::sort(mapping.partial.begin(), mapping.partial.end());
  return mapping;
}

std::string FormatLayout(const NdSbp& sbp, int rank, Notation notation) {
  return notation == Notation::kSbp ? ToString(sbp) : ToString(ToDimsMapping(sbp, rank));
}

std::string FormatSignature(const Signature& signature, const std::vector<int>& operand_ranks,
                            const std::vector<int>& result_ranks, Notation notation) {
  if (notation == Notation::kSbp) return ToString(signature);
  const auto list = [&](const std::vector<NdSbp>& layouts, const std::vector<int>& ranks) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < layouts.size(); ++i) {
      parts.push_back(FormatLayout(layouts[i], i < ranks.size() ? ranks[i] : 0, notation));
    }
    return Join(parts, ", ");
  };
  return StrCat(list(signature.inputs, operand_ranks), " -> ", list(signature.outputs, result_ranks));
}

Result<NdSbp> ParseLayout(std::string_view text, int mesh_axes) {
  text = Trim(text);
  if (text.starts_with('[')) {
    SBP_ASSIGN_OR_RETURN(const DimsMapping mapping, ParseDimsMapping(text));
    return FromDimsMapping(mapping, mesh_axes);
  }
  SBP_ASSIGN_OR_RETURN(const NdSbp sbp, ParseNdSbp(text));
  if (sbp.size() != mesh_axes) {
    return BadInput(StrCat("layout ", Quote(text), " has ", sbp.size(), " entries for a mesh of ", mesh_axes, " axes"));
  }
  return sbp;
}

}  // namespace sbp
