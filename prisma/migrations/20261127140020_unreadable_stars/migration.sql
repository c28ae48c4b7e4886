-- Stars by organization: changes of access look for those of messages that their users can no longer read.
CREATE INDEX "user_message_stars" ON "user_message" ("realm_id", "message_id") WHERE "starred";

-- Removes the stars of messages in channels that their users cannot read: not subscribed, and a guest or in a private channel
-- whose permissions give access to no group. Stars of channels with such permissions go with the next change of access.
UPDATE "user_message" um SET "starred" = false
FROM "message" m, "channel" c, "user_account" u
WHERE um."starred" AND m."realm_id" = um."realm_id" AND m."id" = um."message_id"
  AND c."realm_id" = m."realm_id" AND c."id" = m."channel_id" AND u."realm_id" = um."realm_id" AND u."id" = um."user_id"
  AND NOT c."is_web_public"
  AND (u."role" = 600 OR (c."invite_only" AND NOT c."permissions" ? 'can_subscribe_group'
    AND NOT c."permissions" ? 'can_add_subscribers_group'))
  AND NOT EXISTS (
    SELECT FROM "subscription" s
    WHERE s."realm_id" = um."realm_id" AND s."user_id" = um."user_id" AND s."channel_id" = c."id" AND s."active");
-- Those of messages that their users never received, where history is protected.
UPDATE "user_message" um SET "starred" = false
FROM "message" m, "channel" c
WHERE um."starred" AND m."realm_id" = um."realm_id" AND m."id" = um."message_id"
  AND c."realm_id" = m."realm_id" AND c."id" = m."channel_id"
  AND c."invite_only" AND NOT c."history_public_to_subscribers" AND m."sender_id" <> um."user_id"
  AND NOT EXISTS (
    SELECT FROM "subscription_period" p
    WHERE p."realm_id" = m."realm_id" AND p."user_id" = um."user_id" AND p."channel_id" = m."sent_channel_id"
      AND p."began_message_id" < m."id" AND (p."ended_message_id" IS NULL OR m."id" <= p."ended_message_id"));
