/* sandbox.h — inside execute/: walls around a child, made by the kernel.
 *
 * A profile's promise ("writes nothing", "no network") is kept by Landlock, seccomp, namespaces and
 * capabilities, so that a guard that was wrong is still contained.  What was really put up is reported wall
 * by wall, and stands in the receipt. A wall that a profile requires and the kernel does not give refuses
 * the run; best effort is a choice of the user and is recorded as such.
 *
 * Two processes take part.  The warden is the direct child of helm: it makes the namespaces and mounts,
 * starts the ward, reaps everything below and dies with helm.  The ward locks itself in and executes the
 * command. */
#ifndef EXECUTE_SANDBOX_H
#define EXECUTE_SANDBOX_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "execute/cgroup.h"
#include "execute/guarantees.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* `from`, a directory of ours, is what the run sees at `at`. */
struct sandbox_own {
	const char *at, *from;
};
enum { HOMES_MAX = 8 };
/* A home directory, of which the run sees only write_paths, layers and `shown`.  Otherwise it is what lies in `from`, or empty where
 * that is NULL. */
struct sandbox_home {
	const char *at, *from;
	const char *git_config; /* text of .gitconfig in an empty one; or NULL */
	bool is_writable; /* `from` may be written */
};
/* The run reads what lies at `at`, and writes into `upper`; `work` is the kernel's.  Both are empty and on one file system. */
struct sandbox_layer {
	const char *at, *upper, *work;
};

/* A file that decides what others start later, and that the run has to write all the same.  With mounts the run sees at `at` the file
 * `name` in files_dir, a copy that is its own; somebody outside merges it afterwards.  Without mounts, name NULL, the file is replaced only
 * by one that git_merge finds harmless as a whole. */
struct sandbox_file {
	const char *at, *name;
	dev_t dev;
	ino_t ino; /* of the copy */
};

/* One file or directory that an operator has opened for this run.  Whoever makes the rules holds a descriptor of it, so that its number stays
 * its own: under this name nothing else is opened.  A directory is only read. */
struct sandbox_opening {
	const char *at; /* absolute, without links */
	dev_t dev;
	ino_t ino;
	bool is_dir, is_writable;
};
enum { OPENINGS_MAX = 16 };

struct sandbox_rules {
	enum network_reach network;
	int door; /* NETWORK_NAMED: the listening socket is handed out through this one (egress/egress.h); 0: nobody serves it */
	const char *const *write_paths; /* directories or files below which it may write; NULL-terminated */
	const char *const *
		shown; /* directories or files that are seen although `own` or `homes` cover them, read-only; none lies in another or in a writable place; NULL-terminated; or NULL */
	const struct sandbox_home *homes; /* ended by at NULL, at most HOMES_MAX; or NULL */
	const char *const *exec_paths; /* the only files it may execute; NULL: any */
	const char *const *hidden; /* directories it must not even see: ~/.helm; NULL-terminated */
	const char *const
		*read_only; /* directories protected although they lie in a writable one: the state */
	const struct sandbox_own *own; /* ended by at NULL, at most 8; or NULL.  They may be written. */
	const struct sandbox_layer *layers; /* ended by at NULL, at most LAYERS_MAX; or NULL */
	const struct sandbox_file *files; /* ended by at NULL; or NULL: there are none */
	const char *files_dir; /* of their copies; out of the run's sight */
	const char *const *git_approved; /* settings of git that may change in `files`, as
					    propose_git_merge_approved() has them; or NULL */
	const struct sandbox_opening *openings; /* ended by at NULL, at most OPENINGS_MAX; or NULL */
	const char *
		own_dir; /* SANDBOX_SUPERVISED: holds all that is the run's own; open although it lies in a hidden place */
	const char *own_home; /* without mounts: the home of a session, the same; or NULL */
	const char *shm; /* SANDBOX_SUPERVISED: what the run has as /dev/shm; or NULL */
	bool own_by_environment; /* SANDBOX_SUPERVISED: variables lead to directories of its own */
	uint16_t
		proxy_port; /* SANDBOX_SUPERVISED: where on the loopback the egress proxy listens; 0: nowhere */
	struct run_limits limits;
	bool desk; /* everything inside can ask us: desk.c */
	enum sandbox_kind kind; /* how it is built here */
	unsigned
		waived; /* DEMAND_*: the run goes on without these where they cannot be met; 0: all must be met */
	bool off; /* no walls at all: asked for, and recorded */
	int landlock_abi_limit; /* tests: pretend that the kernel knows no newer one; 0 = what it knows */
};

