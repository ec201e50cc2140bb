/* ontology_test.c — rows that people wrote: read as far as they say something, and a damaged line is told, not passed over. */
#include "remember/ontology.h"
#include "tools/unit.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct json *row_of(struct arena *a, const char *text)
{
	struct json *row;
	struct err e;

	assert_int_equal(json_parse(a, bytes_of(text), "row", NULL, &row, &e), OK);
	return row;
}

static void test_entity(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct entity x;

	(void)state;
	assert_true(entity_read(&a,
		row_of(&a,
			"{\"id\":\"p1\",\"type\":\"project\",\"properties\":{\"name\":\"Größe\",\"description\":\"d\","
			"\"acquired_date\":\"2026-01-02\",\"aliases\":[\"Q\",null,3]}}"),
		&x));
	assert_string_equal(x.id, "p1");
	assert_string_equal(x.notes, "d");
	assert_string_equal(x.at, "2026-01-02");
	assert_true(entity_is(&a, &x, "p1"));
	assert_false(entity_is(&a, &x, "P1"));
	assert_true(entity_is(&a, &x, "GRÖSSE"));
	assert_true(entity_is(&a, &x, "q"));
	assert_false(entity_is(&a, &x, "\xff"));
	assert_true(entity_read(
		&a, row_of(&a, "{\"id\":7,\"type\":null,\"properties\":null,\"aliases\":[\"z\"]}"), &x));
	assert_string_equal(x.id, "7");
	assert_string_equal(x.type, "");
	assert_string_equal(x.name, "");
	assert_true(entity_is(&a, &x, "Z"));
	assert_true(
		entity_read(&a, row_of(&a, "{\"id\":\"n\",\"properties\":{\"notes\":[1],\"name\":{}}}"), &x));
	assert_string_equal(x.notes, "");
	assert_false(entity_read(&a, row_of(&a, "{\"id\":null}"), &x));
	assert_false(entity_read(&a, row_of(&a, "{\"type\":\"project\"}"), &x));
	assert_false(entity_read(&a, NULL, &x));
}

static void test_relation(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct relation r;

	(void)state;
	assert_true(relation_read(&a,
		row_of(&a, "{\"from\":\"a\",\"to\":2,\"relation_type\":\"uses\",\"properties\":[]}"), &r));
	assert_string_equal(r.to, "2");
	assert_string_equal(r.type, "uses");
	assert_null(r.properties);
	assert_false(relation_read(&a, row_of(&a, "{\"from\":\"a\",\"to\":null}"), &r));
}

struct seen {
	int rows, damaged;
	uint64_t last;
};

static int count(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct seen *x = arg;

	(void)e;
	x->rows += row != NULL;
	x->damaged += row == NULL;
	x->last = line;
	return row && json_get_bool(row, "stop", false) ? 1 : 0;
}

static void test_each(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	char dir[] = "/tmp/helm-ontology-XXXXXX";
	struct sys *s = sys_real();
	struct seen seen = { 0 };
	struct err e;
	AUTO(close_fd) int fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_open_dir(s, AT_FDCWD, dir, &fd, &e), OK);
	assert_int_equal(ontology_each(s, fd, ONTOLOGY_ENTITIES, count, &seen, &e), OK);
	assert_int_equal(seen.rows + seen.damaged, 0);
	assert_int_equal(file_mkdirs(s, fd, "memory/ontology", 0700, &e), OK);
	assert_int_equal(
		file_put(s, fd, ONTOLOGY_ENTITIES, 0600,
			bytes_of("{\"id\":\"a\"}\n\n  \n[1]\n{\"id\":\n{\"id\":\"b\"}\nnot\n{\"id\":\"c\"}"),
			&e),
		OK);
	assert_int_equal(ontology_each(s, fd, ONTOLOGY_ENTITIES, count, &seen, &e), OK);
	assert_int_equal(seen.rows, 3);
	assert_int_equal(seen.damaged, 3);
	assert_int_equal(seen.last, 8);
	assert_int_equal(
		file_put(s, fd, ONTOLOGY_RELATIONS, 0600, bytes_of("{\"stop\":true}\n{\"x\":1}\n"), &e), OK);
	seen = (struct seen){ 0 };
	assert_int_equal(ontology_each(s, fd, ONTOLOGY_RELATIONS, count, &seen, &e), 1);
	assert_int_equal(seen.rows, 1);
	file_remove_tree(s, AT_FDCWD, dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entity),
		cmocka_unit_test(test_relation),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
