// Are the sizes of a decoder ones that graphs are made of?
#pragma once

#include "base/status.h"
#include "generate/options.h"

namespace sbp {

// Requires sizes that are filled in. Error (kUsage): a tensor, the scores of attention or all weights together have
// more elements, or a head is wider, than any machine holds; it names the flags whose product that is.
Status CheckSizes(const DecoderSizes& sizes);

}  // namespace sbp
