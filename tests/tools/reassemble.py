"""reassemble.py — the calls in a stream of a model, put together by another reader than the proxy's; and streams by chance to compare them with.

Written from the vendors' descriptions, not from the proxy: events by splitting the whole text, calls by dictionaries."""
import json, random, re


def events(raw):
    text = raw.decode("utf-8").lstrip("\ufeff")
    out, name, data = [], None, []
    for line in re.split(r"\r\n|\n|\r", text):
        if line == "":
            if data: out.append((name, "\n".join(data)))
            name, data = None, []
        elif line.startswith(":"):
            continue
        else:
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "data": data.append(value)
            elif field == "event": name = value
    if data: out.append((name, "\n".join(data)))
    return out


def calls_chat(evs):
    seen, order = {}, []
    for _, data in evs:
        if data == "[DONE]": continue
        for c in json.loads(data).get("choices", []):
            for t in c.get("delta", {}).get("tool_calls") or []:
                key = (c["index"], t["index"])
                if key not in seen:
                    seen[key] = ["", ""]
                    order.append(key)
                f = t.get("function", {})
                if f.get("name"): seen[key][0] = f["name"]
                seen[key][1] += f.get("arguments") or ""
            f = c.get("delta", {}).get("function_call")
            if f:
                key = (c["index"], "f")
                if key not in seen:
                    seen[key] = ["", ""]
                    order.append(key)
                if f.get("name"): seen[key][0] = f["name"]
                seen[key][1] += f.get("arguments") or ""
    return sorted((seen[k][0], json.dumps(json.loads(seen[k][1]), sort_keys=True)) for k in order)


def calls_messages(evs):
    blocks = {}
    for _, data in evs:
        d = json.loads(data)
        if d["type"] == "content_block_start" and d["content_block"]["type"] == "tool_use":
            blocks[d["index"]] = [d["content_block"]["name"], ""]
        if d["type"] == "content_block_delta" and d["delta"]["type"] == "input_json_delta":
            blocks[d["index"]][1] += d["delta"]["partial_json"]
    return sorted((n, json.dumps(json.loads(a or "{}"), sort_keys=True)) for n, a in blocks.values())


def calls_responses(evs):
    return sorted((i["name"], json.dumps(json.loads(i["arguments"]), sort_keys=True))
                  for _, data in evs for d in [json.loads(data)] if d["type"] == "response.completed"
                  for i in d["response"]["output"] if i["type"] == "function_call")


READ = {"chat": calls_chat, "messages": calls_messages, "responses": calls_responses}
WORDS = ["Grüße", "tool_calls", "data: {", "\u2028", "a\nb", '"quoted"', "[DONE]", "💡", "\\u0041", "event: x"]


def some_args(r):
    return {r.choice(["path", "ü", "command", "a b"]): r.choice([r.choice(WORDS), r.randint(0, 9), None, {"x": [1, r.choice(WORDS)]}]) for _ in range(r.randint(0, 3))}


def cut(r, text):
    out = []
    while text:
        n = r.randint(1, 9)
        out.append(text[:n]); text = text[n:]
    return out


def stream(r):
    """(form, rows): rows are dictionaries or [DONE]."""
    form = r.choice(["chat", "messages", "responses"])
    calls = [(r.choice(["get_weather", "bash", "read_file"]), some_args(r)) for _ in range(r.randint(0, 3))]
    said = [r.choice(WORDS) for _ in range(r.randint(0, 4))]
    rows = []
    if form == "chat":
        def c(choice, finish=None, **delta): return {"id": "c", "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}
        n = r.randint(1, 2)
        parts = []
        for choice in range(n):
            own = [c(choice, role="assistant", content="")] + [c(choice, content=w) for w in said]
            if calls and r.random() < 0.15:
                name, args = calls[0]
                own.append(c(choice, function_call={"name": name, "arguments": ""}))
                own += [c(choice, function_call={"arguments": p}) for p in cut(r, json.dumps(args))]
            else:
                pieces = [[c(choice, tool_calls=[{"index": i, "id": "k%d" % i, "type": "function", "function": {"name": name, "arguments": ""}}])] +
                          [c(choice, tool_calls=[{"index": i, "function": {"arguments": p}}]) for p in cut(r, json.dumps(args))] for i, (name, args) in enumerate(calls)]
                while any(pieces):  # parallel calls, mixed
                    k = r.choice([p for p in pieces if p])
                    own.append(k.pop(0))
            own.append(c(choice, finish=r.choice(["tool_calls", "stop", "length"])))
            parts.append(own)
        while any(parts):
            k = r.choice([p for p in parts if p])
            rows.append(k.pop(0))
        if r.random() < 0.5: rows.append({"id": "c", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}})
        rows.append("[DONE]")
    elif form == "messages":
        rows.append({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}})
        index = 0
        for name, args in calls or [(None, None)]:
            rows.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
            rows += [{"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": w}} for w in said]
            rows.append({"type": "content_block_stop", "index": index})
            index += 1
            if name:
                rows.append({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": "t", "name": name, "input": {}}})
                rows += [{"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": p}} for p in (cut(r, json.dumps(args)) if args else [])]
                rows.append({"type": "content_block_stop", "index": index})
                index += 1
        rows += [{"type": "ping"}, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}, {"type": "message_stop"}]
    else:
        output = [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "".join(said)}]}]
        output += [{"type": "function_call", "id": "f%d" % i, "call_id": "c%d" % i, "name": n, "arguments": json.dumps(a)} for i, (n, a) in enumerate(calls)]
        rows.append({"type": "response.created", "response": {"id": "r", "output": []}})
        for i, item in enumerate(output):
            rows.append({"type": "response.output_item.added", "output_index": i, "item": dict(item, arguments="") if "arguments" in item else dict(item, content=[])})
            for p in cut(r, item.get("arguments", "")):
                rows.append({"type": "response.function_call_arguments.delta", "output_index": i, "item_id": item["id"], "delta": p})
            rows.append({"type": "response.output_item.done", "output_index": i, "item": item})
        rows.append({"type": "response.completed", "response": {"id": "r", "output": output, "usage": {"input_tokens": 7, "output_tokens": 3}}})
    return form, rows


