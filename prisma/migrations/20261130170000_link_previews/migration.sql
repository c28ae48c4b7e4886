-- Previews of linked web pages: position in the event log, messages whose links are to be read, and the pages.
CREATE TABLE IF NOT EXISTS "link_preview_progress" (
    "realm_id" INTEGER NOT NULL,
    "through_id" BIGINT NOT NULL,

    CONSTRAINT "link_preview_progress_pkey" PRIMARY KEY ("realm_id"),
    CONSTRAINT "link_preview_progress_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE TABLE IF NOT EXISTS "link_preview_job" (
    "realm_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "link_preview_job_pkey" PRIMARY KEY ("realm_id", "message_id"),
    CONSTRAINT "link_preview_job_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX IF NOT EXISTS "link_preview_job_next_attempt_at_idx" ON "link_preview_job"("next_attempt_at");
CREATE TABLE IF NOT EXISTS "link_preview" (
    "realm_id" INTEGER NOT NULL,
    "url_hash" BYTEA NOT NULL,
    "title" TEXT,
    "description" TEXT,
    "image_url" TEXT,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "link_preview_pkey" PRIMARY KEY ("realm_id", "url_hash"),
    CONSTRAINT "link_preview_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "link_preview_url_hash_bound" CHECK (octet_length("url_hash") = 32),
    CONSTRAINT "link_preview_title_bound" CHECK (octet_length("title") <= 2000),
    CONSTRAINT "link_preview_description_bound" CHECK (octet_length("description") <= 4000),
    CONSTRAINT "link_preview_image_url_bound" CHECK (octet_length("image_url") <= 8192)
);
CREATE INDEX IF NOT EXISTS "link_preview_expires_at_idx" ON "link_preview"("expires_at");
