/* commands_proxy.h — rows of the table in commands.c: helm proxy. */
#ifndef CLI_COMMANDS_PROXY_H
#define CLI_COMMANDS_PROXY_H

static const struct cmd row_proxy = { KNOWN(proxy), "", 0, 0,
	"stand between a program and its model: every tool call is decided before the program sees it",
	"Starts helm-serve in its own place, on 127.0.0.1:9090.  Point the program's base URL there (OPENAI_BASE_URL=http://127.0.0.1:9090/v1, ANTHROPIC_BASE_URL=http://127.0.0.1:9090); chat completions, Responses and Messages, whole and as streams, are understood.  "
	"Text passes at once; a call of a tool is held until it is complete, decided and on record.  What is refused never reaches the program: it gets an error that its client knows, or with --on-deny rewrite the reason in words.  "
	"With --port 0 the first line on standard output is {\"ready\":true,\"base_url\":\"...\"}.  docs/guides/proxy.md shows it.",
	"$ helm proxy --upstream https://api.openai.com/v1 --policy tools.yaml --api-key-env OPENAI_API_KEY",
	proxy_opts, NEEDS_WORKSPACE, cmd_proxy };

static const struct cmd row_proxy_report = { KNOWN(proxy_report), "", 0, 0,
	"what passed the proxy: requests, calls, denials, tokens and money, by model and by principal", NULL,
	"$ helm proxy report --since 24h", proxy_report_opts, NEEDS_WORKSPACE, cmd_proxy_report };

static const struct cmd row_proxy_pin = { KNOWN(proxy_pin), "FILE", 1, 1,
	"pins of the tools that a request offers, for the configuration of the proxy",
	"FILE is a request to a model as JSON, or its list of tools.  A tool whose definition is not the one that was pinned is refused.",
	"$ helm proxy pin request.json >>proxy.yaml", NULL, 0, cmd_proxy_pin };

static const struct cmd row_proxy_sign_prices = { KNOWN(proxy_sign_prices), "FILE", 1, 1,
	"sign a table of prices with this user's key",
	"Prints it with its signature.  With price_keys in the configuration the proxy takes only tables that one of those keys signed.  An agent cannot do it.",
	"$ helm proxy sign-prices prices.json >signed.json", NULL, NEEDS_WORKSPACE | DOCUMENT,
	cmd_proxy_sign_prices };

#endif
