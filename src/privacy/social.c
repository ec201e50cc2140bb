/* social.c — the gate for requests about what people write in public (docs/formats/social-gate.md).
 *
 * A signal is a row: English words, and the same in Korean.  What a message says about consent, purpose, scope and retention counts as said; whether it is
 * true is for the person who reads the answer.  Words that negate ("without consent", "do not save") are looked at, since they turn the meaning round. */
#include "privacy/social.h"
#include "base/pattern.h"
#include "base/text.h"

#include <string.h>

enum { LONGEST_MESSAGE = 64 << 10, MOST_DIGITS = 9 };

#define SIGNALS(X) \
	X(SINGLE_POST, "single_post", \
		"\\b(?:single|one|this|that)\\s+(?:post|tweet|thread)\\b|https?://\\S+", \
		"(?:이|그|저|한|하나의)\\s*(?:게시물|게시글|트윗|스레드)") \
	X(SOURCE, "social_source", \
		"\\b(?:social|timeline|posts?|tweets?|bluesky|twitter|threads|mastodon)\\b|\\bx\\.com\\b", \
		"소셜|타임라인|게시물|게시글|트윗|블루스카이|트위터|스레드|마스토돈") \
	X(BULK, "bulk_collection", \
		"\\b(?:all|entire|full|every|bulk|mass)\\b.{0,24}?\\b(?:timeline|posts|tweets|history)\\b|" \
		"\\b(?:timeline|posts|tweets|history)\\b.{0,16}?\\b(?:all|entire|full|every)\\b", \
		"(?:모든|전체|전부|대량).{0,24}?(?:타임라인|게시물|게시글|트윗|이력)|" \
		"(?:타임라인|게시물|게시글|트윗|이력).{0,16}?(?:전부|전체|모두)") \
	X(PROFILING, "profiling", \
		"\\b(?:profiling|personality|preferences?|tendency|tendencies|what kind of person)\\b|" \
		"\\bprofile\\s+(?:this|that|the|them|account|person|user)\\b", \
		"프로파일링|성격|성향|취향|어떤 사람") \
	X(DOSSIER, "dossier", \
		"\\b(?:dossier|representative quotes?|persuasion points?|weakness(?:es)?|vulnerabilities)\\b", \
		"신상|대표 발언|설득 포인트|약점|취약점") \
	X(SENSITIVE, "sensitive_inference", \
		"\\b(?:political|health|medical|religion|religious|location pattern|relationship|sexual)\\b", \
		"정치|건강|의료|종교|위치 패턴|동선|연애|성적 지향") \
	X(SELF, "self_account", "\\b(?:my|mine|own|me)\\b.{0,16}?\\b(?:account|profile|timeline|posts)\\b", \
		"(?:내|나의|제|본인)\\s*(?:계정|프로필|타임라인|게시물|트윗)") \
	X(ORGANIZATION, "organization_account", \
		"\\b(?:organization|company|project|product|release|news|brand)\\b.{0,16}?" \
		"\\b(?:account|profile|posts)\\b", \
		"(?:조직|회사|기업|프로젝트|제품|릴리스|뉴스|브랜드|공식)\\s*(?:계정|프로필|게시물)") \
	X(CONSENT, "consent", \
		"(?<!without )(?<!without their )(?<!no )(?<!not )\\b(?:consent|permission|authorized|with approval)\\b", \
		"(?:동의|허락|허가|승인)(?!\\s*없이)") \
	X(PURPOSE, "purpose", "\\b(?:security audit|backup|branding|positioning|portfolio|self review)\\b", \
		"보안 점검|보안 감사|백업|브랜딩|포지셔닝|포트폴리오|자기 점검") \
	X(SCOPE, "scope", \
		"\\b(?:recent|latest|last)\\s+\\d+\\s+(?:posts?|tweets?|items?)\\b|" \
		"\\b(?:past|last)\\s+\\d+\\s+(?:days?|weeks?|months?)\\b", \
		"(?:최근|지난)\\s*\\d+\\s*(?:개월|개|건|일|주|달)") \
	X(RETENTION, "retention", \
		"\\b(?:do not save|don't save|no storage|delete after|retention|temporary only)\\b", \
		"저장하지|보관하지|삭제 예정|보관 기간|임시로만") \
	X(STORAGE, "memory_storage", "(?<!not )(?<!n't )(?<!no )\\b(?:save|store|record|memory|archive)\\b", \
		"(?:저장|기록|기억|보관)(?!\\s*하지|\\s*기간)")

