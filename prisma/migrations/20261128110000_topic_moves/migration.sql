-- The last move of each topic that was moved as a whole. Moves before this migration are not in the table.
CREATE TABLE "topic_move" (
    "id" BIGSERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "channel_id" INTEGER NOT NULL,
    "topic" TEXT NOT NULL,
    "to_channel_id" INTEGER NOT NULL,
    "to_topic" TEXT NOT NULL,
    "first_message_id" BIGINT NOT NULL,
    "last_message_id" BIGINT NOT NULL,

    CONSTRAINT "topic_move_pkey" PRIMARY KEY ("realm_id","id")
);

CREATE INDEX "topic_move_realm_id_first_message_id_id_idx" ON "topic_move"("realm_id", "first_message_id", "id");

ALTER TABLE "topic_move" ADD CONSTRAINT "topic_move_realm_id_first_message_id_fkey" FOREIGN KEY ("realm_id", "first_message_id") REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say.
ALTER TABLE "topic_move"
  ADD CONSTRAINT "topic_move_length" CHECK (char_length("topic") <= 60),
  ADD CONSTRAINT "topic_move_to_length" CHECK (char_length("to_topic") <= 60);
CREATE UNIQUE INDEX "topic_move_key" ON "topic_move" ("realm_id", "channel_id", topic_key("topic"));
