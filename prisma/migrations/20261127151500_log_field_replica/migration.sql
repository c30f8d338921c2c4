-- The value of a field of a line that is a JSON object, as text, also of a line with the name of its pod in front (`[7d9f8-x2x4z] {…}`).
-- Null: it has no such field, or the line is no object.
CREATE OR REPLACE FUNCTION log_field(message text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  line text := regexp_replace(message, '^\[[a-z0-9-]+\] ', '');
  found jsonb;
BEGIN
  IF left(ltrim(line), 1) <> '{' THEN RETURN NULL; END IF;
  found := line::jsonb;
  RETURN coalesce(found ->> name, found #>> string_to_array(name, '.'));
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN RETURN NULL;
END $$;
