-- formerly b242eaf6edbd3938f7869cf4ae114b4491febffc1de146373b1b7eb253785532
-- A part of a name. Some databases don't let us have the extension: then such a search reads all names of the workspace.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS "pg_trgm";
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'without the extension pg_trgm a search for a part of a name reads all names: %', SQLERRM;
END $$;

DO $$
DECLARE
  "home" text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm');
BEGIN
  IF "home" IS NOT NULL THEN
    EXECUTE format('CREATE INDEX "deployments_name_parts" ON "deployments" USING gin ("name" %I.gin_trgm_ops) WHERE "torn_down_at" IS NULL', "home");
  END IF;
END $$;
