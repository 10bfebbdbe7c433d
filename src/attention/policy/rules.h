// Measured preferences between backends, as rows of data with their evidence, and numeric policies of weight formats.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "platform/device_profile.h"

namespace tessera::attention {

enum class Preference { Cudnn, Fa };

/// One row: on such devices, for such problems, this backend goes first. The first row that matches decides.
struct Rule {
  std::string_view id;
  Preference prefer = Preference::Fa;
  std::string_view evidence;  ///< measured where, by whom, with which versions; what it rests on otherwise
  bool (*device_matches)(const platform::DeviceProfile& device) = nullptr;
  bool (*problem_matches)(const AttentionProblem& problem) = nullptr;
};

/// The rows that `dynamic_cudnn_sdpa` chooses by; the last one matches everything.
std::span<const Rule> dynamic_rules();

/// The row that decides this problem.
const Rule& dynamic_rule(const AttentionProblem& problem, const platform::DeviceProfile& device);

/// What a weight format wants of attention where nobody chose anything.
struct QuantPolicy {
  std::string_view format;  ///< as checkpoints name it: "modelopt_fp4"
  Choice choice;
  std::string_view evidence;
  bool (*device_matches)(const platform::DeviceProfile& device) = nullptr;
};

std::span<const QuantPolicy> quant_policies();

/// The policy of this format on this device, or nullptr: the format follows the automatic choice.
const QuantPolicy* quant_policy(std::string_view format, const platform::DeviceProfile& device);

}  // namespace tessera::attention
