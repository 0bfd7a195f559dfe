include(CheckSourceCompiles)
include(CheckSourceRuns)

# Sources that run per event, or that touch the bytes of each chunk or packet, are optimised for speed. The rest of the
# library is optimised for size.
# Small code leaves more of the caches to the traced program.
set(ORMA_HOT_SOURCES
  "base/(buf|clock_ns|list|map|str)"
  "unwind/(self_space|unwind_table|unwind_walk)"
  "proto/(writer|reader|wire)"
  "shm/(acquire|event_queue|patch_pool|trace_writer|trace_writer_held|view)"
  "buffer/trace_buffer_(index|read|walk|write)"
  "service/(packet_sequence|producer/chunk_commit|producer/chunk_store|read/packet_check|read/read)"
  "host/host_commit"
  "client/(packet|thread)")
# All of src/track is hot, except these files, which run once per session, thread or beginning of a sequence.
set(ORMA_COLD_TRACK
  "announce|category_(descriptor|id|list|rule)|config_match|instance_config|process_info|registered_track|rename_watch"
  "sequence_begin|thread_descriptor|thread_info|track_event")
list(JOIN ORMA_COLD_TRACK "|" ORMA_COLD_TRACK)
list(JOIN ORMA_HOT_SOURCES "|" ORMA_HOT_SOURCES)

# orma_is_hot(path ret)
function(orma_is_hot path ret)
  if(path MATCHES "(^|/)src/(${ORMA_HOT_SOURCES})\\.c$" OR
      (path MATCHES "(^|/)src/track/" AND NOT path MATCHES "/(${ORMA_COLD_TRACK})\\.c$"))
    set(${ret} TRUE PARENT_SCOPE)
  else()
    set(${ret} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Unwind tables are an eighth of liborma.so. Code that the program's threads run per event keeps them, so that a profiler
# finds the program's functions below orma's. All else runs on orma's own thread, or once per session or thread; there a
# stack may end at orma's function. Debuggers have tables of their own (-g).
set(ORMA_WITHOUT_UNWIND_TABLES $<$<CONFIG:Release>:-fno-asynchronous-unwind-tables> $<$<CONFIG:Release>:-fno-unwind-tables>)
set(ORMA_OWN_THREAD "buffer|service|host|ipc|schema")

# orma_module(name source...): the sources of src/<name> become one object library.
function(orma_module name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  add_library(orma_${name} OBJECT ${sources})
  target_link_libraries(orma_${name} PRIVATE orma_flags)
  if(name STREQUAL schema)
    # A hundred small generated files compile faster as one file. A source with options of its own would not be merged.
    set_target_properties(orma_schema PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_compile_options(orma_schema PRIVATE $<$<CONFIG:Release>:-Os>)
    set(sources)
  endif()
  if(name MATCHES "^(${ORMA_OWN_THREAD})$")
    target_compile_options(orma_${name} PRIVATE ${ORMA_WITHOUT_UNWIND_TABLES})
  endif()
  foreach(source ${sources})
    orma_is_hot(${source} is_hot)
    if(NOT is_hot)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os> ${ORMA_WITHOUT_UNWIND_TABLES})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY ORMA_MODULES orma_${name})
endfunction()

# orma_cold_sources(regex source...): the sources of this folder that match run once per question, key or file. They are optimised
# for size as well, and have no unwind tables.
function(orma_cold_sources regex)
  foreach(source ${ARGN})
    if(source MATCHES "${regex}")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os> ${ORMA_WITHOUT_UNWIND_TABLES})
    endif()
  endforeach()
endfunction()

# orma_optional_library(target NAME header library package loss): links the target with the library if that is installed.
# Otherwise it prints the loss on standard error, which `make` shows. The static binary has none of these libraries:
# they would double its size, and the installed ones are not built for musl.
function(orma_optional_library target name header library package loss)
  find_path(ORMA_${name}_INCLUDE ${header})
  find_library(ORMA_${name}_LIBRARY ${library})
  mark_as_advanced(ORMA_${name}_INCLUDE ORMA_${name}_LIBRARY)
  if(ORMA_STATIC)
    return()
  endif()
  if(NOT ORMA_${name}_INCLUDE OR NOT ORMA_${name}_LIBRARY)
    message(NOTICE "orma is built without ${library}: ${loss}. Debian's package ${package} adds it.")
    return()
  endif()
  target_compile_definitions(${target} PRIVATE ORMA_HAVE_${name})
  target_include_directories(${target} SYSTEM PRIVATE ${ORMA_${name}_INCLUDE})
  target_link_libraries(${target} PUBLIC ${ORMA_${name}_LIBRARY})
endfunction()

# orma_pack_relocations(target): the addresses in a program's tables are relocated when it starts. Packed, their list has 2 KB,
# not 201, but glibc older than 2.36 refuses such a program. So this is done where such a program runs, and
# -DORMA_PACKED_RELOCATIONS_RUN=OFF builds one for older systems. Libraries stay as they are, because programs of older systems load them.
function(orma_pack_relocations target)
  if(ORMA_STATIC OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-z,pack-relative-relocs)
  set(source "static const char *volatile text = \"\"; int main(void) { return *text; }")
  # GNU ld and lld only warn of an option that they do not know.
  check_source_compiles(C "${source}" ORMA_PACKED_RELOCATIONS_LINK FAIL_REGEX "z pack-relative-relocs|z value")
  if(ORMA_PACKED_RELOCATIONS_LINK)
    check_source_runs(C "${source}" ORMA_PACKED_RELOCATIONS_RUN)
  endif()
  if(ORMA_PACKED_RELOCATIONS_LINK AND ORMA_PACKED_RELOCATIONS_RUN)
    target_link_options(${target} PRIVATE LINKER:-z,pack-relative-relocs)
  endif()
endfunction()
