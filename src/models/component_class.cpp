#include "models/component_class.h"

#include "base/strings.h"

namespace tessera::models {

Status expect_classes(const weights::PipelineFolder& folder,
                      const std::vector<std::pair<std::string, std::string>>& wanted) {
  for (const auto& [component, name] : wanted) {
    const auto it = folder.components.find(component);
    if (it == folder.components.end()) {
      return fail(ErrorCode::BadFile, strings::join(folder.path.string(), ": model_index.json lists no ", component),
                  strings::join(folder.class_name, " needs one of class ", name));
    }
    if (it->second.name != name) {
      return fail(ErrorCode::Unsupported,
                  strings::join(folder.path.string(), ": ", component, " is a ", it->second.name),
                  strings::join(folder.class_name, " is written for ", name));
    }
  }
  return {};
}

}  // namespace tessera::models
