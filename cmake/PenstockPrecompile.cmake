# penstock_precompile(TARGET ...): with PENSTOCK_PRECOMPILE these targets get the public headers precompiled, which takes a third
# off a build that has all of them in nearly every file. Without it (the undefined preset, a build of one's own) each file shows
# that it includes what it uses.
#
# penstock_precompile_tests(TARGET ...): the same for tests, with GoogleTest beside. Half of a build of everything is tests, and
# most of that is the making of code that runs once: so in RelWithDebInfo they are optimised no further than -O1. What the public
# headers hold is then tested as -O1 makes it; benchmarks and applications, which check their results too, have it at -O2.
#
# penstock_several_at_once(TARGET ...): several of its files at once take less than half as long to compile, and longer when one of
# them has changed: with PENSTOCK_UNITY, for a build that is made once, as each sanitizer's mostly is.
option(PENSTOCK_PRECOMPILE "Precompile the public headers" OFF)
option(PENSTOCK_UNITY "Compile several files of a library at once" OFF)

function(penstock_several_at_once)
  if(PENSTOCK_UNITY OR (PENSTOCK_SANITIZE AND PENSTOCK_PRECOMPILE))
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# One form for libraries and programs, or the compiler refuses the precompiled headers.
function(penstock_one_form target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

# NAME: an object library that precompiles these headers for others.
function(penstock_precompiled name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  penstock_warnings(${name})
  penstock_one_form(${name})
endfunction()

function(penstock_reuse_precompiled name)
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM ${name})
    penstock_one_form(${target})
  endforeach()
endfunction()

function(penstock_precompile)
  if(NOT PENSTOCK_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET penstock_precompiled)
    penstock_precompiled(penstock_precompiled ${PROJECT_SOURCE_DIR}/include/penstock/penstock.hpp)
  endif()
  penstock_reuse_precompiled(penstock_precompiled ${ARGN})
endfunction()

function(penstock_precompile_tests)
  set(optimisation $<$<CONFIG:RelWithDebInfo>:-O1>)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE ${optimisation})
  endforeach()
  if(NOT PENSTOCK_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET penstock_precompiled_tests)
    penstock_precompiled(penstock_precompiled_tests <gtest/gtest.h> ${PROJECT_SOURCE_DIR}/include/penstock/penstock.hpp)
    target_compile_options(penstock_precompiled_tests PRIVATE ${optimisation})
    target_link_libraries(penstock_precompiled_tests PRIVATE GTest::gtest)
  endif()
  penstock_reuse_precompiled(penstock_precompiled_tests ${ARGN})
endfunction()
