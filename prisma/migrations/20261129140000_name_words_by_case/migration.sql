-- Names are found by the words that begin where the case of letters changes: "winch" finds "deckWinch". The statements can be
-- repeated, because earlier migrations can.

-- Objects that the schema language cannot express.

-- Returns the words by which a name is found, folded, with one space between two: those between spaces and punctuation, then those
-- that begin within them: where the case changes, at letters of scripts without spaces, where digits begin or end, and after an
-- apostrophe. Apostrophes are left out. Equivalent to `searchableWords` in src/platform/folding.ts.
CREATE OR REPLACE FUNCTION "searched_words_of_name"(p_name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  v text COLLATE "C" := p_name;
  v_words text[];
  v_most integer;
  v_word text COLLATE "C";
  v_rest text;
BEGIN
  -- Tags and variation selectors, which are beyond what search_decomposed drops.
  IF octet_length(v) > char_length(v) THEN v := regexp_replace(v, '[\U000e0000-\U000e0fff]+', '', 'g'); END IF;
  -- A word also begins where the case of letters changes, which folding would hide.
  v := regexp_replace(normalize(replace(v, U&'\0001', ' '), NFKD) COLLATE "C",
    '([a-z\u00df\u00e6\u00f0\u00f8\u00fe\u0111\u0127\u0131\u0142\u014b\u0153\u0167\u03b1-\u03c9\u0430-\u045f\u0561-\u0587][\u0300-\u036f]*(?=[A-Z\u00c6\u00d0\u00d8\u00de\u0110\u0126\u0141\u014a\u0152\u0166\u0391-\u03a9\u0400-\u042f\u0531-\u0556])|[A-Z\u00c6\u00d0\u00d8\u00de\u0110\u0126\u0141\u014a\u0152\u0166\u0391-\u03a9\u0400-\u042f\u0531-\u0556][\u0300-\u036f]*(?=[A-Z\u00c6\u00d0\u00d8\u00de\u0110\u0126\u0141\u014a\u0152\u0166\u0391-\u03a9\u0400-\u042f\u0531-\u0556][\u0300-\u036f]*[a-z\u00df\u00e6\u00f0\u00f8\u00fe\u0111\u0127\u0131\u0142\u014b\u0153\u0167\u03b1-\u03c9\u0430-\u045f\u0561-\u0587]))', E'\\1\x01', 'g');
  v := regexp_replace(search_fold(v) COLLATE "C", '[''\u02bb\u2018\u2019]', U&'\02bc', 'g');
  v := regexp_replace(v, '[\u0002-\u002f:-@\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u2000-\u206f\u3000-\u3003\u3008-\u3011\u30fb]+', ' ', 'g');
  v_words := array_remove(string_to_array(translate(v, U&'\0001\02bc', ''), ' '), '');
  IF v ~ '[\u00010-9\u02bc\u30fc\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ec0-\u0ec6\u0f40-\u0f6c\u1000-\u102a\u1050-\u1055\u1100-\u11ff\u1780-\u17b3\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]' THEN
    v_most := cardinality(v_words) + 100;
    v := regexp_replace(v,
      '(?<=[^ ])(?=[\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ec0-\u0ec6\u0f40-\u0f6c\u1000-\u102a\u1050-\u1055\u1100-\u11ff\u1780-\u17b3\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af])'
      '|(?<=[\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ec0-\u0ec6\u0f40-\u0f6c\u1000-\u102a\u1050-\u1055\u1100-\u11ff\u1780-\u17b3\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af\u30fc])(?=[a-z])'
      '|(?<=[0-9])(?=[^0-9 ])|(?<=[^0-9 ])(?=[0-9])|(?<=\u02bc)(?=[^ ])', U&'\0001', 'g');
    FOREACH v_word IN ARRAY string_to_array(v, ' ') LOOP
      WHILE strpos(v_word, U&'\0001') > 0 AND cardinality(v_words) < v_most LOOP
        v_word := substr(v_word, strpos(v_word, U&'\0001') + 1);
        v_rest := left(translate(v_word, U&'\0001\02bc', ''), 32);
        IF v_rest <> '' AND v_rest <> ALL (v_words) THEN v_words := v_words || v_rest; END IF;
      END LOOP;
    END LOOP;
  END IF;
  RETURN array_to_string(v_words, ' ');
END
$$;

CREATE OR REPLACE FUNCTION "set_user_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := searched_words_of_name(NEW.full_name);
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

UPDATE "user_account" SET "name_words" = searched_words_of_name("full_name") WHERE "full_name" COLLATE "C" ~ '[^ ][A-Z]|[^\u0001-\u007f]'
  AND "name_words" <> searched_words_of_name("full_name");
UPDATE "user_group" SET "name_words" = searched_words_of_name("name") WHERE "name" COLLATE "C" ~ '[^ ][A-Z]|[^\u0001-\u007f]'
  AND "name_words" <> searched_words_of_name("name");
UPDATE "channel" SET "name_words" = searched_words_of_name("name") WHERE "name" COLLATE "C" ~ '[^ ][A-Z]|[^\u0001-\u007f]'
  AND "name_words" <> searched_words_of_name("name");
