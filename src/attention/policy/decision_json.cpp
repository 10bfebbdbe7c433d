#include "attention/policy/decision_json.h"

#include <algorithm>

#include "base/strings.h"
#include "platform/presets.h"
#include "platform/profile_json.h"

namespace tessera::attention {
namespace {

Status known_fields(const Json& object, std::string_view what, const std::vector<std::string>& known) {
  if (!object.is_object()) return fail(ErrorCode::Usage, strings::join(what, " must be an object"), "write {}");
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return fail(ErrorCode::Usage, strings::join(what, " has no field '", key, "'"),
                strings::join("fields: ", strings::list(known)));
  }
  return {};
}

bool absent(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null();
}

Result<int64_t> integer(const Json& object, const char* key, int64_t otherwise) {
  if (absent(object, key)) return otherwise;
  const Json& value = object.at(key);
  if (value.is_number_integer()) return value.get<int64_t>();
  return fail(ErrorCode::Usage, strings::join("field '", key, "' is ", value.dump(), ", not an integer"));
}

Result<std::string> text(const Json& object, const char* key, std::string otherwise) {
  if (absent(object, key)) return otherwise;
  if (object.at(key).is_string()) return object.at(key).get<std::string>();
  return fail(ErrorCode::Usage, strings::join("field '", key, "' is ", object.at(key).dump(), ", not a text"));
}

Result<bool> flag(const Json& object, const char* key, bool otherwise) {
  if (absent(object, key)) return otherwise;
  if (object.at(key).is_boolean()) return object.at(key).get<bool>();
  return fail(ErrorCode::Usage, strings::join("field '", key, "' is ", object.at(key).dump(), ", not true or false"));
}

Result<std::vector<int64_t>> integers(const Json& object, const char* key) {
  std::vector<int64_t> out;
  if (absent(object, key)) return out;
  const Json& list = object.at(key);
  const bool good = list.is_array() && std::ranges::all_of(list, [](const Json& x) { return x.is_number_integer(); });
  if (!good)
    return fail(ErrorCode::Usage, strings::join("field '", key, "' is ", list.dump(), ", not a list of integers"));
  for (const Json& x : list) out.push_back(x.get<int64_t>());
  return out;
}

template <typename Enum>
Result<Enum> one_of(const std::string& name, std::string_view (*name_of)(Enum), std::initializer_list<Enum> values,
                    const char* key) {
  std::vector<std::string> names;
  for (const Enum value : values) {
    if (name_of(value) == name) return value;
    names.emplace_back(name_of(value));
  }
  return fail(ErrorCode::Usage, strings::join("field '", key, "' is '", name, "'"),
              strings::join("choose one of: ", strings::list(names)));
}

Result<Causal> causal_field(const Json& object) {
  if (absent(object, "causal")) return Causal::None;
  const Json& value = object.at("causal");
  if (value.is_boolean()) return value.get<bool>() ? Causal::TopLeft : Causal::None;
  TESSERA_TRY(const std::string name, text(object, "causal", ""));
  return one_of(name, causal_name, {Causal::None, Causal::TopLeft, Causal::BottomRight}, "causal");
}

Status read_sizes(AttentionProblem& p, const Json& object) {
  TESSERA_TRY(p.batch, integer(object, "batch", 1));
  TESSERA_TRY(p.seq_q, integer(object, "seq_q", 4608));
  TESSERA_TRY(p.seq_kv, integer(object, "seq_kv", p.seq_q));
  TESSERA_TRY(p.heads_q, integer(object, "heads_q", 24));
  TESSERA_TRY(p.heads_kv, integer(object, "heads_kv", p.heads_q));
  TESSERA_TRY(p.head_dim, integer(object, "head_dim", 128));
  TESSERA_TRY(p.value_dim, integer(object, "value_dim", p.head_dim));
  TESSERA_TRY(p.key_lengths, integers(object, "key_lengths"));
  TESSERA_TRY(p.varlen_bounds, integers(object, "varlen_bounds"));
  TESSERA_TRY(p.varlen_bounds_kv, integers(object, "varlen_bounds_kv"));
  return {};
}

Status read_kinds(AttentionProblem& p, const Json& object) {
  TESSERA_TRY(const std::string dtype, text(object, "dtype", "bf16"));
  const auto parsed = parse_dtype(dtype);
  if (!parsed) return fail(ErrorCode::Usage, strings::join("field 'dtype' is '", dtype, "'"), "use bf16, fp16 or fp32");
  p.dtype = *parsed;
  TESSERA_TRY(p.causal, causal_field(object));
  TESSERA_TRY(const std::string mask, text(object, "mask", p.key_lengths.empty() ? "none" : "key_lengths"));
  TESSERA_TRY(p.mask, one_of(mask, mask_name,
                             {MaskKind::None, MaskKind::KeyLengths, MaskKind::Bool, MaskKind::Additive}, "mask"));
  TESSERA_TRY(const std::string role, text(object, "role", "self"));
  TESSERA_TRY(p.role, one_of(role, role_name, {Role::Self, Role::Cross}, "role"));
  TESSERA_TRY(const std::string layout, text(object, "layout", "token_major"));
  TESSERA_TRY(p.layout,
              one_of(layout, layout_name, {Layout::TokenMajor, Layout::HeadMajor, Layout::Strided, Layout::LastStrided},
                     "layout"));
  TESSERA_TRY(p.needs_lse, flag(object, "needs_lse", false));
  TESSERA_TRY(p.aligned, flag(object, "aligned", true));
  if (absent(object, "scale")) return {};
  if (!object.at("scale").is_number()) return fail(ErrorCode::Usage, "field 'scale' is no number");
  p.scale = object.at("scale").get<double>();
  return {};
}

Status read_level(std::optional<Choice>& level, const Json& object, const char* key) {
  TESSERA_TRY(const std::string name, text(object, key, ""));
  if (name.empty()) return {};
  TESSERA_TRY(level, parse_choice(name));
  return {};
}

Status read_model_set(Selection& s, const Json& object) {
  if (absent(object, "model_supports")) return {};
  const Json& list = object.at("model_supports");
  if (!list.is_array()) return fail(ErrorCode::Usage, "field 'model_supports' is no list of names");
  for (const Json& name : list) {
    if (!name.is_string()) return fail(ErrorCode::Usage, "field 'model_supports' is no list of names");
    TESSERA_TRY(const Choice choice, parse_choice(name.get<std::string>()));
    s.model_supports.push_back(choice);
  }
  return {};
}

Result<std::vector<PastFailure>> read_failures(const Json& row) {
  std::vector<PastFailure> out;
  if (absent(row, "failed")) return out;
  if (!row.at("failed").is_array()) return fail(ErrorCode::Usage, "field 'failed' is no list");
  for (const Json& entry : row.at("failed")) {
    TESSERA_TRY_OK(known_fields(entry, "an entry of 'failed'", {"backend", "error"}));
    TESSERA_TRY(const std::string name, text(entry, "backend", ""));
    TESSERA_TRY(const Choice choice, parse_choice(name));
    TESSERA_TRY(const std::string error, text(entry, "error", ""));
    if (error == "oom" || error == "fault") continue;  // of the moment: says nothing about the next call
    if (error != "unsupported" && error != "garbage") {
      return fail(ErrorCode::Usage, strings::join("field 'error' is '", error, "'"),
                  "use unsupported, garbage, oom or fault");
    }
    const Reason reason = error == "unsupported" ? Reason::FailedBefore : Reason::Quarantined;
    const std::string why = error == "unsupported"
                                ? "refused this problem when it was asked to run it; fixed by a restart"
                                : "computed a wrong result before; fixed by a restart";
    const auto rows = choice.kind == ChoiceKind::AnyFa ? std::vector{BackendId::Fa4, BackendId::Fa3, BackendId::Fa2}
                                                       : std::vector{choice.backend};
    for (const BackendId id : rows) out.push_back({id, reason, why});
  }
  return out;
}

Result<platform::DeviceProfile> read_device(const Json& row, const DeviceByName& device_by_name) {
  const Json name = row.contains("device") ? row.at("device") : Json("auto");
  if (!name.is_string() && !name.is_object()) {
    return fail(ErrorCode::Usage, "field 'device' is neither a name nor a profile", "write \"device\": \"b200\"");
  }
  auto device = name.is_string() ? device_by_name(name.get<std::string>()) : platform::profile_from_json(name);
  if (!device || absent(row, "libraries")) return device;
  const Json& list = row.at("libraries");
  if (!list.is_array()) return fail(ErrorCode::Usage, "field 'libraries' is no list");
  std::vector<std::string> tokens;
  for (const Json& token : list) {
    const auto& known = platform::library_tokens();
    if (!token.is_string() || std::ranges::find(known, token.get<std::string>()) == known.end()) {
      return fail(ErrorCode::Usage, strings::join("unknown library ", token.dump()),
                  strings::join("libraries: ", strings::list(known)));
    }
    tokens.push_back(token.get<std::string>());
  }
  platform::set_libraries(*device, tokens);
  return device;
}

OrderedJson refusal_to_json(const Refusal& r) {
  return {{"backend", backend_name(r.backend)}, {"reason", reason_name(r.reason)}, {"text", r.text}};
}

OrderedJson candidate_to_json(const Candidate& c) {
  return {{"backend", backend_name(c.backend)},
          {"tier", quality_name(c.tier)},
          {"origin", origin_name(c.origin)},
          {"provenance", c.provenance}};
}

OrderedJson error_to_json(const Error& error) {
  return {{"code", code_name(error.code)}, {"text", error.line()}};
}

}  // namespace