/* What was in force, written by the children, because they are the ones who know. */
struct sandbox_report {
	int landlock_abi; /* 0: none */
	bool seccomp;
	bool no_new_privileges;
	bool user_namespace, mount_namespace, pid_namespace, network_namespace;
	bool files_confined; /* writes only where allowed */
	bool metadata_confined; /* modes, owners and times of files elsewhere cannot be changed */
	bool network_closed; /* nothing outside the machine's own loopback of this run can be reached */
	bool has_door; /* and the one way out is open: named hosts */
	bool signals_confined; /* cannot signal or trace processes outside */
	bool shared_closed; /* terminals and shared memory of others are out of reach */
	bool keys_hidden; /* hidden directories and files cannot be read */
	bool homes_covered; /* mounts cover the homes */
	bool places_covered; /* they are covered by mounts: sockets in them cannot be reached, either */
	bool read_only_held; /* nothing in the run can change what of read_only exists */
	bool files_private; /* each of `files` is covered by its copy, or supervised */
	bool is_opened; /* with mounts: all of `openings` are where they were */
	bool state_protected; /* read_only directories cannot be changed, or lie outside every writable one */
	bool capabilities_dropped;
	bool sum_of_processes,
		sum_of_memory; /* a control group that it cannot leave bounds them for the whole of it */
	bool group_kill; /* and the kernel ends everything in it at once */
	bool own_directories; /* there are some, and all of `own` stand */
	unsigned layers_wanted,
		layers_up; /* how many, and a bit for each that stands; the places of others are read-only */
	bool supervised; /* a supervisor carries out the calls that Landlock does not cover */
	unsigned unmet; /* DEMAND_* that could not be met */
	char missing[256]; /* their names, comma separated */
	uid_t uid; /* of the caller; set by sandbox_start */
	gid_t gid;
	int mapped
		[2]; /* root in a user namespace of its own: the warden reads here whether its ids are mapped */
	int listener; /* in the ward: the descriptor on which its calls for us are heard; 0: there is none */
	int files_dir; /* in the warden: the directory of the copies; 0: none */
	int supervisor_errno; /* why there is no supervisor although one was wanted; or 0 */
	int exec_errno; /* why the command could not be executed, or 0 */
	char refused[256]; /* why the run was refused before the command was executed, or "" */
};

/* Start fn(arg) as the warden, with the namespaces that these rules ask for, or without them where the
 * kernel refuses.  `memory` CLONE_VM: it shares our memory, nothing is copied, and what it reports is seen at once.  It runs
 * on the stack that ends at `stack_end`, and on the calling thread's own thread-local storage (errno): that
 * thread only waits for it until it has ended.  0: it has a copy of its own.  *group is made for the limits or, where no pid namespace
 * ends everything, for the end; the caller ends it.  Returns its pid, or -1 with errno. */
pid_t sandbox_start(struct sys *s, const struct sandbox_rules *rules, struct sandbox_report *report,
	struct cgroup *group, int memory, int (*fn)(void *), void *arg, void *stack_end);

/* In the warden: user mapping, private mounts, loopback.  0, or -1 with report->refused set. */
int sandbox_prepare(const struct sandbox_rules *rules, struct sandbox_report *report);

/* In the warden, later: places that appeared since.  0, or -1 when one could not be closed. */
int sandbox_close_places(
	const struct sandbox_rules *rules, const char *const *hidden, const char *const *read_only);

/* Does the warden hear calls of what is inside? */
bool sandbox_is_heard(const struct sandbox_rules *rules);

/* In the ward, last thing before exec: its group, descriptors, capabilities, Landlock, seccomp.  0, or -1 with
 * report->refused set. */
int sandbox_lock(
	const struct sandbox_rules *rules, const struct cgroup *group, struct sandbox_report *report);

/* The Landlock level of this kernel, 0 when there is none. */
int sandbox_landlock_abi(void);

#endif
