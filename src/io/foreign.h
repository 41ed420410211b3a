// Files of other programs that are given as a model: what they are, and the way from there to one that we read.
#pragma once

#include <string>
#include <string_view>

namespace sbp {

// By content, and by the extension of `path` where the content does not tell (a protocol buffer carries no mark). "":
// nothing that we know and do not read. Else a sentence without a full stop, such as "a PyTorch checkpoint ...; export
// the model: ...".
std::string ForeignFormat(std::string_view bytes, std::string_view path);

// Is it what torch.export.save writes: a zip archive with a program in JSON? The archive may be cut off or corrupt.
bool IsTorchProgram(std::string_view bytes);

// Are there no control characters but white space?
bool LooksLikeText(std::string_view bytes);

}  // namespace sbp
