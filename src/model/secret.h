/* secret.h — where credentials lie, people's below a home directory and the machine's: one list for the guard, which asks before they are
 * read, and for the walls, which close them to a run. */
#ifndef MODEL_SECRET_H
#define MODEL_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Below a home; a directory ends in '/'.  NULL past the end. */
const char *secret_place_at(size_t i);
/* Of the machine: absolute paths. */
const char *secret_system_at(size_t i);
/* Sockets that lead out of walls, for runs that may use sockets at all: containers, buses, terminals.  Absolute, or below a home. */
const char *secret_door_at(size_t i);
/* By its name with or without the '/'. */
bool secret_place_is(const char *name);
/* Is the path one of these places, or below one, in whatever home, or one of the machine's? */
bool secret_place_holds(const char *path);

#endif
