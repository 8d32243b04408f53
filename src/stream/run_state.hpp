// What a Run keeps.
#pragma once

#include "penstock/run.hpp"
#include "stream/model.hpp"
#include "stream/run_core.hpp"
#include "stream/wiring.hpp"

namespace penstock::streaming {

struct RunState {
    RunState(Machine& machine, const Model& described, Model* from) : model(described), core(machine), wiring(core), graph(from) {}
    ~RunState();

    Model model;  ///< as it runs now
    RunCore core;
    Wiring wiring;
    Model* graph;  ///< the description that it was started from
    bool finished = false;

    /// Takes in what has come to the program's own ends; ends those that have nothing to come.
    void attend_program_ends();
    /// All have ended: waits until nothing of the run is at work any more.
    void settle();
};

}  // namespace penstock::streaming
