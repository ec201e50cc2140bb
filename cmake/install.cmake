# Program, man pages, completions and the files in share/.  Man pages and completions are printed by the program itself, from
# its table of commands.
install(TARGETS helm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/helm PATTERN programs EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(CODE "
  set(helm \"${CMAKE_BINARY_DIR}/helm\")
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${root}/${CMAKE_INSTALL_MANDIR}/man1\"
    \"\${root}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions\"
    \"\${root}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions\" \"\${root}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d\")
  execute_process(COMMAND \"\${helm}\" help --man OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_MANDIR}/man1/helm.1\"
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" help --families OUTPUT_VARIABLE families OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE \"\\n\" \";\" families \"\${families}\")
  foreach(family IN LISTS families)
    execute_process(COMMAND \"\${helm}\" help --man \"\${family}\"
      OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_MANDIR}/man1/helm-\${family}.1\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND \"\${helm}\" completion bash
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/helm\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" completion zsh
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_helm\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"\${helm}\" completion fish
    OUTPUT_FILE \"\${root}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/helm.fish\" COMMAND_ERROR_IS_FATAL ANY)
")
