-- CreateTable
CREATE TABLE "log_epoch" (
    "id" UUID NOT NULL,
    "began_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "tables" TEXT,
    "cluster" TEXT,
    "copy" TEXT,
    "timeline" TEXT,

    CONSTRAINT "log_epoch_pkey" PRIMARY KEY ("id")
);

-- What the schema language cannot say.

CREATE UNIQUE INDEX "log_epoch_only" ON "log_epoch" ((true));
INSERT INTO "log_epoch" ("id") VALUES (gen_random_uuid());

-- The cluster that the database is in, and its timeline. Null what cannot be told: to this role, by this server, or on a
-- standby.
CREATE FUNCTION "log_place"(OUT "cluster" text, OUT "timeline" text) LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    SELECT c.system_identifier::text INTO cluster FROM pg_control_system() AS c;
  EXCEPTION WHEN OTHERS THEN
    cluster := NULL;
  END;
  BEGIN
    -- The first of the three numbers of eight digits that name a file of the write-ahead log.
    timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  EXCEPTION WHEN OTHERS THEN
    timeline := NULL;
  END;
END
$$;

ALTER TABLE "event_queue" DROP CONSTRAINT "event_queue_end", ADD CONSTRAINT "event_queue_end" CHECK (
  ("ended_at" IS NULL) = ("end_reason" IS NULL)
  AND "end_reason" IN ('deleted', 'expired', 'revoked', 'surplus', 'restored'));
