# penstock_carried(): what a wheel carries for programs in C++, besides the extension module. `penstock --cmake-dir` tells where. The
# libraries become one shared library, because a wheel brings hwloc, pugixml and the like along, and static ones would ask for them again.
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/PenstockInstallKernels.cmake)

function(penstock_carried)
  get_filename_component(top ${CMAKE_CURRENT_FUNCTION_LIST_DIR} DIRECTORY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/carried.cpp CONTENT "// CMake wants a source for a library.\n")
  add_library(penstock_carried SHARED ${CMAKE_CURRENT_BINARY_DIR}/carried.cpp)
  # Wheels hold no links: the file has the name that programs ask for.
  set_target_properties(penstock_carried PROPERTIES OUTPUT_NAME penstock SUFFIX .so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        EXPORT_NAME penstock)
  target_compile_features(penstock_carried INTERFACE cxx_std_20)
  target_include_directories(penstock_carried INTERFACE $<INSTALL_INTERFACE:penstock/cpp/include>)
  # What others need comes last: else it would come twice, and each of its symbols with it.
  set(libraries penstock_component_classes penstock_kernels penstock)
  list(JOIN libraries "," whole)
  set_property(TARGET penstock_carried PROPERTY LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${whole}")
  target_link_libraries(penstock_carried PUBLIC Threads::Threads PRIVATE ${libraries})
  add_dependencies(penstock_python penstock_carried)
  set(parts)
  foreach(part component_classes kernels)
    add_library(penstock_carried_${part} INTERFACE)
    set_target_properties(penstock_carried_${part} PROPERTIES EXPORT_NAME ${part})
    target_link_libraries(penstock_carried_${part} INTERFACE penstock_carried)
    list(APPEND parts penstock_carried_${part})
  endforeach()
  target_include_directories(penstock_carried_kernels INTERFACE $<INSTALL_INTERFACE:penstock/cpp/include/penstock-kernels>)

  set(python COMPONENT python EXCLUDE_FROM_ALL)
  set(folder penstock/cpp/lib/cmake/penstock)
  install(TARGETS penstock_carried ${parts} EXPORT penstock-carried LIBRARY DESTINATION penstock/cpp/lib ${python})
  install(EXPORT penstock-carried NAMESPACE penstock:: FILE penstock-targets.cmake DESTINATION ${folder} ${python})
  install(DIRECTORY ${top}/include/penstock DESTINATION penstock/cpp/include ${python} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  penstock_install_kernels(penstock/cpp/include ${python})
  set(PENSTOCK_NEEDS_HWLOC OFF)
  set(PENSTOCK_NEEDS_PUGIXML OFF)
  set(PENSTOCK_CLASSES_NEED)
  configure_package_config_file(${top}/cmake/penstock-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake
          DESTINATION ${folder} ${python})
endfunction()
