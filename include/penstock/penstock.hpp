// All of Penstock.
#pragma once

#include "penstock/argument.hpp"
#include "penstock/error.hpp"
#include "penstock/handle.hpp"
#include "penstock/machine.hpp"
#include "penstock/message.hpp"
#include "penstock/options.hpp"
#include "penstock/rank.hpp"
#include "penstock/spmd.hpp"
#include "penstock/topology.hpp"
#include "penstock/trace.hpp"
#include "penstock/view.hpp"
