# Installs the library so that find_package(penstock) finds penstock::penstock.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)

install(TARGETS penstock EXPORT penstock-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/penstock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT penstock-targets NAMESPACE penstock:: DESTINATION ${package_folder} COMPONENT development)

# Whoever links a static penstock links hwloc too, and pugixml, so the package has to find them; a shared one carries the reference.
get_target_property(library_type penstock TYPE)
set(PENSTOCK_NEEDS_HWLOC OFF)
if(HWLOC_FOUND AND library_type STREQUAL "STATIC_LIBRARY")
  set(PENSTOCK_NEEDS_HWLOC ON)
endif()
set(PENSTOCK_NEEDS_PUGIXML OFF)
if(pugixml_FOUND AND library_type STREQUAL "STATIC_LIBRARY")
  set(PENSTOCK_NEEDS_PUGIXML ON)
endif()
install(FILES share/penstock/application.rng DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock COMPONENT development)
configure_package_config_file(cmake/penstock-config.cmake.in ${PROJECT_BINARY_DIR}/penstock-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/penstock-config.cmake ${PROJECT_BINARY_DIR}/penstock-config-version.cmake
        DESTINATION ${package_folder} COMPONENT development)
