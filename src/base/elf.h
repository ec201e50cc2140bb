/* elf.h — one question to the beginning of a program file: does it carry a note of this owner?  The bytes may be anything. */
#ifndef BASE_ELF_H
#define BASE_ELF_H

#include "base/mem.h"

#include <stdbool.h>

/* How much of a file is enough: linkers put headers and notes first. */
enum { ELF_HEAD_BYTES = 4096 };

/* `head`: the first bytes of a file.  True when it is a 64-bit ELF file of this machine's byte order and one of its notes has this owner. */
bool elf_has_note(struct bytes head, const char *owner);

#endif
