-- outside a transaction
-- The oldest deployment of a host gets it. IP addresses, localhost and hosts that are not ASCII get none (domain/values/custom-host.ts).
-- A thousand rows at a time, because a writer of one of them waits for all.
DO $$
BEGIN
  LOOP
    UPDATE "deployments" d SET "custom_host" = h."host" FROM (
      SELECT DISTINCT ON ("host") "id", "host" FROM (
        SELECT "id", "created_at",
          rtrim(lower(substring("custom_url" FROM '^[hH][tT][tT][pP][sS]?://([A-Za-z0-9._-]+)(?::[0-9]*)?(?:[/?#]|$)')), '.') AS "host"
        FROM "deployments" WHERE "source" = 'external_container' AND "deleted_at" IS NULL AND "custom_url" IS NOT NULL
      ) AS "urls"
      WHERE "host" <> '' AND "host" <> 'localhost' AND "host" !~ '(^|\.)(0x[0-9a-f]*|[0-9]+)$'
        AND NOT EXISTS (SELECT 1 FROM "deployments" o WHERE o."custom_host" = "urls"."host" AND o."deleted_at" IS NULL)
      ORDER BY "host", "created_at", "id" LIMIT 1000
    ) h WHERE d."id" = h."id" AND d."custom_host" IS NULL;
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP;
END $$;
