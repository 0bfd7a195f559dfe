# The shared library, and make install: binary, libraries, headers, manual pages, pkg-config and CMake package files.
if(NOT TARGET orma_static)
  return()
endif()

# tests/rules/exports.txt lists the public symbols by release ("# 0.1" opens one); it becomes the version script and the
# roots of the link. The linker leaves code that they do not reach out of liborma.so.
set(exports ${PROJECT_SOURCE_DIR}/tests/rules/exports.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exports})
file(STRINGS ${exports} lines)
set(roots)
set(map "")
set(node "")
set(previous "")
foreach(line ${lines} "# end")
  if(line MATCHES "^# ([0-9.]+|end)$")
    if(previous)
      string(APPEND map "} ${previous};\n")
    elseif(node)
      # The first node hides all other symbols.
      string(APPEND map "local: *;\n};\n")
    endif()
    set(previous ${node})
    set(node "ORMA_${CMAKE_MATCH_1}")
    if(NOT node STREQUAL "ORMA_end")
      string(APPEND map "${node} {\nglobal:\n")
    endif()
  elseif(ORMA_WITHOUT_SERVICE AND line MATCHES "^orma_(service|producer_port|consumer_port|relay_port)_" AND
      NOT line MATCHES "^orma_service_state_")
    # This library lacks the functions of orma/service.h. Consumers still read orma_service_state.
  elseif(ORMA_PRODUCER_ONLY AND line MATCHES "^orma_(session_|config_parse$|service_state_|trace_stats_)")
    # This library lacks the functions of consumers. orma_config_free() also frees what orma_commit_encode() returns.
  elseif(line MATCHES "^orma_[a-z0-9_]+$")
    string(APPEND map "  ${line};\n")
    list(APPEND roots "LINKER:-u,${line}")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/orma.map CONTENT "${map}" @ONLY)

