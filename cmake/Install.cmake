# Installs the library so that find_package(penstock) finds penstock::penstock.
include(CMakePackageConfigHelpers)
install(TARGETS penstock EXPORT penstock-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/penstock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT penstock-targets NAMESPACE penstock:: COMPONENT development
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
configure_package_config_file(cmake/penstock-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake
        COMPONENT development DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
