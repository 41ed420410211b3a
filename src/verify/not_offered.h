// Why a rule does not offer signatures that execute right, where the rule itself does not say.
#pragma once

#include <string_view>

namespace sbp {

// One sentence for an op of the table; "": none is known.
std::string_view WhyNotOffered(std::string_view op);

}  // namespace sbp
