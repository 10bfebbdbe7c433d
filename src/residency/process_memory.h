// What this process holds now, for reports and for handing memory back between stages.
#pragma once

#include <cstdint>

namespace tessera::residency {

/// Resident bytes now, and their peak since the start; 0 where the system does not say.
int64_t resident_bytes();
int64_t peak_resident_bytes();

/// Gives freed memory back to the system. Called after a component is released: the allocator keeps freed blocks
/// otherwise, and they would add to the next stage's peak.
void return_freed_memory();

}  // namespace tessera::residency
