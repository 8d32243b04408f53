# penstock_precompile(TARGET ...): with PENSTOCK_PRECOMPILE these targets get the public headers precompiled, which takes a third
# off a build that has all of them in nearly every file. Without it (the undefined preset, a build of one's own) each file shows
# that it includes what it uses.
option(PENSTOCK_PRECOMPILE "Precompile the public headers" OFF)

function(penstock_precompile)
  if(NOT PENSTOCK_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET penstock_precompiled)
    add_library(penstock_precompiled OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_compile_features(penstock_precompiled PUBLIC cxx_std_20)
    target_include_directories(penstock_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_precompile_headers(penstock_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/include/penstock/penstock.hpp)
    penstock_warnings(penstock_precompiled)
    set_target_properties(penstock_precompiled PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(penstock_precompiled PRIVATE -fPIC)
  endif()
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM penstock_precompiled)
    # One form for libraries and programs, or the compiler refuses the precompiled headers.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endforeach()
endfunction()
