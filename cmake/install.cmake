# `cmake --install` gives another project what find_package(tokamak) needs: the library, its headers, the CMake package
# and the command. The Python module installs as its own component, "python" (python/CMakeLists.txt).
include(CMakePackageConfigHelpers)

set(tokamak_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tokamak)

install(TARGETS tokamak EXPORT tokamakTargets COMPONENT cpp
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp NAMELINK_COMPONENT cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tokamak DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
if(TARGET tokamak_command)
  install(TARGETS tokamak_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cpp)
endif()
install(EXPORT tokamakTargets NAMESPACE tokamak:: DESTINATION ${tokamak_package_dir} COMPONENT cpp)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tokamakConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tokamakConfig.cmake INSTALL_DESTINATION ${tokamak_package_dir})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tokamakConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tokamakConfig.cmake ${PROJECT_BINARY_DIR}/tokamakConfigVersion.cmake
        DESTINATION ${tokamak_package_dir} COMPONENT cpp)
