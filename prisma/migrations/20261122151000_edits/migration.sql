-- Which edit of it this is: what callers change counts, what work changes does not.
ALTER TABLE "deployments" ADD COLUMN "edit" INTEGER NOT NULL DEFAULT 1;
ALTER TABLE "listeners" ADD COLUMN "edit" INTEGER NOT NULL DEFAULT 1;
ALTER TABLE "oauth_providers" ADD COLUMN "edit" INTEGER NOT NULL DEFAULT 1;

-- Servers of the version before know nothing of it; but they, too, move updated_at with every edit, and with nothing else.
CREATE FUNCTION "count_edit"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.edit := OLD.edit + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER "deployments_edit" BEFORE UPDATE ON "deployments" FOR EACH ROW
  WHEN (NEW.updated_at IS DISTINCT FROM OLD.updated_at AND NEW.edit = OLD.edit) EXECUTE FUNCTION "count_edit"();
CREATE TRIGGER "listeners_edit" BEFORE UPDATE ON "listeners" FOR EACH ROW
  WHEN (NEW.updated_at IS DISTINCT FROM OLD.updated_at AND NEW.edit = OLD.edit) EXECUTE FUNCTION "count_edit"();
CREATE TRIGGER "oauth_providers_edit" BEFORE UPDATE ON "oauth_providers" FOR EACH ROW
  WHEN (NEW.updated_at IS DISTINCT FROM OLD.updated_at AND NEW.edit = OLD.edit) EXECUTE FUNCTION "count_edit"();
