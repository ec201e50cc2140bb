# Third-party libraries.  Those of `helm` are linked in, so that it needs libc only and starts in a millisecond
# (docs/decisions/0003); -DHELM_BUNDLE=OFF links them normally, for distribution packagers.
option(HELM_BUNDLE "link the core libraries statically" ON)

find_package(PkgConfig REQUIRED)
add_library(helm_core_headers INTERFACE)
add_library(helm_core_libraries INTERFACE)

set(HELM_LIBRARY_VERSIONS "")
foreach(pair libsodium:sodium sqlite3:sqlite3 libpcre2-8:pcre2-8 yaml-0.1:yaml libzstd:zstd libutf8proc:utf8proc
    libcrypto:crypto)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 module)
  list(GET pair 1 library)
  pkg_check_modules(${library} REQUIRED ${module})
  target_include_directories(helm_core_headers SYSTEM INTERFACE ${${library}_INCLUDE_DIRS})
  if(HELM_BUNDLE AND NOT HELM_SANITIZE AND NOT HELM_FUZZ)
    find_library(${library}_STATIC NAMES lib${library}.a REQUIRED)
    target_link_libraries(helm_core_libraries INTERFACE ${${library}_STATIC})
  else()
    target_link_libraries(helm_core_libraries INTERFACE ${${library}_LINK_LIBRARIES})
  endif()
endforeach()
target_link_libraries(helm_core_libraries INTERFACE helm_core_headers m)
if(HELM_BUNDLE AND NOT HELM_SANITIZE AND NOT HELM_FUZZ)
  target_link_options(helm_core_libraries INTERFACE -Wl,--exclude-libs,ALL)
endif()
find_package(Threads REQUIRED)
target_link_libraries(helm_core_libraries INTERFACE Threads::Threads)
