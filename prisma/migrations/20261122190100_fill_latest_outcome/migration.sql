-- outside a transaction
-- formerly 002646f157d4e1cd7c3efde90d2f6efca8f72e63af42c634a0948968cc9632f1
-- A thousand rows at a time: whoever writes to one of them waits for the others no longer than that.
DO $$
DECLARE
  "after" uuid := '00000000-0000-0000-0000-000000000000';
  "ids" uuid[];
BEGIN
  LOOP
    "ids" := ARRAY(SELECT d."id" FROM "deployments" d WHERE d."id" > "after" ORDER BY d."id" LIMIT 1000);
    EXIT WHEN "ids" = '{}';
    UPDATE "deployments" d SET "latest_outcome" = "outcome_of"(r."status")
    FROM "revisions" r
    WHERE d."id" = ANY ("ids") AND r."id" = d."latest_revision_id" AND d."latest_outcome" IS DISTINCT FROM "outcome_of"(r."status");
    "after" := "ids"[cardinality("ids")];
    COMMIT;
  END LOOP;
END $$;
