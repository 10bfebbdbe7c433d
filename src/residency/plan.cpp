#include "residency/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/strings.h"

namespace tessera::residency {
namespace {

StageNeed need_of(Stage stage) {
  StageNeed need;
  need.resident_bytes = need.data_bytes = need.address_bytes = stage.activation_bytes;
  for (const ComponentSize& c : stage.components) {
    need.resident_bytes += c.resident_bytes();
    need.data_bytes += c.copied_bytes;
    need.address_bytes += c.mapped_bytes + c.copied_bytes;
  }
  need.stage = std::move(stage);
  return need;
}

int64_t counted(const ComponentSize& c, Counts counts) {
  switch (counts) {
    case Counts::AddressSpace:
      return c.mapped_bytes + c.copied_bytes;
    case Counts::Data:
      return c.copied_bytes;
    case Counts::Resident:
      return c.resident_bytes();
  }
  return 0;
}

/// "transformer 23.8 GB, activations 300 MB".
std::string parts_text(const Stage& stage, Counts counts) {
  std::vector<std::string> parts;
  for (const ComponentSize& c : stage.components) parts.push_back(c.name + " " + bytes_text(counted(c, counts)));
  parts.push_back("activations " + bytes_text(stage.activation_bytes));
  return strings::list(parts);
}

Error refusal(const StageNeed& need, const MemoryLimit& limit) {
  return {ErrorCode::OutOfMemory,
          strings::join("not enough memory: stage ", need.stage.name, " needs ", bytes_text(need.counted(limit.counts)),
                        " (", parts_text(need.stage, limit.counts), "), but ", limit.name, " leaves ",
                        bytes_text(limit.available_bytes)),
          "raise the limit or free memory, or ask for less: a smaller size, --dtype bf16, --vae-tiling"};
}

}  // namespace

ComponentSize component_size(const std::string& name, const weights::Checkpoint& checkpoint,
                             std::optional<DType> compute) {
  ComponentSize size{name, checkpoint.stored_bytes(), checkpoint.copied_bytes(compute), 0};
  size.used_in_place = checkpoint.loaded_bytes(compute) - size.copied_bytes;
  return size;
}

int64_t StageNeed::counted(Counts counts) const {
  switch (counts) {
    case Counts::AddressSpace:
      return address_bytes;
    case Counts::Data:
      return data_bytes;
    case Counts::Resident:
      return resident_bytes;
  }
  return 0;
}

const StageNeed* ResidencyPlan::peak(Counts counts) const {
  const auto it = std::ranges::max_element(stages, {}, [&](const StageNeed& need) { return need.counted(counts); });
  return it == stages.end() ? nullptr : &*it;
}

ResidencyPlan make_plan(std::vector<Stage> stages) {
  ResidencyPlan plan;
  for (Stage& stage : stages) plan.stages.push_back(need_of(std::move(stage)));
  return plan;
}

Status check_plan(const ResidencyPlan& plan, const std::vector<MemoryLimit>& limits) {
  const MemoryLimit* worst = nullptr;
  int64_t worst_excess = 0;
  for (const MemoryLimit& limit : limits) {
    const StageNeed* peak = plan.peak(limit.counts);
    const int64_t excess = peak == nullptr ? 0 : peak->counted(limit.counts) - limit.available_bytes;
    if (excess <= worst_excess) continue;
    worst = &limit;
    worst_excess = excess;
  }
  if (worst == nullptr) return {};
  return fail(refusal(*plan.peak(worst->counts), *worst));
}

std::string bytes_text(int64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit >= 3 ? "%.2f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

}  // namespace tessera::residency