# A sanitizer's run-time must be linked into the program, not into a library.
if(NOT ORMA_SANITIZE AND NOT ORMA_FUZZ)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/shared.c CONTENT "typedef int orma_all_code_is_in_the_archive;\n" @ONLY)
  add_library(orma_shared SHARED ${PROJECT_BINARY_DIR}/shared.c)
  target_link_libraries(orma_shared PRIVATE orma_static)
  # nodelete: the library's thread and thread destructors run on after dlclose() of the module that loaded it.
  # The path of the map is relative to the linker's folder, so that it contains no folder name that a shell would
  # expand.
  set(map_path orma.map)
  if(CMAKE_GENERATOR MATCHES Ninja)
    file(RELATIVE_PATH map_path ${CMAKE_BINARY_DIR} ${PROJECT_BINARY_DIR}/orma.map)
  endif()
  target_link_options(orma_shared PRIVATE ${roots} LINKER:-z,nodelete
    LINKER:--version-script=${map_path} LINKER:-z,relro LINKER:-z,now)
  set_target_properties(orma_shared PROPERTIES OUTPUT_NAME orma VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_BINARY_DIR}/orma.map)
  # Packed relocations take a tenth of the space. The library then needs the loader of glibc 2.36 or later.
  include(CheckCSourceCompiles)
  include(CheckLinkerFlag)
  check_linker_flag(C LINKER:-z,pack-relative-relocs ORMA_LINKER_PACKS_RELOCATIONS)
  check_c_source_compiles("#include <features.h>
    #if !__GLIBC_PREREQ(2, 36)
    #error older
    #endif
    int main(void) { return 0; }" ORMA_LOADER_UNPACKS_RELOCATIONS)
  if(ORMA_LINKER_PACKS_RELOCATIONS AND ORMA_LOADER_UNPACKS_RELOCATIONS)
    target_link_options(orma_shared PRIVATE LINKER:-z,pack-relative-relocs)
  endif()
  # Projects that contain this one (FetchContent, add_subdirectory) use the same names as with find_package().
  target_include_directories(orma_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
  add_library(orma::orma ALIAS orma_shared)
  install(TARGETS orma_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# The flags of our own build are left out.
add_library(orma_archive INTERFACE)
target_include_directories(orma_archive INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(orma_archive INTERFACE $<LINK_ONLY:orma_static> Threads::Threads)
add_library(orma::static ALIAS orma_archive)

install(TARGETS orma_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET orma_tool)
  install(TARGETS orma_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/orma DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(section 1 7 8)
  install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} FILES_MATCHING PATTERN "*.${section}")
endforeach()
# The pages of section 3 are made from the headers.
file(GLOB headers CONFIGURE_DEPENDS include/orma/*.h)
set(pages)
foreach(header ${headers})
  get_filename_component(name ${header} NAME_WE)
  set(page ${PROJECT_BINARY_DIR}/man/orma_${name}.3)
  if(name STREQUAL orma)
    set(page ${PROJECT_BINARY_DIR}/man/orma.3)
  endif()
  add_custom_command(OUTPUT ${page} COMMAND ${PROJECT_SOURCE_DIR}/tools/header-page -o ${page} ${header}
    DEPENDS ${header} ${PROJECT_SOURCE_DIR}/tools/header-page VERBATIM)
  list(APPEND pages ${page})
endforeach()
# The page of section 5 is what docs/config.md and the schema say.
set(page ${PROJECT_BINARY_DIR}/man/orma-config.5)
file(GLOB config_protos CONFIGURE_DEPENDS src/schema/protos/*_config.proto)
add_custom_command(OUTPUT ${page} COMMAND ${PROJECT_SOURCE_DIR}/tools/config-page -o ${page} ${PROJECT_SOURCE_DIR}
  DEPENDS docs/config.md ${config_protos} ${PROJECT_SOURCE_DIR}/tools/config-page VERBATIM)
list(APPEND pages ${page})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
add_custom_target(man_pages ALL DEPENDS ${pages})
list(REMOVE_ITEM pages ${page})
install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
# Each function has a page that refers to the page of its header.
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/links/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 FILES_MATCHING PATTERN "*.3")

# The manual pages refer to these files: the fields of a config, example programs, and the messages for tools that read traces.
install(FILES docs/config.md docs/from-other-tracers.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples FILES_MATCHING PATTERN "*.c" PATTERN "*.cpp")
install(DIRECTORY src/schema/protos/ DESTINATION ${CMAKE_INSTALL_DATADIR}/orma/protos FILES_MATCHING PATTERN "*.proto")

# Both package files locate the other files relative to themselves, so that an installed tree can be moved.
foreach(kind pkgconfig cmake/orma)
  string(MAKE_C_IDENTIFIER ${kind} name)
  file(RELATIVE_PATH to_prefix_${name} /p/${CMAKE_INSTALL_LIBDIR}/${kind} /p)
  string(REGEX REPLACE "/$" "" to_prefix_${name} "${to_prefix_${name}}")
endforeach()
configure_file(cmake/orma.pc.in ${PROJECT_BINARY_DIR}/orma.pc @ONLY)
configure_file(cmake/orma-config.cmake.in ${PROJECT_BINARY_DIR}/orma-config.cmake @ONLY)
include(CMakePackageConfigHelpers)
# The ABI of a major version only grows.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orma-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orma.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/orma-config.cmake ${PROJECT_BINARY_DIR}/orma-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/orma)

# This is off by default, because an installation for one user or in a container has no service manager.
option(ORMA_SYSTEMD_UNITS "Install systemd units for the daemon, the probes and the profilers" OFF)
set(ORMA_SYSTEMD_UNIT_DIR "lib/systemd/system" CACHE STRING "Folder of the units, below the prefix or absolute")
foreach(unit orma-traced orma-probes orma-profd)
  configure_file(extra/systemd/${unit}.service.in ${PROJECT_BINARY_DIR}/systemd/${unit}.service @ONLY)
endforeach()
if(ORMA_SYSTEMD_UNITS AND TARGET orma_tool)
  install(FILES ${PROJECT_BINARY_DIR}/systemd/orma-traced.service ${PROJECT_BINARY_DIR}/systemd/orma-probes.service
    ${PROJECT_BINARY_DIR}/systemd/orma-profd.service
    extra/systemd/orma-traced.socket extra/systemd/orma-traced-consumer.socket DESTINATION ${ORMA_SYSTEMD_UNIT_DIR})
endif()

# The shells look for completions of packages in these folders.
set(ORMA_ZSH_COMPLETION_DIR "share/zsh/site-functions" CACHE STRING "Where zsh looks for completions, below the prefix")
if(TARGET orma_tool)
  install(FILES extra/completions/orma.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME orma)
  install(FILES extra/completions/orma.zsh DESTINATION ${ORMA_ZSH_COMPLETION_DIR} RENAME _orma)
  install(FILES extra/completions/orma.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
