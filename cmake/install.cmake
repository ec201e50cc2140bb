# Program, man pages, completions and the files in share/.  Man pages and completions are printed by the program itself, from
# its table of commands.
#
# Many have another `helm`, that of Kubernetes: HELM_NAME=NAME cmake --install ... installs ours under another name, and hints, hooks, man pages,
# completions and the guard follow it, because the program asks what its file is called.
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/helm PATTERN programs EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(name helm)
  if(NOT \"\$ENV{HELM_NAME}\" STREQUAL \"\")
    set(name \"\$ENV{HELM_NAME}\")
  endif()
  if(NOT name MATCHES \"^[a-z][a-z0-9_-]*\$\")
    message(FATAL_ERROR \"HELM_NAME is '\${name}': small letters, digits, '-' and '_' make a name\")
  endif()
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" TYPE PROGRAM RENAME \"\${name}\"
    FILES \"$<TARGET_FILE:helm>\")
  set(helm \"\${root}/${CMAKE_INSTALL_BINDIR}/\${name}\")
  file(MAKE_DIRECTORY \"\${root}/${CMAKE_INSTALL_MANDIR}/man1\"
    \"\${root}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions\"
    \"\${root}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions\" \"\${root}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d\")
  execute_process(COMMAND \"\${helm}\" help --man OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_MANDIR}/man1/\${name}.1\"
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" help --families OUTPUT_VARIABLE families OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE \"\\n\" \";\" families \"\${families}\")
  foreach(family IN LISTS families)
    execute_process(COMMAND \"\${helm}\" help --man \"\${family}\"
      OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_MANDIR}/man1/\${name}-\${family}.1\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND \"\${helm}\" completion bash
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" completion zsh
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_\${name}\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" completion fish
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/\${name}.fish\" COMMAND_ERROR_IS_FATAL ANY)
")
