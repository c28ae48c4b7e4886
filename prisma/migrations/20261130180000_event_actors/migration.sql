-- The users who made the changes that events report. Null in rows of earlier versions, and of nodes of the previous version.
ALTER TABLE "event" ADD COLUMN IF NOT EXISTS "actor_id" INTEGER;
