# make install: binary, libraries, headers, pkg-config and CMake package files.
