# Program, man pages, completions and the files in share/.
install(TARGETS helm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/helm)
