-- 005: a heartbeat counts once.  Its signed number must be above that of the last one: one that was captured, held back or overtaken is refused.
ALTER TABLE node ADD COLUMN beat_us int8 NOT NULL DEFAULT 0;
GRANT UPDATE (beat_us) ON node TO helm_ingest;
