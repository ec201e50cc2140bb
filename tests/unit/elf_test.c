/* elf_test.c — notes of program files: found where they are, and nothing else is read. */
#include "base/elf.h"
#include "tools/unit.h"

#include <elf.h>
#include <string.h>

/* A file with these notes in one segment. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr part;
	struct {
		Elf64_Nhdr head;
		char owner[4], content[4];
	} first;
	struct {
		Elf64_Nhdr head;
		char owner[8];
	} second;
};

static struct file make(void)
{
	struct file f = { .head = { .e_phoff = offsetof(struct file, part),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 1 },
		.part = { .p_type = PT_NOTE,
			.p_offset = offsetof(struct file, first),
			.p_filesz = sizeof(f.first) + sizeof(f.second) },
		.first = { .head = { .n_namesz = 4, .n_descsz = 3 }, .owner = "GNU" },
		.second = { .head = { .n_namesz = 6 }, .owner = "owner" } };

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	return f;
}

static bool has(const struct file *f, size_t n, const char *owner)
{
	return elf_has_note((struct bytes){ (const uint8_t *)f, n }, owner);
}

static void finds_each_owner(void **state)
{
	struct file f = make();

	(void)state;
	assert_true(has(&f, sizeof(f), "GNU"));
	assert_true(has(&f, sizeof(f), "owner"));
	assert_false(has(&f, sizeof(f), "own"));
	assert_false(has(&f, sizeof(f), "owners"));
	f.part.p_type = PT_LOAD;
	assert_false(has(&f, sizeof(f), "owner"));
}

/* Cut anywhere, and with any size in any header, it reads only what is there (the sanitizers look on). */
static void no_size_is_believed(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 3, 0x7fffffff, 0xffffffff, UINT64_MAX - 3, UINT64_MAX };

	(void)state;
	for (size_t n = 0; n < sizeof(struct file); n++) {
		struct file f = make();
		uint8_t *cut = test_malloc(n + 1);
		memcpy(cut, &f, n);
		assert_false(elf_has_note((struct bytes){ cut, n }, "nobody"));
		assert_false(elf_has_note((struct bytes){ cut, n }, "owner"));
		test_free(cut);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct file f = make();
		f.head.e_phoff = sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
		f = make();
		f.part.p_offset = sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
		f = make();
		f.part.p_filesz = sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
		f = make();
		f.first.head.n_namesz = (uint32_t)sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
		f = make();
		f.first.head.n_descsz = (uint32_t)sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
		f = make();
		f.head.e_phnum = (uint16_t)sizes[i];
		assert_false(has(&f, sizeof(f), "nobody"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each_owner),
		cmocka_unit_test(no_size_is_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
