/* banned.h — functions nobody may call; force-included into every translation unit.
 *
 * Each of them has ended in a vulnerability somewhere: unbounded copies, silent truncation, hidden static state,
 * a shell where none was meant.  The replacement is named beside it. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#define strcpy(d, s) strcpy_is_banned_use_buf_add
#undef strcat
#define strcat(d, s) strcat_is_banned_use_buf_add
#undef strncpy
#define strncpy(d, s, n) strncpy_is_banned_use_memcpy
#undef strncat
#define strncat(d, s, n) strncat_is_banned_use_buf_add
#undef sprintf
#define sprintf(...) sprintf_is_banned_use_buf_addf
#undef vsprintf
#define vsprintf(...) vsprintf_is_banned_use_buf_addf
#undef strtok
#define strtok(s, d) strtok_is_banned_use_text_cut
#undef atoi
#define atoi(s) atoi_is_banned_use_text_int
#undef atol
#define atol(s) atol_is_banned_use_text_int
#undef gmtime
#define gmtime(t) gmtime_is_banned_use_text_time
#undef localtime
#define localtime(t) localtime_is_banned_use_text_time
#undef ctime
#define ctime(t) ctime_is_banned_use_text_time
#undef asctime
#define asctime(t) asctime_is_banned_use_text_time
#undef system
#define system(c) system_is_banned_use_proc
#undef popen
#define popen(c, m) popen_is_banned_use_proc
#undef mktemp
#define mktemp(t) mktemp_is_banned_use_file_replace
#undef tmpnam
#define tmpnam(t) tmpnam_is_banned_use_file_replace
#undef alloca
#define alloca(n) alloca_is_banned_use_arena_alloc

#endif
