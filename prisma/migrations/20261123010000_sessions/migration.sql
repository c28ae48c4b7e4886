-- CreateTable
CREATE TABLE "session" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "next_hash" BYTEA,
    "previous_hash" BYTEA,
    "token_at" TIMESTAMPTZ(6) NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "last_seen_at" TIMESTAMPTZ(6) NOT NULL,
    "idle_expires_at" TIMESTAMPTZ(6) NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "user_agent" TEXT NOT NULL,
    "network_address" TEXT NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "session_token_hash_key" ON "session"("token_hash");

-- CreateIndex
CREATE UNIQUE INDEX "session_next_hash_key" ON "session"("next_hash");

-- CreateIndex
CREATE UNIQUE INDEX "session_previous_hash_key" ON "session"("previous_hash");

-- CreateIndex
CREATE INDEX "session_realm_id_user_id_idx" ON "session"("realm_id", "user_id");

-- CreateIndex
CREATE INDEX "session_idle_expires_at_idx" ON "session"("idle_expires_at");

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

