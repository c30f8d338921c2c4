-- Each letter of a name and each two that stand side by side, in lower case: parts that are too short for pg_trgm. One
-- expression of built-in functions, so that Postgres puts it in place of the call: a function that is called takes a hundred times as long.
CREATE FUNCTION "name_pieces"("name" text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_to_array(lower("name"), NULL)
    || string_to_array(regexp_replace(lower("name"), '(..)', '\1' || chr(1), 'g'), chr(1))
    || string_to_array(regexp_replace(substr(lower("name"), 2), '(..)', '\1' || chr(1), 'g'), chr(1))
$$;
