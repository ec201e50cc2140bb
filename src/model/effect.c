/* effect.c — names of kinds of effects, of their flags and of classes of paths.
 *
 * The tables are made from the lists in effect.h, so a kind that is added there has its name, its category
 * and its clause at once. Names are part of rule files, grants and records: they may be added to, but
 * never changed. */
#include "model/effect.h"

static const struct {
	const char *name, *category, *clause;
} kinds[] = {
#define EFFECT_ROW(id, name, category, clause) { name, category, clause },
	EFFECT_KINDS(EFFECT_ROW)
#undef EFFECT_ROW
};

const char *effect_kind_name(enum effect_kind k)
{
	return kinds[k].name;
}

const char *effect_kind_category(enum effect_kind k)
{
	return kinds[k].category;
}

const char *effect_kind_clause(enum effect_kind k)
{
	return kinds[k].clause;
}

bool effect_kind_parse(const char *name, enum effect_kind *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_eq(kinds[i].name, name)) {
			*ret = (enum effect_kind)i;
			return true;
		}
	return false;
}

/* Flags by the names that rule files use. An unknown name is refused by the caller: a rule with a
 * misspelled flag must not silently match everything. */
static const struct {
	const char *name;
	unsigned flag;
} flags[] = {
	{ "recursive", FXF_RECURSIVE },
	{ "force", FXF_FORCE },
	{ "privileged", FXF_PRIVILEGED },
	{ "overwrite", FXF_OVERWRITE },
	{ "append", FXF_APPEND },
	{ "irrecoverable", FXF_IRRECOVERABLE },
	{ "mutating", FXF_MUTATING },
	{ "unset_root", FXF_UNSET_ROOT },
	{ "setuid", FXF_SETUID },
	{ "inside_container", FXF_INSIDE_CONTAINER },
	{ "remote_side", FXF_REMOTE_SIDE },
	{ "find", FXF_FIND },
	{ "host_mount", FXF_HOST_MOUNT },
};

bool effect_flag_parse(const char *name, unsigned *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (text_eq(flags[i].name, name)) {
			*ret = flags[i].flag;
			return true;
		}
	return false;
}

const char *effect_flag_name(unsigned flag)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (flags[i].flag == flag)
			return flags[i].name;
	return NULL;
}

struct json *effect_flags_json(struct arena *a, unsigned set)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (set & flags[i].flag)
			json_pushs(a, list, flags[i].name);
	return list;
}

static const char *const class_names[] = {
#define PATH_ROW(id, name) name,
	PATH_CLASSES(PATH_ROW)
#undef PATH_ROW
};

const char *path_class_name(enum path_class c)
{
	return class_names[c];
}

bool path_class_parse(const char *name, enum path_class *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (text_eq(class_names[i], name)) {
			*ret = (enum path_class)i;
			return true;
		}
	return false;
}

static const char *const certainty_names[] = { "certain", "prefixed", "dynamic" };
TABLE_COVERS(certainty_names, CERTAINTY_COUNT);

const char *certainty_name(enum certainty c)
{
	return certainty_names[c];
}

bool certainty_parse(const char *name, enum certainty *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(certainty_names); i++)
		if (text_eq(certainty_names[i], name)) {
			*ret = (enum certainty)i;
			return true;
		}
	return false;
}
