# Everything ctest runs.  A test is a file that is there: unit/*_test.c (cmocka), cli/*.t (shell, TAP), crash/*_test.c, and
# the checks of the tree itself in tools/.
# Who only builds helm need not have cmocka; who checks it (./check) says HELM_REQUIRE_TESTS, and is never told that tests
# passed which were not there.
option(HELM_REQUIRE_TESTS "fail when the tests cannot be built" OFF)
pkg_check_modules(cmocka QUIET IMPORTED_TARGET cmocka)
if(NOT cmocka_FOUND)
  if(HELM_REQUIRE_TESTS)
    message(FATAL_ERROR "The tests cannot be built without the Debian package libcmocka-dev\nInstall it: sh tools/packages.sh check")
  endif()
  message(STATUS "Without tests: the Debian package libcmocka-dev would add them (sh tools/packages.sh check)")
  set(BUILD_TESTING OFF)
  return()
endif()

file(GLOB test_tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tools/*.c)
add_library(testtools STATIC ${test_tools})
target_link_libraries(testtools PUBLIC helmcore)
target_include_directories(testtools PUBLIC ${PROJECT_SOURCE_DIR}/tests)

# helm with the twin of the outside world: fixed clock, counted faults (tests/tools/fault_sys.c).
add_executable(helm-test src/cli/main.c)
target_compile_definitions(helm-test PRIVATE HELM_TWIN)
target_link_libraries(helm-test PRIVATE helmcli testtools)
set_target_properties(helm-test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# The same, with files of the record that are closed early: for the soak.  The two that ask for the size take the place of the library's.
add_executable(helm-small src/cli/main.c src/record/chain.c src/record/ledger.c)
target_compile_definitions(helm-small PRIVATE HELM_SMALL_FILES HELM_TWIN)
target_link_libraries(helm-small PRIVATE helmcli testtools)
set_target_properties(helm-small PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

set(HELM_TEST_ENV "HELM_BUILD=${CMAKE_BINARY_DIR};HELM_SOURCE=${PROJECT_SOURCE_DIR}"
  "ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:allocator_may_return_null=0")

file(GLOB unit_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*_test.c
  ${PROJECT_SOURCE_DIR}/tests/crash/*_test.c)
foreach(file ${unit_files})
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(kind ${file} DIRECTORY)
  get_filename_component(kind ${kind} NAME)
  if(name MATCHES "^(proxy|fleet_batch)_" AND NOT TARGET helmserve)
    continue()
  endif()
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE testtools helmcli PkgConfig::cmocka)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # The test itself need not be fast, and compiles four times as fast so.  _FORTIFY_SOURCE warns without optimization.
    target_compile_options(${name} PRIVATE -O0 -Wno-cpp)
  endif()
  if(name MATCHES "^(proxy|fleet_batch)_")
    target_link_libraries(${name} PRIVATE helmserve)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${kind}/${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${kind}/${name} PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}" TIMEOUT 600)
endforeach()

# Small programs that give the oracle tests a hold on functions no command offers.
file(GLOB oracle_tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/oracle/*_tool.c)
foreach(file ${oracle_tools})
  get_filename_component(name ${file} NAME_WE)
  if(name MATCHES "^(proxy|fleet_batch)_" AND NOT TARGET helmserve)
    continue()
  endif()
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE testtools)
  if(name MATCHES "^(proxy|fleet_batch)_")
    target_link_libraries(${name} PRIVATE helmserve)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*.t ${PROJECT_SOURCE_DIR}/tests/oracle/*.t
  ${PROJECT_SOURCE_DIR}/tests/fleet/*.t)
foreach(file ${cli_tests})
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(kind ${file} DIRECTORY)
  get_filename_component(kind ${kind} NAME)
  add_test(NAME ${kind}/${name} COMMAND sh ${file} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # 77 is "skipped", with the reason printed.
  set_tests_properties(${kind}/${name} PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}" TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(cli/quoting PROPERTIES LABELS slow TIMEOUT 1200)
set_tests_properties(oracle/doors fleet/bytes cli/damage cli/derived PROPERTIES TIMEOUT 1800)
if(HELM_SANITIZE)
  set_tests_properties(cli/quoting PROPERTIES ENVIRONMENT "${HELM_TEST_ENV};QUOTING_COUNT=1000")
endif()

foreach(check layers invariants reason_codes)
  if(EXISTS ${PROJECT_SOURCE_DIR}/tools/${check}.sh)
    add_test(NAME tree/${check} COMMAND sh ${PROJECT_SOURCE_DIR}/tools/${check}.sh
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(tree/${check} PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}")
  endif()
endforeach()

# The slowest tests. ./check leaves them out (its target: five minutes on two cores). ./check --all, which CI runs (target: sixty), runs
# them in the release build. Under the sanitizers everything takes longer: ./check --all --slow runs them there, too.
set(slow cli/damage cli/key_order cli/long cli/skill_crash cli/undo oracle/doors oracle/kinds oracle/mutations oracle/pack fleet/bytes)
if(HELM_SANITIZE)
  list(APPEND slow cli/agent cli/approval cli/archive cli/armed cli/beside cli/client_settings cli/clients cli/contained
    cli/contained_door cli/degraded cli/develop cli/egress cli/freeze cli/guard_now cli/hostile_repo cli/hostile_tricks cli/key
    cli/key_history cli/layers cli/log cli/memory_crash cli/memory_plans cli/ops cli/output cli/pause cli/person cli/policy_change
    cli/policy_use cli/policy_ways cli/receipts cli/remember_cases cli/run_faults cli/serve_load cli/setup cli/signer
    cli/standing crash/approval_crash_test crash/archive_crash_test crash/checkpoint_crash_test crash/draws_crash_test
    crash/posture_crash_test crash/record_crash_test unit/large_test unit/log_check_test)
endif()
if(NOT HELM_SANITIZE)
  # Each starts a database server of its own, which only ./check --all installs.
  file(GLOB fleet_tests RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/fleet/*.t)
  list(TRANSFORM fleet_tests REPLACE "\\.t$" "")
  list(APPEND slow ${fleet_tests} cli/archive cli/archive_back cli/beside cli/serve_held crash/archive_crash_test
    unit/fleet_pack_test unit/large_test)
endif()
foreach(name ${slow})
  set_tests_properties(${name} PROPERTIES LABELS slow)
endforeach()

# Builds what is shipped once more, elsewhere: once per check is enough, in the build that ships.  Left out by `ctest -LE slow`.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_test(NAME tree/reproducible COMMAND sh ${PROJECT_SOURCE_DIR}/tools/reproducible.sh
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # Packages are made from what is committed: with anything else in the tree there is nothing to try.
  add_test(NAME tree/packages COMMAND sh -c "git diff --quiet HEAD -- || { echo 'SKIPPED: not committed'; exit 77; }; mkdir -p \"$HELM_BUILD/packages\"; rm -f \"$HELM_BUILD/packages/key\"*; ssh-keygen -q -t ed25519 -N '' -f \"$HELM_BUILD/packages/key\" && sh tools/package.sh --out \"$HELM_BUILD/packages\" --key \"$HELM_BUILD/packages/key\" --try"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(tree/packages PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}" LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77)
  # Makes a Debian and builds in it: neither depends on the build that is tested.
  file(GLOB container_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/container/*.t)
  foreach(file ${container_tests})
    get_filename_component(name ${file} NAME_WE)
    add_test(NAME container/${name} COMMAND sh ${file} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(container/${name} PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}" LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(tree/reproducible PROPERTIES ENVIRONMENT "${HELM_TEST_ENV}" LABELS slow TIMEOUT 1200)
endif()

# What takes longest begins first, so that nothing long is left at the end with one core idle.  In the order of their lengths; a build that
# was tested before knows better.
set(cost 1000)
foreach(name tree/packages container/demo cli/mcp_clients oracle/doors oracle/mutations oracle/kinds tree/reproducible cli/console_browser cli/long
    cli/contained cli/approval cli/key_order cli/console_layout cli/skill_crash cli/clients cli/archive cli/archive_back cli/quoting
    cli/egress cli/agent cli/undo cli/hostile_tricks fleet/story fleet/bytes fleet/hostile cli/memory_crash cli/armed)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${cost})
    math(EXPR cost "${cost} - 10")
  endif()
endforeach()
