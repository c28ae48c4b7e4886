-- Lists of users and custom emoji are sorted by the same key as those of channels and groups, which does not depend on the locale
-- of the database. The statements can be repeated, because earlier migrations can. The keys of existing users follow in the next
-- migration, in batches.

ALTER TABLE "user_account" ADD COLUMN IF NOT EXISTS "sort_name" TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE "custom_emoji" ADD COLUMN IF NOT EXISTS "sort_name" TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Objects that the schema language cannot express.

CREATE OR REPLACE FUNCTION "set_user_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := searched_words_of_name(NEW.full_name);
  NEW.sort_name := name_sort_key(NEW.full_name);
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION "set_sort_name"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sort_name := name_sort_key(NEW.name);
  RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER "custom_emoji_sort_name" BEFORE INSERT OR UPDATE OF "name" ON "custom_emoji"
  FOR EACH ROW EXECUTE FUNCTION "set_sort_name"();

UPDATE "custom_emoji" SET "sort_name" = name_sort_key("name") WHERE "sort_name" = '';
-- The rows of users are not checked, because that would block the table: the trigger sets all values.
ALTER TABLE "user_account" DROP CONSTRAINT IF EXISTS "user_account_sort_name_check";
ALTER TABLE "user_account" ADD CONSTRAINT "user_account_sort_name_check" CHECK (octet_length("sort_name") <= 1601) NOT VALID;
ALTER TABLE "custom_emoji" DROP CONSTRAINT IF EXISTS "custom_emoji_sort_name_check";
ALTER TABLE "custom_emoji" ADD CONSTRAINT "custom_emoji_sort_name_check" CHECK (octet_length("sort_name") <= 1601);
CREATE INDEX IF NOT EXISTS "custom_emoji_by_sort_name" ON "custom_emoji" ("realm_id", "sort_name", "id");
DROP INDEX IF EXISTS "custom_emoji_by_name";
