-- Version 4

-- Triggers, so that all names have words and sort keys, whichever statement writes them.

CREATE OR REPLACE FUNCTION "set_user_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := searched_words_of_name(NEW.full_name);
  NEW.sort_name := name_sort_key(NEW.full_name);
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION "set_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := searched_words_of_name(NEW.name);
  NEW.sort_name := name_sort_key(NEW.name);
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION "set_sort_name"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sort_name := name_sort_key(NEW.name);
  RETURN NEW;
END
$$;
