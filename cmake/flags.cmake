# Warnings and sanitizers, for every target of this project.
add_library(orma_flags INTERFACE)
target_compile_definitions(orma_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64 ORMA_VERSION_STRING="${PROJECT_VERSION}")
target_include_directories(orma_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# ISO C promises only 4095 characters of a string; the tables of names in src/schema/gen have more.
target_compile_options(orma_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wvla -Wformat=2 -Wcast-align -Wpointer-arith -Wimplicit-fallthrough
  -Wno-overlength-strings
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  -fno-strict-aliasing)
# Each function has a section of its own, so that the linker can drop functions that a program does not reach.
target_compile_options(orma_flags INTERFACE -ffunction-sections -fdata-sections)
target_link_options(orma_flags INTERFACE LINKER:--gc-sections)
if(ORMA_WITHOUT_SERVICE)
  target_compile_definitions(orma_flags INTERFACE ORMA_WITHOUT_SERVICE)
endif()
# Invariants are checked in builds for developers, never in installed ones.
if(ORMA_ASSERTS OR ORMA_SANITIZE)
  target_compile_definitions(orma_flags INTERFACE ORMA_ASSERTS)
else()
  target_compile_definitions(orma_flags INTERFACE $<$<CONFIG:Debug>:ORMA_ASSERTS>)
endif()
if(ORMA_WERROR)
  target_compile_options(orma_flags INTERFACE -Werror)
endif()
if(ORMA_SANITIZE)
  target_compile_options(orma_flags INTERFACE -fsanitize=${ORMA_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(orma_flags INTERFACE -fsanitize=${ORMA_SANITIZE})
endif()
# gcc warns that its ThreadSanitizer ignores fences. Here fences order atomic accesses only, so it reports no false
# races.
if(ORMA_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  target_compile_options(orma_flags INTERFACE -Wno-tsan)
endif()
if(ORMA_FUZZ)
  target_compile_options(orma_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)
target_link_libraries(orma_flags INTERFACE Threads::Threads)
