-- Drafts by topic: they move with the messages of it.
CREATE INDEX "draft_by_topic" ON "draft" ("realm_id", ("to"[1]), lower("topic")) WHERE "type" = 'stream';
