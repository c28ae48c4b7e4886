-- What the schema language cannot say.

-- Names are compared by skeletons, after Unicode Technical Standard 39: letters that look like one of another script are replaced
-- by that one. Letters that look alike within a script, such as `rn` and `m`, are different. No function depends on the locale of
-- the database. They are part of indexes: the functions that they call are bound to them when they are created, because the
-- schema of the service is not in the search path while a dump is restored. All are written so that the planner inlines them: a
-- call would take several times as long as what it computes.

-- Replaces letters that look like one of another script, in decomposed text.
CREATE FUNCTION "name_look_alikes"(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(
  p_text,
  'асԁеһіјӏорԛѕѵԝхуүкгьфпл' -- Cyrillic
  'АВСЕԌНІЈКМОРԚЅТѴԜХУҮЗЬӀФПГ'
  'αορνυικτγσηχε' -- Greek
  'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ'
  'օսհոցզյռաՕՍԼՏ' -- Armenian
  'ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎩᏀᏃᏒᏕᏙᏞᏟᏢᏦᏧᏴᏔ' -- Cherokee
  'ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ' -- Lisu
  'ⲟⲣⲥⲞⲢⲤ𐐄𐐬ᑭᑌᗪᗷᒪᐯ' -- Coptic, Deseret, Canadian syllabics
  '०০੦૦௦౦೦൦๐໐၀' -- Zeros of Indic scripts, Thai, Lao and Burmese
  'ロニカエタトハー' -- Kana and Han
  'へ',
  'acdehijlopqsvwxyykrbφπλ'
  'ABCEGHIJKMOPQSTVWXYY3blΦΠΓ'
  'aopvuiktyonxe'
  'ABEZHIKMNOPTYX'
  'ouhngqjnwOULS'
  'DRTiAJEWMHYGZRSVLCPKdBW'
  'BPDTGKJCZFMNLSRVHWXYAEIOU'
  'opcOPCOoPUDBLV'
  'ooooooooooo'
  '口二力工夕卜八一'
  'ヘ'
);

-- Returns a text in ASCII in lower case, with white space collapsed.
CREATE FUNCTION "name_skeleton_of_ascii"(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN trim(regexp_replace(lower(p_text COLLATE "C"), '[ \t\n\r\f\v]+', ' ', 'g'));

-- Composes what letters were replaced in, without variation selectors, with white space collapsed. A compatibility character
-- becomes 18 at most, so that the text is cut to what an index entry holds.
CREATE FUNCTION "name_skeleton_composed"(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(trim(regexp_replace(
  normalize(regexp_replace(lower(p_text COLLATE "C"), '[\U000e0001\U000e0100-\U000e01ef]+', '', 'g'), NFC) COLLATE "C",
  '[ \t\n\r\f\v\u0085\u1680\u2028\u2029]+', ' ', 'g')), 400);

-- Returns the skeleton of a name, without invisible characters and without case. Capital letters are compared as they are
-- written: the Cyrillic `САВ` is the Latin `CAB`.
CREATE FUNCTION "name_skeleton"(p_name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN octet_length(p_name) = char_length(p_name) THEN name_skeleton_of_ascii(p_name)
  ELSE name_skeleton_composed(search_decomposed(name_look_alikes(normalize(p_name, NFKD))))
END;

-- Returns the same of the name in small letters: the Greek `ΑΝΝΑ` is `αννα`, which is the Latin `avva`.
CREATE FUNCTION "name_skeleton_in_lower_case"(p_name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN octet_length(p_name) = char_length(p_name) THEN name_skeleton_of_ascii(p_name)
  ELSE name_skeleton_composed(name_look_alikes(search_decomposed(p_name)))
END;

CREATE INDEX "user_account_by_name_skeleton" ON "user_account" ("realm_id", name_skeleton("full_name"));
CREATE INDEX "user_account_by_name_skeleton_in_lower_case" ON "user_account" ("realm_id", name_skeleton_in_lower_case("full_name"));
CREATE INDEX "user_group_by_name_skeleton" ON "user_group" ("realm_id", name_skeleton("name"));
CREATE INDEX "user_group_by_name_skeleton_in_lower_case" ON "user_group" ("realm_id", name_skeleton_in_lower_case("name"));
CREATE INDEX "channel_by_name_skeleton" ON "channel" ("realm_id", name_skeleton("name"));
CREATE INDEX "channel_by_name_skeleton_in_lower_case" ON "channel" ("realm_id", name_skeleton_in_lower_case("name"));
-- The unique index has only the folders that are not archived.
CREATE INDEX "channel_folder_by_name" ON "channel_folder" ("realm_id", lower("name"));
CREATE INDEX "channel_folder_by_name_skeleton" ON "channel_folder" ("realm_id", name_skeleton("name"));
CREATE INDEX "channel_folder_by_name_skeleton_in_lower_case" ON "channel_folder" ("realm_id", name_skeleton_in_lower_case("name"));
CREATE INDEX "profile_field_by_name_skeleton" ON "profile_field" ("realm_id", name_skeleton("name"));
CREATE INDEX "profile_field_by_name_skeleton_in_lower_case" ON "profile_field" ("realm_id", name_skeleton_in_lower_case("name"));
