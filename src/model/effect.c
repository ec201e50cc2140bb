/* effect.c — names of kinds and classes. */
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

const char *path_class_name(enum path_class c)
{
	static const char *const names[] = {
#define PATH_ROW(id, name) name,
		PATH_CLASSES(PATH_ROW)
#undef PATH_ROW
	};
	return names[c];
}
