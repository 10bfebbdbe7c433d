// Request fields by name: one table serves recipes in pictures, tessera.json of a model folder, and golden cases.
#pragma once

#include "tensor/aten.h"

#include "base/json.h"
#include "pipeline/request.h"

namespace tessera::pipeline {

/// All fields that are set, under diffusers' names ("num_inference_steps": 28). The image is left out.
Json to_json(const GenerateRequest& request);

/// Sets the fields named in `fields` (null: leaves as is); names that are no field are skipped.
/// Errors: BadFile with the field's name when a value has the wrong type.
Status apply_json(const Json& fields, GenerateRequest& request);

/// `request` with every absent optional field taken from `defaults`.
GenerateRequest with_defaults(GenerateRequest request, const GenerateRequest& defaults);

}  // namespace tessera::pipeline
