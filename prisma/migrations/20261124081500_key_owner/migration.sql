-- Who uses a key: events name its calls by the owner, or by the name of a key without an owner.
ALTER TABLE "api_keys" ADD COLUMN "owner" TEXT;
