/* elf.c — see elf.h.  Every place and size comes from the file, so each is checked before it is used. */
#include "base/elf.h"

#include <elf.h>
#include <string.h>

/* The notes of one segment: owner and content follow each header, both padded to four bytes. */
static bool segment_has(struct bytes notes, const char *owner)
{
	size_t at = 0, wanted = strlen(owner) + 1;
	Elf64_Nhdr note;

	while (notes.n - at >= sizeof(note)) {
		memcpy(&note, notes.p + at, sizeof(note));
		at += sizeof(note);
		size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		size_t content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > notes.n - at)
			return false;
		if (note.n_namesz == wanted && memcmp(notes.p + at, owner, wanted) == 0)
			return true;
		at += name;
		if (content > notes.n - at)
			return false;
		at += content;
	}
	return false;
}

bool elf_has_note(struct bytes head, const char *owner)
{
	Elf64_Ehdr file;
	Elf64_Phdr part;

	if (head.n < sizeof(file))
		return false;
	memcpy(&file, head.p, sizeof(file));
	if (memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
		file.e_phentsize != sizeof(part))
		return false;
	for (size_t i = 0; i < file.e_phnum; i++) {
		if (file.e_phoff > head.n || (head.n - file.e_phoff) / sizeof(part) <= i)
			return false;
		memcpy(&part, head.p + file.e_phoff + i * sizeof(part), sizeof(part));
		if (part.p_type != PT_NOTE || part.p_offset > head.n)
			continue;
		size_t left = head.n - part.p_offset;
		struct bytes notes = { head.p + part.p_offset, part.p_filesz < left ? part.p_filesz : left };
		if (segment_has(notes, owner))
			return true;
	}
	return false;
}
