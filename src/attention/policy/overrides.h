// Overrides in force while a program runs: a process-wide choice, and those of the component that is being built.
// Scopes undo themselves; leaving a component checks that its overrides controlled some layer.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/resolver.h"
#include "attention/policy/selection.h"
#include "base/result.h"

namespace tessera::attention {

/// What is asked for one component.
struct ComponentOverride {
  std::string component;
  std::optional<Choice> whole;
  std::map<Role, Choice> by_role;
  bool server_may_fall_back = false;  ///< text encoders and VAE
  bool must_apply = true;             ///< false: a component without attention layers of ours is fine
};

/// What one layer of the component got.
struct LayerRecord {
  std::string selected;      ///< choice_name of what serves the layer: "fa", "torch_sdpa", …
  std::string reason;        ///< why it is not what the component asked for, empty when nothing explains it
  std::optional<Role> role;  ///< nothing for a layer that does not say
};

/// How overrides can have failed, found on leaving the component.
enum class OverrideFault {
  RoleUnused,       ///< no layer of that role was built
  ComponentUnused,  ///< no layer was built at all
  NotApplied,       ///< no layer got the backend
  Mixed,            ///< some layer got another backend, and nothing explains it
};

/// The first fault, roles before the component as a whole.
std::optional<OverrideFault> find_fault(const ComponentOverride& asked, const std::vector<LayerRecord>& layers);

/// Fills the levels `component_role` and `component` of the selection of a component's layer.
void apply_override(const ComponentOverride& asked, Selection& selection, Role role);

/// The record of a layer that was decided so.
LayerRecord record_of(const Decision& decision, Role role);

/// The state that scopes change; owned by the runtime and passed down. Safe to use from several threads.
class Overrides {
 public:
  /// Fills the levels `forced`, `component_role` and `component` of a layer's selection.
  void apply(Selection& selection, Role role) const;
  /// What a ForceScope forces now, whoever opened it.
  std::optional<Choice> forced() const;
  /// A number that is equal for equal forced choices, without a lock: engines keep decisions apart by it.
  uint64_t forced_code() const { return forced_code_.load(std::memory_order_acquire); }
  /// Notes what a layer of the open component got; nothing when no component is open.
  void record(LayerRecord layer);

 private:
  friend class ForceScope;
  friend class ComponentScope;
  std::optional<Choice> force(std::optional<Choice> choice);
  mutable std::mutex mutex_;
  std::optional<Choice> forced_;
  std::atomic<uint64_t> forced_code_ = 0;
  std::optional<ComponentOverride> component_;
  std::vector<LayerRecord> layers_;
};

/// Forces one choice for every layer of every engine that shares the overrides, until it ends; the former one comes
/// back.
class ForceScope {
 public:
  ForceScope(Overrides& overrides, std::optional<Choice> choice);
  ~ForceScope();
  ForceScope(const ForceScope&) = delete;
  ForceScope& operator=(const ForceScope&) = delete;

 private:
  Overrides& overrides_;
  std::optional<Choice> former_;
};

/// Opens a component around its construction. `leave` validates; when an exception passes, the scope only restores.
class ComponentScope {
 public:
  ComponentScope(Overrides& overrides, ComponentOverride asked);
  ~ComponentScope();
  ComponentScope(const ComponentScope&) = delete;
  ComponentScope& operator=(const ComponentScope&) = delete;

  /// Errors: Unsupported, naming the override that controlled no layer or that a layer did not follow.
  Status leave();

 private:
  Overrides& overrides_;
  std::optional<ComponentOverride> former_;
  std::vector<LayerRecord> former_layers_;
};

}  // namespace tessera::attention
