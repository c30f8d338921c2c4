-- A migration of its own: readers do not wait for it, as they would behind the lock of the one that made the column.
UPDATE "deployments" d SET "latest_outcome" = "outcome_of"(r."status")
FROM "revisions" r WHERE r."id" = d."latest_revision_id" AND "outcome_of"(r."status") IS NOT NULL;
