# Compiler and linker flags, in one interface library.
option(HELM_SANITIZE "address and undefined-behaviour sanitizers" OFF)
option(HELM_COVERAGE "gcov instrumentation" OFF)
option(HELM_FUZZ "build libFuzzer targets with clang" OFF)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")

add_library(helm_flags INTERFACE)
target_include_directories(helm_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(helm_flags INTERFACE _GNU_SOURCE HELM_VERSION="${HELM_VERSION}")
target_compile_options(helm_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-include ${PROJECT_SOURCE_DIR}/src/base/banned.h>
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wundef
  -Wpointer-arith -Wwrite-strings -Wno-sign-conversion
  # What AUTO() closes is closed also when a request of helm-serve ends in the middle (src/serve/work.c).
  $<$<COMPILE_LANGUAGE:C>:-fexceptions>
  -fno-strict-aliasing -fno-common -fvisibility=hidden -fstack-protector-strong
  # The same bytes from any directory: no absolute path gets into the program.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(helm_flags INTERFACE -fstack-clash-protection -ftrivial-auto-var-init=zero
    $<$<COMPILE_LANGUAGE:C>:-Wno-format-truncation>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(helm_flags INTERFACE -fcf-protection)
  endif()
endif()
target_link_options(helm_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed
  -Wl,--build-id=sha1)

if(HELM_SANITIZE)
  target_compile_options(helm_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1 -Wno-maybe-uninitialized)
  target_link_options(helm_flags INTERFACE -fsanitize=address,undefined)
elseif(HELM_COVERAGE)
  target_compile_options(helm_flags INTERFACE --coverage -O0)
  target_link_options(helm_flags INTERFACE --coverage)
elseif(HELM_FUZZ)
  target_compile_options(helm_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(helm_flags INTERFACE -fsanitize=address,undefined)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(helm_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  target_link_options(helm_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:HELM_WHOLE>>,-static-pie,-pie>)
endif()
