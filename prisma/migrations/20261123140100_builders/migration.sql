-- A BUILD may be offered to builders, and carries a lease of its own while one has it (docs/protocol.md#builders).
ALTER TABLE "steps"
  ADD COLUMN "offered_at" TIMESTAMPTZ(3),
  ADD COLUMN "builder_claim_id" UUID,
  ADD COLUMN "builder_holder" TEXT,
  ADD COLUMN "builder_token" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "builder_lease_expires_at" TIMESTAMPTZ(3);

-- what builders look for, and what is looked up by their claims
CREATE INDEX "steps_offered" ON "steps"("offered_at") WHERE "finished_at" IS NULL AND "offered_at" IS NOT NULL;
CREATE INDEX "steps_builder_claim" ON "steps"("builder_claim_id") WHERE "builder_claim_id" IS NOT NULL;

-- Of the role builder: when one last called with the key.
ALTER TABLE "api_keys" ADD COLUMN "builder_seen_at" TIMESTAMPTZ(3);
CREATE INDEX "api_keys_builders" ON "api_keys"("organization_id", "builder_seen_at") WHERE "builder_seen_at" IS NOT NULL;
