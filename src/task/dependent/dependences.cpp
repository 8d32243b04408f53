#include "penstock/dependences.hpp"

#include "penstock/error.hpp"

namespace penstock {

Initiator& Dependences::initiator_of_its_own(Machine& machine) {
    Initiator& initiator = machine.initiator();
    if (initiator.shared())
        throw UsageError(
            "this thread shares its initiator with others, so what it has issued cannot be told from what they have; "
            "order tasks "
            "on one of a machine's first 63 threads");
    return initiator;
}

Dependences::Dependences(Machine& machine)
    : machine_(machine), initiator_(initiator_of_its_own(machine)), scope_(&initiator_.scope()),
      history_(initiator_.dependents()) {}

Dependences::~Dependences() { Dependents::give_back(group_); }

void Dependences::wait() {
    initiator();
    initiator_.wait_for_dependents(group_.rings);
    if (!group_.rings.empty()) group_.current = group_.rings.front();  // the smallest, which the nearest cache holds
}

void Dependences::refuse_stranger() {
    throw UsageError("a Dependences is used by the thread, or inside the task, that made it; make one for each");
}

void Dependences::tidy() {
    history_.tidy([this](auto&& predecessors) {
        initiator_.call_dependent(&group_, Initiator::any_target, predecessors, [] {});
    });
}

}  // namespace penstock