Result<AttentionProblem> problem_from_json(const Json& object) {
  TESSERA_TRY_OK(known_fields(
      object, "problem",
      {"batch", "seq_q", "seq_kv", "heads_q", "heads_kv", "head_dim", "value_dim", "dtype", "layout", "causal", "mask",
       "key_lengths", "varlen_bounds", "varlen_bounds_kv", "scale", "needs_lse", "role", "aligned"}));
  AttentionProblem p;
  TESSERA_TRY_OK(read_sizes(p, object));
  TESSERA_TRY_OK(read_kinds(p, object));
  const std::string defect = problem_defect(p);
  if (!defect.empty()) return fail(ErrorCode::Usage, strings::join("problem: ", defect), "correct the sizes");
  return p;
}

OrderedJson problem_to_json(const AttentionProblem& p) {
  OrderedJson out = {
      {"batch", p.batch},       {"seq_q", p.seq_q},       {"seq_kv", p.seq_kv},       {"heads_q", p.heads_q},
      {"heads_kv", p.heads_kv}, {"head_dim", p.head_dim}, {"value_dim", p.value_dim}, {"dtype", dtype_name(p.dtype)}};
  out["causal"] = p.is_causal() ? OrderedJson(causal_name(p.causal)) : OrderedJson(false);
  out["mask"] = mask_name(p.mask);
  out["key_lengths"] = p.key_lengths.empty() ? OrderedJson() : OrderedJson(p.key_lengths);
  out["needs_lse"] = p.needs_lse;
  out["role"] = role_name(p.role);
  if (p.layout != Layout::TokenMajor) out["layout"] = layout_name(p.layout);
  if (p.is_varlen()) out["varlen_bounds"] = p.varlen_bounds;
  if (!p.varlen_bounds_kv.empty()) out["varlen_bounds_kv"] = p.varlen_bounds_kv;
  if (!p.aligned) out["aligned"] = false;
  if (p.scale) out["scale"] = *p.scale;
  return out;
}