def encode(r, form, rows):
    """Bytes as a vendor might write them."""
    end = r.choice(["\n", "\r\n", "\r"])
    out = "\ufeff" if r.random() < 0.1 else ""
    for row in rows:
        if r.random() < 0.1: out += ": a comment" + end + (end if r.random() < 0.5 else "")
        if r.random() < 0.1: out += "id: 7" + end
        text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=r.random() < 0.5)
        if isinstance(row, dict) and form != "chat" and r.random() < 0.7: out += "event: %s%s" % (row["type"], end)
        blank = r.choice(["", " "])
        if isinstance(row, dict) and r.random() < 0.1:  # several lines of data, where JSON may have white space
            text = json.dumps(row, indent=1).replace("\n", end + "data:" + (blank or " "))
        out += "data:" + blank + text + end + end
    return out.encode("utf-8")


def pieces(r, raw):
    if r.random() < 0.2: return [raw[i:i + 1] for i in range(len(raw))]
    out = []
    while raw:
        n = r.choice([1, 3, 17, 200, 4000])
        out.append(raw[:n]); raw = raw[n:]
    return out


# ---- what somebody broke on the way ----

BREAKS = [b'"tool_calls":[{}]', b"\\u0074", b'"type":"tool_use"', b"\r", b"\n", b"\r\n", b"data: ", b"event: x\n", b": c\n", b'"finish_reason":"stop"', b"[DONE]", b"{}", b"\x00",
          b"\xff", b'"', b"\\", b'"content":"x"', b'"index":1', b'"arguments":"{}"', b"null"]


def damaged(r, raw):
    raw = bytearray(raw)
    for _ in range(r.randint(1, 6)):
        at, k = r.randrange(len(raw) + 1), r.random()
        if k < 0.3 and at < len(raw): raw[at] = r.randrange(256)
        elif k < 0.6: raw[at:at] = r.choice(BREAKS)
        elif k < 0.75: del raw[at:at + r.randint(1, 40)]
        else:
            b = r.randrange(len(raw) + 1)
            raw[at:at] = raw[b:b + r.randint(1, 120)]
    return bytes(raw)


def has_call(v):
    if isinstance(v, dict):
        t = v.get("type")
        if isinstance(t, str) and (t.endswith("tool_use") or t.endswith("_call")): return True
        return any((k in ("tool_calls", "function_call") and x) or (k not in ("input", "tools") and has_call(x)) for k, x in v.items())
    return isinstance(v, list) and any(has_call(x) for x in v)


def lenient_calls(raw):
    """Does any reader, however lenient, see a call?  Line by line, whatever the ends of lines, blanks and case; the first and the last of members that are there twice."""
    for pairs in (dict, lambda ps: dict(reversed(ps))):
        for line in re.split(rb"[\r\n]+", raw):
            line = line.strip()
            if line[:5].lower() == b"data:":
                try:
                    if has_call(json.loads(line[5:].decode("utf-8", "replace"), object_pairs_hook=pairs, strict=False)): return True
                except ValueError: pass
        for _, data in events(raw.decode("utf-8", "replace").encode()):
            try:
                if has_call(json.loads(data, object_pairs_hook=pairs, strict=False)): return True
            except ValueError: pass
    return False
