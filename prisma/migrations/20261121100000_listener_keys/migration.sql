-- AlterTable
ALTER TABLE "listeners" ADD COLUMN "created_by" TEXT;

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN "listener_id" UUID;

-- CreateIndex
CREATE INDEX "api_keys_listener_id_idx" ON "api_keys"("listener_id");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_listener_id_fkey" FOREIGN KEY ("listener_id") REFERENCES "listeners"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- A deployment without its listener would be the built-in worker's: never by the way.
-- DropForeignKey
ALTER TABLE "deployments" DROP CONSTRAINT "deployments_listener_id_fkey";

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_listener_id_fkey" FOREIGN KEY ("listener_id") REFERENCES "listeners"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- DropIndex
DROP INDEX "deployments_listener_id_lease_expires_at_idx";

-- What the schema language can't say:

-- Claims look for what is free among a listener's deployments; those torn down stay for 30 days and have no lease either.
CREATE INDEX "deployments_claimable" ON "deployments"("listener_id", "lease_expires_at") WHERE "torn_down_at" IS NULL;

-- A listener's key is of one workspace and reads no secrets beside those of its claims; without its listener it is revoked.
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_listener_whole" CHECK (
  CASE WHEN "role" = 'listener'
    THEN "workspace_id" IS NOT NULL AND NOT "secrets_read" AND ("listener_id" IS NOT NULL OR "revoked_at" IS NOT NULL)
    ELSE "listener_id" IS NULL
  END
);
