// All of Penstock. To include less:
//
// I want to ...                                                 -> penstock/
//
// Tasks
//   start a machine and call procedures on it                   machine.hpp
//   say how many targets, where they run, how they wait         options.hpp
//   tag an argument: in, out, inout                             argument.hpp
//   pass strided or scattered memory                            view.hpp
//   give one call a priority, a time limit or a name            call_options.hpp
//   wait for a task, ask how it ended                           handle.hpp
//   let tags decide the order of calls                          dependences.hpp
//   issue a graph of tasks once and run it many times           recording.hpp
//   send several calls as one task                              chain.hpp
//   keep data on each target                                    resident.hpp
//   fetch for the next task between the parts of a body         fetch_ahead.hpp
//   share a loop among targets                                  for_each.hpp
//   make one call several, each on a part of the arguments      split.hpp
//   run tasks in processes of their own that may crash          isolation.hpp
//   share memory with such processes                            heap.hpp
//   call code that was loaded or made after they had started    plugin.hpp
//   prepare a program that has threads for processes            launch.hpp
//
// Streams
//   describe a graph of filters and run it                      graph.hpp
//   write a filter with ports and settings                      port.hpp
//   take a buffer, write it, pass it on                         buffer.hpp
//   choose copies, capacities, policies and order               stream_options.hpp
//   feed a run, wait for it, watch it                           run.hpp
//   change a graph while it runs                                edit.hpp
//   spread one firing over many targets                         spread.hpp
//   pass values other than plain bytes to filters in processes  carried.hpp
//   read what a run has done                                    stream_statistics.hpp
//   run a graph on several machines                             cluster.hpp
//   catch what goes wrong in a graph                            stream_error.hpp
//   keep any struct with ports as a filter                      filter.hpp
//   make filters whose ports are known at run time only         described_filter.hpp
//
// Ranks
//   run one function in n threads or processes                  spmd.hpp
//   know the team that a rank belongs to                        rank.hpp
//   make a team of programs that were started apart             join.hpp
//   let others store into my memory                             region.hpp
//   store into another's memory                                 remote.hpp
//   tell another rank that something is there                   flag.hpp
//   wait for all ranks                                          barrier.hpp
//   guard what ranks share                                      mutex.hpp
//   let many read or one write                                  shared_mutex.hpp
//   wait for a condition                                        condition.hpp
//   turn rows into columns on their way                         transpose.hpp
//   choose how a store travels                                  store_way.hpp
//   send and receive messages                                   message.hpp
//   catch what goes wrong between two ranks                     message_error.hpp
//
// Applications that are written down
//   load an XML file and run it                                 application.hpp
//   describe an application in C++                              application_builder.hpp
//   rewrite an application by passes                            transformation.hpp
//   give the passes a profile of a run                          application_profile.hpp
//   write passes of your own                                    pass.hpp
//   make C++ of an application                                  application_source.hpp
//   make a program that is one application                      application_program.hpp
//   set and calculate parameters                                parameter_value.hpp
//   offer filter classes by name                                components.hpp
//   use the classes that work on files, sockets and films       component_classes.hpp
//   put component classes into a shared library, in C           component_library.h
//
// Everywhere
//   see the processors and what they share                      topology.hpp
//   see where the time went                                     trace.hpp
//   catch any error                                             error.hpp
//   ask which Penstock this is                                  version.hpp
//
// Not included here, because they bring in what not every program wants
//   print what Penstock says of itself: <<, std::format         print.hpp
//   wait for tasks in coroutines                                coroutine.hpp
//   make a machine a scheduler of senders and receivers         execution.hpp
#pragma once

#include "penstock/application.hpp"
#include "penstock/application_builder.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/application_program.hpp"
#include "penstock/application_source.hpp"
#include "penstock/argument.hpp"
#include "penstock/barrier.hpp"
#include "penstock/buffer.hpp"
#include "penstock/call_options.hpp"
#include "penstock/carried.hpp"
#include "penstock/chain.hpp"
#include "penstock/cluster.hpp"
#include "penstock/component_classes.hpp"
#include "penstock/components.hpp"
#include "penstock/condition.hpp"
#include "penstock/dependences.hpp"
#include "penstock/described_filter.hpp"
#include "penstock/edit.hpp"
#include "penstock/error.hpp"
#include "penstock/fetch_ahead.hpp"
#include "penstock/filter.hpp"
#include "penstock/flag.hpp"
#include "penstock/for_each.hpp"
#include "penstock/graph.hpp"
#include "penstock/handle.hpp"
#include "penstock/heap.hpp"
#include "penstock/isolation.hpp"
#include "penstock/join.hpp"
#include "penstock/launch.hpp"
#include "penstock/machine.hpp"
#include "penstock/message.hpp"
#include "penstock/message_error.hpp"
#include "penstock/mutex.hpp"
#include "penstock/options.hpp"
#include "penstock/parameter_value.hpp"
#include "penstock/pass.hpp"
#include "penstock/plugin.hpp"
#include "penstock/port.hpp"
#include "penstock/rank.hpp"
#include "penstock/recording.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/resident.hpp"
#include "penstock/run.hpp"
#include "penstock/shared_mutex.hpp"
#include "penstock/split.hpp"
#include "penstock/spmd.hpp"
#include "penstock/spread.hpp"
#include "penstock/store_way.hpp"
#include "penstock/stream_error.hpp"
#include "penstock/stream_options.hpp"
#include "penstock/stream_statistics.hpp"
#include "penstock/topology.hpp"
#include "penstock/trace.hpp"
#include "penstock/transformation.hpp"
#include "penstock/transpose.hpp"
#include "penstock/version.hpp"
#include "penstock/view.hpp"
