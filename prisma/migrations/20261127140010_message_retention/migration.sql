-- Direct messages of an organization by age: retention reads the oldest ones.
CREATE INDEX "message_direct" ON "message" ("realm_id", "id") WHERE "channel_id" IS NULL;

-- Logged edits by message: a message that is deleted for good takes the text of its edits along.
CREATE INDEX "event_of_edit" ON "event" ("realm_id", ((payload->>'id')::bigint)) WHERE "type" = 'update_message';
