# penstock_carried(OBJECTS...): what a wheel carries for programs in C++, besides the extension module. `penstock --cmake-dir` tells
# where. The objects become a shared library, because a wheel brings hwloc and pugixml along, and a static one would ask for them again.
include(CMakePackageConfigHelpers)

function(penstock_carried)
  get_filename_component(top ${CMAKE_CURRENT_FUNCTION_LIST_DIR} DIRECTORY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/carried.cpp CONTENT "// CMake wants a source for a library.\n")
  add_library(penstock_carried SHARED ${CMAKE_CURRENT_BINARY_DIR}/carried.cpp)
  # Wheels hold no links: the file has the name that programs ask for.
  set_target_properties(penstock_carried PROPERTIES OUTPUT_NAME penstock SUFFIX .so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        EXPORT_NAME penstock)
  target_compile_features(penstock_carried INTERFACE cxx_std_20)
  target_include_directories(penstock_carried INTERFACE $<INSTALL_INTERFACE:penstock/cpp/include>)
  target_link_libraries(penstock_carried PUBLIC Threads::Threads PRIVATE ${ARGN}
    $<TARGET_NAME_IF_EXISTS:PkgConfig::PENSTOCK_HWLOC> $<TARGET_NAME_IF_EXISTS:pugixml::pugixml>)
  add_dependencies(penstock_python penstock_carried)

  set(python COMPONENT python EXCLUDE_FROM_ALL)
  set(folder penstock/cpp/lib/cmake/penstock)
  install(TARGETS penstock_carried EXPORT penstock-carried LIBRARY DESTINATION penstock/cpp/lib ${python})
  install(EXPORT penstock-carried NAMESPACE penstock:: FILE penstock-targets.cmake DESTINATION ${folder} ${python})
  install(DIRECTORY ${top}/include/penstock DESTINATION penstock/cpp/include ${python} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  set(PENSTOCK_NEEDS_HWLOC OFF)
  set(PENSTOCK_NEEDS_PUGIXML OFF)
  configure_package_config_file(${top}/cmake/penstock-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake
          DESTINATION ${folder} ${python})
endfunction()
