-- A BUILD may be offered to builders, and carries a lease of its own while one has it (docs/protocol.md#builders).
-- formerly c0c304650e27619622a98486ebfe537c49953820aa61138b4a7eace606e70101
ALTER TABLE "steps"
  ADD COLUMN "offered_at" TIMESTAMPTZ(3),
  ADD COLUMN "builder_claim_id" UUID,
  ADD COLUMN "builder_holder" TEXT,
  ADD COLUMN "builder_token" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "builder_lease_expires_at" TIMESTAMPTZ(3);

-- Of the role builder: when one last called with the key.
ALTER TABLE "api_keys" ADD COLUMN "builder_seen_at" TIMESTAMPTZ(3);
