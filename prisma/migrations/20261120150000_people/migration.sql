-- CreateTable
CREATE TABLE "user_status" (
    "user_id" INTEGER NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "text" TEXT NOT NULL DEFAULT '',
    "emoji_name" TEXT NOT NULL DEFAULT '',
    "emoji_code" TEXT NOT NULL DEFAULT '',
    "reaction_type" TEXT NOT NULL DEFAULT 'unicode_emoji',
    "updated_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "user_status_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "navigation_view" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "fragment" TEXT NOT NULL,
    "is_pinned" BOOLEAN NOT NULL,
    "name" TEXT,

    CONSTRAINT "navigation_view_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "realm_domain" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "domain" TEXT NOT NULL,
    "allow_subdomains" BOOLEAN NOT NULL,

    CONSTRAINT "realm_domain_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "user_status_realm_id_user_id_key" ON "user_status"("realm_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "navigation_view_user_id_fragment_key" ON "navigation_view"("user_id", "fragment");

-- CreateIndex
CREATE UNIQUE INDEX "realm_domain_realm_id_domain_key" ON "realm_domain"("realm_id", "domain");

-- AddForeignKey
ALTER TABLE "user_status" ADD CONSTRAINT "user_status_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "navigation_view" ADD CONSTRAINT "navigation_view_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "realm_domain" ADD CONSTRAINT "realm_domain_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the schema language cannot say.

ALTER TABLE "user_status"
  ADD CONSTRAINT "user_status_text_length" CHECK (char_length("text") <= 60),
  ADD CONSTRAINT "user_status_emoji_whole" CHECK (("emoji_name" = '') = ("emoji_code" = '')),
  ADD CONSTRAINT "user_status_type_known" CHECK ("reaction_type" IN ('unicode_emoji', 'realm_emoji', 'service_extra_emoji'));

ALTER TABLE "navigation_view" ADD CONSTRAINT "navigation_view_texts" CHECK ("fragment" <> '' AND "name" <> '');
CREATE UNIQUE INDEX "navigation_view_name_key" ON "navigation_view" ("user_id", "name") WHERE "name" IS NOT NULL;

ALTER TABLE "realm_domain"
  ADD CONSTRAINT "realm_domain_form" CHECK ("domain" = lower("domain") AND char_length("domain") BETWEEN 1 AND 255);

-- Users are mentioned by name, and names may have to be unique.
CREATE INDEX "user_account_by_name" ON "user_account" ("realm_id", lower("full_name"));
