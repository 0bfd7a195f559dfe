# orma_write_syscall_names(file): writes the header with ORMA_SYSCALL_NAMES, the names and numbers of the system calls of the
# machine that the build is for. The compiler knows them from its <sys/syscall.h>, as macros __NR_NAME.
function(orma_write_syscall_names file)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
  # clang compiles for another machine when it is told to.
  if(CMAKE_C_COMPILER_TARGET)
    list(APPEND flags --target=${CMAKE_C_COMPILER_TARGET})
  endif()
  file(WRITE ${file}.c "#include <sys/syscall.h>\n")
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -dM -E ${file}.c OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ [^\n]+" macros "${macros}")
  set(lines "")
  foreach(macro IN LISTS macros)
    string(REGEX REPLACE "#define (__NR_([a-z0-9_]+)) .*" "\t{\"\\2\", \\1}, \\\\\n" line "${macro}")
    string(APPEND lines "${line}")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Written by cmake/syscall_names.cmake from <sys/syscall.h>. */
#include <sys/syscall.h>

#define ORMA_SYSCALL_NAMES \\
@lines@
" @ONLY)
endfunction()
