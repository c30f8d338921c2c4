-- When a lease is looked at by those who look for free deployments: never later than it ends, so whoever finds none due misses
-- none that has ended. It moves only when little is left of it: most renewals leave it alone, and with it every index, so
-- that Postgres writes the new row beside the old one (HOT) and nothing else. Kept by a trigger alone: servers without it renew, too.
ALTER TABLE "deployments" ADD COLUMN "lease_due_at" TIMESTAMPTZ(3);

-- Beside the old one only where the page has room; what is left of old ones is cleared away when it fills up. A holder renews
-- all of its leases at once, so many rows of a page are written anew by one statement.
ALTER TABLE "deployments" SET (fillfactor = 80);

CREATE FUNCTION "take_lease_due"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."lease_due_at" := NEW."lease_expires_at";
  RETURN NEW;
END $$;

CREATE TRIGGER "deployments_lease_due_made" BEFORE INSERT ON "deployments" FOR EACH ROW
  WHEN (NEW."lease_due_at" IS DISTINCT FROM NEW."lease_expires_at") EXECUTE FUNCTION "take_lease_due"();

-- Holders renew several times in the length of a lease: with a quarter left, the next one comes before it is due.
CREATE TRIGGER "deployments_lease_due_changed" BEFORE UPDATE ON "deployments" FOR EACH ROW
  WHEN ((NEW."lease_due_at" IS NULL) <> (NEW."lease_expires_at" IS NULL) OR NEW."lease_due_at" > NEW."lease_expires_at"
    OR (NEW."lease_expires_at" <> OLD."lease_expires_at" AND NEW."lease_due_at" < now() + (NEW."lease_expires_at" - now()) / 4))
  EXECUTE FUNCTION "take_lease_due"();
