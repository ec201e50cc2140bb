#include "execute/checkpoint.h"
int checkpoint_load_archive(struct plan *p, struct err *e)
{
	return err_set(e, E_INPUT, "CHECKPOINT_FORMAT",
		"checkpoint '%s' has a format this version does not read",
		json_get_text(p->record, "checkpoint_id", "?"));
}