Result<Selection> selection_from_json(const Json& object) {
  TESSERA_TRY_OK(known_fields(object, "selection",
                              {"layer_pin", "forced", "component_role", "component", "server", "layer_default",
                               "model_supports", "quant", "may_fall_back", "quality"}));
  Selection s;
  TESSERA_TRY_OK(read_level(s.layer_pin, object, "layer_pin"));
  TESSERA_TRY_OK(read_level(s.forced, object, "forced"));
  TESSERA_TRY_OK(read_level(s.component_role, object, "component_role"));
  TESSERA_TRY_OK(read_level(s.component, object, "component"));
  TESSERA_TRY_OK(read_level(s.server, object, "server"));
  TESSERA_TRY_OK(read_level(s.layer_default, object, "layer_default"));
  TESSERA_TRY_OK(read_model_set(s, object));
  TESSERA_TRY(s.quant, text(object, "quant", ""));
  TESSERA_TRY(s.server_may_fall_back, flag(object, "may_fall_back", false));
  TESSERA_TRY(const std::string quality, text(object, "quality", "exact"));
  const auto parsed = parse_quality(quality);
  if (!parsed)
    return fail(ErrorCode::Usage, strings::join("field 'quality' is '", quality, "'"), "use exact, high or fast");
  s.quality = *parsed;
  return s;
}

OrderedJson decision_to_json(const Decision& d) {
  OrderedJson out = {{"selected", d.selected}};
  out["backend"] = d.ok() ? OrderedJson(backend_name(d.first())) : OrderedJson();
  out["refused"] = OrderedJson::array();
  for (const Refusal& r : d.refused) out["refused"].push_back(refusal_to_json(r));
  out["warnings"] = d.warnings;
  out["error"] = d.error ? error_to_json(*d.error) : OrderedJson();
  if (d.cause) out["error"]["reason"] = reason_name(d.cause->reason);
  out["origin"] = origin_name(d.origin);
  out["strict"] = d.strict;
  out["candidates"] = OrderedJson::array();
  for (const Candidate& c : d.candidates) out["candidates"].push_back(candidate_to_json(c));
  out["notes"] = d.notes;
  return out;
}

Result<BatchRow> batch_row_from_json(const Json& row, const DeviceByName& device_by_name) {
  if (!row.is_object()) return fail(ErrorCode::Usage, "a row must be a JSON object", "see explain --help");
  BatchRow out;
  TESSERA_TRY(out.device, read_device(row, device_by_name));
  TESSERA_TRY(out.problem, problem_from_json(absent(row, "problem") ? Json::object() : row.at("problem")));
  TESSERA_TRY(out.selection, selection_from_json(absent(row, "selection") ? Json::object() : row.at("selection")));
  TESSERA_TRY(out.past, read_failures(row));
  return out;
}

OrderedJson batch_error(const Error& error) {
  return {{"selected", nullptr},
          {"backend", nullptr},
          {"refused", OrderedJson::array()},
          {"warnings", OrderedJson::array()},
          {"error", error_to_json(error)}};
}

}  // namespace tessera::attention
