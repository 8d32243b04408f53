#include "penstock/error.hpp"

#include <cstring>
#include <utility>

#include "machine/said_by.hpp"

namespace penstock {
ArgumentError::ArgumentError(std::string task, int argument, const std::string& what)
    : UsageError("call of " + task + ", argument " + std::to_string(argument) + ": " + what), task_(std::move(task)),
      argument_(argument) {}

static std::string place_of(int target) {
    if (target == TaskFailed::unknown_target) return "";
    return target < 0 ? " on its initiator" : " on target " + std::to_string(target);
}

TaskFailed::TaskFailed(std::string task, int target, std::exception_ptr cause, std::size_t others)
    : Error("task " + task + " failed" + place_of(target) + ": " + said_by(cause) +
            (others == 0 ? "" : " (and " + std::to_string(others) + " more failed)")),
      task_(std::move(task)), target_(target), cause_(std::move(cause)), others_(others) {}

CallbackFailed::CallbackFailed(std::exception_ptr cause, std::size_t others)
    : Error("a call-back threw: " + said_by(cause) +
            (others == 0 ? "" : " (and " + std::to_string(others) + " more threw)")),
      cause_(std::move(cause)), others_(others) {}

PredecessorFailed::PredecessorFailed(const std::string& task, std::string predecessor, const std::string& why,
                                     std::exception_ptr cause)
    : TaskCancelled("task " + task + " was not run, because task " + predecessor + ", which it comes after, " + why +
                    ": " + said_by(cause)),
      predecessor_(std::move(predecessor)), cause_(std::move(cause)) {}

SystemError::SystemError(const std::string& what, int number)
    : Error(what + ": " + std::strerror(number)), number_(number) {}

}  // namespace penstock
