-- Objects of an S3-compatible store with the content of attachments and thumbnails.
CREATE TABLE IF NOT EXISTS "stored_object" (
    "realm_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "attachment_id" INTEGER,
    "variant" TEXT NOT NULL,
    "size" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "stored_object_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "stored_object_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "stored_object_variant_bound" CHECK (octet_length("variant") <= 100)
);
CREATE UNIQUE INDEX IF NOT EXISTS "stored_object_realm_id_attachment_id_variant_key"
    ON "stored_object"("realm_id", "attachment_id", "variant");
CREATE INDEX IF NOT EXISTS "stored_object_unused" ON "stored_object"("realm_id", "expires_at") WHERE "attachment_id" IS NULL;

-- The place of the files of the service: the URL of a bucket, or null.
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "files_place" TEXT;
ALTER TABLE "log_epoch" DROP CONSTRAINT IF EXISTS "log_epoch_files_place_bound";
ALTER TABLE "log_epoch" ADD CONSTRAINT "log_epoch_files_place_bound" CHECK (octet_length("files_place") <= 4096);

-- Objects of a deleted attachment belong to no attachment and are expired, also if a node of the previous version deletes it.
CREATE OR REPLACE FUNCTION "release_stored_objects"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE stored_object SET attachment_id = NULL, expires_at = 'epoch'
  WHERE realm_id = OLD.realm_id AND attachment_id = OLD.id;
  RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS "attachment_releases_objects" ON "attachment";
CREATE TRIGGER "attachment_releases_objects" AFTER DELETE ON "attachment"
    FOR EACH ROW EXECUTE FUNCTION "release_stored_objects"();
