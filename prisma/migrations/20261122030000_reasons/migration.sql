-- A word for machines beside every message for people (src/domain/reasons.ts). Text and no enum: a server that goes back
-- a version has to be able to read a newer one's words. Columns without a default, so that no table is written anew.

-- AlterTable
ALTER TABLE "revisions" ADD COLUMN "reason" TEXT, ADD COLUMN "reason_since" TIMESTAMPTZ(3);
ALTER TABLE "deployments" ADD COLUMN "reason" TEXT, ADD COLUMN "reason_since" TIMESTAMPTZ(3);
ALTER TABLE "events" ADD COLUMN "reason" TEXT;
ALTER TABLE "steps" ADD COLUMN "reason" TEXT;

-- What has ended says what its status tells. What still waits is explained anew by the next sweep.
UPDATE "revisions" SET "reason_since" = "status_since", "reason" = CASE "status"
    WHEN 'CREATE_FAILED' THEN 'PROVISION_FAILED' WHEN 'BUILD_FAILED' THEN 'BUILD_FAILED' WHEN 'DEPLOY_FAILED' THEN 'DEPLOY_FAILED'
    WHEN 'SKIPPED' THEN 'SUPERSEDED' WHEN 'INTERRUPTED' THEN 'INTERRUPTED_BY_PERSON' END
  WHERE "status_message" IS NOT NULL AND "status" IN ('CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED');
UPDATE "deployments" d SET "reason" = 'TEARDOWN_FAILED', "reason_since" = now()
  WHERE "status_message" IS NOT NULL AND "torn_down_at" IS NULL AND EXISTS (
    SELECT 1 FROM "steps" s WHERE s."deployment_id" = d."id" AND s."kind" = 'TEARDOWN' AND s."outcome" = 'failed');
