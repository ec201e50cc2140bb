#!/bin/sh
# schema validate: valid, invalid with path and keyword, refused schemas, YAML and lines.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

cat >task.schema.json <<'END'
{"type": "object", "required": ["id", "state"], "additionalProperties": false,
 "properties": {"id": {"type": "string", "pattern": "^[a-z0-9-]+$"}, "state": {"enum": ["open", "done"]}}}
END
printf '{"id": "a-1", "state": "open"}\n' >good.json
printf '{"id": "a-1", "state": "gone"}\n' >bad.json
printf '{"id": "a-1",\n "state": }\n' >broken.json
printf 'id: a-1\nstate: done\n' >good.yaml
printf '{"id":"a","state":"open"}\n{"id":"b","state":"done"}\n' >good.jsonl
printf '{"id":"a","state":"open"}\n{"id":"B","state":"done"}\n' >bad.jsonl
printf '{"id":"a","state":"open"}\n{"id":\n' >broken.jsonl
printf '{"unevaluatedProperties": false}' >new.schema.json
printf '{"type": "text"}' >wrong.schema.json
printf 'type: object\nrequired: [id]\n' >task.schema.yaml

ok "valid" says 0 "good.json: valid" helm schema validate task.schema.json good.json
ok "valid, --json" is_json helm schema validate task.schema.json good.json --json
ok "invalid names file, path, keyword, wanted and found" says 1 \
  'bad.json: $.state: enum: expected one of ["open", "done"], found a string' helm schema validate task.schema.json bad.json
ok "invalid, --json" is_json helm schema validate task.schema.json bad.json --json
ok "not JSON" says 1 "broken.json:2:11: expected a value, found '}'" helm schema validate task.schema.json broken.json
ok "YAML by its name" says 0 "good.yaml: valid" helm schema validate task.schema.json good.yaml
ok "a schema in YAML" says 0 "valid" helm schema validate task.schema.yaml good.json
ok "lines by their name" says 0 "good.jsonl: valid (2 documents)" helm schema validate task.schema.json good.jsonl
ok "a bad line is named" says 1 'bad.jsonl: line 2: $.id: pattern' helm schema validate task.schema.json bad.jsonl
ok "a broken line is named" says 1 'broken.jsonl: line 2:1:7: expected a value' helm schema validate task.schema.json broken.jsonl
ok "an unknown keyword is refused" says 1 "schema at #/unevaluatedProperties: a keyword we do not know" \
  helm schema validate new.schema.json good.json
ok "a wrong schema is refused" says 1 "schema at #/type: expected one of null" helm schema validate wrong.schema.json good.json
ok "a missing schema" says 1 "No such file" helm schema validate none.json good.json
ok "a missing file" says 1 "No such file" helm schema validate task.schema.json none.json
ok "one argument is a usage error" exits 2 helm schema validate task.schema.json
finish
