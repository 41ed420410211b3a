// Frames of a drawing that cannot stand around what they hold.
#pragma once

#include "render/view.h"

namespace sbp {

// Takes away frames that are left and entered again, as of a module that is called several times (a block's one ReLU):
// Graphviz sets what is in a frame without what is around it, so that edges would run upwards. What stood in such a
// frame stands in the one around it. Groups keep their places in the view.
void DissolveEnteredAgain(View& view);

}  // namespace sbp
