// Legality of the collectives behind the table in all_collectives.cc.
#pragma once

#include "sbp/sbp.h"

namespace sbp {

// A dimension that several axes split is cut outermost first, so only its innermost cut can be made or undone within
// the groups of one axis: no axis inside of `axis` may split it.
bool IsInnermostSplit(const NdSbp& sbp, int axis, int dim);

// Each: may this collective turn `from` into `to` on `axis`, where alone they differ?
bool AllGatherLegal(const NdSbp& from, const NdSbp& to, int axis);      // S -> B
bool AllReduceLegal(const NdSbp& from, const NdSbp& to, int axis);      // P -> B
bool ReduceScatterLegal(const NdSbp& from, const NdSbp& to, int axis);  // P -> S
bool AllToAllLegal(const NdSbp& from, const NdSbp& to, int axis);       // S -> S
bool SliceLegal(const NdSbp& from, const NdSbp& to, int axis);          // B -> S
bool FillLegal(const NdSbp& from, const NdSbp& to, int axis);           // B -> P
// S -> P(sum), P(prod). Not of P(max) and P(min): their neutral elements are infinite, outside of the domain of ops
// that pass a maximum on (a square root).
bool PadLegal(const NdSbp& from, const NdSbp& to, int axis);

}  // namespace sbp
