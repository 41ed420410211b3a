#include <span>

#include "runtime/execute/interpreter.h"
#include "runtime/execute/special_ops.h"

namespace sbp {
namespace {

constexpr SpecialOpRow kSpecialOps[] = {
    {"ConcatFromSequence", RunConcatFromSequence},
    {"If", RunIf},
    {"Loop", RunLoop},
    {"Optional", RunOptional},
    {"OptionalGetElement", RunOptionalGetElement},
    {"OptionalHasElement", RunOptionalHasElement},
    {"Scan", RunScan},
    {"SequenceAt", RunSequenceAt},
    {"SequenceConstruct", RunSequenceConstruct},
    {"SequenceEmpty", RunSequenceEmpty},
    {"SequenceErase", RunSequenceErase},
    {"SequenceInsert", RunSequenceInsert},
    {"SequenceLength", RunSequenceLength},
    {"SequenceMap", RunSequenceMap},
    {"SplitToSequence", RunSplitToSequence},
};

}  // namespace

std::span<const SpecialOpRow> AllSpecialOps() { return kSpecialOps; }

}  // namespace sbp
