// The engine's memory of one kind of call: the decision, and what became of it. Only engine.cpp and report.cpp look in.
#pragma once

#include "tensor/aten.h"

#include <atomic>
#include <bit>
#include <deque>
#include <mutex>

#include "attention/backend.h"
#include "attention/policy/problem.h"
#include "attention/policy/resolver.h"
#include "attention/policy/selection.h"

namespace tessera::attention {

/// Everything of a call that a decision may depend on, in a few words: compared and hashed on every call. Calls that
/// differ only in their key lengths, or in where packed sequences begin, share a decision.
struct CallKey {
  std::array<int64_t, 10> words = {};
  bool operator==(const CallKey&) const = default;
};

struct CallKeyHash {
  size_t operator()(const CallKey& key) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (const int64_t word : key.words) {
      hash = (std::rotl(hash, 23) ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccd;
    }
    return hash ^ (hash >> 32);
  }
};

/// What decisions and refusals may depend on in the data of one call. Calls of one shape that differ in nothing else
/// share a plan, so what a kernel refuses in one of them must be here: else it would be lost to all.
struct CallFacts {
  bool packed = false;
  SequenceFacts sequences;    ///< of packed calls; the sizes tell it of others
  bool even_lengths = false;  ///< one key length, more than 1, for all rows: the keys are cut to it
  bool aligned = true;        ///< AttentionProblem::aligned
  bool operator==(const CallFacts&) const = default;
};

/// One backend of the engine.
struct BackendSlot {
  BackendId id = BackendId::Reference;
  std::unique_ptr<AttentionBackend> backend;
  std::atomic<bool> quarantined = false;
  std::string quarantine_reason;  ///< written once, before `quarantined`
};

/// One backend for one kind of call.
struct PlanCandidate {
  Candidate choice;
  BackendSlot* slot = nullptr;
  std::atomic<bool> latched = false;  ///< answered Unsupported: never asked again
  std::string latch_reason;           ///< written once, before `latched`
  std::atomic<bool> proven = false;   ///< a canary passed
  std::atomic<int64_t> served = 0;

  bool usable() const {
    return !latched.load(std::memory_order_acquire) && !slot->quarantined.load(std::memory_order_acquire);
  }
};

/// One kind of call. Lives as long as the engine; candidates never move.
struct Plan {
  std::string component;
  AttentionProblem problem;
  CallFacts facts;
  Selection selection;
  Decision decision;
  std::deque<PlanCandidate> candidates;
  std::atomic<int64_t> calls = 0;
};

}  // namespace tessera::attention