enum signal {
#define SIGNAL_ENUM(id, name, english, korean) SIGNAL_##id,
	SIGNALS(SIGNAL_ENUM)
#undef SIGNAL_ENUM
		SIGNAL_COUNT
};
static const struct {
	const char *name, *pattern;
} signals[] = {
#define SIGNAL_ROW(id, name, english, korean) { name, english "|" korean },
	SIGNALS(SIGNAL_ROW)
#undef SIGNAL_ROW
};

static const char posts_pattern[] =
	"\\b\\d{1,9}\\s+(?:\\w+\\s+)?(?:posts?|tweets?)\\b|"
	"\\b(?:posts|tweets|recent|latest|last)\\s+\\d{1,9}\\b(?!\\s*(?:days?|weeks?|months?|years?))|"
	"\\d{1,9}\\s*(?:개|건)의?\\s*(?:게시물|게시글|트윗)|(?:게시물|게시글|트윗)\\s*\\d{1,9}\\s*(?:개|건)";

struct judging {
	struct arena *a;
	const struct social_request *q;
	const char *found[SIGNAL_COUNT]; /* what matched; or NULL */
	int64_t limit; /* of posts; 0: nobody said one */
	bool is_self, is_organization;
};

/* The text that matched, NULL when nothing did. */
static int find(struct judging *j, const char *pattern, const char **ret, struct err *e)
{
	struct pattern *p;
	struct pattern_span at;
	int rc = pattern_compile(j->a, pattern, strlen(pattern), PATTERN_CASELESS, &p, e);

	*ret = NULL;
	if (rc == OK)
		rc = pattern_search(p, j->q->message, strlen(j->q->message), 0, &at, e);
	if (rc > 0)
		*ret = arena_strndup(j->a, j->q->message + at.start, at.end - at.start);
	return rc > 0 ? OK : rc;
}

static int64_t first_number(const char *text)
{
	int64_t n = 0;

	text += strcspn(text, "0123456789");
	for (size_t i = 0; i < MOST_DIGITS && text[i] >= '0' && text[i] <= '9'; i++)
		n = 10 * n + (text[i] - '0');
	return n;
}

static int look(struct judging *j, struct err *e)
{
	const char *type = j->q->account_type ? j->q->account_type : "", *posts;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < SIGNAL_COUNT; i++)
		rc = find(j, signals[i].pattern, &j->found[i], e);
	if (rc == OK)
		rc = find(j, posts_pattern, &posts, e);
	if (rc)
		return rc;
	j->limit = j->q->max_posts ? j->q->max_posts : posts ? first_number(posts) : 0;
	j->is_organization = *type ? text_eq(type, "organization") : j->found[SIGNAL_ORGANIZATION] != NULL;
	j->is_self = *type ? text_eq(type, "self")
			   : j->q->is_data_subject || (j->found[SIGNAL_SELF] && !j->is_organization);
	return OK;
}

/* Whether it is about people's posts at all: "health" is said of services, too. */
static bool is_social(const struct judging *j)
{
	static const enum signal about[] = { SIGNAL_SINGLE_POST, SIGNAL_SOURCE, SIGNAL_BULK, SIGNAL_PROFILING,
		SIGNAL_DOSSIER, SIGNAL_SELF, SIGNAL_ORGANIZATION };
	bool is = j->limit || j->q->account_type;

	for (size_t i = 0; i < ARRAY_SIZE(about); i++)
		is |= j->found[about[i]] != NULL;
	return is;
}

