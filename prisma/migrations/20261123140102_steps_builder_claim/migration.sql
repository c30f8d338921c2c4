-- outside a transaction
-- What is looked up by the claims of builders.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "steps_builder_claim" ON "steps"("builder_claim_id") WHERE "builder_claim_id" IS NOT NULL;
