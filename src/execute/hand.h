/* hand.h — inside execute/: descriptors from one process to another, with the kernel's word about who gives them. */
#ifndef EXECUTE_HAND_H
#define EXECUTE_HAND_H

#include <sys/types.h>

/* A pair: [0] receives, [1] sends. */
int hand_open(int pair[2]);
/* At most two descriptors.  0, or -1 with errno. */
int hand_send(int to, const int *fds, int n);
/* Waits.  The pid of the sender as we see it, 0 when nobody can send any more; descriptors that came are put into fds. */
pid_t hand_receive(int from, int fds[2]);

#endif
