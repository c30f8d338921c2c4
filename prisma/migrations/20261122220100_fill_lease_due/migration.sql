-- outside a transaction
-- A thousand rows at a time: whoever writes to one of them waits for the others no longer than that.
DO $$
DECLARE
  "after" uuid := '00000000-0000-0000-0000-000000000000';
  "ids" uuid[];
BEGIN
  LOOP
    "ids" := ARRAY(SELECT d."id" FROM "deployments" d WHERE d."id" > "after" ORDER BY d."id" LIMIT 1000);
    EXIT WHEN "ids" = '{}';
    UPDATE "deployments" d SET "lease_due_at" = d."lease_expires_at"
    WHERE d."id" = ANY ("ids") AND d."lease_due_at" IS NULL AND d."lease_expires_at" IS NOT NULL;
    "after" := "ids"[cardinality("ids")];
    COMMIT;
  END LOOP;
END $$;
