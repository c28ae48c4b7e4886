-- AlterTable
ALTER TABLE "user_account" ADD COLUMN "name_words" TEXT NOT NULL DEFAULT '';

-- AlterTable
ALTER TABLE "user_group" ADD COLUMN "name_words" TEXT NOT NULL DEFAULT '';

-- AlterTable
ALTER TABLE "channel" ADD COLUMN "name_words" TEXT NOT NULL DEFAULT '';

-- What the schema language cannot say.

-- Returns the words of a name, folded, with one space between two. As `nameWords` in src/platform/folding.ts.
CREATE FUNCTION "search_name_words"(p_name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
  RETURN trim(regexp_replace(
    search_fold(p_name) COLLATE "C", '[\u0001-\u002f:-@\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u2000-\u206f\u3000-\u3003\u3008-\u3011\u30fb]+', ' ', 'g'));
END
$$;

-- Returns the words of a name, each behind its organization's number, so that a prefix names the organization. It is part of
-- indexes: it calls no function of the service, whose schema is not in the search path while a dump is restored.
CREATE FUNCTION "search_name_vector"(p_realm_id integer, p_name_words text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(
  string_to_array(p_realm_id::text || '.' || replace(p_name_words, ' ', ' ' || p_realm_id::text || '.'), ' '));

-- Triggers, so that names which nodes of the previous version write have words as well.
CREATE FUNCTION "set_user_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := search_name_words(NEW.full_name);
  RETURN NEW;
END
$$;
CREATE TRIGGER "user_account_name_words" BEFORE INSERT OR UPDATE OF "full_name" ON "user_account"
  FOR EACH ROW EXECUTE FUNCTION "set_user_name_words"();

CREATE FUNCTION "set_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := search_name_words(NEW.name);
  RETURN NEW;
END
$$;
CREATE TRIGGER "user_group_name_words" BEFORE INSERT OR UPDATE OF "name" ON "user_group"
  FOR EACH ROW EXECUTE FUNCTION "set_name_words"();
CREATE TRIGGER "channel_name_words" BEFORE INSERT OR UPDATE OF "name" ON "channel"
  FOR EACH ROW EXECUTE FUNCTION "set_name_words"();

UPDATE "user_account" SET "name_words" = search_name_words("full_name");
UPDATE "user_group" SET "name_words" = search_name_words("name");
UPDATE "channel" SET "name_words" = search_name_words("name");

-- A character becomes 18 at most.
ALTER TABLE "user_account" ADD CONSTRAINT "user_account_name_words_check" CHECK (char_length("name_words") <= 2000);
ALTER TABLE "user_group" ADD CONSTRAINT "user_group_name_words_check" CHECK (char_length("name_words") <= 2000);
ALTER TABLE "channel" ADD CONSTRAINT "channel_name_words_check" CHECK (char_length("name_words") <= 2000);

CREATE INDEX "user_account_by_name_words" ON "user_account" USING gin (search_name_vector("realm_id", "name_words"));
CREATE INDEX "user_group_by_name_words" ON "user_group" USING gin (search_name_vector("realm_id", "name_words"));
CREATE INDEX "channel_by_name_words" ON "channel" USING gin (search_name_vector("realm_id", "name_words"));
