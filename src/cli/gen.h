/* gen.h — inside cli/: everything that is made from the table of commands. */
#ifndef CLI_GEN_H
#define CLI_GEN_H

#include "base/text.h"
#include "cli/cli.h"

void gen_usage(struct buf *to, const struct cmd *cmd); /* one line; cmd NULL: of the program */
void gen_overview(struct cli *r); /* helm --help: one screen */
void gen_everything(struct cli *r); /* help --all */
void gen_group_help(struct cli *r, enum command_group g);
void gen_family_help(struct cli *r, const struct family *f);
/* What was meant by a wrong word, of a family or of all commands; NULL: nothing is alike. */
const char *gen_suggestion(struct cli *r, const struct family *f, const char *word);
void gen_help(struct cli *r, const struct cmd *cmd);
struct json *gen_json(struct arena *a); /* help --json */
void gen_man(struct buf *to, const struct family *f); /* f NULL: helm(1) */

/* complete.c */
void gen_completion(struct buf *to, const char *shell); /* bash, zsh or fish */
void gen_candidates(struct cli *r, char **words, size_t n); /* what may stand at the last of these words */

#endif
