#include "attention/backends/operator_call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "base/strings.h"

namespace tessera::attention {

bool has_operator(const std::string& name) {
  return c10::Dispatcher::singleton().findSchema({name, ""}).has_value();
}

Result<std::vector<c10::IValue>> call_operator(const std::string& name,
                                               const std::map<std::string, c10::IValue>& arguments) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!op) return fail(ErrorCode::Unavailable, strings::join("operator ", name, " is not registered"));
  std::vector<c10::IValue> stack;
  for (const c10::Argument& argument : op->schema().arguments()) {
    if (const auto it = arguments.find(argument.name()); it != arguments.end()) {
      stack.push_back(it->second);
    } else if (argument.default_value()) {
      stack.push_back(*argument.default_value());
    } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
      stack.emplace_back();
    } else {
      return fail(ErrorCode::Unavailable,
                  strings::join("operator ", name, " wants an argument '", argument.name(),
                                "' that this program does not know"),
                  "install the version of the library that this program was made for");
    }
  }
  op->callBoxed(stack);
  return stack;
}

}  // namespace tessera::attention
