# liborma-heap: its files for make install.
if(NOT TARGET orma_heap_shared)
  return()
endif()
install(TARGETS orma_heap_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS orma_heap_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/orma-heap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# The page of the header, and a page for each function that refers to it.
set(page ${PROJECT_BINARY_DIR}/man-heap/orma-heap.3)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man-heap)
add_custom_command(OUTPUT ${page}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/header-page -o ${page} ${PROJECT_SOURCE_DIR}/include/orma-heap/heap_profile.h
  DEPENDS include/orma-heap/heap_profile.h tools/header-page VERBATIM)
add_custom_target(heap_man_page ALL DEPENDS ${page})
install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man-heap/links/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 FILES_MATCHING PATTERN "*.3")

configure_file(cmake/orma-heap.pc.in ${PROJECT_BINARY_DIR}/orma-heap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/orma-heap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
