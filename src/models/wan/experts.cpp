#include "models/wan/experts.h"

#include "pipeline/stage.h"

namespace tessera::models {

const WanTransformer& WanExperts::get(bool second) {
  if (loaded_ && loaded_second_ == second) return *loaded_;
  loaded_.reset();  // before the other one is read
  loaded_.emplace(pipeline::load_component<WanTransformer>(folder_, component(second),
                                                           second ? *configs_.transformer_2 : configs_.transformer,
                                                           {.dtype = context_.dtype}, context_));
  loaded_second_ = second;
  return *loaded_;
}

}  // namespace tessera::models
