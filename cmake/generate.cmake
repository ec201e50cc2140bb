# Tables that people write as text and the program holds as data: made by small programs of tools/generate/, which run on the
# machine that builds.  They use our own code to read, so that what they accept is what the program understands.
set(helm_generated)

# The rooms whose code the generators use; only what they need of it is linked.
add_library(helmhost STATIC $<TARGET_OBJECTS:room_base> $<TARGET_OBJECTS:room_model> $<TARGET_OBJECTS:room_decide>
  ${embedded})
target_link_libraries(helmhost PUBLIC helm_flags helm_core_libraries)

# helm_generate(NAME FILE...): a source is made from the files by tools/generate/NAME.c.
function(helm_generate name)
  set(out ${CMAKE_BINARY_DIR}/generated_${name}.c)
  add_executable(generate-${name} ${PROJECT_SOURCE_DIR}/tools/generate/${name}.c)
  target_link_libraries(generate-${name} PRIVATE helmhost)
  set_target_properties(generate-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/generate)
  add_custom_command(OUTPUT ${out} COMMAND generate-${name} ${out} ${ARGN} DEPENDS generate-${name} ${ARGN} VERBATIM
    COMMENT "Generating ${name}")
  set(helm_generated ${helm_generated} ${out} PARENT_SCOPE)
endfunction()

# What is known about programs: share/programs/*.txt (docs/formats/programs.md).
file(GLOB program_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/propose/programs/*.c)
file(GLOB program_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/share/programs/*.txt)
helm_generate(programs ${program_sources} ${program_texts})
# The shipped profiles (docs/formats/execution-profiles.md), with their hosts.
file(GLOB egress_lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/share/egress/*.txt)
helm_generate(profiles ${PROJECT_SOURCE_DIR}/share/execution_profiles.json ${PROJECT_SOURCE_DIR}/share/tool_groups.json
  ${egress_lists})
# The guard's own rules (docs/formats/guard-rules.md).
helm_generate(rules ${PROJECT_SOURCE_DIR}/share/guard_rules.json)
