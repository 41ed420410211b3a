// The syntax tree of a rules file: what rules/README.md's grammar says, nothing evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "sbp/sbp.h"

namespace sbp {

struct SourcePosition {
  std::string file;
  int line = 1;
  int column = 1;
};
std::string ToString(const SourcePosition& position);  // "file:line:col"

// Arithmetic and conditions over attributes, sizes and known values. Integers, floats and strings. In an expansion
// names and operators may also stand for tensors, and there are the kinds from kOpCall on.
struct Expression {
  enum class Kind {
    kInt,
    kFloat,
    kString,
    kName,
    kCall,
    kUnary,
    kBinary,
    kOpCall,  // "Exp(x)"
    kAll,     // "*" among the arguments of a call of an op: all attributes of the outer op that it knows
    kAbsent,  // "-" there: no operand
    kList,    // "[axis, 2..rank(x)]"
    kRange,   // "a..b" in a list
    kIndex,   // "h[i]", "h[0..n]": one or two arguments
  };
  Kind kind = Kind::kInt;
  SourcePosition at;
  int64_t int_value = 0;
  double float_value = 0;
  std::string text;  // kString: the value; kName, kIndex, calls: the name; kUnary, kBinary: the operator
  std::vector<Expression> arguments;
  std::vector<std::string> keywords;  // kOpCall: names of the last arguments, which are attributes
};

enum class ParameterKind {
  kTensor,
  kScalar,
  kInt,
  kFloat,
  kBool,
  kString,
  kInts,
  kFloats,
  kStrings,
  kType,
  kLiteral,
  kGraph
};

// "Tensor<float> x?", "Tensor[] inputs", "int axis=-1".
struct Parameter {
  ParameterKind kind = ParameterKind::kTensor;
  // Of tensors: a dtype, a group ("float", "int", "numeric", "bool", "any"), or an earlier operand of the same type;
  // "": any. Tensors of a variadic parameter with a type are all of one type.
  std::string type;
  std::string name;
  bool optional = false;  // '?'
  bool variadic = false;  // '[]'
  bool keyword = false;   // after '*': an attribute
  std::optional<AttributeValue> default_value;
  SourcePosition at;
};

// One letter (or number, or '...') of a notation.
struct NotationFactor {
  std::string name;              // "" for a literal size
  bool whole = false;            // '!'
  int64_t granularity = 1;       // '*8'
  std::string granularity_name;  // '*NAME': an attribute or size
};
struct NotationDim {
  bool ellipsis = false;
  bool ellipsis_whole = false;          // "...!": none of these dimensions is split
  int64_t literal = -1;                 // a fixed size that carries no factor; -1 and no factors: '_', any size
  std::vector<NotationFactor> factors;  // one, or several for "(h d)", major first
};
using NotationTensor = std::vector<NotationDim>;

struct RuleClause {
  std::string kind;  // "reduce", "linear", "size", ... : the first word
  SourcePosition at;
  std::vector<std::string> words;  // the clause's names, in order, as its grammar says; of reduce: the kind first
  std::vector<std::vector<std::string>> alternatives;  // linear, monotone, antitone: operand sets
  std::vector<std::string> results;                    // after '->'; empty: all
  std::vector<Expression> expressions;
  std::string text;                        // a string literal (because); along: the operand or result
  std::vector<Sbp> operands, sbp_results;  // sig
};

// One `rule` line: a notation, a factorizer in code, or a call of the op whose rule it takes; with its clauses.
struct RuleLine {
  SourcePosition at;
  std::optional<Expression> inherited;   // `rule as Op(...)`: the call, a kOpCall
  bool whole = false;                    // `rule whole`: nothing is split
  std::string factorizer;                // "@name" without '@'; "" for a notation
  std::vector<Expression> arguments;     // of the factorizer
  std::vector<NotationTensor> operands;  // in the order of the tensor parameters
  std::vector<NotationTensor> results;
  std::vector<RuleClause> clauses;
  std::string text;  // as written, for `rules show`
};

// One line of an expansion.
struct ExpansionStatement {
  enum class Kind { kAssign, kFor, kWhen };
  struct Target {
    std::string name;  // "_": a result that nobody wants
    std::optional<Expression> index;
  };
  Kind kind = Kind::kAssign;
  SourcePosition at;
  std::vector<Target> targets;         // kFor: the variable
  Expression value;                    // kFor: the first number
  std::optional<Expression> limit;     // kFor: one more than the last number
  std::optional<Expression> when;      // kAssign, kWhen
  std::optional<std::string> because;  // of `d.x = none because "..."`
  std::vector<ExpansionStatement> body;
};

// One `expand` block: the op in terms of others; or one `vjp` block: the cotangents of its operands.
struct Expansion {
  SourcePosition at;
  std::optional<Expression> when;
  std::vector<ExpansionStatement> body;
};

// "attention forward size(d), mask": a kernel of attention, the size of its heads, the operand that masks scores.
struct AttentionLine {
  SourcePosition at;
  bool backward = false;
  Expression head;
  std::string mask;  // "": none
};

struct OpOverload {
  std::string op;
  SourcePosition at;
  bool overrides = false;
  std::vector<Parameter> parameters;
  bool open_attributes = false;    // "*, ...": further attributes are taken and ignored
  std::vector<Parameter> results;  // type: a dtype, or the name of an operand or attribute that gives it
  std::string doc;
  std::vector<RuleLine> rules;  // the first whose `when` holds is taken
  std::optional<Expression> flops;
  std::optional<AttentionLine> attention;
  std::vector<Expansion> expansions;  // the first whose `when` holds is taken
  std::vector<Expansion> vjps;        // the first whose `when` holds is taken
  std::string text;                   // the paragraph as written, without comments
};

struct OpDefinition {
  std::string name;
  std::vector<OpOverload> overloads;
  std::string family;  // the file it stands in, without ".rules"
  bool builtin = true;
  uint64_t reads_values = 0;   // operands whose values inference reads, as bits of positions (bit 63: it and all later)
  uint64_t reads_for_vjp = 0;  // operands whose values its `vjp` blocks read
  uint64_t reads_for_form = 0;  // those of them from which sizes or the expansion follow
};

// The name of the cotangent of an operand or result in `vjp` blocks: "d.x".
inline constexpr std::string_view kCotangent = "d.";

// Parses a whole file. The error says file:line:col, what was expected and what was found.
Result<std::vector<OpOverload>> ParseRules(std::string_view text, std::string_view file);

}  // namespace sbp
