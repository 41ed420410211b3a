// A module of MLIR in its generic text form, as plain data: what the text says, nothing interpreted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "stablehlo/cursor.h"

namespace sbp::stablehlo {

// A type; of one that is no tensor that we have, only the text.
struct Type {
  std::string text;
  TensorType tensor;  // kUndefined: not one that can be planned
};

struct Attribute;
using Dictionary = std::map<std::string, Attribute, std::less<>>;

struct Attribute {
  enum class Kind {
    kUnit,     // its presence says it all
    kInteger,  // also true and false
    kFloat,
    kString,
    kSymbol,  // @name
    kType,
    kList,      // [a, b]
    kIntegers,  // array<i64: 1, 2>
    kDictionary,
    kDense,    // dense<...> : type
    kDialect,  // #name<...>: `text` the name, `body` what stands in the brackets
  };
  Kind kind = Kind::kUnit;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<Attribute> list;
  Dictionary entries;
  Type type;                  // kType, kDense
  size_t begin = 0, end = 0;  // kDense, kDialect: where the body stands in the text; kDictionary: with its brackets
  size_t entry_begin = 0, entry_end = 0;  // of a dictionary's entry: where NAME = VALUE stands
};

// Of "%28#1": the op's or argument's name and which of its results.
struct ValueName {
  std::string_view name;  // with the '%'
  int64_t index = 0;
  size_t offset = 0;
};

// loc(...): an alias, or a name, a file and line, and what it is made of.
struct Location {
  std::string alias;  // "#loc12"; "" where it stands here
  std::string name;
  std::string file;
  int64_t line = 0;
  std::vector<Location> parts;  // of a named one its child, of a call site callee and caller
};

struct Region;

struct Operation {
  std::string name;  // "stablehlo.add"
  std::vector<ValueName> operands;
  std::vector<std::pair<std::string_view, int64_t>> results;  // name, how many
  Dictionary attributes;                                      // properties too
  std::vector<Region> regions;
  std::vector<Type> operand_types, result_types;
  Location location;
  size_t offset = 0, end = 0;  // in the text
  size_t properties_at = 0;    // behind "<{"; 0: it has none
  size_t attributes_at = 0;    // behind the "{" of its attributes, or where these would stand
  bool has_attributes = false;
};

struct BlockArgument {
  std::string_view name;
  Type type;
  Location location;
};

struct Region {
  std::vector<BlockArgument> arguments;
  std::vector<Operation> operations;
};

struct Module {
  std::string_view text;                                   // must outlive it
  Operation top;                                           // builtin.module
  std::map<std::string, Location, std::less<>> locations;  // by alias
};

// Errors (kBadInput, "LINE:COL: ..."): no generic form (with the way to print it), what was expected and found, nesting
// beyond bounds.
Result<Module> ParseModule(std::string_view text);

Result<Type> ParseType(Cursor& cursor);
// `aliases`: attributes by "#name".
Result<Attribute> ParseAttribute(Cursor& cursor, const Dictionary& aliases, int depth);
Result<Location> ParseLocation(Cursor& cursor, int depth);

// A dense attribute's elements: a scalar where all are one number and `splat` is given, which is then set. Error: too
// many, or of a type that has none.
Result<Literal> ReadDense(const Attribute& dense, std::string_view text, bool* splat);

// Whole numbers of array<...>, of a list, of a dense attribute of integers or booleans.
Result<std::vector<int64_t>> IntegersOf(const Attribute& attribute, std::string_view text);

}  // namespace sbp::stablehlo
