// Attention: scores, softmax and context as one kernel, and their derivatives as another, however they are spelled.
#pragma once

#include "fusion/group_drafts.h"

namespace sbp {

// Joins each group of light ops that makes a softmax over the rows of one contraction's result (scaled, masked, capped,
// dropped out ...) with that contraction and with the one that reads what it makes, where all its tensors are read
// there and in the backward pass only; that must then be such a group, too: light ops that read these tensors and one
// contraction's result, and what contractions make of both.
void JoinAttention(GroupDrafts& drafts);

}  // namespace sbp
