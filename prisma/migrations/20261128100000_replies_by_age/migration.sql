-- Message retention selects the stored responses of an organization by their age. Facts of sent messages contain no text, and are not
-- selected.
CREATE INDEX "idempotency_record_replies" ON "idempotency_record" ("realm_id", "created_at") WHERE jsonb_typeof("result") = 'string';

-- The sizes of a user's long responses are read from the index alone, so it contains the whole key of the user.
DROP INDEX "idempotency_record_large";
CREATE INDEX "idempotency_record_large" ON "idempotency_record" ("realm_id", "user_id") INCLUDE ("reply_bytes") WHERE "reply_bytes" > 1024;
