/* run_output.c — what a command prints: its last bytes are kept, and all of it is passed on. */
#include "execute/run_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void run_output_keep(struct run_stream *stream, const char *p, size_t n)
{
	stream->bytes += n;
	if (n >= RUN_TAIL_BYTES) {
		memcpy(stream->tail, p + n - RUN_TAIL_BYTES, RUN_TAIL_BYTES);
		stream->tail_n = RUN_TAIL_BYTES;
		return;
	}
	size_t over = stream->tail_n + n > RUN_TAIL_BYTES ? stream->tail_n + n - RUN_TAIL_BYTES : 0;
	memmove(stream->tail, stream->tail + over, stream->tail_n - over);
	memcpy(stream->tail + stream->tail_n - over, p, n);
	stream->tail_n += n - over;
}

bool run_output_pass(int to, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(to, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}
