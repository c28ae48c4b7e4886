-- The audit log of organizations. Actors and objects have no references: entries stay as they were written.
CREATE TABLE IF NOT EXISTS "audit_log_entry" (
    "realm_id" INTEGER NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" INTEGER,
    "action" TEXT NOT NULL,
    "object_type" TEXT NOT NULL,
    "object_id" INTEGER,
    "object_name" TEXT,
    "address" TEXT,
    "client_name" TEXT,
    "details" JSONB NOT NULL,

    CONSTRAINT "audit_log_entry_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "audit_log_entry_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "audit_log_entry_actor_kind_bound" CHECK (octet_length("actor_kind") <= 20),
    CONSTRAINT "audit_log_entry_action_bound" CHECK (octet_length("action") <= 60),
    CONSTRAINT "audit_log_entry_object_type_bound" CHECK (octet_length("object_type") <= 60),
    CONSTRAINT "audit_log_entry_object_name_bound" CHECK (octet_length("object_name") <= 1200),
    CONSTRAINT "audit_log_entry_address_bound" CHECK (octet_length("address") <= 100),
    CONSTRAINT "audit_log_entry_client_name_bound" CHECK (octet_length("client_name") <= 400),
    CONSTRAINT "audit_log_entry_details_bound" CHECK (pg_column_size("details") <= 100000)
);
CREATE INDEX IF NOT EXISTS "audit_log_entry_realm_id_created_at_idx" ON "audit_log_entry"("realm_id", "created_at");
CREATE INDEX IF NOT EXISTS "audit_log_entry_realm_id_actor_id_id_idx" ON "audit_log_entry"("realm_id", "actor_id", "id");
CREATE INDEX IF NOT EXISTS "audit_log_entry_realm_id_action_id_idx" ON "audit_log_entry"("realm_id", "action", "id");
CREATE INDEX IF NOT EXISTS "audit_log_entry_realm_id_object_type_object_id_id_idx"
    ON "audit_log_entry"("realm_id", "object_type", "object_id", "id");

-- Entries never change. They are deleted only by the retention, which sets `audit_log.prunes` in its transaction, and with their
-- organization.
CREATE OR REPLACE FUNCTION "keep_audit_log_entry"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (current_setting('audit_log.prunes', true) = 'on'
        OR NOT EXISTS (SELECT FROM "realm" WHERE "id" = OLD."realm_id")) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
DROP TRIGGER IF EXISTS "audit_log_entry_append_only" ON "audit_log_entry";
CREATE TRIGGER "audit_log_entry_append_only" BEFORE UPDATE OR DELETE ON "audit_log_entry"
    FOR EACH ROW EXECUTE FUNCTION "keep_audit_log_entry"();
