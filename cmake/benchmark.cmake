# helm-bench: every figure we promise, measured as ratios in one run (bench/README.md).  jansson is only the yardstick for the
# JSON parser; without it that figure is reported as skipped.
file(GLOB bench_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
if(bench_files AND NOT HELM_FUZZ)
  pkg_check_modules(jansson IMPORTED_TARGET jansson)
  add_executable(helm-bench ${bench_files} src/cli/sys/real.c)
  target_link_libraries(helm-bench PRIVATE helmcore)
  if(jansson_FOUND)
    target_link_libraries(helm-bench PRIVATE PkgConfig::jansson)
    target_compile_definitions(helm-bench PRIVATE HAVE_JANSSON)
  endif()
  set_target_properties(helm-bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
