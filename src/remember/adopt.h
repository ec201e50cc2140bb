/* adopt.h — memories of other programs as read-only sources of context: found, adopted, listed (docs/formats/context-sources.md).
 *
 * The registry is <state>/context_sources.json, and beside it a note for each source in <state>/onboarding/.  What lies outside is read
 * and never written: nothing here opens a file below an adopted root for writing. */
#ifndef REMEMBER_ADOPT_H
#define REMEMBER_ADOPT_H

#include "remember/context.h"

#define CONTEXT_SOURCES "context_sources.json"
#define ONBOARDING "onboarding"

/* The records that can be used, as the file has them: those that a person adopted, and where the registry is our own each of them.  A damaged
 * file or record, and one that nobody adopted, is a warning. */
struct json *sources_load(const struct context_place *at, struct json *warnings);
/* The same with `migration_note` (a path or null) and `is_there`. */
struct json *sources_list(const struct context_place *at, struct json *warnings);

struct adoption {
	const char *root; /* absolute, links resolved */
	const char *kind; /* as given or detected: helm, openclaw, hermes, generic, claude-code, codex */
	const char *state_name;
	const char *name; /* NULL: KIND-DIRECTORY */
};
/* Would this be adopted?  The record it would make.  E_MISSING ADOPT_MISSING, E_INPUT ADOPT_SELF, ADOPT_PLACE, ADOPT_NAME. */
int source_plan(
	const struct context_place *at, const struct adoption *what, struct json **ret, struct err *e);
/* A list of records with this one in place of those of the same name or root; without the one of this name. */
struct json *sources_with(struct arena *a, const struct json *list, const struct json *record);
struct json *sources_without(struct arena *a, const struct json *list, const char *name);
/* Put it into the registry, in place of a record of the same name or root; every other record stays as it is. */
int source_put(const struct context_place *at, const struct json *record, struct err *e);
/* E_MISSING ADOPT_UNKNOWN. */
int source_remove(const struct context_place *at, const char *name, struct err *e);

/* What other programs keep below the home directory: {kind: [paths]}, deepest first, only kinds that were found.  Reads names only. */
struct json *sources_detect(struct sys *s, struct arena *a, const char *home);
/* {workspace, layout, adopted_sources, detected_candidates, obsidian_app_installed, actions}. */
struct json *sources_survey(
	const struct context_place *at, const char *home, const char *layout, struct json *warnings);

#endif
