-- How the latest revision of a deployment ended, beside it, so that an index finds deployments by it: among all revisions
-- those that are somebody's latest can't be told apart. Null: it has not ended, or there is none. Kept by triggers alone.

-- AlterTable
ALTER TABLE "deployments" ADD COLUMN "latest_outcome" "RevisionStatus";

CREATE FUNCTION "outcome_of"("status" "RevisionStatus") RETURNS "RevisionStatus" LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN "status" NOT IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING') THEN "status" END
$$;

-- A revision that is made by the same statement is not seen here; it has not ended.
CREATE FUNCTION "take_latest_outcome"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."latest_outcome" := (SELECT "outcome_of"(r."status") FROM "revisions" r WHERE r."id" = NEW."latest_revision_id");
  RETURN NEW;
END $$;

CREATE TRIGGER "deployments_latest_outcome_made" BEFORE INSERT ON "deployments" FOR EACH ROW
  WHEN (NEW."latest_revision_id" IS NOT NULL) EXECUTE FUNCTION "take_latest_outcome"();

CREATE TRIGGER "deployments_latest_outcome_changed" BEFORE UPDATE OF "latest_revision_id" ON "deployments" FOR EACH ROW
  WHEN (NEW."latest_revision_id" IS DISTINCT FROM OLD."latest_revision_id") EXECUTE FUNCTION "take_latest_outcome"();

CREATE FUNCTION "tell_latest_outcome"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "deployments" SET "latest_outcome" = "outcome_of"(NEW."status") WHERE "latest_revision_id" = NEW."id";
  RETURN NULL;
END $$;

-- Not from one status of a rollout to the next: only when it ends, and when it begins anew.
CREATE TRIGGER "revisions_latest_outcome" AFTER UPDATE OF "status" ON "revisions" FOR EACH ROW
  WHEN ("outcome_of"(NEW."status") IS DISTINCT FROM "outcome_of"(OLD."status"))
  EXECUTE FUNCTION "tell_latest_outcome"();
