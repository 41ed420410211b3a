#include "decompose/draws.h"

#include <set>
#include <string_view>
#include <vector>

#include "decompose/primitives.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

// The types of ops that expansions call, each once.
class Calls {
 public:
  void Add(std::string_view op_type) {
    if (known_.insert(op_type).second) open_.push_back(op_type);
  }
  void AddBody(const std::vector<ExpansionStatement>& body) {
    for (const ExpansionStatement& statement : body) {
      AddTerm(statement.value);
      if (statement.limit) AddTerm(*statement.limit);
      if (statement.when) AddTerm(*statement.when);
      AddBody(statement.body);
    }
  }
  // "": none is left.
  std::string_view Take() {
    if (open_.empty()) return "";
    const std::string_view last = open_.back();
    open_.pop_back();
    return last;
  }

 private:
  void AddTerm(const Expression& term) {
    if (term.kind == Expression::Kind::kOpCall) Add(term.text);
    for (const Expression& argument : term.arguments) AddTerm(argument);
  }

  std::set<std::string_view> known_;
  std::vector<std::string_view> open_;
};

}  // namespace

bool DrawsRandom(std::string_view op_type, const RuleSet& rules) {
  Calls calls;
  calls.Add(op_type);
  for (std::string_view type = calls.Take(); !type.empty(); type = calls.Take()) {
    const PrimitiveRow* primitive = FindPrimitive(type);
    if (primitive != nullptr && primitive->kind == PrimitiveClass::kRandom) return true;
    const OpDefinition* op = rules.Find(type);
    if (primitive != nullptr || op == nullptr) continue;
    for (const OpOverload& overload : op->overloads) {
      for (const Expansion& expansion : overload.expansions) calls.AddBody(expansion.body);
    }
  }
  return false;
}

}  // namespace sbp
