-- Files that users upload. Their content is stored in parts, so that neither the service nor the database holds a whole file in
-- memory, and so that every node can serve every file.
CREATE TABLE IF NOT EXISTS "attachment" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "owner_id" INTEGER NOT NULL,
    "token" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path_name" TEXT NOT NULL,
    "media_type" TEXT NOT NULL,
    "size" BIGINT NOT NULL,
    "declared_size" BIGINT,
    "width" INTEGER,
    "height" INTEGER,
    "is_animated" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "is_complete" BOOLEAN NOT NULL DEFAULT false,
    "unclaimed_since" TIMESTAMPTZ(6),

    CONSTRAINT "attachment_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "attachment_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "attachment_realm_id_owner_id_fkey" FOREIGN KEY ("realm_id", "owner_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "attachment_token_bound" CHECK (octet_length("token") <= 64),
    CONSTRAINT "attachment_name_bound" CHECK (octet_length("name") <= 1024),
    CONSTRAINT "attachment_path_name_bound" CHECK (octet_length("path_name") <= 1024),
    CONSTRAINT "attachment_media_type_bound" CHECK (octet_length("media_type") <= 256),
    CONSTRAINT "attachment_size_bound" CHECK ("size" >= 0)
);
CREATE UNIQUE INDEX IF NOT EXISTS "attachment_realm_id_token_key" ON "attachment"("realm_id", "token");
CREATE INDEX IF NOT EXISTS "attachment_realm_id_owner_id_id_idx" ON "attachment"("realm_id", "owner_id", "id");
CREATE INDEX IF NOT EXISTS "attachment_unclaimed" ON "attachment"("realm_id", "unclaimed_since")
    WHERE "unclaimed_since" IS NOT NULL;

CREATE TABLE IF NOT EXISTS "attachment_chunk" (
    "realm_id" INTEGER NOT NULL,
    "attachment_id" INTEGER NOT NULL,
    "variant" TEXT NOT NULL,
    "place" INTEGER NOT NULL,
    "bytes" BYTEA NOT NULL,

    CONSTRAINT "attachment_chunk_pkey" PRIMARY KEY ("realm_id", "attachment_id", "variant", "place"),
    CONSTRAINT "attachment_chunk_realm_id_attachment_id_fkey" FOREIGN KEY ("realm_id", "attachment_id")
        REFERENCES "attachment"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "attachment_chunk_variant_bound" CHECK (octet_length("variant") <= 64),
    CONSTRAINT "attachment_chunk_bytes_bound" CHECK (octet_length("bytes") <= 4194304)
);
-- Most files are compressed already. Compressing them again would take time and save nothing.
ALTER TABLE "attachment_chunk" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS "attachment_link" (
    "realm_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "attachment_id" INTEGER NOT NULL,

    CONSTRAINT "attachment_link_pkey" PRIMARY KEY ("realm_id", "message_id", "attachment_id"),
    CONSTRAINT "attachment_link_realm_id_message_id_fkey" FOREIGN KEY ("realm_id", "message_id")
        REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "attachment_link_realm_id_attachment_id_fkey" FOREIGN KEY ("realm_id", "attachment_id")
        REFERENCES "attachment"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX IF NOT EXISTS "attachment_link_realm_id_attachment_id_message_id_idx"
    ON "attachment_link"("realm_id", "attachment_id", "message_id");
