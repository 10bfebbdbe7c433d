// `tessera explain`: which attention backend each call gets on a device, and why each other one was refused.
#include "tensor/aten.h"

#include "apps/cli/explain.h"
#include "apps/cli/explain_model.h"
#include "apps/cli/explain_table.h"

#include <iostream>
#include <memory>

#include "apps/cli/ask_cudnn.h"
#include "apps/cli/commands.h"
#include "apps/cli/machine.h"
#include "attention/policy/decision_json.h"
#include "attention/policy/named_shapes.h"
#include "base/strings.h"
#include "platform/profile_json.h"
#include "platform/simulate.h"
#include "runtime/attention_options.h"

namespace tessera::cli {
namespace {

using attention::AttentionProblem;

struct Options {
  std::string shapes;
  std::string simulate;
  std::string quant;
  std::string model_supports;
  std::string component = "transformer";
  std::string causal;
  Json problem = Json::object();  ///< the problem flags that were given, as a batch row's "problem"
  bool batch = false;
  bool ask_cudnn = false;
  bool markdown = false;
  ModelSize model;
};

struct NumberFlag {
  const char* flag;
  const char* field;
  const char* help;
};

constexpr NumberFlag kNumbers[] = {
    {"--seq-q", "seq_q", "query tokens"},
    {"--seq-kv", "seq_kv", "key tokens; as many as queries when absent"},
    {"--heads", "heads_q", "query heads"},
    {"--kv-heads", "heads_kv", "key heads; as many as query heads when absent"},
    {"--head-dim", "head_dim", "size of a head"},
    {"--value-dim", "value_dim", "size of a value; the head's when absent"},
    {"--batch-size", "batch", "batch rows"},
};

void add_problem_flags(CLI::App& app, const std::shared_ptr<Options>& o) {
  for (const NumberFlag& row : kNumbers) {
    const std::string field = row.field;
    app.add_option_function<int64_t>(
        row.flag, [o, field](int64_t value) { o->problem[field] = value; }, row.help);
  }
  const auto text = [&](const char* flag, const char* field, const char* help) {
    app.add_option_function<std::string>(
        flag, [o, field](const std::string& v) { o->problem[field] = v; }, help);
  };
  text("--mask", "mask", "none, key_lengths, bool or additive");
  text("--role", "role", "self or cross");
  text("--layout", "layout", "token_major, head_major, strided or last_strided");
  app.add_option_function<std::vector<int64_t>>(
         "--key-lengths", [o](const std::vector<int64_t>& v) { o->problem["key_lengths"] = v; },
         "keys that take part, one number per batch row, between commas")
      ->delimiter(',');
  app.add_option_function<double>(
      "--scale", [o](double v) { o->problem["scale"] = v; }, "1/sqrt(D) when absent");
  app.add_flag("--causal{top_left}", o->causal, "top_left (the flag alone) or --causal=bottom_right");
  app.add_flag_function(
      "--needs-lse", [o](int64_t n) { o->problem["needs_lse"] = n > 0; }, "ask for the log-sum-exp");
}

Result<std::vector<ExplainSite>> sites_of(const Options& o, const SharedOptions& shared, ExplainContext& context) {
  const platform::DeviceProfile& device = context.device;
  const std::string dtype = shared.dtype == "auto" ? (device.is_cuda() ? "bf16" : "fp32") : shared.dtype;
  const auto parsed = parse_dtype(dtype);
  if (!parsed)
    return fail(ErrorCode::Usage, strings::join("--dtype ", dtype, " is not known"), "use bf16, fp16 or fp32");
  std::vector<ExplainSite> sites;
  if (!o.shapes.empty()) {
    TESSERA_TRY(const auto shapes, attention::named_shape_list(o.shapes));
    for (const auto& shape : shapes) sites.push_back({std::string(shape.name), o.component, shape.problem(*parsed)});
  }
  if (!o.model.model.empty()) {
    TESSERA_TRY(auto of_model, model_sites(o.model, *parsed, context.selections));
    if (!o.quant.empty()) {
      for (auto& [component, selection] : context.selections.components) selection.quant = o.quant;
    }
    TESSERA_TRY_OK(check_model_overrides(of_model, context));
    sites.insert(sites.end(), of_model.begin(), of_model.end());
  }
  if (!o.problem.empty() || !o.causal.empty() || sites.empty()) {
    Json fields = o.problem;
    if (!o.causal.empty()) fields["causal"] = o.causal;
    fields["dtype"] = dtype;
    TESSERA_TRY(const AttentionProblem problem, attention::problem_from_json(fields));
    sites.push_back({"problem", o.component, problem});
  }
  return sites;
}

Result<ExplainContext> context_of(const Options& o, const SharedOptions& shared) {
  ExplainContext c;
  c.json = shared.json;
  c.markdown = o.markdown;
  TESSERA_TRY(auto device, device_profile(shared.device));
  TESSERA_TRY(c.device, platform::simulate(std::move(device), o.simulate));
  TESSERA_TRY(c.selections, runtime::selections_of(
                                {.quality = shared.quality,
                                 .attention_backend = shared.attention_backend,
                                 .attention_backend_origin = shared.attention_backend_origin,
                                 .component_attention_backends = shared.component_attention_backends,
                                 .component_attention_backends_origin = shared.component_attention_backends_origin}));
  c.selections.base.quant = o.quant;
  for (const std::string& name : strings::split(o.model_supports, ',')) {
    TESSERA_TRY(const auto choice, attention::parse_choice(name));
    c.selections.base.model_supports.push_back(choice);
  }
  return c;
}

attention::Decision decide(const ExplainSite& site, const ExplainContext& context) {
  attention::Selection s = context.selections.at(site.component, site.problem.role);
  if (site.pin) s.layer_pin = site.pin;
  if (site.layer_default) s.layer_default = site.layer_default;
  return attention::resolve(site.problem, s, context.device);
}

std::string_view stage_name(pipeline::SiteStage stage) {
  switch (stage) {
    case pipeline::SiteStage::Encode:
      return "prompt";
    case pipeline::SiteStage::Step:
      return "step";
    case pipeline::SiteStage::Decode:
      return "decode";
  }
  return "step";
}

void print_site(const ExplainSite& site, const attention::Decision& decision, const ExplainContext& context) {
  std::cout << site.name << "  " << describe(site.problem);
  if (site.calls_per_step > 0) std::cout << "  x" << site.calls_per_step << " per " << stage_name(site.stage);
  std::cout << "\n";
  std::string text = decision.explain();
  text = "  " + text.substr(0, text.size() - 1);
  for (const char c : text) std::cout << c << (c == '\n' ? "  " : "");
  std::cout << "\n";
  for (const ExplainExtra& extra : context.extras) {
    if (const auto more = extra(site.problem, context.device))
      std::cout << "  " << more->first << " " << more->second << "\n";
  }
}

OrderedJson site_json(const ExplainSite& site, const attention::Decision& decision, const ExplainContext& context) {
  OrderedJson out = {{"name", site.name}, {"component", site.component}};
  if (site.calls_per_step > 0) {
    out["calls"] = site.calls_per_step;
    out["calls_per"] = stage_name(site.stage);
    out["calls_per_step"] = site.stage == pipeline::SiteStage::Step ? site.calls_per_step : 0;
  }
  out["problem"] = attention::problem_to_json(site.problem);
  out.update(attention::decision_to_json(decision));
  for (const ExplainExtra& extra : context.extras) {
    if (auto more = extra(site.problem, context.device)) out[more->first] = std::move(more->second);
  }
  return out;
}

Status run(const Options& o, const SharedOptions& shared) {
  std::vector<ExplainExtra> extras;
  if (o.ask_cudnn) {
    TESSERA_TRY(auto question, ask_cudnn_question());
    extras.emplace_back(std::move(question));
  }
  if (o.batch) return explain_batch(shared.device, o.simulate, extras);
  TESSERA_TRY(auto context, context_of(o, shared));
  context.extras = std::move(extras);
  TESSERA_TRY(const auto sites, sites_of(o, shared, context));
  explain_sites(sites, context);
  return {};
}

}  // namespace

void explain_sites(const std::vector<ExplainSite>& sites, const ExplainContext& context) {
  if (context.markdown) {
    std::vector<ExplainedSite> table;
    for (const ExplainSite& site : sites) table.emplace_back(site, decide(site, context));
    std::cout << markdown_table(table, context.device);
    return;
  }
  OrderedJson rows = OrderedJson::array();
  if (!context.json) std::cout << "device " << context.device.name << "\n";
  for (const ExplainSite& site : sites) {
    const auto decision = decide(site, context);
    if (context.json) {
      rows.push_back(site_json(site, decision, context));
    } else {
      print_site(site, decision, context);
    }
  }
  if (context.json) {
    OrderedJson out = {{"device", platform::to_json(context.device)}, {"sites", rows}};
    // One problem's further answers also stand at the top, where scripts that ask about one look for them.
    if (rows.size() == 1 && rows[0].contains("ask_cudnn")) out["ask_cudnn"] = rows[0]["ask_cudnn"];
    std::cout << out.dump(1) << "\n";
  }
}

Command add_explain(CLI::App& app, SharedOptions& shared) {
  CLI::App* command = app.add_subcommand("explain", "say which attention backend each call gets, and why");
  const auto o = std::make_shared<Options>();
  add_shared_flags(*command, shared);
  command->get_option("--device")->description("auto, cpu, cuda[:N], a preset (b200, h100, …) or a profile FILE.json");
  command->add_option("--shape", o->shapes, "named shapes between commas, all, or production");
  command->add_option("--simulate", o->simulate,
                      "KEY=VALUE,… changes the device: cudnn=9.14.0, device=sm120, flash4=none");
  command->add_option("--quant", o->quant, "quantization format of the weights, e.g. modelopt_fp4");
  command->add_option("--model-supports", o->model_supports, "backends that the model lists, between commas");
  command->add_option("--component", o->component, "whose overrides and strictness apply");
  command->add_flag("--ask-cudnn", o->ask_cudnn, "add what the real cuDNN says about the device; no GPU is needed");
  command->add_flag("--markdown", o->markdown, "a table for the documentation");
  command->add_flag("--batch", o->batch, "read JSON lines on stdin, write one line each");
  command->add_option("--model", o->model.model, "every attention site of a model folder (or demo); no weights needed");
  command->add_option("--height", o->model.height, "pixels, with --model");
  command->add_option("--width", o->model.width, "pixels, with --model");
  command->add_option("--num-frames", o->model.num_frames, "frames, with --model");
  command->add_option("--max-sequence-length", o->model.max_sequence_length, "text tokens, with --model");
  add_problem_flags(*command, o);
  return {command, [o, &shared] { return run(*o, shared); }};
}

}  // namespace tessera::cli
