/* parts.h — inside serve/: what its own files share. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "serve/serve.h"

enum {
	BODY_MOST = 1 << 20, /* of a JSON body */
	BYTES_MOST = 64 << 20, /* of a pack that is sent to be verified */
	HELD_MOST = 256 << 20, /* of all bodies that are here at once */
	CALL_MEMORY = 64 << 20, /* of one request */
	STREAMS_MOST = 256,
};

#endif