static const char *risk_of(const struct judging *j)
{
	const bool is_profiled = j->found[SIGNAL_PROFILING], is_bulk = j->found[SIGNAL_BULK],
		   is_other = !j->is_self && !j->is_organization,
		   is_grave = j->found[SIGNAL_SENSITIVE] || j->found[SIGNAL_DOSSIER];

	if (!is_social(j))
		return "low";
	if (j->found[SIGNAL_SINGLE_POST] && !is_profiled && !is_bulk && !is_grave)
		return "low";
	if (is_grave || (j->found[SIGNAL_STORAGE] && is_profiled && is_other))
		return "high";
	if ((j->limit > SOCIAL_MOST_POSTS || is_bulk) && !(j->is_organization && !is_profiled))
		return "high";
	if (is_profiled && is_other && !j->found[SIGNAL_SCOPE] && !j->q->scope)
		return "high";
	return j->is_organization || j->is_self || is_profiled || is_bulk || j->limit ? "medium" : "low";
}

static struct json *missing(const struct judging *j)
{
	const struct social_request *q = j->q;
	const struct {
		const char *name;
		bool is_there;
	} needs[] = {
		{ "consent", j->is_organization || j->is_self || q->has_consent || j->found[SIGNAL_CONSENT] },
		{ "purpose", (q->purpose && *q->purpose) || j->found[SIGNAL_PURPOSE] },
		{ "scope", (q->scope && *q->scope) || j->found[SIGNAL_SCOPE] },
		{ "retention", (q->retention && *q->retention) || j->found[SIGNAL_RETENTION] },
	};
	struct json *doc = json_new(j->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (!needs[i].is_there)
			json_setb(j->a, doc, needs[i].name, true);
	return doc;
}

/* What kinds of data would come of it. */
static struct json *labels(const struct judging *j)
{
	struct json *list = json_new(j->a, JSON_ARRAY);
	const bool is_profiled = j->found[SIGNAL_PROFILING], is_bulk = j->found[SIGNAL_BULK];

	if (j->found[SIGNAL_SINGLE_POST] || j->found[SIGNAL_SOURCE] || is_bulk || j->limit)
		json_pushs(j->a, list, "raw_public_post");
	if (strcasestr(j->q->message, "summar") || strstr(j->q->message, "요약"))
		json_pushs(j->a, list, "summary");
	if (is_profiled)
		json_pushs(j->a, list, "derived_preference");
	if (j->found[SIGNAL_SENSITIVE])
		json_pushs(j->a, list, "sensitive_inference");
	if (j->found[SIGNAL_DOSSIER] || (is_profiled && is_bulk))
		json_pushs(j->a, list, "dossier");
	return list;
}

int social_judge(struct arena *a, const struct social_request *q, struct json **ret, struct err *e)
{
	struct judging j = { .a = a, .q = q };
	size_t n = strlen(q->message);

	if (n > LONGEST_MESSAGE || text_utf8_valid(q->message, n) != n)
		return err_set(e, E_INPUT, "SOCIAL_MESSAGE",
			"the message is %s; give the request itself, as text of at most 64 KiB",
			n > LONGEST_MESSAGE ? "too long" : "not UTF-8");
	int rc = look(&j, e);
	if (rc)
		return rc;
	struct json *doc = json_new(a, JSON_OBJECT), *said = json_new(a, JSON_OBJECT), *lacks;
	const char *risk = risk_of(&j);
	bool is_high = text_eq(risk, "high");
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		if (j.found[i])
			json_sets(a, said, signals[i].name, j.found[i]);
	if (j.limit > SOCIAL_DEFAULT_POSTS)
		json_set(a, said, "expanded_post_limit", json_stringf(a, "%lld", (long long)j.limit));
	lacks = is_high ? missing(&j) : json_new(a, JSON_OBJECT);
	json_sets(a, doc, "risk", risk);
	json_setb(a, doc, "allowed", lacks->n == 0);
	json_setb(a, doc, "needs_clarification", lacks->n != 0);
	json_seti(a, doc, "post_limit", j.limit ? j.limit : SOCIAL_DEFAULT_POSTS);
	json_sets(a, doc, "tool", q->tool);
	json_set(a, doc, "signals", said);
	json_set(a, doc, "missing_requirements", lacks);
	json_set(a, doc, "labels", labels(&j));
	*ret = doc;
	return OK;
}
